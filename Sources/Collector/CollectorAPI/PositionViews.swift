/// What one record says of where its device was, as people see it. Only a report of the state `position` has
/// coordinates. Numbers that cannot be, such as an infinite altitude, are left out.
package struct PositionView: Codable, Equatable, Sendable {
    /// `sample` or `beacon`: the record that says it.
    package var source = ""
    /// `position`; `no-fix` if the receiver had none, or could not be asked any more; `withheld` if the device had a
    /// fix and left the position out; `invalid` for coordinates that are nowhere on Earth.
    package var state = ""
    /// The device's wall clock. For the beacon that is kept with a device: when it came.
    package var time = ""
    package var receivedAt: String?
    /// The time of the fix, by the receiver; absent if the device does not tell it.
    package var measuredAt: String?
    /// Degrees, WGS 84, -90 to 90.
    package var latitude: Double?
    /// Degrees, WGS 84, -180 to 180.
    package var longitude: Double?
    package var altitudeMeters: Double?
    package var accuracyMeters: Double?
    package var verticalAccuracyMeters: Double?
    package var speedMetersPerSecond: Double?
    /// Degrees, clockwise from north.
    package var courseDegrees: Double?
    /// 1 without a fix, 2 for two dimensions, 3 for three.
    package var fix: UInt32?
    package var satellitesVisible: UInt32?
    package var satellitesUsed: UInt32?
    /// Whether the device reported between the position before it and this one, and had no position. Only in an answer
    /// with `step`.
    package var gap: Bool?
    /// When a report after this position said that there was no position, if that was within its step. Only in an
    /// answer with `step`, which leaves that report out.
    package var lostAt: String?
    package var test: Bool?

    package init() {}
}

/// The newest that is known of where a device is.
package struct DeviceLocationView: Codable, Equatable, Sendable {
    /// The newest report of any state: a lost fix is told here, with the older position beside it.
    package var newest = PositionView()
    /// The newest position; absent if the newest records have none.
    package var position: PositionView?
    /// Seconds from the fix to now; 0 for one from the future. Absent without a position.
    package var ageSeconds: Int64?
    /// Since when the device has had no fix: the time of the first report after `position` that says so, among the
    /// newest samples. Absent unless `newest` says so, too.
    package var lostSince: String?

    package init() {}
}

extension APIOperation where Answer == Page<PositionView> {
    package static func listPositions(_ device: String) -> Self {
        Self("GET", "/api/v1/devices/\(device.percentEncoded)/positions")
    }
}
