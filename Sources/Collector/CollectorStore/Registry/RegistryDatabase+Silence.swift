import SQLite
import WireModel

extension RegistryDatabase {
    /// But for test devices, and those that have left or were revoked.
    func silentDevices() throws(StoreError) -> [SilentDevice] {
        writeSeen()
        let now = clock.now()
        return try read { () throws(SQLiteError) in
            // Few are read of a fleet that speaks; `ReportingState` has the last word.
            let statement = try connection.cached(
                """
                SELECT id, organization, enrolled, last_beacon, expected_beacon_seconds FROM device JOIN device_state ON device = id
                WHERE test = 0 AND revoked IS NULL AND left_at IS NULL AND expected_beacon_seconds > 0
                AND max(coalesce(last_beacon, enrolled), enrolled) <= ?1 - expected_beacon_seconds * ?2
                """)
            try statement.bind(now, ReportingState.silentAfter * 1_000_000)
            defer { statement.reset() }
            var found: [SilentDevice] = []
            while try statement.step() {
                guard let id = DeviceID(statement.data(0)) else { continue }
                let (enrolled, beacon) = (statement.int64(2), statement.optionalInt64(3))
                let seconds = UInt32(clamping: statement.int64(4))
                let state = ReportingState(
                    hasLeft: false, isRevoked: false, expectedBeaconSeconds: seconds, lastBeacon: beacon, enrolled: enrolled, at: now)
                guard state == .silent else { continue }
                found.append(
                    SilentDevice(
                        id: id, organization: statement.string(1), silentSeconds: (now - max(beacon ?? .min, enrolled)) / 1_000_000,
                        expectedBeaconSeconds: seconds))
            }
            return found
        }
    }
}
