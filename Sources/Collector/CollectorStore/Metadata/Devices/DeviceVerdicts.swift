import WireModel

/// What a device last reported of compliance and of compromise, and when.
///
/// They are kept apart from the newest beacon, because a beacon has neither during do-not-disturb and while consent is
/// not granted.
package struct DeviceVerdicts: Equatable, Sendable {
    /// Only the fields of the verdicts are set, with the rules and findings behind them.
    package var beacon: WireBeacon
    /// When the beacon came, in microseconds since 1970 by the collector's clock.
    package var at: Int64

    init(beacon: WireBeacon, at: Int64) {
        self.beacon = beacon
        self.at = at
    }

    /// - Returns: `nil` for a beacon without verdicts.
    init?(of beacon: WireBeacon, at: Int64) {
        guard beacon.doNotDisturb != .yes, [.granted, .unspecified].contains(beacon.consent) else { return nil }
        var told = WireBeacon()
        told.deviceCompliance = beacon.deviceCompliance
        told.applicationCompliance = beacon.applicationCompliance
        told.rules = beacon.rules
        told.compromised = beacon.compromised
        told.findings = beacon.findings
        self.init(beacon: told, at: at)
    }
}
