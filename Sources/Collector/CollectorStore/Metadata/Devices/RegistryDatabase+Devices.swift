import FoundationEssentials
import SQLite
import WireModel

extension RegistryDatabase {
    private static let deviceColumns = """
        device.id, organization, name, os_name, os_distribution, os_version, os_kernel, os_architecture, agent_version, application,
        machine_hash, test, created, enrolled, revoked, left_at, enrollment_id, predecessor, enrollment_token
        """
    /// How many `deviceColumns` are.
    private static let deviceColumnCount: Int32 = 19
    private static let stateColumns =
        "last_seen, beacon, identity, last_beacon, expected_beacon_seconds, push_token, profile_revision"
    private static let joined =
        "SELECT \(deviceColumns), \(stateColumns) FROM device LEFT JOIN device_state ON device = device.id"

    /// Looks a credential up on disk and makes the new one of a rotation the only one once it is used.
    func authenticate(hash: Data, admits: @Sendable (DeviceRow) -> Bool) throws(StoreError) -> DeviceAuthentication {
        let generation = cache.generation
        let (device, isNext) = try read { () throws(SQLiteError) in
            let statement = try connection.cached(
                """
                SELECT \(Self.deviceColumns), next_credential_hash = ?1 FROM device WHERE credential_hash = ?1 OR next_credential_hash = ?1
                """)
            try statement.bind(hash)
            defer { statement.reset() }
            guard try statement.step() else { return (DeviceRow?.none, false) }
            var device = try Self.device(statement, path: connection.path)
            device.certificates = try certificates(of: device.id)
            return (device, statement.bool(Self.deviceColumnCount))
        }
        guard let device else { return try isOfDeletedDevice(hash) ? .revoked : .unknown }
        guard device.revoked == nil else { return .revoked }
        guard device.left == nil else { return .left }
        if isNext {
            guard admits(device) else { return .device(device) }
            try transaction { () throws(SQLiteError) in
                try connection.run(
                    """
                    UPDATE device SET credential_hash = next_credential_hash, next_credential_hash = NULL WHERE next_credential_hash = ?
                    """, hash)
            }
            cache.remove(device.id)
        }
        cache.insert(device, for: hash, readAt: isNext ? cache.generation : generation)
        return .device(device)
    }

    func rotateCredential(_ id: DeviceID) throws(StoreError) -> String {
        let now = clock.now()
        let issued = try transaction { () throws(SQLiteError) -> Secret? in
            guard let device = try row(of: id, organization: nil), device.revoked == nil, device.left == nil else {
                return nil
            }
            let issued = try ledger.issue(to: id, of: device.organization)
            try connection.run(
                "UPDATE device SET next_credential_hash = ?, credential_generation = ? WHERE id = ?",
                issued.secret.hash, issued.generation, id.data)
            try tell(.deviceRotate, of: id, organization: device.organization, at: now)
            return issued.secret
        }
        guard let issued else { throw StoreError(.notFound, "device \(id) is not enrolled.") }
        return issued.text
    }

    func leave(_ id: DeviceID) throws(StoreError) {
        let now = clock.now()
        let changed = try transaction { () throws(SQLiteError) in
            try connection.run("UPDATE device SET left_at = coalesce(left_at, ?) WHERE id = ?", now, id.data)
            guard connection.changes == 1, let organization = try organization(ofDevice: id) else { return false }
            try endCertificates(of: id)
            try tell(.deviceUnenroll, of: id, organization: organization, at: now)
            return true
        }
        cache.remove(id)
        refreshIndex(id)
        guard changed else { throw StoreError(.notFound, "device \(id) is not known.") }
    }

    func devices(organization: String?, after: DeviceID?, limit: Int) throws(StoreError) -> DevicePage {
        writeSeen()
        var devices = try read { () throws(SQLiteError) in
            try connection.rows(
                """
                \(Self.joined) WHERE \(organization == nil ? "?1 IS NULL" : "organization = ?1") AND device.id > ?2 ORDER BY device.id LIMIT ?3
                """, organization, after?.data ?? Data(), limit + 1
            ) { statement throws(SQLiteError) in try Self.deviceWithState(statement, path: connection.path) }
        }
        guard devices.count > limit else { return DevicePage(devices: devices, next: nil) }
        devices.removeLast()
        return DevicePage(devices: devices, next: devices.last?.id.description)
    }

