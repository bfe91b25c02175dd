import CollectorStore
import Foundation
import WireModel

/// Profiles of organizations and their applications, by revision: the port the routes use; the store's
/// `CollectorRegistry` is behind it.
package protocol ProfileRegistry: Sendable {
    /// The newest revision of what a device of this scope gets. Asked with every batch: from memory but for the first
    /// time.
    func profileRevision(of scope: ProfileScope) async throws(StoreError) -> UInt64
    /// What a device of this scope gets: the organization's profile overlaid by the application's, with the
    /// organization's key.
    func deviceProfile(of scope: ProfileScope) async throws(StoreError) -> DeviceProfile
    /// A scope's own profile. - Parameter revision: `nil` for the newest.
    func profile(_ scope: ProfileScope, revision: UInt64?) async throws(StoreError) -> ProfileRow?
    /// Newest first. - Parameter application: `nil` for the organization's and all of its applications'.
    func profileRevisions(organization: String, application: String?, below revision: UInt64?, limit: Int)
        async throws(StoreError)
        -> ProfilePage
    /// Makes a new revision. - Parameter expected: the scope's newest one as the caller knows it, 0 for none; `nil`:
    /// whatever it is.
    func putProfile(_ profile: WireProfile, _ scope: ProfileScope, expected: UInt64?, by author: AuditActor)
        async throws(ProfileError)
        -> ProfileRow
    /// Makes a new revision of an earlier one's profile. - Returns: `nil` where the scope has no such revision.
    func rollBackProfile(_ scope: ProfileScope, to revision: UInt64, expected: UInt64?, by author: AuditActor)
        async throws(ProfileError)
        -> ProfileRow?
    /// Checks a profile as `putProfile` does, and tells what devices would get by it; nothing is changed.
    /// - Parameter application: whose devices; only where the profile is the organization's.
    func previewProfile(_ profile: WireProfile, _ scope: ProfileScope, application: String) async throws(ProfileError)
        -> WireProfile
    /// How many devices run which revision.
    func profileAdoption(organization: String) async throws(StoreError) -> [ProfileAdoption]
}

extension CollectorRegistry: ProfileRegistry {}

extension DeviceRow {
    /// Whose profile it runs.
    var profileScope: ProfileScope { ProfileScope(organization: organization, application: application) }
}

/// Profiles as a collector takes them that ends TLS itself: certificate pins without the pin of its own key are
/// refused, however they come, because no device could reach it any more, also not for the correction.
///
/// Behind a proxy that ends TLS the collector does not know which key devices see, and takes any pins.
struct PinCheckedProfiles: ProfileRegistry {
    let base: any ProfileRegistry
    /// Of the certificate that is served now; `nil`: this collector does not end TLS.
    let ownPin: @Sendable () -> Data?

    func putProfile(
        _ profile: WireProfile, _ scope: ProfileScope, expected: UInt64?, by author: AuditActor
    ) async throws(ProfileError) -> ProfileRow {
        try check(profile)
        return try await base.putProfile(profile, scope, expected: expected, by: author)
    }

    func rollBackProfile(
        _ scope: ProfileScope, to revision: UInt64, expected: UInt64?, by author: AuditActor
    ) async throws(ProfileError) -> ProfileRow? {
        let row: ProfileRow?
        do throws(StoreError) { row = try await base.profile(scope, revision: revision) } catch { throw .store(error) }
        guard let row else { return nil }
        try check(row.profile)
        return try await base.rollBackProfile(scope, to: revision, expected: expected, by: author)
    }

    func previewProfile(
        _ profile: WireProfile, _ scope: ProfileScope, application: String
    ) async throws(ProfileError) -> WireProfile {
        try check(profile)
        return try await base.previewProfile(profile, scope, application: application)
    }

    private func check(_ profile: WireProfile) throws(ProfileError) {
        guard !profile.certificatePins.isEmpty, let own = ownPin(), !profile.certificatePins.contains(own) else {
            return
        }
        throw .invalid(
            WireError(
                .invalidField,
                "certificatePins lacks the pin of this collector's own key, \(own.base64EncodedString()): devices could not reach it any more. "
                    + "Add it; a former key's pin can go once this collector serves the new key."))
    }

    func profileRevision(of scope: ProfileScope) async throws(StoreError) -> UInt64 {
        try await base.profileRevision(of: scope)
    }

    func deviceProfile(of scope: ProfileScope) async throws(StoreError) -> DeviceProfile {
        try await base.deviceProfile(of: scope)
    }

    func profile(_ scope: ProfileScope, revision: UInt64?) async throws(StoreError) -> ProfileRow? {
        try await base.profile(scope, revision: revision)
    }

    func profileRevisions(
        organization: String, application: String?, below revision: UInt64?, limit: Int
    ) async throws(StoreError) -> ProfilePage {
        try await base.profileRevisions(
            organization: organization, application: application, below: revision, limit: limit)
    }

    func profileAdoption(organization: String) async throws(StoreError) -> [ProfileAdoption] {
        try await base.profileAdoption(organization: organization)
    }
}

/// What could be put, and should be looked at first.
struct ProfileFinding: Encodable, Equatable {
    /// A JSON Pointer into the profile.
    var path: String
    var detail: String

    static func findings(_ profile: WireProfile) -> [ProfileFinding] {
        guard profile.certificatePins.count == 1 else { return [] }
        return [
            ProfileFinding(
                path: "/certificatePins",
                detail:
                    "There is no backup pin. If the one key is lost, no device that has this profile reaches the collector any more. Make a "
                    + "second key, keep it elsewhere, and add its pin.")
        ]
    }
}
