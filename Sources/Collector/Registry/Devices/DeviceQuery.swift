import WireModel

/// Selects and orders the devices of a list.
package struct DeviceQuery: Equatable, Sendable {
    package enum Sort: String, Sendable, CaseIterable {
        case id
        case name
        /// A device never seen comes before every time.
        case lastSeen
        case enrolled
        /// The order of `ReportingState`'s cases.
        case state
    }

    /// The profile revision that a device applies.
    package enum Revision: Equatable, Sendable {
        /// It never reported one.
        case none
        case number(UInt64)

        package init(_ number: UInt64?) { self = number.map(Revision.number) ?? .none }
    }

    /// `nil` for all.
    package var organization: String?
    /// Empty for all.
    package var states: Set<ReportingState> = []
    /// The name of a system or distribution, or a distribution with its version ("debian 12"); in either case. Empty
    /// for devices that reported none.
    package var operatingSystem: String?
    /// Empty for devices that reported none, as in the next two.
    package var agentVersion: String?
    /// Bundle id.
    package var application: String?
    /// The application's version of the newest beacon.
    package var applicationVersion: String?
    /// The compliance of device and application together.
    package var compliance: WireCompliance?
    package var compromised: WireVerdict?
    package var profileRevision: Revision?
    /// Id of the token with which a device last enrolled.
    package var enrollmentToken: String?
    /// Include test devices.
    package var withTest = false
    /// Words that must each occur in a device's name, id, user, operating system, model or application; in either case.
    package var text = ""
    package var sort = Sort.id
    package var isDescending = false

    package init(organization: String? = nil) {
        self.organization = organization
    }
}

/// A position in a sorted list of devices: after the device with this key and id.
package struct DevicePosition: Equatable, Sendable {
    package enum Key: Equatable, Sendable {
        case none
        case text(String)
        case number(Int64)
    }

    package var key: Key
    package var id: DeviceID

    package init(key: Key, id: DeviceID) {
        self.key = key
        self.id = id
    }
}

/// A device, and whom it belongs to.
package struct DeviceOwner: Equatable, Sendable {
    package var id: DeviceID
    package var organization: String
    package var isTest: Bool
}

package struct DeviceList: Equatable, Sendable {
    package var devices: [DeviceRow]
    /// All matching devices, not only those of the page.
    package var total: Int
    package var next: DevicePosition?
}