    func device(_ id: DeviceID, organization: String?) throws(StoreError) -> DeviceRow? {
        writeSeen()
        return try read { () throws(SQLiteError) in
            var device = try row(of: id, organization: organization)
            device?.certificates = try certificates(of: id)
            return device
        }
    }

    func row(of id: DeviceID, organization: String?) throws(SQLiteError) -> DeviceRow? {
        try connection.first(
            "\(Self.joined) WHERE device.id = ?1 AND (?2 IS NULL OR organization = ?2)", id.data, organization
        ) { statement throws(SQLiteError) in try Self.deviceWithState(statement, path: connection.path) }
    }

    // MARK: Lists

    /// - Parameter position: the place after which the page begins.
    func devices(_ query: DeviceQuery, after position: DevicePosition?, limit: Int) throws(StoreError) -> DeviceList {
        writeSeen()
        let found = try loadedIndex().page(query, after: position, limit: limit, at: clock.now())
        return try read { () throws(SQLiteError) in
            var devices: [DeviceRow] = []
            for id in found.ids { if let device = try row(of: id, organization: nil) { devices.append(device) } }
            return DeviceList(devices: devices, total: found.total, next: found.next)
        }
    }

    func loadedIndex() throws(StoreError) -> DeviceIndex {
        if let index { return index }
        let loaded = try read { () throws(SQLiteError) in
            let index = DeviceIndex()
            let statement = try connection.prepare(Self.joined)
            while try statement.step() { index.insert(try Self.deviceWithState(statement, path: connection.path)) }
            return index
        }
        index = loaded
        return loaded
    }

    /// After a device's row was changed. Where it cannot be read the index is made anew when it is next asked for.
    func refreshIndex(_ id: DeviceID) {
        guard let index else { return }
        do throws(StoreError) {
            let device = try read { () throws(SQLiteError) in try row(of: id, organization: nil) }
            if let device { index.insert(device) } else { index.remove(id) }
        } catch { self.index = nil }
    }

    private static func device(_ statement: Statement, path: String) throws(SQLiteError) -> DeviceRow {
        guard let id = DeviceID(statement.data(0)) else {
            throw SQLiteError(
                code: .corrupt, message: "\(path): a device's id is not 16 bytes.", operation: "read device")
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
            test: statement.bool(11), created: statement.int64(12), enrolled: statement.int64(13),
            revoked: statement.optionalInt64(14), left: statement.optionalInt64(15), enrollmentID: statement.data(16),
            predecessor: statement.optionalData(17).flatMap { DeviceID($0) },
            enrollmentToken: statement.optionalString(18))
    }

    /// A beacon or identity that does not decode is left out: it is derived.
    private static func deviceWithState(_ statement: Statement, path: String) throws(SQLiteError) -> DeviceRow {
        var device = try device(statement, path: path)
        let first = deviceColumnCount
        device.lastSeen = statement.optionalInt64(first)
        device.beacon = statement.optionalData(first + 1).flatMap { try? WireBeacon.decode($0) }
        device.identity = statement.optionalData(first + 2).flatMap { try? WireSystemIdentity.decode($0) }
        device.lastBeacon = statement.optionalInt64(first + 3)
        device.expectedBeaconSeconds = statement.optionalInt64(first + 4).map { UInt32(clamping: $0) }
        if let token = statement.optionalString(first + 5) { device.beacon?.pushToken.token = token }
        device.profileRevision = statement.optionalInt64(first + 6).flatMap { UInt64(exactly: $0) }
        return device
    }
}

extension RegistryDatabase {
    func deviceIDs(organization: String?, withTest: Bool) throws(StoreError) -> [DeviceID] {
        try read { () throws(SQLiteError) in
            try connection.rows(
                "SELECT id FROM device WHERE (?1 IS NULL OR organization = ?1) AND (?2 OR test = 0) ORDER BY id",
                organization, withTest
            ) { statement throws(SQLiteError) in
                guard let id = DeviceID(statement.data(0)) else {
                    throw SQLiteError(
                        code: .corrupt, message: "\(connection.path): a device's id is not 16 bytes.",
                        operation: "list devices")
                }
                return id
            }
        }
    }
}

