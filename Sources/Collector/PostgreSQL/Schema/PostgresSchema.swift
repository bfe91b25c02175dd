import Logging

/// One step from a version of a schema to the next. Once published it does not change.
package struct PostgresStep: Sendable {
    /// What the step changes, in a few words.
    let name: String
    let apply: @Sendable (PostgresSession) throws(PostgresError) -> Void

    /// - Parameter sql: several statements; none of them may end the transaction.
    package init(_ name: String, sql: String) {
        self.init(name) { session throws(PostgresError) in try session.executeScript(sql) }
    }

    package init(_ name: String, apply: @escaping @Sendable (PostgresSession) throws(PostgresError) -> Void) {
        self.name = name
        self.apply = apply
    }
}

/// The tables that one part of the program has in PostgreSQL, and the steps that lead to them from earlier versions.
///
/// An empty database gets the tables of the present version at once. Tables of an earlier version get the steps after
/// it. A table has one row for each version that the database got. Each step runs in a transaction of its own, which
/// also acquires an advisory lock and writes that row. So several programs may do this at once, and a step that fails
/// leaves nothing. The session's timeouts hold, too; a long step needs a database with longer ones.
package struct PostgresSchema: Sendable {
    private let tables: String
    private let steps: [PostgresStep]
    private let versionTable: String
    private let lockKey: Int64

    /// How often a step begins again after a lock timeout, which another program's long step causes.
    private static let attempts = 10

    /// - Parameters:
    ///   - tables: the statements that make the tables of the present version.
    ///   - steps: the first leads from version 1 to 2, and so on.
    ///   - versionTable: where versions are recorded. Each schema in a database has its own.
    ///   - lockKey: the same for all programs that have this schema.
    package init(tables: String, steps: [PostgresStep], versionTable: String, lockKey: Int64) {
        self.tables = tables
        self.steps = steps
        self.versionTable = versionTable
        self.lockKey = lockKey
    }

    package var version: Int { 1 + steps.count }

    /// Makes the tables, or applies the missing steps.
    /// - Returns: what this call did, for people.
    /// - Throws: `.configuration` if the tables are of a newer program; the error of a step, with its name. The steps
    ///   before it stay.
    package func apply(to database: PostgresDatabase, logger: Logger) async throws(PostgresError) -> [String] {
        var done: [String] = []
        while let step = try await applyNext(database) {
            done.append(step)
            logger.info("Changed the tables in PostgreSQL", metadata: ["schema.step": "\(step)"])
        }
        return done
    }

    /// The dry run: what ``apply(to:logger:)`` would do. Changes nothing.
    package func pending(in database: PostgresDatabase) async throws(PostgresError) -> [String] {
        try await database.read { session throws(PostgresError) in
            let exists = try session.query("SELECT to_regclass($1) IS NOT NULL", versionTable)[0].bool(0)
            let present = exists ? try presentVersion(session) : 0
            return missing(after: present).map(\.title)
        }
    }

    private struct Missing {
        var version: Int
        var title: String
        var step: PostgresStep
    }

    private func missing(after present: Int) -> [Missing] {
        guard present > 0 else {
            let title = "make the tables of version \(version)"
            return [Missing(version: version, title: title, step: PostgresStep("tables", sql: tables))]
        }
        return zip(2..., steps).dropFirst(present - 1).map { number, step in
            Missing(version: number, title: "step to version \(number) (\(step.name))", step: step)
        }
    }

    private func applyNext(_ database: PostgresDatabase) async throws(PostgresError) -> String? {
        var attempt = 1
        while true {
            do throws(PostgresError) {
                return try await database.transaction { session throws(PostgresError) in try applyNext(session) }
            } catch {
                guard error.code == .conflict, attempt < Self.attempts else { throw error }
                attempt += 1
            }
        }
    }

    /// One transaction: acquires the lock, reads the version, applies the next step.
    private func applyNext(_ session: PostgresSession) throws(PostgresError) -> String? {
        try session.execute("SELECT pg_advisory_xact_lock($1)", lockKey)
        if try session.query("SELECT to_regclass($1) IS NULL", versionTable)[0].bool(0) {
            try session.executeScript(
                """
                CREATE TABLE \(versionTable) (
                    number int8 PRIMARY KEY, name text NOT NULL, applied_at timestamptz NOT NULL DEFAULT now()
                )
                """)
        }
        guard let next = missing(after: try presentVersion(session)).first else { return nil }
        do throws(PostgresError) { try next.step.apply(session) } catch {
            var named = error
            named.message = "PostgreSQL, \(next.title): failed: \(error.message)"
            throw named
        }
        try session.execute(
            "INSERT INTO \(versionTable) (number, name) VALUES ($1, $2)", next.version, next.step.name)
        return next.title
    }

    private func presentVersion(_ session: PostgresSession) throws(PostgresError) -> Int {
        let present = try session.query("SELECT coalesce(max(number), 0) FROM \(versionTable)")[0].int(0)
        guard present <= version else {
            throw PostgresError(
                .configuration,
                "\(versionTable) in PostgreSQL says version \(present), and this program knows up to \(version). Use "
                    + "the program that made the tables, or a newer one.")
        }
        return present
    }
}
