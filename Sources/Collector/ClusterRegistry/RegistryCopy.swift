import FoundationEssentials
import PostgreSQL
import RecordStore
import Registry
import WireModel

/// Copies a registry from SQLite to PostgreSQL, table by table, while nobody else writes to either.
///
/// All of it is one transaction. It first removes what an earlier copy left, so a copy that was cut short, or one of a
/// directory that has been served since, is simply made again. The tables are those of `RegistrySchema`.
package struct RegistryCopy: Sendable {
    package struct Report: Equatable, Sendable {
        /// The number of rows by the table's name.
        package var rows: [String: Int] = [:]
        package var total: Int { rows.values.reduce(0, +) }
    }

    private let database: PostgresDatabase

    package init(to registry: PostgresRegistry) { database = registry.database }

    /// Rows of `meta` in PostgreSQL alone: the count of changes, and the last result of `verify`.
    private static let ownRows = "name IN ('change_number', 'verification')"
    /// Others refer to these, so they are first.
    private static let first = ["upload", "chunk"]

    private static let rowsTogether = 2000
    private static let bytesTogether = 4 << 20

    /// - Throws: `.conflict` if PostgreSQL has the registry of another collector.
    package func requireEmpty(otherThan collector: CollectorID) async throws(StoreError) {
        try await database.read(mapping: { StoreError($0) }) { session throws(StoreError) in
            try Self.requireEmpty(session, otherThan: collector)
        }
    }

    /// - Parameters:
    ///   - open: opens the registry in SQLite, on the thread that calls it.
    ///   - fence: throws if the copy must not be made any more; asked in the transaction.
    ///   - progress: gets the rows so far.
    /// - Throws: `.conflict` if PostgreSQL has the registry of another collector; `.internalFault` if the schemas
    ///   differ.
    package func run(
        of collector: CollectorID, from open: @escaping @Sendable () throws(StoreError) -> any RegistrySession,
        fence: @escaping @Sendable (PostgresSession) throws(StoreError) -> Void = { _ in },
        progress: @escaping @Sendable (Int) -> Void = { _ in }
    ) async throws(StoreError) -> Report {
        try await database.transaction(mapping: { StoreError($0) }) { session throws(StoreError) in
            do throws(PostgresError) {
                try session.executeScript(PostgresRegistrySession.acquireLock)
            } catch { throw StoreError(error) }
            try fence(session)
            try Self.requireEmpty(session, otherThan: collector)
            let source = try open()
            let tables = try RegistryTable.common(source, session)
            var report = Report()
            do throws(PostgresError) {
                for table in tables.reversed() {
                    try session.execute("DELETE FROM \(Self.copied(table))")
                }
            } catch { throw StoreError(error) }
            for table in tables {
                let done = report.total
                report.rows[table.name] = try table.copy(source, session) { progress(done + $0) }
            }
            return report
        }
    }

    /// Compares the number of rows of each table.
    /// - Returns: the tables that differ, for people.
    package func differences(
        from open: @escaping @Sendable () throws(StoreError) -> any RegistrySession
    ) async throws(StoreError) -> [String] {
        try await database.read(mapping: { StoreError($0) }) { session throws(StoreError) in
            let source = try open()
            var found: [String] = []
            for table in try RegistryTable.common(source, session) {
                let expected = try source.first("SELECT count(*) FROM \(table.name)") { $0.int(0) } ?? 0
                let count: Int
                do throws(PostgresError) {
                    count = try session.query("SELECT count(*) FROM \(Self.copied(table))")[0].int(0)
                } catch { throw StoreError(error) }
                if count != expected { found.append("\(table.name) has \(count) rows instead of \(expected)") }
            }
            return found
        }
    }

    private static func requireEmpty(
        _ session: PostgresSession, otherThan collector: CollectorID
    ) throws(StoreError) {
        let found: Data?
        do throws(PostgresError) {
            guard try session.query("SELECT to_regclass('meta') IS NOT NULL")[0].bool(0) else {
                throw PostgresError(
                    .configuration, "there is no registry. Run `ws1collector cluster init` first.")
            }
            found = try session.query("SELECT value FROM meta WHERE name = 'collector_id'").first?.optionalData(0)
        } catch { throw StoreError(error) }
        let isEmpty: Bool
        do throws(PostgresError) {
            isEmpty = try session.query(
                "SELECT NOT EXISTS (SELECT FROM organization) AND NOT EXISTS (SELECT FROM token)")[0].bool(0)
        } catch { throw StoreError(error) }
        guard found == collector.data || found == nil && isEmpty else {
            throw StoreError(
                .conflict,
                "the registry in PostgreSQL is in use already. A data directory moves only into an empty cluster.")
        }
    }

    /// The rows in PostgreSQL that a copy replaces.
    static func copied(_ table: RegistryTable) -> String {
        table.name == "meta" ? "meta WHERE NOT \(ownRows)" : table.name
    }

    // MARK: Order

    /// Sorts tables so that a row is there before another refers to it.
    static func ordered(_ names: some Collection<String>) -> [String] {
        first.filter(names.contains) + names.filter { !first.contains($0) }.sorted()
    }

    static func isFull(rows: Int, bytes: Int) -> Bool { rows >= rowsTogether || bytes >= bytesTogether }
}
