import WireModel

/// A device that has gone silent by the schedule it keeps (`ReportingState`).
package struct SilentDevice: Equatable, Sendable {
    package var id: DeviceID
    package var organization: String
    /// Since its last beacon, or its enrollment.
    package var silentSeconds: Int64
    package var expectedBeaconSeconds: UInt32

    package init(id: DeviceID, organization: String, silentSeconds: Int64, expectedBeaconSeconds: UInt32) {
        self.id = id
        self.organization = organization
        self.silentSeconds = silentSeconds
        self.expectedBeaconSeconds = expectedBeaconSeconds
    }

    var detail: String {
        "No beacon came for \(silentSeconds) s; one is expected every \(expectedBeaconSeconds) s. The device is off, cannot reach the collector, or is "
            + "gone: one that is gone for good is better revoked or deleted."
    }
}
