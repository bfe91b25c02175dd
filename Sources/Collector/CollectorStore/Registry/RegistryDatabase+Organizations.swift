import FoundationEssentials
import SQLite
import WireModel

extension RegistryDatabase {
    func organizations() throws(StoreError) -> [OrganizationRow] {
        try read { () throws(SQLiteError) in try OrganizationRow.all(in: connection) }
    }

    func createOrganization(_ name: String, by actor: AuditActor) throws(StoreError) {
        let now = clock.now()
        let isNew = try transaction { () throws(SQLiteError) in
            guard try Self.insertOrganization(name, at: now, into: connection) else { return false }
            try audit.append(AuditEntry(.organizationCreate, by: actor, organization: name, subject: name), at: now)
            return true
        }
        guard isNew else { throw StoreError(.conflict, "there is an organization \"\(name)\" already.") }
    }

    /// With a privacy key of its own and the profile of a new organization.
    /// - Returns: whether it was not there.
    static func insertOrganization(_ name: String, at now: Int64, into connection: Connection) throws(SQLiteError) -> Bool {
        let statement = try connection.cached("INSERT OR IGNORE INTO organization (name, created, privacy_key) VALUES (?, ?, ?)")
        try statement.bind(name, now, Secret.randomBytes())
        try statement.run()
        guard connection.changes == 1 else { return false }
        var profile = WireProfile.ofNewOrganization
        profile.revision = 1
        profile.organization = name
        try insertProfile(
            ProfileRow(scope: ProfileScope(organization: name), revision: 1, profile: profile, created: now, author: ""), into: connection)
        return true
    }
}

extension OrganizationRow {
    /// By name.
    static func all(in connection: Connection) throws(SQLiteError) -> [OrganizationRow] {
        let statement = try connection.cached(
            """
            SELECT name, created, (SELECT count(*) FROM device WHERE device.organization = organization.name),
            (SELECT coalesce(max(revision), 0) FROM profile WHERE profile.organization = organization.name)
            FROM organization ORDER BY name
            """)
        defer { statement.reset() }
        var rows: [OrganizationRow] = []
        while try statement.step() {
            rows.append(
                OrganizationRow(
                    name: statement.string(0), created: statement.int64(1), devices: statement.int(2),
                    profileRevision: try statement.uint64(3)))
        }
        return rows
    }
}
