import FoundationEssentials
import SQLite
import WireModel

extension FirstStart {
    static let organization = "default"
    /// 30 days.
    static let enrollmentTokenSeconds: Int64 = 30 * 86_400

    /// In one transaction: the collector's ids, organization `default` with its profile, an enrollment token and an administrator's token.
    /// - Returns: `nil` where all of it is there.
    static func create(in connection: Connection, at now: Int64) throws(SQLiteError) -> FirstStart? {
        try connection.transaction { () throws(SQLiteError) in
            let known = try connection.cached("SELECT 1 FROM meta WHERE name = 'collector_id'")
            defer { known.reset() }
            guard try !known.step() else { return nil }
            let meta = try connection.cached("INSERT INTO meta (name, value) VALUES (?, ?)")
            for (name, value) in [("collector_id", CollectorID.random().data), ("incarnation_id", IncarnationID.random().data)] {
                try meta.bind(name, value)
                try meta.run()
            }
            _ = try RegistryDatabase.insertOrganization(organization, at: now, into: connection)

            let enrollment = Secret(.enrollment)
            try RegistryDatabase.insertToken(
                TokenRow(
                    id: CollectorRegistry.newTokenID(), kind: .enrollment, name: "made at the first start", organization: organization,
                    created: now, expires: now + enrollmentTokenSeconds * 1_000_000, uses: 0),
                secret: enrollment, into: connection)
            let administrator = Secret(.person)
            try RegistryDatabase.insertToken(
                TokenRow(
                    id: CollectorRegistry.newTokenID(), kind: .person, name: "administrator", role: .administrator, created: now, uses: 0),
                secret: administrator, into: connection)
            return FirstStart(enrollmentToken: enrollment.text, administratorToken: administrator.text)
        }
    }
}
