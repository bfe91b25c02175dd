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
    static func insertOrganization(
        _ name: String, at now: Int64, into connection: Connection
    ) throws(SQLiteError) -> Bool {
        try connection.run(
            "INSERT OR IGNORE INTO organization (name, created, privacy_key) VALUES (?, ?, ?)", name, now,
            Secret.randomBytes())
        guard connection.changes == 1 else { return false }
        var profile = WireProfile.ofNewOrganization
        profile.revision = 1
        profile.organization = name
        try insertProfile(
            ProfileRow(
                scope: ProfileScope(organization: name), revision: 1, profile: profile, created: now, author: ""),
            into: connection)
        return true
    }
}

package struct OrganizationRow: Equatable, Sendable {
    package var name: String
    package var created: Int64
    package var devices: Int
    /// The newest over its own and its applications' profiles.
    package var profileRevision: UInt64
}

extension OrganizationRow {
    /// By name.
    static func all(in connection: Connection) throws(SQLiteError) -> [OrganizationRow] {
        try connection.rows(
            """
            SELECT name, created, (SELECT count(*) FROM device WHERE device.organization = organization.name),
            (SELECT coalesce(max(revision), 0) FROM profile WHERE profile.organization = organization.name)
            FROM organization ORDER BY name
            """
        ) { statement throws(SQLiteError) in
            OrganizationRow(
                name: statement.string(0), created: statement.int64(1), devices: statement.int(2),
                profileRevision: try statement.uint64(3))
        }
    }
}

extension RegistryDatabase {
    private static let profileColumns = "organization, application, revision, bytes, created, author"

    /// What devices of a scope get: the organization's newest profile overlaid by the application's newest.
    func deviceProfile(of scope: ProfileScope) throws(StoreError) -> DeviceProfile {
        let generation = profiles.generation
        let found = try read { () throws(SQLiteError) in try composedProfile(of: scope) }
        guard let found else {
            throw StoreError(.notFound, "there is no profile of organization \"\(scope.organization)\".")
        }
        profiles.insert(found, for: scope, readAt: generation)
        return found
    }

    func composedProfile(of scope: ProfileScope) throws(SQLiteError) -> DeviceProfile? {
        guard let organization = try newestProfile(ProfileScope(organization: scope.organization)) else { return nil }
        var application: ProfileRow?
        if !scope.application.isEmpty { application = try newestProfile(scope) }
        var profile = application.map { organization.profile.overlaid(by: $0.profile) } ?? organization.profile
        profile.revision = max(organization.revision, application?.revision ?? 0)
        profile.organization = scope.organization
        profile.application = application == nil ? "" : scope.application
        profile.privacyKey = try privacyKey(of: scope.organization)
        return DeviceProfile(revision: profile.revision, bytes: profile.encoded)
    }

    private func privacyKey(of organization: String) throws(SQLiteError) -> Data {
        try connection.first("SELECT privacy_key FROM organization WHERE name = ?", organization) { $0.data(0) }
            ?? Data()
    }

    func newestProfile(_ scope: ProfileScope) throws(SQLiteError) -> ProfileRow? {
        try connection.first(
            """
            SELECT \(Self.profileColumns) FROM profile WHERE organization = ? AND application = ? ORDER BY revision DESC LIMIT 1
            """, scope.organization, scope.application
        ) { statement throws(SQLiteError) in try Self.profile(statement, path: connection.path) }
    }

    /// An earlier revision's profile as a new revision.
    /// - Returns: `nil` where there is no such revision.
    func rollBackProfile(
        _ scope: ProfileScope, to revision: UInt64, expected: UInt64?, by author: AuditActor
    ) throws(ProfileError) -> ProfileRow? {
        let former: ProfileRow?
        do { former = try profile(scope, revision: revision) } catch { throw .store(error) }
        guard let former else { return nil }
        return try putProfile(former.profile, scope, expected: expected, by: author, restored: revision)
    }

    /// What devices of an application would get if this were put; nothing is changed.
    /// - Parameter application: of the devices; ignored where the scope is an application's.
    func previewProfile(
        _ profile: WireProfile, _ scope: ProfileScope, application: String
    ) throws(ProfileError) -> WireProfile {
        let outcome: Result<WireProfile, ProfileError>
        do {
            outcome = try read { () throws(SQLiteError) in
                let organization = try newestProfile(ProfileScope(organization: scope.organization))
                guard let organization else { return .failure(.unknownOrganization) }
                var effective = profile
                if !scope.application.isEmpty {
                    effective = organization.profile.overlaid(by: profile)
                } else if !application.isEmpty {
                    let own = try newestProfile(
                        ProfileScope(organization: scope.organization, application: application))
                    effective = own.map { profile.overlaid(by: $0.profile) } ?? profile
                }
                do throws(WireError) {
                    try profile.validate()
                    try effective.validate()
                } catch { return .failure(.invalid(error)) }
                return .success(effective)
            }
        } catch { throw .store(error) }
        return try outcome.get()
    }

