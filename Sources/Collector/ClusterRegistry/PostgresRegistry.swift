import CollectorStore
import PostgreSQL
import Logging

/// The registry of a cluster, in PostgreSQL.
///
/// Its sessions take their connections from the database's pool, one for each transaction. Safe to use from any number
/// of tasks.
package struct PostgresRegistry: Registry {
    package let database: PostgresDatabase
    private let name: String

    /// - Parameters:
    ///   - database: has at least five connections, as a metadata service has a writer and four readers.
    ///   - name: names the database in messages, without a password.
    package init(_ database: PostgresDatabase, name: String) {
        self.database = database
        self.name = name
    }

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
