/// Whether a device is heard of as it said it would be. Pure: derived from the schedule it keeps and when its newest beacon came.
package enum ReportingState: String, Sendable, CaseIterable {
    /// Enrolled, with no schedule of beacons to measure it by.
    case enrolled
    case reporting
    /// Two beacons have not come.
    case late
    /// Five beacons have not come.
    case silent
    /// It has unenrolled.
    case left
    /// An administrator has revoked it.
    case revoked

    /// Beacons missed.
    package static let lateAfter: Int64 = 2
    package static let silentAfter: Int64 = 5

    /// Beacons are counted from the newest that came, or from the enrollment while none has.
    package init(of device: DeviceRow, at now: Int64) {
        self.init(
            hasLeft: device.left != nil, isRevoked: device.revoked != nil, expectedBeaconSeconds: device.expectedBeaconSeconds,
            lastBeacon: device.lastBeacon, enrolled: device.enrolled, at: now)
    }

    init(hasLeft: Bool, isRevoked: Bool, expectedBeaconSeconds: UInt32?, lastBeacon: Int64?, enrolled: Int64, at now: Int64) {
        if hasLeft {
            self = .left
        } else if isRevoked {
            self = .revoked
        } else if let seconds = expectedBeaconSeconds, seconds > 0 {
            let (elapsed, isOver) = now.subtractingReportingOverflow(max(lastBeacon ?? .min, enrolled))
            let interval = Int64(seconds) * 1_000_000
            // A quarter of an interval for the way: a beacon that is due at this moment has not been missed.
            let missed = isOver ? Self.silentAfter : (elapsed - interval / 4) / interval
            self = missed >= Self.silentAfter ? .silent : missed >= Self.lateAfter ? .late : .reporting
        } else {
            self = .enrolled
        }
    }
}
