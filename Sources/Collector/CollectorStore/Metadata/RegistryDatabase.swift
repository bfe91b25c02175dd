import FoundationEssentials
import Logging
import SQLite
import Synchronization
import WireModel

/// The registry's side of `collector.sqlite`, one caller at a time, off the cooperative pool.
actor RegistryDatabase {
    let connection: Connection
    /// Devices by the hash of their credential.
    nonisolated let cache = RegistryCache<Data, DeviceRow>(limit: 16_384)
    nonisolated let seen = SeenBuffer()
    nonisolated let profiles = RegistryCache<ProfileScope, DeviceProfile>(limit: 1024)
    nonisolated let commands: OpenCommands
    nonisolated let results = ResultBuffer()
    nonisolated let clock: any StoreClock
    let logger: Logger
    let audit: AuditTable
    let ledger: CredentialLedger
    private var auditLimit = DeviceAuditLimit()
    /// Made when devices are first listed.
    var index: DeviceIndex?
    private nonisolated let executor = BlockingExecutor(label: "ws1.collector.registry")

    nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }

    /// The file that was opened.
    private let identity: FileIdentity

    init(connection: sending Connection, commands: OpenCommands, clock: any StoreClock, logger: Logger) {
        identity = FileIdentity(path: connection.path)
        audit = AuditTable(connection: connection)
        ledger = CredentialLedger(connection: connection)
        self.connection = connection
        self.commands = commands
        self.clock = clock
        self.logger = logger
    }

    func transaction<T>(_ body: () throws(SQLiteError) -> T) throws(StoreError) -> T {
        try requireInPlace()
        let formerLimit = auditLimit
        do { return try connection.transaction(.immediate, body) } catch {
            // What was told is not on disk.
            auditLimit = formerLimit
            throw StoreError(error)
        }
    }

    /// Writes an audit entry for what a device did, in the same transaction, as often as `DeviceAuditLimit` allows.
    func tell(
        _ action: AuditEntry.Action, of device: DeviceID, organization: String, _ detail: [String: String] = [:],
        outcome: AuditEntry.Outcome = .done, at now: Int64
    ) throws(SQLiteError) {
        guard let leftOut = auditLimit.admit(action, of: device, at: now) else { return }
        try audit.append(
            .ofDevice(action, device, organization: organization, detail, leftOut: leftOut, outcome: outcome), at: now)
    }

    func read<T>(_ body: () throws(SQLiteError) -> T) throws(StoreError) -> T {
        try requireInPlace()
        return try StoreError.mapping(body)
    }

    /// A registry whose file was removed or replaced must not answer.
    func requireInPlace() throws(StoreError) {
        guard identity.isInPlace else { throw .databaseGone(connection.path) }
    }

    /// Writes what was seen. A failure is only logged, because the state can be rebuilt from records.
    func writeSeen() {
        let entries = seen.take(at: clock.now())
        guard !entries.isEmpty else { return }
        do throws(StoreError) { try write(entries) } catch {
            logger.warning("device state was not written", metadata: ["store.error": "\(error)"])
        }
    }

    /// Writes what records say of devices.
    /// - Parameter resetting: those whose last seen time is what the entry says, and not the later of the two.
    func write(_ entries: [DeviceID: DeviceObservation], resetting: Set<DeviceID> = []) throws(StoreError) {
        try transaction { () throws(SQLiteError) in
            for device in resetting {
                try connection.run("UPDATE device_state SET last_seen = 0 WHERE device = ?", device.data)
            }
            let statement = try connection.cached(
                """
                INSERT INTO device_state (device, last_seen, beacon, identity, last_beacon, expected_beacon_seconds, push_token,
                    profile_revision)
                SELECT ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?9 WHERE EXISTS (SELECT 1 FROM device WHERE id = ?1)
                ON CONFLICT (device) DO UPDATE SET last_seen = max(last_seen, excluded.last_seen),
                beacon = coalesce(excluded.beacon, beacon), identity = coalesce(excluded.identity, identity),
                last_beacon = coalesce(excluded.last_beacon, last_beacon),
                expected_beacon_seconds = coalesce(excluded.expected_beacon_seconds, expected_beacon_seconds),
                profile_revision = coalesce(excluded.profile_revision, profile_revision),
                push_token = CASE WHEN ?8 THEN excluded.push_token ELSE push_token END
                """)
            for (device, sight) in entries {
                try statement.bind(
                    device.data, sight.at, sight.beacon?.encoded, sight.identity?.encoded,
                    sight.beacon == nil ? nil : sight.beaconAt, sight.expectedBeaconSeconds.map { Int64($0) },
                    sight.pushToken.token, sight.pushToken.isSaid, sight.profileRevision.map { Int64(clamping: $0) })
                try statement.run()
            }
        }
        for (device, sight) in entries where index?.note(sight, of: device) == false { refreshIndex(device) }
    }

    /// When a device was last seen, of those that have been written.
    func newestSight() throws(StoreError) -> Int64? {
        try read { () throws(SQLiteError) in
            try connection.first("SELECT max(last_seen) FROM device_state") { $0.optionalInt64(0) }
        }
    }

    func close() {
        writeSeen()
        writeResults()
        do throws(SQLiteError) {
            _ = try connection.checkpoint(.truncate)
            try connection.close()
        } catch {
            logger.warning("the registry was not closed in order", metadata: ["store.error": "\(error)"])
        }
    }
}

