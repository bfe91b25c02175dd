import FoundationEssentials
import Logging
import SQLite
import WireModel

/// The registry's side of `collector.sqlite`, one caller at a time, off the cooperative pool.
actor RegistryDatabase {
    let connection: Connection
    nonisolated let cache = CredentialCache()
    nonisolated let seen = SeenBuffer()
    nonisolated let clock: any StoreClock
    let logger: Logger
    private nonisolated let executor = BlockingExecutor(label: "ws1.collector.registry")

    nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }

    init(connection: sending Connection, clock: any StoreClock, logger: Logger) {
        self.connection = connection
        self.clock = clock
        self.logger = logger
    }

    func transaction<T>(_ body: () throws(SQLiteError) -> T) throws(StoreError) -> T {
        do { return try connection.transaction(.immediate, body) } catch { throw StoreError(error) }
    }

    func read<T>(_ body: () throws(SQLiteError) -> T) throws(StoreError) -> T {
        try StoreError.mapping(body)
    }

    /// Writes what was seen; what cannot be written is left out, it can be rebuilt.
    func writeSeen() {
        let entries = seen.take(at: clock.now())
        guard !entries.isEmpty else { return }
        do throws(StoreError) {
            try transaction { () throws(SQLiteError) in
                let statement = try connection.cached(
                    """
                    INSERT INTO device_state (device, last_seen, beacon, identity) SELECT ?1, ?2, ?3, ?4 WHERE EXISTS
                    (SELECT 1 FROM device WHERE id = ?1) ON CONFLICT (device) DO UPDATE SET last_seen = max(last_seen, excluded.last_seen),
                    beacon = coalesce(excluded.beacon, beacon), identity = coalesce(excluded.identity, identity)
                    """)
                for (device, entry) in entries {
                    try statement.bind(device.data, entry.at, entry.beacon?.encoded, entry.identity?.encoded)
                    try statement.run()
                }
            }
        } catch {
            logger.warning("device state was not written", metadata: ["store.error": "\(error)"])
        }
    }

    func close() {
        writeSeen()
        do throws(SQLiteError) {
            _ = try connection.checkpoint(.truncate)
            try connection.close()
        } catch {
            logger.warning("the registry was not closed in order", metadata: ["store.error": "\(error)"])
        }
    }
}
