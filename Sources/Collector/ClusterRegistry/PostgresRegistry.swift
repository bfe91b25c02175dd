import FoundationEssentials
import Logging
import PostgreSQL
import RecordStore
import Registry

/// The registry of a cluster, in PostgreSQL.
///
/// Its sessions borrow their connections from the database's pool, one for each transaction. Safe to use from any
/// number of tasks.
package struct PostgresRegistry: Registry {
    package let database: PostgresDatabase
    let name: String
    /// `nil` if there is one collector.
    private let leaseClock: (any BootClock)?

    /// The registry of several collectors. A service uses nothing in memory until a `RegistryFollower` has read.
    /// - Parameters:
    ///   - database: has at least five connections, as a metadata service has a writer and four readers.
    ///   - name: names the database in messages, without a password.
    ///   - clock: measures the leases of services.
    package init(_ database: PostgresDatabase, name: String, clock: any BootClock = SystemBootClock()) {
        self.init(database, name: name, leaseClock: clock)
    }

    /// The registry of one collector, which needs no follower. With a second one, both would answer from outdated
    /// memory.
    package static func ofOneCollector(_ database: PostgresDatabase, name: String) -> PostgresRegistry {
        PostgresRegistry(database, name: name, leaseClock: nil)
    }

    private init(_ database: PostgresDatabase, name: String, leaseClock: (any BootClock)?) {
        self.database = database
        self.name = name
        self.leaseClock = leaseClock
    }

    package func requireCollector() throws(StoreError) {
        let session = try openReading()
        guard try session.hasRow("SELECT 1 FROM meta WHERE name = 'collector_id'") else {
            throw StoreError(.notFound, "\(name) has no collector's data yet. Start `serve` once.")
        }
    }

    private static let verificationName = "verification"

    package func verification() throws(StoreError) -> Data? {
        try openReading().first("SELECT value FROM meta WHERE name = ?", Self.verificationName) { $0.data(0) }
    }

    package func keepVerification(_ result: Data) throws(StoreError) {
        try openWriting().run(
            "INSERT INTO meta (name, value) VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET value = excluded.value",
            Self.verificationName, result)
    }

    package func makeLease() -> RegistryLease { RegistryLease(clock: leaseClock) }

    /// Makes the tables, or brings them up to date.
    /// - Parameters:
    ///   - isDryRun: only reports.
    ///   - registry: other than the present tables only in tests.
    /// - Returns: what was done, or would be, for people. Empty if all is up to date.
    /// - Throws: `.unavailable`, also if the tables are of a newer program.
    @discardableResult
    package func prepare(
        isDryRun: Bool = false, of registry: RegistrySchema = .current, logger: Logger
    ) async throws(StoreError) -> [String] {
        let schema = PostgresRegistrySchema.schema(of: registry)
        do throws(PostgresError) {
            let steps =
                try await isDryRun
                ? schema.pending(in: database) : schema.apply(to: database, logger: logger)
            return steps.map { "PostgreSQL: registry, \($0)" }
        } catch { throw StoreError(error) }
    }

    /// Begins a new incarnation in a transaction that somebody else has begun, after a failover that may have lost
    /// commits. Collectors that run notice it, and end. Does nothing if no collector has ever been started.
    package func beginIncarnation(in session: PostgresSession, at now: Int64) throws(StoreError) {
        let session = try PostgresRegistrySession(within: session, of: database, name: name)
        guard try session.hasRow("SELECT 1 FROM meta WHERE name = 'collector_id'") else { return }
        try Incarnation(session, because: "the cluster was recovered after a failover").begin(at: now)
    }

    package func openWriting() throws(StoreError) -> any RegistrySession {
        PostgresRegistrySession(database, name: name, isWriting: true)
    }

    package func openReading() throws(StoreError) -> any RegistrySession {
        PostgresRegistrySession(database, name: name, isWriting: false)
    }
}
