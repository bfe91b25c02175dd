import FoundationEssentials
import RecordStore
import WireModel

extension MetadataService {
    /// The revision of a device's profile, from memory once it was read.
    package nonisolated func profileRevision(of scope: ProfileScope) async throws(StoreError) -> UInt64 {
        try await deviceProfile(of: scope).revision
    }

    /// The profile that a device of this organization and application receives, with the organization's key. Its
    /// revision changes whenever either profile changes, and only grows. From memory once it was read.
    /// - Throws: `.notFound` if there is no such organization.
    package nonisolated func deviceProfile(of scope: ProfileScope) async throws(StoreError) -> DeviceProfile {
        if let known = profiles[scope] { return known }
        let generation = profiles.generation
        let found = try await readers.read { connection throws(StoreError) in
            try DeviceProfile.composed(of: scope, in: connection)
        }
        guard let found else {
            throw StoreError(.notFound, "there is no profile of organization \"\(scope.organization)\".")
        }
        profiles.insert(found, for: scope, readAt: generation)
        return found
    }

    /// Makes a new revision from an earlier one's profile, checked like any other.
    /// - Returns: `nil` if the scope has no such revision.
    package func rollBackProfile(
        _ scope: ProfileScope, to revision: UInt64, expected: UInt64?, by author: AuditActor
    ) throws(ProfileError) -> ProfileRow? {
        let former: ProfileRow?
        do {
            former = try read { () throws(StoreError) in
                try ProfileRow.one(scope, revision: revision, in: connection)
            }
        } catch { throw .store(error) }
        guard let former else { return nil }
        return try putProfile(former.profile, scope, expected: expected, by: author, restored: revision)
    }

    /// Checks a profile as `putProfile` does, and returns what devices would receive. Changes nothing.
    /// - Parameter application: the devices' application; used only if the profile is the organization's.
    package nonisolated func previewProfile(
        _ profile: WireProfile, _ scope: ProfileScope, application: String
    ) async throws(ProfileError) -> WireProfile {
        let outcome: Result<WireProfile, ProfileError>
        do {
            outcome = try await readers.read { connection throws(StoreError) in
                let organization = try ProfileRow.one(ProfileScope(organization: scope.organization), in: connection)
                guard let organization else { return .failure(.unknownOrganization) }
                var effective = profile
                if !scope.application.isEmpty {
                    effective = organization.profile.overlaid(by: profile)
                } else if !application.isEmpty {
                    let own = try ProfileRow.one(
                        ProfileScope(organization: scope.organization, application: application), in: connection)
                    effective = own.map { profile.overlaid(by: $0.profile) } ?? profile
                }
                do throws(WireError) {
                    try profile.validate(isOverlay: !scope.application.isEmpty)
                    try effective.validate()
                } catch { return .failure(.invalid(error)) }
                if scope.application.isEmpty, let fault = try profile.overlayFault(of: scope, in: connection) {
                    return .failure(.invalid(fault))
                }
                return .success(effective)
            }
        } catch { throw .store(error) }
        return try outcome.get()
    }

    /// A scope's own profile without the overlay.
    /// - Parameter revision: `nil` for the newest.
    package nonisolated func profile(
        _ scope: ProfileScope, revision: UInt64?
    ) async throws(StoreError) -> ProfileRow? {
        try await readers.read { connection throws(StoreError) in
            try ProfileRow.one(scope, revision: revision, in: connection)
        }
    }

    /// Revisions, newest first.
    /// - Parameters:
    ///   - application: `nil` for the organization's and all of its applications'; empty for the organization's own.
    ///   - isNewestOnly: only the newest revision of each profile.
    ///   - revision: revisions below this one; `nil` starts at the newest.
    ///   - limit: 1 to 1,000.
    package nonisolated func profileRevisions(
        organization: String, application: String?, isNewestOnly: Bool = false, below revision: UInt64?, limit: Int
    ) async throws(StoreError) -> ListPage<ProfileRow, UInt64> {
        try Self.check(limit: limit)
        let rows = try await readers.read { connection throws(StoreError) in
            try connection.rows(
                """
                SELECT \(ProfileRow.columns) FROM profile WHERE organization = ?1 AND (?2 IS NULL OR application = ?2)
                AND (?3 IS NULL OR revision < ?3) AND (?4 = 0 OR revision = (
                    SELECT max(revision) FROM profile AS other
                    WHERE other.organization = profile.organization AND other.application = profile.application))
                ORDER BY revision DESC LIMIT ?5
                """, organization, application, revision.map { Int64(clamping: $0) }, isNewestOnly, limit + 1
            ) { statement throws(StoreError) in try ProfileRow(statement, path: connection.name) }
        }
        return ListPage(rows, limit: limit) { $0.revision }
    }

    /// Makes a new revision, checked as a device will check it. The privacy key is neither accepted nor returned.
    /// - Parameters:
    ///   - expected: the scope's newest revision as the caller knows it, 0 for none; `nil` for any.
    ///   - author: for the list of revisions and the audit trail.
    package func putProfile(
        _ profile: WireProfile, _ scope: ProfileScope, expected: UInt64?, by author: AuditActor
    ) throws(ProfileError) -> ProfileRow {
        try putProfile(profile, scope, expected: expected, by: author, restored: nil)
    }

