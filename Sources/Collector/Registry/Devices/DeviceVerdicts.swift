import WireModel

/// The verdicts of compliance and of compromise that a device last reported, and when.
///
/// They are kept apart from the newest beacon, because a beacon has neither during do-not-disturb and while consent is
/// not granted.
package struct DeviceVerdicts: Equatable, Sendable {
    /// Only the fields of the verdicts are set, with the rules and findings behind them, and the profile's revision.
    package var beacon: WireBeacon
    /// When the beacon came, in microseconds since 1970 by the collector's clock.
    package var at: Int64
    /// When the device made the beacon, by its clocks.
    package var made: RecordStamp

    init(beacon: WireBeacon, at: Int64, made: RecordStamp) {
        self.beacon = beacon
        self.at = at
        self.made = made
        // A clock that is ahead must not make every later beacon look old once it is put right.
        self.made.wallTime = min(made.wallTime, at)
    }

    /// - Returns: `nil` for a beacon without verdicts.
    init?(of beacon: WireBeacon, at: Int64, made: RecordStamp) {
        guard beacon.doNotDisturb != .yes, [.granted, .unspecified].contains(beacon.consent) else { return nil }
        var reported = WireBeacon()
        reported.profileRevision = beacon.profileRevision
        reported.deviceCompliance = beacon.deviceCompliance
        reported.applicationCompliance = beacon.applicationCompliance
        reported.rules = beacon.rules
        reported.compromised = beacon.compromised
        reported.findings = beacon.findings
        self.init(beacon: reported, at: at, made: made)
    }

    /// Whether these replace others. A beacon can come after one that was made later: a record that the device set
    /// aside and sent again, or that it moved into another epoch.
    func replaces(_ former: DeviceVerdicts?) -> Bool { former.map { !made.isEarlier(than: $0.made) } ?? true }
}

extension RecordStamp {
    /// Within a boot the time since boot decides, which nobody can set. Otherwise the wall clock decides.
    package func isEarlier(than other: RecordStamp) -> Bool {
        if let bootID, bootID == other.bootID { return timeSinceBoot < other.timeSinceBoot }
        return wallTime < other.wallTime
    }
}
