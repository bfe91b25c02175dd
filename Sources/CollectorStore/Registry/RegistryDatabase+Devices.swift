import FoundationEssentials
import SQLite
import WireModel

extension RegistryDatabase {
    private static let deviceColumns = """
        device.id, organization, name, os_name, os_distribution, os_version, os_kernel, os_architecture, agent_version, application,
        machine_hash, test, created, enrolled, revoked, left_at, enrollment_id
        """
    private static let stateColumns = "last_seen, beacon, identity, last_beacon, expected_beacon_seconds, push_token"

    /// Looks a credential up on disk and makes the new one of a rotation the only one once it is used.
    func authenticate(hash: Data) throws(StoreError) -> DeviceAuthentication {
        let generation = cache.generation
        let (device, isNext) = try read { () throws(SQLiteError) in
            let statement = try connection.cached(
                """
                SELECT \(Self.deviceColumns), next_credential_hash = ?1 FROM device WHERE credential_hash = ?1 OR next_credential_hash = ?1
                """)
            try statement.bind(hash)
            defer { statement.reset() }
            guard try statement.step() else { return (DeviceRow?.none, false) }
            return (try Self.device(statement, path: connection.path), statement.bool(17))
        }
        guard let device else { return .unknown }
        guard device.revoked == nil, device.left == nil else { return .revoked }
        if isNext {
            try transaction { () throws(SQLiteError) in
                try connection.cached(
                    "UPDATE device SET credential_hash = next_credential_hash, next_credential_hash = NULL WHERE next_credential_hash = ?"
                ).run(binding: hash)
            }
            cache.remove(device.id)
        }
        cache.insert(device, hash: hash, readAt: isNext ? cache.generation : generation)
        return .device(device)
    }

    func rotateCredential(_ id: DeviceID) throws(StoreError) -> String {
        let credential = Secret(.device)
        let changed = try transaction { () throws(SQLiteError) in
            let statement = try connection.cached(
                "UPDATE device SET next_credential_hash = ? WHERE id = ? AND revoked IS NULL AND left_at IS NULL")
            try statement.bind(credential.hash, id.data)
            try statement.run()
            return connection.changes
        }
        guard changed == 1 else { throw StoreError(.notFound, "device \(id) is not enrolled.") }
        return credential.text
    }

    func leave(_ id: DeviceID) throws(StoreError) {
        let now = clock.now()
        let changed = try transaction { () throws(SQLiteError) in
            let statement = try connection.cached("UPDATE device SET left_at = coalesce(left_at, ?) WHERE id = ?")
            try statement.bind(now, id.data)
            try statement.run()
            return connection.changes
        }
        cache.remove(id)
        guard changed == 1 else { throw StoreError(.notFound, "device \(id) is not known.") }
    }

    func devices(organization: String?, after: DeviceID?, limit: Int) throws(StoreError) -> DevicePage {
        writeSeen()
        var devices = try read { () throws(SQLiteError) in
            let statement = try connection.cached(
                """
                SELECT \(Self.deviceColumns), \(Self.stateColumns) FROM device LEFT JOIN device_state ON device = device.id
                WHERE \(organization == nil ? "?1 IS NULL" : "organization = ?1") AND device.id > ?2 ORDER BY device.id LIMIT ?3
                """)
            try statement.bind(organization, after?.data ?? Data(), limit + 1)
            defer { statement.reset() }
            var devices: [DeviceRow] = []
            while try statement.step() { devices.append(try Self.deviceWithState(statement, path: connection.path)) }
            return devices
        }
        guard devices.count > limit else { return DevicePage(devices: devices, next: nil) }
        devices.removeLast()
        return DevicePage(devices: devices, next: devices.last?.id.description)
    }

    func device(_ id: DeviceID, organization: String?) throws(StoreError) -> DeviceRow? {
        writeSeen()
        return try read { () throws(SQLiteError) in
            let statement = try connection.cached(
                """
                SELECT \(Self.deviceColumns), \(Self.stateColumns) FROM device LEFT JOIN device_state ON device = device.id
                WHERE device.id = ?1 AND (?2 IS NULL OR organization = ?2)
                """)
            try statement.bind(id.data, organization)
            defer { statement.reset() }
            return try statement.step() ? try Self.deviceWithState(statement, path: connection.path) : nil
        }
    }

    private static func device(_ statement: Statement, path: String) throws(SQLiteError) -> DeviceRow {
        guard let id = DeviceID(statement.data(0)) else {
            throw SQLiteError(code: .corrupt, message: "\(path): a device's id is not 16 bytes.", operation: "read device")
        }
        var system = WireOperatingSystem()
        system.name = statement.string(3)
        system.distribution = statement.string(4)
        system.version = statement.string(5)
        system.kernel = statement.string(6)
        system.architecture = statement.string(7)
        return DeviceRow(
            id: id, organization: statement.string(1), name: statement.string(2), operatingSystem: system,
            agentVersion: statement.string(8), application: statement.string(9), machineHash: statement.string(10),
            test: statement.bool(11), created: statement.int64(12), enrolled: statement.int64(13), revoked: statement.optionalInt64(14),
            left: statement.optionalInt64(15), enrollmentID: statement.data(16))
    }

    /// A beacon or identity that does not decode is left out: it is derived.
    private static func deviceWithState(_ statement: Statement, path: String) throws(SQLiteError) -> DeviceRow {
        var device = try device(statement, path: path)
        device.lastSeen = statement.optionalInt64(17)
        device.beacon = statement.optionalData(18).flatMap { try? WireBeacon.decode($0) }
        device.identity = statement.optionalData(19).flatMap { try? WireSystemIdentity.decode($0) }
        device.lastBeacon = statement.optionalInt64(20)
        device.expectedBeaconSeconds = statement.optionalInt64(21).map { UInt32(clamping: $0) }
        if let token = statement.optionalString(22) { device.beacon?.pushToken.token = token }
        return device
    }
}

extension Statement {
    func run(binding value: Data) throws(SQLiteError) {
        try bind(value, at: 1)
        try run()
    }
}
