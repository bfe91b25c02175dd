import CollectorTunables
import FoundationEssentials
import RecordStore
import WireModel

/// Senders of OTLP, and the devices that their resources are.
///
/// A sender has a token of its own kind and never enrolls. Its devices have ids that are computed, rows that appear
/// with the first request, and no credential.
extension MetadataService {
    /// The most devices whose rows one read looks up.
    private static let devicesPerRead = 256
    /// The longest time after which a sender with too many devices asks again, in microseconds.
    private static let longestWait: Int64 = 900_000_000

    /// Checks a token of a sender of OTLP.
    /// - Throws: `.tokenUnknown`, also for tokens of other kinds; `.tokenExpired`, `.tokenRevoked`, `.store`.
    package nonisolated func authenticateOTLP(token: String) async throws(EnrollError) -> OTLPSender {
        let (now, hash) = (clock.now(), Secret.hash(of: token))
        let row: TokenRow?
        do {
            row = try await readers.read { connection throws(StoreError) in
                try connection.first(
                    "SELECT \(TokenRow.columns) FROM token WHERE hash = ? AND kind = ?", hash,
                    TokenRow.Kind.otlp.rawValue
                ) { row throws(StoreError) in try TokenRow(row) }
            }
        } catch { throw .store(error) }
        guard let row, let organization = row.organization else { throw .tokenUnknown }
        if row.revoked != nil { throw .tokenRevoked }
        if row.expires ?? .max <= now { throw .tokenExpired }
        return OTLPSender(tokenID: row.id, organization: organization)
    }

    /// How each device stands. Those that are unknown get a row, which is on synced disk when it returns.
    /// - Parameter devices: of one request, each once.
    /// - Throws: `.tooMany` if some are unknown and the token may not make that many today; then none is made.
    package nonisolated func standings(
        of devices: [OTLPDevice], from sender: OTLPSender
    ) async throws(OTLPDeviceError) -> [DeviceID: OTLPStanding] {
        var standings: [DeviceID: OTLPStanding] = [:]
        var unread: [OTLPDevice] = []
        for device in devices {
            guard let row = otlpDeviceRows[device.id] else {
                unread.append(device)
                continue
            }
            standings[device.id] = .welcome(row)
        }
        var unknown: [OTLPDevice] = []
        for start in stride(from: 0, to: unread.count, by: Self.devicesPerRead) {
            let some = unread[start..<min(start + Self.devicesPerRead, unread.count)].map(\.id)
            let generation = otlpDeviceRows.generation
            let found: [DeviceID: OTLPStanding]
            do {
                found = try await readers.read { connection throws(StoreError) in
                    try Self.standings(of: some, in: connection)
                }
            } catch { throw .store(error) }
            for device in unread[start..<min(start + Self.devicesPerRead, unread.count)] {
                guard let standing = found[device.id] else {
                    unknown.append(device)
                    continue
                }
                standings[device.id] = standing
                if case .welcome(let row) = standing { otlpDeviceRows.insert(row, for: row.id, readAt: generation) }
            }
        }
        guard !unknown.isEmpty else { return standings }
        return standings.merging(try await make(unknown, from: sender)) { $1 }
    }

    private static func standings(
        of devices: [DeviceID], in connection: any RegistrySession
    ) throws(StoreError) -> [DeviceID: OTLPStanding] {
        var standings: [DeviceID: OTLPStanding] = [:]
        for id in devices {
            let row = try connection.first("SELECT \(DeviceRow.columns) FROM device WHERE id = ?", id.data) {
                row throws(StoreError) in try DeviceRow(row, path: connection.name)
            }
            if let row {
                // The id of an enrolled device is random, so it is no resource's.
                standings[id] = row.revoked == nil && row.kind == .otlp ? .welcome(row) : .revoked
            } else if try connection.hasRow("SELECT 1 FROM deleted_device WHERE id = ?", id.data) {
                standings[id] = .deleted
            }
        }
        return standings
    }

