import RecordStore
import WireModel

/// Devices as rows of `collector.sqlite`.
extension DeviceRow {
    package static let columns = """
        device.id, organization, name, os_name, os_distribution, os_version, os_kernel, os_architecture, \
        agent_version, application,
        machine_hash, test, created, enrolled, revoked, left_at, enrollment_id, predecessor, enrollment_token,
        dnd_revision, dnd_on, dnd_at, dnd_person, kind
        """
    private static let stateColumns =
        """
        last_seen, beacon, identity, last_beacon, expected_beacon_seconds, push_token, profile_revision, verdicts, \
        verdicts_at,
        verdicts_wall, verdicts_boot, verdicts_since_boot
        """
    static let select =
        "SELECT \(columns), \(stateColumns) FROM device LEFT JOIN device_state ON device = device.id"

    /// - Parameter organization: the required organization; `nil` for any.
    package static func one(
        _ id: DeviceID, organization: String? = nil, in connection: any RegistrySession
    ) throws(StoreError) -> DeviceRow? {
        try connection.first(
            "\(select) WHERE device.id = ?1 AND (?2 IS NULL OR organization = ?2)", id.data, organization
        ) { statement throws(StoreError) in try DeviceRow(withState: statement, path: connection.name) }
    }

    /// Every device, unordered.
    package static func all(in connection: any RegistrySession, _ receive: (DeviceRow) -> Void) throws(StoreError) {
        try connection.each(select) { row throws(StoreError) in
            receive(try DeviceRow(withState: row, path: connection.name))
        }
    }

    /// - Parameter row: has `columns`.
    package init(_ row: RegistryRow, path: String) throws(StoreError) {
        guard let id = try DeviceID(row.data("id")) else {
            throw StoreError(.corrupt, "\(path): a device's id is not 16 bytes.")
        }
        let (organization, name) = (try row.string("organization"), try row.string("name"))
        var system = WireOperatingSystem()
        system.name = try row.string("os_name")
        system.distribution = try row.string("os_distribution")
        system.version = try row.string("os_version")
        system.kernel = try row.string("os_kernel")
        system.architecture = try row.string("os_architecture")
        // A kind of a later version has no agent that this one knows.
        let kind = DeviceRow.Kind(rawValue: try row.int("kind")) ?? .otlp
        self.init(
            id: id, kind: kind, organization: organization, name: name, operatingSystem: system,
            agentVersion: try row.string("agent_version"), application: try row.string("application"),
            machineHash: try row.string("machine_hash"), test: try row.bool("test"),
            created: try row.int64("created"), enrolled: try row.int64("enrolled"),
            revoked: try row.optionalInt64("revoked"), left: try row.optionalInt64("left_at"),
            enrollmentID: try row.data("enrollment_id"),
            predecessor: try row.optionalData("predecessor").flatMap { DeviceID($0) },
            enrollmentToken: try row.optionalString("enrollment_token"),
            doNotDisturb: DeviceDoNotDisturb(
                revision: UInt64(clamping: try row.int64("dnd_revision")), isOn: try row.bool("dnd_on"),
                at: try row.int64("dnd_at"), person: try row.optionalString("dnd_person")))
    }

    /// A beacon or identity that cannot be decoded is left out, because it is derived.
    /// - Parameter row: of `select`.
    package init(withState row: RegistryRow, path: String) throws(StoreError) {
        try self.init(row, path: path)
        lastSeen = try row.optionalInt64("last_seen")
        beacon = try row.optionalData("beacon").flatMap { try? WireBeacon.decode($0) }
        identity = try row.optionalData("identity").flatMap { try? WireSystemIdentity.decode($0) }
        lastBeacon = try row.optionalInt64("last_beacon")
        expectedBeaconSeconds = try row.optionalInt64("expected_beacon_seconds").map { UInt32(clamping: $0) }
        if let token = try row.optionalString("push_token") { beacon?.pushToken.token = token }
        profileRevision = try row.optionalInt64("profile_revision").flatMap { UInt64(exactly: $0) }
        guard let verdicts = try row.optionalData("verdicts").flatMap({ try? WireBeacon.decode($0) }) else { return }
        let received = try row.int64("verdicts_at")
        let made = RecordStamp(
            // NULL since they were reset, to be derived again. Whatever follows is later.
            wallTime: try row.optionalInt64("verdicts_wall") ?? .min,
            bootID: try row.optionalData("verdicts_boot").flatMap { BootID($0) },
            timeSinceBoot: UInt64(clamping: try row.int64("verdicts_since_boot")))
        self.verdicts = DeviceVerdicts(beacon: verdicts, at: received, made: made)
    }
}
