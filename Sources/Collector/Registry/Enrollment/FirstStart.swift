import CollectorAPI
import FoundationEssentials
import RecordStore
import WireModel

/// The result of the very first start. The secrets are shown only here.
package struct FirstStart: Equatable, Sendable {
    package var enrollmentToken: String
    package var administratorToken: String

    package static let organization = "default"
    /// The default validity of an enrollment token: 30 days.
    package static let enrollmentTokenSeconds: Int64 = 30 * 86_400
    /// The default number of devices that may enroll with an enrollment token.
    package static let enrollmentTokenUses = 100
    /// A year, so a token that was copied and forgotten does not stay valid for ever. `TokenWatch` reports its end in
    /// advance.
    static let administratorTokenSeconds: Int64 = 365 * 86_400

    /// Makes, in one transaction, the collector's ids, organization `default` with its profile, an enrollment token and
    /// an administrator's token.
    /// - Parameter deliver: receives the tokens before they are valid. If the process is killed in between, the next
    ///   start makes others.
    /// - Returns: `nil` if all of it exists.
    package static func create(
        in connection: any RegistrySession, at now: Int64, deliver: @Sendable (FirstStart) throws(StoreError) -> Void
    ) throws(StoreError) -> FirstStart? {
        try connection.transaction { () throws(StoreError) in
            let made = try insert(into: connection, at: now)
            if let made { try deliver(made) }
            return made
        }
    }

    private static func insert(into connection: any RegistrySession, at now: Int64) throws(StoreError) -> FirstStart? {
        if try connection.hasRow("SELECT 1 FROM meta WHERE name = 'collector_id'") { return nil }
        for (name, value) in [
            ("collector_id", CollectorID.random().data), ("incarnation_id", IncarnationID.random().data),
        ] {
            try connection.run("INSERT INTO meta (name, value) VALUES (?, ?)", name, value)
        }
        try CredentialLedger(connection: connection).renewKey()
        _ = try MetadataService.insertOrganization(organization, at: now, into: connection)

        let enrollment = Secret(.enrollment)
        try MetadataService.insertToken(
            TokenRow(
                id: MetadataService.newTokenID(), kind: .enrollment, name: "made at the first start",
                organization: organization,
                created: now, expires: now + enrollmentTokenSeconds * 1_000_000, maximumUses: enrollmentTokenUses,
                uses: 0),
            hash: enrollment.hash, into: connection)
        let administrator = Secret(.person)
        try MetadataService.insertToken(
            TokenRow(
                id: MetadataService.newTokenID(), kind: .person, name: "administrator", role: .administrator,
                created: now,
                expires: now + administratorTokenSeconds * 1_000_000, uses: 0),
            hash: administrator.hash, into: connection)
        return FirstStart(enrollmentToken: enrollment.text, administratorToken: administrator.text)
    }
}