    func profile(_ scope: ProfileScope, revision: UInt64?) throws(StoreError) -> ProfileRow? {
        try read { () throws(SQLiteError) in
            guard let revision else { return try newestProfile(scope) }
            return try connection.first(
                "SELECT \(Self.profileColumns) FROM profile WHERE organization = ? AND application = ? AND revision = ?",
                scope.organization, scope.application, revision
            ) { statement throws(SQLiteError) in try Self.profile(statement, path: connection.path) }
        }
    }

    /// Newest first.
    /// - Parameter application: `nil` for the organization's and all of its applications'.
    func profileRevisions(
        organization: String, application: String?, below revision: UInt64?, limit: Int
    ) throws(StoreError) -> ProfilePage {
        var rows = try read { () throws(SQLiteError) in
            try connection.rows(
                """
                SELECT \(Self.profileColumns) FROM profile WHERE organization = ?1 AND (?2 IS NULL OR application = ?2)
                AND (?3 IS NULL OR revision < ?3) ORDER BY revision DESC LIMIT ?4
                """, organization, application, revision.map { Int64(clamping: $0) }, limit + 1
            ) { statement throws(SQLiteError) in try Self.profile(statement, path: connection.path) }
        }
        guard rows.count > limit else { return ProfilePage(revisions: rows, next: nil) }
        rows.removeLast()
        return ProfilePage(revisions: rows, next: rows.last?.revision)
    }

    /// Makes a new revision of a scope's profile.
    /// - Parameters:
    ///   - expected: the scope's newest revision as the caller knows it, 0 for none; `nil`: whatever it is.
    ///   - restored: the earlier revision whose profile it is; `nil`: it is another one.
    func putProfile(
        _ profile: WireProfile, _ scope: ProfileScope, expected: UInt64?, by author: AuditActor, restored: UInt64? = nil
    ) throws(ProfileError) -> ProfileRow {
        let now = clock.now()
        let outcome: Result<ProfileRow, ProfileError>
        do {
            outcome = try transaction { () throws(SQLiteError) in
                let organization = try newestProfile(ProfileScope(organization: scope.organization))
                guard let organization else { return .failure(.unknownOrganization) }
                let newest = scope.application.isEmpty ? organization : try newestProfile(scope)
                if let expected, expected != newest?.revision ?? 0 {
                    return .failure(.notNewest(newest?.revision ?? 0))
                }
                var row = ProfileRow(
                    scope: scope, revision: try nextRevision(of: scope.organization), profile: profile, created: now,
                    author: author.name)
                row.profile.revision = row.revision
                row.profile.organization = scope.organization
                row.profile.application = scope.application
                row.profile.privacyKey = Data()
                do throws(WireError) {
                    try row.profile.validate()
                    // Two good profiles can be too much together (what is scrubbed adds up).
                    if !scope.application.isEmpty { try organization.profile.overlaid(by: row.profile).validate() }
                } catch { return .failure(.invalid(error)) }
                try Self.insertProfile(row, into: connection)
                try audit.append(
                    AuditEntry(
                        restored == nil ? .profilePut : .profileRollback, by: author, organization: scope.organization,
                        subject: scope.application,
                        detail: ["revision": "\(row.revision)"].merging(restored.map { ["restored": "\($0)"] } ?? [:]) {
                            $1
                        }),
                    at: now)
                return .success(row)
            }
        } catch { throw .store(error) }
        let row = try outcome.get()
        profiles.remove { key, _ in key.organization == scope.organization }
        return row
    }

    static func insertProfile(_ row: ProfileRow, into connection: Connection) throws(SQLiteError) {
        try connection.run(
            "INSERT INTO profile (\(profileColumns)) VALUES (?, ?, ?, ?, ?, ?)", row.scope.organization,
            row.scope.application, row.revision, row.profile.encoded, row.created, row.author)
    }

    private func nextRevision(of organization: String) throws(SQLiteError) -> UInt64 {
        try connection.first(
            "SELECT coalesce(max(revision), 0) + 1 FROM profile WHERE organization = ?", organization
        ) { statement throws(SQLiteError) in try statement.uint64(0) } ?? 1
    }

    private static func profile(_ statement: Statement, path: String) throws(SQLiteError) -> ProfileRow {
        let profile: WireProfile
        do throws(WireError) { profile = try WireProfile.decode(statement.data(3)) } catch {
            throw SQLiteError(
                code: .corrupt, message: "\(path): a profile of \(statement.string(0)) is not one: \(error)",
                operation: "read profile")
        }
        return ProfileRow(
            scope: ProfileScope(organization: statement.string(0), application: statement.string(1)),
            revision: try statement.uint64(2), profile: profile, created: statement.int64(4),
            author: statement.string(5))
    }
}
