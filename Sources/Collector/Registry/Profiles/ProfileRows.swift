import FoundationEssentials
import RecordStore
import WireModel

/// The owner of a profile: an organization, or one of its applications.
package struct ProfileScope: Hashable, Sendable {
    package var organization: String
    /// Bundle id; empty for the whole organization.
    package var application: String

    package init(organization: String, application: String = "") {
        self.organization = organization
        self.application = application
    }
}

/// One revision of a scope's profile as it was stored; never with the organization's privacy key.
package struct ProfileRow: Equatable, Sendable {
    package var scope: ProfileScope
    /// Counted over the organization's and all of its applications' profiles, so the greater of two is the later
    /// change.
    package var revision: UInt64
    package var profile: WireProfile
    /// Microseconds since 1970.
    package var created: Int64
    /// The author; empty for an organization's initial profile.
    package var author: String
}

/// The profile that a device receives: its organization's, overlaid by its application's, with the organization's key;
/// serialized.
package struct DeviceProfile: Equatable, Sendable {
    package var revision: UInt64
    package var bytes: Data
}

package enum ProfileError: StoreRefusal, Equatable, Sendable {
    case unknownOrganization
    /// The newest revision is not the one that the change was made from.
    case notNewest(UInt64)
    /// The profile is invalid, alone or together with the organization's.
    case invalid(WireError)
    case store(StoreError)
}

/// The number of devices that apply a revision of a profile.
package struct ProfileAdoption: Equatable, Sendable {
    package struct Key: Hashable, Sendable {
        /// The devices' application; empty for the agent itself.
        package var application: String
        /// The revision that they report; `nil` if they have not reported any.
        package var revision: UInt64?
    }

    package var key: Key
    package var devices: Int
    /// The number of devices that cannot apply a setting, by setting.
    package var findings: [String: Int] = [:]
}
