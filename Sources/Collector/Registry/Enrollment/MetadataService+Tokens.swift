import CollectorAPI
import FoundationEssentials
import RecordStore
import WireModel

extension MetadataService {
    static func insertToken(
        _ token: TokenRow, hash: Data, into connection: any RegistrySession
    ) throws(StoreError) {
        try connection.run(
            """
            INSERT INTO token (id, hash, kind, name, role, organization, created, expires, maximum_uses) \
            VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
            """, token.id, hash, token.kind.rawValue, token.name, (token.role?.rawValue).map(Int64.init),
            token.organization,
            token.created, token.expires, token.maximumUses.map(Int64.init))
    }

    /// 100 years. A token with a longer lifetime has no expiry.
    package static let maximumTokenSeconds: Int64 = 100 * 366 * 86_400
    /// The most bytes of a person's name or a token's note.
    package static let tokenNameBytes = 255

    static func newTokenID() -> String {
        String(CollectorID.random().description.prefix(18).filter { $0 != "-" })
    }

    /// The owner of a token; `nil` if it is unknown, revoked or expired.
    package nonisolated func authenticatePerson(token: String) async throws(StoreError) -> Person? {
        let now = clock.now()
        let hash = Secret.hash(of: token)
        return try await readers.read { connection throws(StoreError) in
            try connection.first(
                """
                SELECT name, role, organization, expires, hash, id FROM token WHERE hash = ? AND kind = ? \
                AND revoked IS NULL
                """,
                hash, TokenRow.Kind.person.rawValue
            ) { row throws(StoreError) in try Person(row, hash: hash, at: now) }
        }
    }

    /// Makes a token. When it returns, the token and its audit entry are on synced disk. An actor with a token has the
    /// rights of that token as it is on disk now.
    /// - Returns: the token as in lists, and its secret, which is shown only here.
    /// - Throws: `.forbidden` if the token would have more rights than the actor's own, `.notFound` for an unknown
    ///   organization.
    package func createToken(
        _ new: NewToken, by actor: AuditActor
    ) throws(AdministrationError) -> (row: TokenRow, secret: String) {
        let now = clock.now()
        guard new.name.utf8.count <= Self.tokenNameBytes, !new.name.hasControlCharacters, new.maximumUses ?? 1 >= 1,
            (1...Self.maximumTokenSeconds).contains(new.expiresInSeconds ?? 1)
        else {
            throw .store(
                StoreError(
                    .invalid,
                    """
                    a token must be valid for 1 second to 100 years and one use or more. Its name must have at most \
                    \(Self.tokenNameBytes) bytes and no control characters.
                    """)
            )
        }
        let (secret, kind): (Secret, TokenRow.Kind) =
            switch new.holder {
            case .device: (Secret(.enrollment), .enrollment)
            case .person: (Secret(.person), .person)
            case .otlp: (Secret(.otlp), .otlp)
            }
        var row = TokenRow(
            id: Self.newTokenID(), kind: kind, name: new.name, organization: new.organization, created: now,
            expires: new.expiresInSeconds.map { now + $0 * 1_000_000 }, maximumUses: new.maximumUses, uses: 0)
        if case .person(let role) = new.holder { row.role = role }
        let made = try change { () throws(StoreError) -> Result<TokenRow, AdministrationError> in
            if let maker = actor.token {
                guard let maker = try TokenRow.one(maker, in: connection) else {
                    return .failure(.forbidden("Your own token is no longer known."))
                }
                // A person's token never outlives the one it is made with. By default it has the same end.
                if row.kind == .person, row.expires == nil { row.expires = maker.expires }
                if let refusal = maker.refusal(toMake: row, at: now) { return .failure(.forbidden(refusal)) }
            }
            if let organization = row.organization {
                guard try connection.hasRow("SELECT 1 FROM organization WHERE name = ?", organization) else {
                    return .failure(.notFound("there is no organization \"\(organization)\"."))
                }
            }
            try Self.insertToken(row, hash: secret.hash, into: connection)
            var detail = ["kind": row.kind.name, "name": row.name]
            if let role = row.role { detail["role"] = "\(role)" }
            if let uses = row.maximumUses { detail["maximumUses"] = "\(uses)" }
            try audit.append(
                AuditEntry(
                    .tokenCreate, by: actor, organization: row.organization ?? "", subject: row.id, detail: detail),
                at: now)
            return .success(row)
        }
        return (made, secret.text)
    }

    /// Makes an enrollment token on the collector's machine.
    /// - Parameters:
    ///   - expiresInSeconds: 30 days by default; 1 or more.
    ///   - maximumUses: devices that may enroll with it, 100 by default; `nil` for any number.
    /// - Returns: the token, shown only here.
    package func createEnrollmentToken(
        organization: String, expiresInSeconds: Int64 = FirstStart.enrollmentTokenSeconds,
        maximumUses: Int? = FirstStart.enrollmentTokenUses, note: String = ""
    ) throws(StoreError) -> (id: String, token: String) {
        try createAtMachine(
            NewToken(
                .device, name: note, organization: organization, expiresInSeconds: expiresInSeconds,
                maximumUses: maximumUses))
    }

    /// Makes a person's token on the collector's machine.
    /// - Parameters:
    ///   - organization: `nil` for all.
    ///   - expiresInSeconds: `nil` for no expiry.
    package func createPersonToken(
        name: String, role: PersonRole, organization: String?, expiresInSeconds: Int64? = nil
    ) throws(StoreError) -> (id: String, token: String) {
        try createAtMachine(
            NewToken(.person(role), name: name, organization: organization, expiresInSeconds: expiresInSeconds))
    }