/// Which client certificates are a device's.
extension RegistryDatabase {
    /// Of those that no device has come with yet: more answers than this are not lost in a row.
    private static let unusedCertificates = 4

    /// - Parameter reason: `enrollment` or `renewal`, for the audit trail.
    func keep(_ certificate: DeviceCertificate, of id: DeviceID, for reason: String) throws(StoreError) {
        let kept = try transaction { () throws(SQLiteError) in
            guard let device = try row(of: id, organization: nil), device.revoked == nil, device.left == nil else {
                return false
            }
            try connection.run(
                "INSERT INTO device_certificate (device, fingerprint, serial, issued, expires) VALUES (?, ?, ?, ?, ?)",
                id.data, certificate.fingerprint, certificate.serial, certificate.issued, certificate.expires)
            try connection.run(
                """
                DELETE FROM device_certificate WHERE row IN (SELECT row FROM device_certificate WHERE device = ? AND used IS NULL
                ORDER BY row DESC LIMIT -1 OFFSET \(Self.unusedCertificates))
                """, id.data)
            try audit.append(
                AuditEntry(
                    .certificateIssue, by: .device(id), organization: device.organization, subject: id.description,
                    detail: ["serial": certificate.serial.hexadecimal, "for": reason]),
                at: certificate.issued)
            return true
        }
        cache.remove(id)
        guard kept else { throw StoreError(.notFound, "device \(id) is not enrolled.") }
    }

    /// The device has come with it: those issued before it are refused from now on.
    func noteUse(ofCertificate fingerprint: Data, by id: DeviceID) throws(StoreError) {
        let now = clock.now()
        try transaction { () throws(SQLiteError) in
            try connection.run(
                "UPDATE device_certificate SET used = ? WHERE device = ? AND fingerprint = ? AND used IS NULL", now,
                id.data, fingerprint)
            try connection.run(
                """
                DELETE FROM device_certificate WHERE device = ?1
                AND row < (SELECT row FROM device_certificate WHERE device = ?1 AND fingerprint = ?2)
                """, id.data, fingerprint)
        }
        cache.remove(id)
    }

    /// In the order of their issue.
    func certificates(of id: DeviceID) throws(SQLiteError) -> [DeviceCertificate] {
        try connection.rows(
            "SELECT fingerprint, serial, issued, expires, used FROM device_certificate WHERE device = ? ORDER BY row",
            id.data
        ) { statement in
            DeviceCertificate(
                fingerprint: statement.data(0), serial: statement.data(1), issued: statement.int64(2),
                expires: statement.int64(3), used: statement.optionalInt64(4))
        }
    }

    /// Inside a transaction: the device is to come with none of those it has.
    func endCertificates(of id: DeviceID) throws(SQLiteError) {
        try connection.run("DELETE FROM device_certificate WHERE device = ?", id.data)
    }
}

extension RegistryDatabase {
    /// But for test devices, and those that have left or were revoked.
    func silentDevices() throws(StoreError) -> [SilentDevice] {
        writeSeen()
        let now = clock.now()
        return try read { () throws(SQLiteError) in
            // Few are read of a fleet that speaks; `ReportingState` has the last word.
            return try connection.rows(
                """
                SELECT id, organization, enrolled, last_beacon, expected_beacon_seconds FROM device JOIN device_state ON device = id
                WHERE test = 0 AND revoked IS NULL AND left_at IS NULL AND expected_beacon_seconds > 0
                AND max(coalesce(last_beacon, enrolled), enrolled) <= ?1 - expected_beacon_seconds * ?2
                """, now, ReportingState.silentAfter * 1_000_000
            ) { statement in
                guard let id = DeviceID(statement.data(0)) else { return nil }
                let (enrolled, beacon) = (statement.int64(2), statement.optionalInt64(3))
                let seconds = UInt32(clamping: statement.int64(4))
                let state = ReportingState(
                    hasLeft: false, isRevoked: false, expectedBeaconSeconds: seconds, lastBeacon: beacon,
                    enrolled: enrolled, at: now)
                guard state == .silent else { return nil }
                return SilentDevice(
                    id: id, organization: statement.string(1),
                    silentSeconds: (now - max(beacon ?? .min, enrolled)) / 1_000_000, expectedBeaconSeconds: seconds)
            }
        }
    }
}
