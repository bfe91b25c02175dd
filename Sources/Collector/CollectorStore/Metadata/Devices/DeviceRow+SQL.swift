import WireModel

/// Devices as rows of `collector.sqlite`.
extension DeviceRow {
    static let columns = """
        device.id, organization, name, os_name, os_distribution, os_version, os_kernel, os_architecture, agent_version, application,
        machine_hash, test, created, enrolled, revoked, left_at, enrollment_id, predecessor, enrollment_token,
        dnd_revision, dnd_on, dnd_at, dnd_person
        """
    /// The number of `columns`.
    static let columnCount: Int32 = 23
    private static let stateColumns =
        """
        last_seen, beacon, identity, last_beacon, expected_beacon_seconds, push_token, profile_revision, verdicts, verdicts_at,
        verdicts_wall, verdicts_boot, verdicts_since_boot
        """
    static let select =
        "SELECT \(columns), \(stateColumns) FROM device LEFT JOIN device_state ON device = device.id"

    /// - Parameter organization: the required organization; `nil` for any.
    static func one(
        _ id: DeviceID, organization: String? = nil, in connection: any RegistrySession
    ) throws(StoreError) -> DeviceRow? {
        try connection.first(
            "\(select) WHERE device.id = ?1 AND (?2 IS NULL OR organization = ?2)", id.data, organization
        ) { statement throws(StoreError) in try DeviceRow(withState: statement, path: connection.name) }
    }

    /// Every device, unordered.
    static func all(in connection: any RegistrySession, _ receive: (DeviceRow) -> Void) throws(StoreError) {
        try connection.each(select) { row throws(StoreError) in
            receive(try DeviceRow(withState: row, path: connection.name))
        }
    }

    /// - Parameter statement: begins with `columns`.
    init(_ statement: RegistryRow, path: String) throws(StoreError) {
        guard let id = DeviceID(statement.data(0)) else {
            throw StoreError(.corrupt, "\(path): a device's id is not 16 bytes.")
        }
        var system = WireOperatingSystem()
        system.name = statement.string(3)
        system.distribution = statement.string(4)
        system.version = statement.string(5)
        system.kernel = statement.string(6)
        system.architecture = statement.string(7)
        self.init(
            id: id, organization: statement.string(1), name: statement.string(2), operatingSystem: system,
            agentVersion: statement.string(8), application: statement.string(9), machineHash: statement.string(10),
            test: statement.bool(11), created: statement.int64(12), enrolled: statement.int64(13),
            revoked: statement.optionalInt64(14), left: statement.optionalInt64(15), enrollmentID: statement.data(16),
            predecessor: statement.optionalData(17).flatMap { DeviceID($0) },
            enrollmentToken: statement.optionalString(18),
            doNotDisturb: DeviceDoNotDisturb(
                revision: UInt64(clamping: statement.int64(19)), isOn: statement.bool(20), at: statement.int64(21),
                person: statement.optionalString(22)))
    }

    /// A beacon or identity that cannot be decoded is left out, because it is derived.
    /// - Parameter statement: of `select`.
    init(withState statement: RegistryRow, path: String) throws(StoreError) {
        try self.init(statement, path: path)
        let first = Self.columnCount
        lastSeen = statement.optionalInt64(first)
        beacon = statement.optionalData(first + 1).flatMap { try? WireBeacon.decode($0) }
        identity = statement.optionalData(first + 2).flatMap { try? WireSystemIdentity.decode($0) }
        lastBeacon = statement.optionalInt64(first + 3)
        expectedBeaconSeconds = statement.optionalInt64(first + 4).map { UInt32(clamping: $0) }
        if let token = statement.optionalString(first + 5) { beacon?.pushToken.token = token }
        profileRevision = statement.optionalInt64(first + 6).flatMap { UInt64(exactly: $0) }
        verdicts = statement.optionalData(first + 7).flatMap { try? WireBeacon.decode($0) }.map {
            // Those of an earlier version have no time; whatever follows is later.
            let made = RecordStamp(
                wallTime: statement.optionalInt64(first + 9) ?? .min,
                bootID: statement.optionalData(first + 10).flatMap { BootID($0) },
                timeSinceBoot: UInt64(clamping: statement.int64(first + 11)))
            return DeviceVerdicts(beacon: $0, at: statement.int64(first + 8), made: made)
        }
    }
}
