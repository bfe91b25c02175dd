import FoundationEssentials
import SQLite
import WireModel

extension RegistryDatabase {
    private static let deviceColumns = """
        device.id, organization, name, os_name, os_distribution, os_version, os_kernel, os_architecture, agent_version, application,
        machine_hash, test, created, enrolled, revoked
        """
    private static let stateColumns = "last_seen, beacon, identity"

    func enroll(token: String, request: WireEnrollRequest) throws(EnrollError) -> EnrollResult {
        let credential = Secret(.device)
        let now = clock.now()
        let outcome: Result<EnrollResult, EnrollError>
        do {
            outcome = try transaction { () throws(SQLiteError) in
                let (organization, refusal) = try self.organization(ofEnrollmentToken: token, at: now)
                guard let organization else { return .failure(refusal) }
                let asked = DeviceID(request.deviceID)
                let known = try asked.map { id throws(SQLiteError) in try credentials(of: id) } ?? nil
                if let asked, let known {
                    guard known.organization == organization, known.isProved(by: request.previousCredential) else {
                        return .failure(.deviceConflict)
                    }
                    try renew(asked, request, credential: credential, at: now)
                    return .success(try self.result(asked, credential, organization, kept: true))
                }
                // An id this collector does not know: it was restored from an older backup, and the device's records carry that id.
                let kept = asked != nil && !request.previousCredential.isEmpty
                let id = kept ? asked ?? .random() : .random()
                try insert(id, organization, request, credential: credential, at: now)
                try connection.cached("UPDATE token SET uses = uses + 1 WHERE hash = ?").run(binding: Secret.hash(of: token))
                return .success(try self.result(id, credential, organization, kept: kept))
            }
        } catch { throw .store(error) }
        let result = try outcome.get()
        cache.remove(result.deviceID)
        return result
    }

    /// Whether `enroll` would take the token now.
    func checkEnrollmentToken(_ token: String) throws(EnrollError) {
        let now = clock.now()
        let organization: String?
        let refusal: EnrollError
        do {
            (organization, refusal) = try read { () throws(SQLiteError) in try self.organization(ofEnrollmentToken: token, at: now) }
        } catch { throw .store(error) }
        if organization == nil { throw refusal }
    }

    private func organization(ofEnrollmentToken token: String, at now: Int64) throws(SQLiteError) -> (String?, EnrollError) {
        let statement = try connection.cached(
            "SELECT organization, expires, maximum_uses, uses, revoked FROM token WHERE hash = ? AND kind = ?")
        try statement.bind(Secret.hash(of: token), TokenRow.Kind.enrollment.rawValue)
        defer { statement.reset() }
        guard try statement.step(), let organization = statement.optionalString(0) else { return (nil, .tokenUnknown) }
        if !statement.isNull(4) { return (nil, .tokenRevoked) }
        if let expires = statement.optionalInt64(1), expires <= now { return (nil, .tokenExpired) }
        if let maximum = statement.optionalInt64(2), statement.int64(3) >= maximum { return (nil, .tokenUsedUp) }
        return (organization, .tokenUnknown)
    }

    private struct KnownCredentials {
        var organization: String
        var hashes: [Data]

        func isProved(by credential: String) -> Bool {
            let hash = Secret.hash(of: credential)
            return hashes.reduce(false) { Secret.areEqual($1, hash) || $0 }
        }
    }

    private func credentials(of id: DeviceID) throws(SQLiteError) -> KnownCredentials? {
        let statement = try connection.cached("SELECT organization, credential_hash, next_credential_hash FROM device WHERE id = ?")
        try statement.bind(id.data)
        defer { statement.reset() }
        guard try statement.step() else { return nil }
        return KnownCredentials(
            organization: statement.string(0), hashes: [statement.data(1)] + [statement.optionalData(2)].compactMap { $0 })
    }

    private func insert(
        _ id: DeviceID, _ organization: String, _ request: WireEnrollRequest, credential: Secret, at now: Int64
    ) throws(SQLiteError) {
        let system = request.operatingSystem
        let statement = try connection.cached(
            """
            INSERT INTO device (id, organization, name, os_name, os_distribution, os_version, os_kernel, os_architecture, agent_version,
                application, machine_hash, test, credential_hash, created, enrolled) VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)
            """)
        try statement.bind(
            id.data, organization, request.deviceName, system.name, system.distribution, system.version, system.kernel,
            system.architecture, request.agentVersion, request.application, request.machineHash, request.test, credential.hash, now, now)
        try statement.run()
    }

    /// The former credential stays good until the new one is first used: the answer that carries the new one may be lost.
    private func renew(_ id: DeviceID, _ request: WireEnrollRequest, credential: Secret, at now: Int64) throws(SQLiteError) {
        let system = request.operatingSystem
        let statement = try connection.cached(
            """
            UPDATE device SET name = ?, os_name = ?, os_distribution = ?, os_version = ?, os_kernel = ?, os_architecture = ?,
                agent_version = ?, application = ?, machine_hash = ?, test = ?, next_credential_hash = ?, enrolled = ?, revoked = NULL
            WHERE id = ?
            """)
        try statement.bind(
            request.deviceName, system.name, system.distribution, system.version, system.kernel, system.architecture,
            request.agentVersion, request.application, request.machineHash, request.test, credential.hash, now, id.data)
        try statement.run()
    }

    private func result(_ id: DeviceID, _ credential: Secret, _ organization: String, kept: Bool) throws(SQLiteError) -> EnrollResult {
        EnrollResult(
            deviceID: id, credential: credential.text, organization: organization,
            profileRevision: try newestProfile(organization)?.revision ?? 0, deviceKept: kept)
    }

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
            return (try Self.device(statement, path: connection.path), statement.bool(15))
        }
        guard let device else { return .unknown }
        guard device.revoked == nil else { return .revoked }
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
            let statement = try connection.cached("UPDATE device SET next_credential_hash = ? WHERE id = ? AND revoked IS NULL")
            try statement.bind(credential.hash, id.data)
            try statement.run()
            return connection.changes
        }
        guard changed == 1 else { throw StoreError(.notFound, "device \(id) is not enrolled.") }
        return credential.text
    }

    func revoke(_ id: DeviceID) throws(StoreError) {
        let now = clock.now()
        let changed = try transaction { () throws(SQLiteError) in
            let statement = try connection.cached("UPDATE device SET revoked = coalesce(revoked, ?) WHERE id = ?")
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
            test: statement.bool(11), created: statement.int64(12), enrolled: statement.int64(13), revoked: statement.optionalInt64(14))
    }

    /// A beacon or identity that does not decode is left out: it is derived.
    private static func deviceWithState(_ statement: Statement, path: String) throws(SQLiteError) -> DeviceRow {
        var device = try device(statement, path: path)
        device.lastSeen = statement.optionalInt64(15)
        device.beacon = statement.optionalData(16).flatMap { try? WireBeacon.decode($0) }
        device.identity = statement.optionalData(17).flatMap { try? WireSystemIdentity.decode($0) }
        return device
    }
}

extension Statement {
    fileprivate func run(binding value: Data) throws(SQLiteError) {
        try bind(value, at: 1)
        try run()
    }
}
