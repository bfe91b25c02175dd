import WireModel

/// Which devices a list shows, and in which order.
package struct DeviceQuery: Equatable, Sendable {
    package enum Sort: String, Sendable, CaseIterable {
        case id
        case name
        /// Never seen is before every time.
        case lastSeen
        case enrolled
        /// In the order of `ReportingState`'s cases.
        case state
    }

    /// `nil`: all.
    package var organization: String?
    /// Empty: all.
    package var states: Set<ReportingState> = []
    /// A system's name, a distribution, or a distribution with its version ("debian 12"); in either case.
    package var operatingSystem: String?
    package var agentVersion: String?
    /// Bundle id.
    package var application: String?
    /// Of device and application together.
    package var compliance: WireCompliance?
    package var compromised: WireVerdict?
    /// Test devices too.
    package var withTest = false
    /// Words, each of which a device's name, id, user, operating system, model or application must hold; in either
    /// case.
    package var text = ""
    package var sort = Sort.id
    package var isDescending = false

    package init(organization: String? = nil) {
        self.organization = organization
    }
}

/// A place in a sorted list of devices: after the device with this key and id.
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

package struct DeviceList: Equatable, Sendable {
    package var devices: [DeviceRow]
    /// Of all that match, not of the page.
    package var total: Int
    package var next: DevicePosition?
}