    /// Makes a token for programs that send OTLP, on the collector's machine.
    /// - Parameter expiresInSeconds: `nil` for no expiry.
    package func createOTLPToken(
        organization: String, expiresInSeconds: Int64? = nil, note: String = ""
    ) throws(StoreError) -> (id: String, token: String) {
        try createAtMachine(
            NewToken(.otlp, name: note, organization: organization, expiresInSeconds: expiresInSeconds))
    }

    private func createAtMachine(_ new: NewToken) throws(StoreError) -> (id: String, token: String) {
        do throws(AdministrationError) {
            let made = try createToken(new, by: .commandLine)
            return (made.row.id, made.secret)
        } catch { throw StoreError(error) }
    }

    /// All tokens including revoked ones, oldest first; never the secrets.
    package nonisolated func tokens() async throws(StoreError) -> [TokenRow] {
        try await readers.read { connection throws(StoreError) in try TokenRow.all(in: connection) }
    }

    /// Tokens in the order of creation, including revoked ones, never with secrets.
    /// - Parameters:
    ///   - organization: `nil` for all, and those of no organization.
    ///   - kind: `nil` for both.
    ///   - limit: 1 to 1,000.
    package nonisolated func tokens(
        organization: String?, kind: TokenRow.Kind?, after position: TokenPosition?, limit: Int
    ) async throws(StoreError) -> ListPage<TokenRow, TokenPosition> {
        let rows = try await readers.read { connection throws(StoreError) in
            try connection.rows(
                """
                SELECT \(TokenRow.columns) FROM token WHERE (?1 IS NULL OR organization = ?1) \
                AND (?2 IS NULL OR kind = ?2)
                AND (?3 IS NULL OR created > ?3 OR (created = ?3 AND id > ?4)) ORDER BY created, id LIMIT ?5
                """, organization, (kind?.rawValue).map(Int64.init), position?.created, position?.id, limit + 1
            ) { row throws(StoreError) in try TokenRow(row) }
        }
        return ListPage(rows, limit: limit) { TokenPosition(created: $0.created, id: $0.id) }
    }

    /// Revokes any token on the collector's machine, even the last administrator's.
    package func revokeToken(_ id: String) throws(StoreError) {
        do throws(AdministrationError) { try revokeToken(id, organization: nil, by: .commandLine) } catch {
            throw StoreError(error)
        }
    }

    /// Refuses a token from now on. Revoking again changes nothing.
    /// - Parameter organization: the token's; `nil` for any.
    /// - Throws: `.lastAdministrator` if nobody with a token could replace the actor.
    package func revokeToken(
        _ id: String, organization: String?, by actor: AuditActor
    ) throws(AdministrationError) {
        let now = clock.now()
        try change { () throws(StoreError) -> Result<Void, AdministrationError> in
            guard let token = try TokenRow.one(id, in: connection),
                organization == nil || token.organization == organization
            else {
                return .failure(.notFound("there is no token \"\(id)\"."))
            }
            guard token.revoked == nil else { return .success(()) }
            if actor.token != nil,
                token.isLastAdministrator(among: try TokenRow.all(in: connection), by: actor, at: now)
            {
                var entry = Self.revocation(of: token, by: actor)
                entry.outcome = .refused
                entry.detail["reason"] = "last-administrator"
                try audit.append(entry, at: now)
                return .failure(.lastAdministrator)
            }
            try close(token, by: actor, at: now)
            return .success(())
        }
    }

    /// Refuses a token from now on, with an audit entry. Call it inside a transaction. Revoking again changes nothing.
    package func close(_ token: TokenRow, by actor: AuditActor, at now: Int64) throws(StoreError) {
        guard token.revoked == nil else { return }
        try connection.run("UPDATE token SET revoked = ? WHERE id = ?", now, token.id)
        try audit.append(Self.revocation(of: token, by: actor), at: now)
    }

    private static func revocation(of token: TokenRow, by actor: AuditActor) -> AuditEntry {
        AuditEntry(
            .tokenRevoke, by: actor, organization: token.organization ?? "", subject: token.id,
            detail: ["kind": token.kind.name, "name": token.name])
    }
}

extension TokenRow {
    package static let columns = "id, kind, name, role, organization, created, expires, maximum_uses, uses, revoked"

    /// Returns all tokens in the order of creation, including revoked ones.
    package static func all(in connection: any RegistrySession) throws(StoreError) -> [TokenRow] {
        try connection.rows("SELECT \(columns) FROM token ORDER BY created, id") { row throws(StoreError) in
            try TokenRow(row)
        }
    }

    package static func one(_ id: String, in connection: any RegistrySession) throws(StoreError) -> TokenRow? {
        try connection.first("SELECT \(columns) FROM token WHERE id = ?", id) { row throws(StoreError) in
            try TokenRow(row)
        }
    }

    /// - Parameter row: has `columns`; `nil` if its kind is unknown.
    init?(_ row: RegistryRow) throws(StoreError) {
        let id = try row.string("id")
        guard let kind = try Kind(rawValue: row.int("kind")) else { return nil }
        self.init(
            id: id, kind: kind, name: try row.string("name"), role: try PersonRole(rawValue: row.int("role")),
            organization: try row.optionalString("organization"), created: try row.int64("created"),
            expires: try row.optionalInt64("expires"), maximumUses: try row.optionalInt64("maximum_uses").map(Int.init),
            uses: try row.int("uses"), revoked: try row.optionalInt64("revoked"))
    }
}
