import FoundationEssentials
import WireModel

/// Whose profile it is: an organization's, or that of one of its applications.
package struct ProfileScope: Hashable, Sendable {
    package var organization: String
    /// Bundle id; empty: the whole organization.
    package var application: String

    package init(organization: String, application: String = "") {
        self.organization = organization
        self.application = application
    }
}

/// One revision of a scope's profile as it was put; never with the organization's privacy key.
package struct ProfileRow: Equatable, Sendable {
    package var scope: ProfileScope
    /// Counted over the organization's and all of its applications' profiles, so that the greater of two is what
    /// changed last.
    package var revision: UInt64
    package var profile: WireProfile
    /// Microseconds since 1970.
    package var created: Int64
    /// Who put it; empty for the one an organization begins with.
    package var author: String
}

package struct ProfilePage: Equatable, Sendable {
    package var revisions: [ProfileRow]
    /// The last revision of the page where older ones follow.
    package var next: UInt64?
}

/// What a device gets: its organization's profile, overlaid by its application's, with the organization's key;
/// serialized.
package struct DeviceProfile: Equatable, Sendable {
    package var revision: UInt64
    package var bytes: Data
}

package enum ProfileError: Error, Equatable, Sendable {
    case unknownOrganization
    /// The newest revision is another than the one the change was made from.
    case notNewest(UInt64)
    /// The profile, or what it makes together with the organization's, cannot be.
    case invalid(WireError)
    case store(StoreError)
}

/// How many devices run a revision of a profile.
package struct ProfileAdoption: Equatable, Sendable {
    package struct Key: Hashable, Sendable {
        /// Of the devices; empty: the agent itself.
        package var application: String
        /// What they say they run; `nil`: they have not said.
        package var revision: UInt64?

        package init(application: String, revision: UInt64?) {
            self.application = application
            self.revision = revision
        }
    }

    package var key: Key
    package var devices: Int
    /// How many of them do not do all of it, by the name of what they do not do.
    package var findings: [String: Int]

    package init(key: Key, devices: Int, findings: [String: Int] = [:]) {
        self.key = key
        self.devices = devices
        self.findings = findings
    }
}