/// Rows of the registry in memory, so that whoever asks need not wait for the disk. Bounded: a full cache starts again.
final class RegistryCache<Key: Hashable & Sendable, Row: Sendable>: Sendable {
    private struct State {
        var rows: [Key: Row] = [:]
        /// Grows with every removal: a row that was read before a removal must not come back after it.
        var generation = 0
    }

    private let state = Mutex(State())
    private let limit: Int

    init(limit: Int) { self.limit = limit }

    subscript(_ key: Key) -> Row? { state.withLock { $0.rows[key] } }

    var generation: Int { state.withLock { $0.generation } }

    /// - Parameter generation: the one before the row was read.
    func insert(_ row: Row, for key: Key, readAt generation: Int) {
        state.withLock { state in
            guard state.generation == generation else { return }
            if state.rows.count >= limit { state.rows = [:] }
            state.rows[key] = row
        }
    }

    func remove(where isGone: (Key, Row) -> Bool) {
        state.withLock { state in
            state.generation += 1
            state.rows = state.rows.filter { !isGone($0.key, $0.value) }
        }
    }
}

extension RegistryCache where Row == DeviceRow {
    func remove(_ id: DeviceID) { remove { _, device in device.id == id } }
}

/// Reads the registry without changing anything: for commands beside a running collector, and for a data directory that
/// cannot be written, such as a mounted backup.
///
/// Each call reads at one moment.
package struct RegistryReader {
    private let directory: DataDirectory

    package init(directory: String) {
        self.directory = DataDirectory(path: directory)
    }

    /// By name.
    /// - Throws: `.notFound` where there is no collector's data; `.newerVersion`, `.corrupt`, `.io`.
    package func organizations() throws(StoreError) -> [OrganizationRow] { try read(OrganizationRow.all) }

    /// In the order of their making; revoked ones too, never the secrets.
    /// - Throws: as `organizations`.
    package func tokens() throws(StoreError) -> [TokenRow] { try read(TokenRow.all) }

    /// Whether there is such a device, of any organization; not one that was deleted.
    /// - Throws: as `organizations`.
    package func hasDevice(_ device: DeviceID) throws(StoreError) -> Bool {
        try read { connection throws(SQLiteError) in
            try connection.hasRow("SELECT 1 FROM device WHERE id = ?", device.data)
        }
    }

    private func read<Value>(_ body: (Connection) throws(SQLiteError) -> Value) throws(StoreError) -> Value {
        guard let connection = try CollectorDatabase.openReading(directory) else { throw .noCollector(directory.path) }
        return try StoreError.mapping { () throws(SQLiteError) in try body(connection) }
    }
}
