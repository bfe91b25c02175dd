import WireModel

extension CollectorRegistry {
    /// The revision of a device's profile, from memory once it was read.
    package func profileRevision(of scope: ProfileScope) async throws(StoreError) -> UInt64 {
        if let known = database.profiles[scope] { return known.revision }
        return try await database.deviceProfile(of: scope).revision
    }

    /// What a device of this organization and application gets. Its revision changes whenever either profile changes, and only grows.
    /// - Throws: `.notFound` where there is no such organization.
    package func deviceProfile(of scope: ProfileScope) async throws(StoreError) -> DeviceProfile {
        if let known = database.profiles[scope] { return known }
        return try await database.deviceProfile(of: scope)
    }

    /// A scope's own profile as it was put, without the overlay.
    /// - Parameter revision: `nil` for the newest.
    package func profile(_ scope: ProfileScope, revision: UInt64?) async throws(StoreError) -> ProfileRow? {
        try await database.profile(scope, revision: revision)
    }

    /// Revisions, newest first.
    /// - Parameters:
    ///   - application: `nil` for the organization's and all of its applications'; empty for the organization's own.
    ///   - revision: those below it; `nil` from the newest.
    ///   - limit: 1 to 1,000.
    package func profileRevisions(
        organization: String, application: String?, below revision: UInt64?, limit: Int
    ) async throws(StoreError) -> ProfilePage {
        guard (1...1000).contains(limit) else { throw StoreError(.invalid, "limit is \(limit); expected 1 to 1,000.") }
        return try await database.profileRevisions(organization: organization, application: application, below: revision, limit: limit)
    }

    /// Makes a new revision, checked as a device will check it. The privacy key is neither taken nor given.
    /// - Parameters:
    ///   - expected: the scope's newest revision as the caller knows it, 0 for none; `nil`: whatever it is.
    ///   - author: who does it, for the list of revisions and the audit trail.
    package func putProfile(
        _ profile: WireProfile, _ scope: ProfileScope, expected: UInt64?, by author: AuditActor
    ) async throws(ProfileError) -> ProfileRow {
        try await database.putProfile(profile, scope, expected: expected, by: author)
    }

    /// Makes a new revision of an earlier one's profile, checked as any other.
    /// - Returns: `nil` where the scope has no such revision.
    package func rollBackProfile(
        _ scope: ProfileScope, to revision: UInt64, expected: UInt64?, by author: AuditActor
    ) async throws(ProfileError) -> ProfileRow? {
        try await database.rollBackProfile(scope, to: revision, expected: expected, by: author)
    }

    /// Checks a profile as `putProfile` does, and tells what devices would get by it; nothing is changed.
    /// - Parameter application: whose devices; only where the profile is the organization's.
    package func previewProfile(
        _ profile: WireProfile, _ scope: ProfileScope, application: String
    ) async throws(ProfileError) -> WireProfile {
        try await database.previewProfile(profile, scope, application: application)
    }
}