    /// - Parameter restored: the earlier revision whose profile it is; `nil` for a new profile.
    private func putProfile(
        _ profile: WireProfile, _ scope: ProfileScope, expected: UInt64?, by author: AuditActor, restored: UInt64?
    ) throws(ProfileError) -> ProfileRow {
        let now = clock.now()
        return try change { () throws(StoreError) -> Result<ProfileRow, ProfileError> in
            let organization = try ProfileRow.one(ProfileScope(organization: scope.organization), in: connection)
            guard let organization else { return .failure(.unknownOrganization) }
            let newest = scope.application.isEmpty ? organization : try ProfileRow.one(scope, in: connection)
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
                try row.profile.validate(isOverlay: !scope.application.isEmpty)
                // Two valid profiles can exceed a limit together, because scrub rules add up, and a rule of one can
                // name a geofence of the other.
                if !scope.application.isEmpty { try organization.profile.overlaid(by: row.profile).validate() }
            } catch { return .failure(.invalid(error)) }
            if scope.application.isEmpty, let fault = try row.profile.overlayFault(of: scope, in: connection) {
                return .failure(.invalid(fault))
            }
            try row.insert(into: connection)
            recordChanged(.profile(organization: scope.organization))
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
    }

    private func nextRevision(of organization: String) throws(StoreError) -> UInt64 {
        try connection.first(
            "SELECT coalesce(max(revision), 0) + 1 FROM profile WHERE organization = ?", organization
        ) { statement throws(StoreError) in try statement.uint64(0) } ?? 1
    }
}

extension WireProfile {
    /// Why this profile of an organization does not go with the newest profile of one of its applications: a rule would
    /// name a geofence that is not there. `nil`: it goes with all of them.
    fileprivate func overlayFault(
        of scope: ProfileScope, in connection: any RegistrySession
    ) throws(StoreError) -> WireError? {
        let applications = try connection.rows(
            """
            SELECT DISTINCT application FROM profile WHERE organization = ? AND application <> ''
            ORDER BY application
            """, scope.organization
        ) { $0.string(0) }
        for application in applications {
            let scope = ProfileScope(organization: scope.organization, application: application)
            guard let row = try ProfileRow.one(scope, in: connection) else { continue }
            do throws(WireError) { try overlaid(by: row.profile).validateGeofenceNames() } catch {
                return WireError(
                    error.code, "\(error.message) This is with the profile of application \(application) laid over it.")
            }
        }
        return nil
    }
}

extension DeviceProfile {
    /// The organization's newest profile overlaid by the application's newest, with the organization's key.
    static func composed(of scope: ProfileScope, in connection: any RegistrySession) throws(StoreError)
        -> DeviceProfile?
    {
        let ofOrganization = try ProfileRow.one(ProfileScope(organization: scope.organization), in: connection)
        guard let organization = ofOrganization else { return nil }
        var application: ProfileRow?
        if !scope.application.isEmpty { application = try ProfileRow.one(scope, in: connection) }
        var profile = application.map { organization.profile.overlaid(by: $0.profile) } ?? organization.profile
        profile.revision = max(organization.revision, application?.revision ?? 0)
        profile.organization = scope.organization
        profile.application = application == nil ? "" : scope.application
        profile.privacyKey =
            try connection.first("SELECT privacy_key FROM organization WHERE name = ?", scope.organization) {
                $0.data(0)
            } ?? Data()
        return DeviceProfile(revision: profile.revision, bytes: profile.encoded)
    }
}

extension ProfileRow {
    fileprivate static let columns = "organization, application, revision, bytes, created, author"

    /// - Parameter revision: `nil` for the newest.
    fileprivate static func one(
        _ scope: ProfileScope, revision: UInt64? = nil, in connection: any RegistrySession
    ) throws(StoreError) -> ProfileRow? {
        try connection.first(
            """
            SELECT \(columns) FROM profile WHERE organization = ?1 AND application = ?2 \
            AND (?3 IS NULL OR revision = ?3)
            ORDER BY revision DESC LIMIT 1
            """, scope.organization, scope.application, revision.map { Int64(clamping: $0) }
        ) { statement throws(StoreError) in try ProfileRow(statement, path: connection.name) }
    }

    package func insert(into connection: any RegistrySession) throws(StoreError) {
        try connection.run(
            "INSERT INTO profile (\(Self.columns)) VALUES (?, ?, ?, ?, ?, ?)", scope.organization, scope.application,
            revision, profile.encoded, created, author)
    }

    /// - Parameter row: has `columns`.
    fileprivate init(_ row: RegistryRow, path: String) throws(StoreError) {
        let scope = ProfileScope(
            organization: try row.string("organization"), application: try row.string("application"))
        let (revision, bytes) = (try row.uint64("revision"), try row.data("bytes"))
        let profile: WireProfile
        do throws(WireError) { profile = try WireProfile.decode(bytes) } catch {
            throw StoreError(.corrupt, "\(path): a profile of \(scope.organization) cannot be read: \(error)")
        }
        self.init(
            scope: scope, revision: revision, profile: profile, created: try row.int64("created"),
            author: try row.string("author"))
    }
}