    private func make(
        _ devices: [OTLPDevice], from sender: OTLPSender
    ) throws(OTLPDeviceError) -> [DeviceID: OTLPStanding] {
        let now = clock.now()
        let today = UTCDay(microseconds: now)
        let limit = recordUsage.quotas.otlpDevices
        return try change { () throws(StoreError) -> Result<[DeviceID: OTLPStanding], OTLPDeviceError> in
            // Another request may have made some of them.
            let known = try Self.standings(of: devices.map(\.id), in: connection)
            let unknown = devices.filter { known[$0.id] == nil }
            let made =
                try connection.first(
                    """
                    SELECT count(*) FROM device WHERE enrollment_token = ? AND created >= ?
                    AND kind = \(DeviceRow.Kind.otlp.rawValue)
                    """, sender.tokenID, today.start
                ) { $0.int(0) } ?? 0
            guard unknown.isEmpty || made + unknown.count <= limit else {
                let wait = min(max(1_000_000, today.next.start - now), Self.longestWait)
                let isFirst = otlpRefusals.isFirst(sender.tokenID, on: today)
                return .failure(.tooMany(limit: limit, wait: wait, isFirst: isFirst))
            }
            for device in unknown { try insert(device.bounded, from: sender, at: now) }
            return .success(try Self.standings(of: devices.map(\.id), in: connection))
        }
    }

    private func insert(_ device: OTLPDevice, from sender: OTLPSender, at now: Int64) throws(StoreError) {
        let system = device.operatingSystem
        // The hash of a credential that nobody has: each row needs another one.
        try connection.run(
            """
            INSERT INTO device (id, organization, name, os_name, os_distribution, os_version, os_kernel, \
            os_architecture, agent_version, application, machine_hash, test, credential_hash, created, enrolled, \
            enrollment_id, credential_generation, enrollment_token, kind)
            VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)
            """, device.id.data, sender.organization, device.name, system.name, system.distribution, system.version,
            system.kernel, system.architecture, device.agentVersion, device.application, "", false,
            Secret.randomBytes(), now, now, Identifier<Never>.random().data, 0, sender.tokenID,
            DeviceRow.Kind.otlp.rawValue)
        recordChanged(.device(device.id))
    }

    // MARK: Their end

    /// Devices of OTLP that were last seen before a time, ascending by id, without revoked ones. A revoked device stays
    /// so that it stays refused.
    /// - Parameters:
    ///   - id: of which the list goes on; `nil` from the first.
    ///   - limit: 1 to 1,000.
    package nonisolated func otlpDevices(
        lastSeenBefore time: Int64, after id: DeviceID?, limit: Int
    ) async throws(StoreError) -> [DeviceID] {
        try Self.check(limit: limit)
        await writeSeen()
        return try await readers.read { connection throws(StoreError) in
            try connection.rows(
                """
                SELECT id FROM device LEFT JOIN device_state ON device = id WHERE \(Self.isForgettable) AND id > ?2
                ORDER BY id LIMIT ?3
                """, time, id?.data ?? Data(), limit
            ) { DeviceID($0.data(0)) }
        }
    }

    /// Removes rows of devices of OTLP whose records are gone. One that was seen again meanwhile stays. When it sends
    /// again it gets a row again, with the same id.
    /// - Returns: how many were removed.
    package func forget(otlpDevices ids: [DeviceID], lastSeenBefore time: Int64) throws(StoreError) -> Int {
        writeSeen()
        return try transaction { () throws(StoreError) in
            var removed = 0
            for id in ids {
                let count = try connection.run(
                    """
                    DELETE FROM device WHERE id IN (SELECT id FROM device LEFT JOIN device_state ON device = id
                    WHERE \(Self.isForgettable) AND id = ?2)
                    """, time, id.data)
                guard count == 1 else { continue }
                try connection.run("DELETE FROM device_state WHERE device = ?", id.data)
                recordChanged(.device(id))
                removed += 1
            }
            return removed
        }
    }

    private static let isForgettable =
        "kind = \(DeviceRow.Kind.otlp.rawValue) AND revoked IS NULL AND coalesce(last_seen, created) < ?1"
}

/// Which tokens were refused today for too many devices, so that a log has one line a day about each. Belongs to one
/// actor.
struct OTLPRefusals {
    private var day = UTCDay(number: 0)
    private var tokens: Set<String> = []

    mutating func isFirst(_ token: String, on day: UTCDay) -> Bool {
        if day != self.day { (self.day, tokens) = (day, []) }
        return tokens.insert(token).inserted
    }
}
