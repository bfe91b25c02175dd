import CollectorStore

/// A token as administrators see it.
struct TokenView: Encodable {
    var id: String
    var kind: String
    var name: String
    var role: String?
    /// Absent: all.
    var organization: String?
    var createdAt: String
    var expiresAt: String?
    var revokedAt: String?
    /// Devices that have enrolled with it; of an enrollment token.
    var uses: Int?
    var maximumUses: Int?
    /// `good`, `expired`, `used-up` or `revoked`.
    var state: String
    /// The secret; only in the answer that made it.
    var token: String?

    init(_ row: TokenRow, now: Int64) {
        id = row.id
        kind = row.kind.name
        name = row.name
        role = row.role.map { "\($0)" }
        organization = row.organization
        createdAt = Timestamp.text(row.created)
        expiresAt = row.expires.map(Timestamp.text)
        revokedAt = row.revoked.map(Timestamp.text)
        uses = row.kind == .enrollment ? row.uses : nil
        maximumUses = row.maximumUses
        state = row.state(at: now).rawValue
    }
}
