import CollectorStore
import WireModel

/// Profiles of organizations and their applications, by revision: the port the routes use; the store's `CollectorRegistry` is behind it.
package protocol ProfileRegistry: Sendable {
    /// The newest revision of what a device of this scope gets. Asked with every batch: from memory but for the first time.
    func profileRevision(of scope: ProfileScope) async throws(StoreError) -> UInt64
    /// What a device of this scope gets: the organization's profile overlaid by the application's, with the organization's key.
    func deviceProfile(of scope: ProfileScope) async throws(StoreError) -> DeviceProfile
    /// A scope's own profile. - Parameter revision: `nil` for the newest.
    func profile(_ scope: ProfileScope, revision: UInt64?) async throws(StoreError) -> ProfileRow?
    /// Newest first. - Parameter application: `nil` for the organization's and all of its applications'.
    func profileRevisions(organization: String, application: String?, below revision: UInt64?, limit: Int) async throws(StoreError)
        -> ProfilePage
    /// Makes a new revision. - Parameter expected: the scope's newest one as the caller knows it, 0 for none; `nil`: whatever it is.
    func putProfile(_ profile: WireProfile, _ scope: ProfileScope, expected: UInt64?, by author: AuditActor) async throws(ProfileError)
        -> ProfileRow
    /// Makes a new revision of an earlier one's profile. - Returns: `nil` where the scope has no such revision.
    func rollBackProfile(_ scope: ProfileScope, to revision: UInt64, expected: UInt64?, by author: AuditActor) async throws(ProfileError)
        -> ProfileRow?
    /// Checks a profile as `putProfile` does, and tells what devices would get by it; nothing is changed.
    /// - Parameter application: whose devices; only where the profile is the organization's.
    func previewProfile(_ profile: WireProfile, _ scope: ProfileScope, application: String) async throws(ProfileError) -> WireProfile
    /// How many devices run which revision.
    func profileAdoption(organization: String) async throws(StoreError) -> [ProfileAdoption]
}

extension CollectorRegistry: ProfileRegistry {}

extension DeviceRow {
    /// Whose profile it runs.
    var profileScope: ProfileScope { ProfileScope(organization: organization, application: application) }
}
