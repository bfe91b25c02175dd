import Logging

/// One step of a schema. Once published it does not change.
package struct PostgresMigration: Sendable {
    /// Counted from 1, without gaps.
    package let number: Int
    /// The purpose, in a few words.
    package let name: String
    let apply: @Sendable (PostgresSession) throws(PostgresError) -> Void

    /// - Parameter sql: several statements; none of them may end the transaction.
    package init(_ number: Int, _ name: String, sql: String) {
        self.init(number, name) { session throws(PostgresError) in try session.executeScript(sql) }
    }

    package init(
        _ number: Int, _ name: String, apply: @escaping @Sendable (PostgresSession) throws(PostgresError) -> Void
    ) {
        self.number = number
        self.name = name
        self.apply = apply
    }
}

/// Brings a database's schema up to date.
///
/// A table has one row for each applied migration. Each migration runs in a transaction of its own, which also acquires
/// an advisory lock and writes that row. So several programs may migrate at once, and a migration that fails leaves
/// nothing. The session's timeouts hold, too; a long migration needs a database with longer ones.
package struct PostgresMigrations: Sendable {
    private let migrations: [PostgresMigration]
    private let table: String
    private let lockKey: Int64
    private let logger: Logger

    /// How often a migration begins again after a lock timeout, which another program's long migration causes.
    private static let attempts = 10

    /// - Parameters:
    ///   - migrations: in ascending order, numbered from 1.
    ///   - table: where applied migrations are recorded. Each list of migrations in a database has its own.
    ///   - lockKey: the same for all programs that apply these migrations.
    package init(_ migrations: [PostgresMigration], table: String, lockKey: Int64, logger: Logger) {
        precondition(migrations.map(\.number) == Array(1..<migrations.count + 1), "migrations are numbered from 1")
        self.migrations = migrations
        self.table = table
        self.lockKey = lockKey
        self.logger = logger
    }

    /// Applies what is missing.
    /// - Returns: the migrations that this call applied.
    /// - Throws: `.configuration` if the schema is newer than this program; the error of a migration, with its name.
    ///   The migrations before it stay.
    package func apply(to database: PostgresDatabase) async throws(PostgresError) -> [PostgresMigration] {
        var applied: [PostgresMigration] = []
        while let migration = try await applyNext(database) {
            applied.append(migration)
            logger.info(
                "Applied a migration of the schema in PostgreSQL",
                metadata: ["migration.number": "\(migration.number)", "migration.name": "\(migration.name)"])
        }
        return applied
    }

    /// The dry run: what ``apply(to:)`` would apply. Changes nothing.
    package func pending(in database: PostgresDatabase) async throws(PostgresError) -> [PostgresMigration] {
        try await database.read { session throws(PostgresError) in
            let table = try session.query("SELECT to_regclass($1) IS NOT NULL", self.table)[0].bool(0)
            let version = table ? try self.version(session) : 0
            return Array(self.migrations.dropFirst(version))
        }
    }

    private func applyNext(_ database: PostgresDatabase) async throws(PostgresError) -> PostgresMigration? {
        var attempt = 1
        while true {
            do throws(PostgresError) {
                return try await database.transaction { session throws(PostgresError) in try self.step(session) }
            } catch {
                guard error.code == .conflict, attempt < Self.attempts else { throw error }
                attempt += 1
            }
        }
    }

    /// One transaction: acquires the lock, reads the version, applies the next migration.
    private func step(_ session: PostgresSession) throws(PostgresError) -> PostgresMigration? {
        try session.execute("SELECT pg_advisory_xact_lock($1)", lockKey)
        if try session.query("SELECT to_regclass($1) IS NULL", table)[0].bool(0) {
            try session.executeScript(
                """
                CREATE TABLE \(table) (
                    number int8 PRIMARY KEY, name text NOT NULL, applied_at timestamptz NOT NULL DEFAULT now()
                )
                """)
        }
        let version = try version(session)
        guard version < migrations.count else { return nil }
        let migration = migrations[version]
        do throws(PostgresError) { try migration.apply(session) } catch {
            var named = error
            named.message = "Migration \(migration.number) (\(migration.name)) failed: \(error.message)"
            throw named
        }
        try session.execute(
            "INSERT INTO \(table) (number, name) VALUES ($1, $2)", migration.number, migration.name)
        return migration
    }

    private func version(_ session: PostgresSession) throws(PostgresError) -> Int {
        let version = try session.query("SELECT coalesce(max(number), 0) FROM \(table)")[0].int(0)
        guard version <= migrations.count else {
            throw PostgresError(
                .configuration,
                "The schema in PostgreSQL has version \(version), and this program knows \(migrations.count). Use the "
                    + "program that made it, or a newer one.")
        }
        return version
    }
}
