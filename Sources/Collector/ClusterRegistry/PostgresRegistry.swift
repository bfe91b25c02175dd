import CollectorStore
import PostgreSQL
import Logging

/// The registry of a cluster, in PostgreSQL.
///
/// Its sessions take their connections from the database's pool, one for each transaction. Safe to use from any number
/// of tasks.
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

    package func makeLease() -> RegistryLease { RegistryLease(clock: leaseClock) }

    /// Makes the tables, or brings them up to date.
    /// - Throws: `.unavailable`, also if the tables are of a newer program.
    package func prepare(logger: Logger) async throws(StoreError) {
        let migrations = PostgresMigrations(
            RegistrySchema.migrations, lockKey: RegistrySchema.migrationLock, logger: logger)
        do throws(PostgresError) { _ = try await migrations.apply(to: database) } catch { throw StoreError(error) }
    }

    package func openWriting() throws(StoreError) -> any RegistrySession {
        PostgresRegistrySession(database, name: name, isWriting: true)
    }

    package func openReading() throws(StoreError) -> any RegistrySession {
        PostgresRegistrySession(database, name: name, isWriting: false)
    }
}
