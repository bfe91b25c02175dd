import FoundationEssentials
import RecordStore

/// A session with the registry: the database of organizations, tokens, devices, commands, uploads and notices.
///
/// **What it is for.** `MetadataService` and its tables are written once, with one SQL text, for two engines: SQLite in
/// one process (`SQLiteRegistrySession`), and PostgreSQL behind several collectors. This protocol is all they know of
/// the engine. It is synchronous, because each owner of a session runs on a queue that may block.
///
/// **The SQL.** A text uses only what both engines understand in the same way:
/// - Parameters are `?` or `?1`, `?2`. A text uses one of the two forms.
/// - Truth values are the integers 0 and 1. A condition on a parameter is `?1 <> 0`. A result may be a condition; it is
///   read with `bool`.
/// - A sum is read as an integer: `CAST(sum(x) AS bigint)`.
/// - `INSERT ... ON CONFLICT (columns) DO ...` names the conflict's columns, and the table of a column that both the
///   row and `excluded` have.
/// - A number that the database has issued is read with `RETURNING`.
/// - No `max` or `min` of two values, no `IS` between values, no negative `LIMIT`, no `x''`, no JSON functions.
///
/// What has no such form is in `RegistryDialect`.
///
/// **Transactions.** `transaction` is for changes. Changes are serial: a second transaction, also of another process,
/// waits until the first has ended, and then sees what it did. `reading` is for several statements that must see one
/// moment. A statement outside of both is a transaction of its own. None of them may be nested.
///
/// Not `Sendable`: one queue or actor uses it, one call at a time. All errors are `StoreError`.
package protocol RegistrySession: AnyObject {
    /// Names the database in messages: the file's path, or the server and the database.
    var name: String { get }

    var dialect: RegistryDialect { get }

    /// Runs a statement to its end. Rows are ignored.
    /// - Returns: the number of rows that the statement inserted, updated or deleted.
    func execute(_ sql: String, _ values: [any RegistryBindable]) throws(StoreError) -> Int

    /// Runs a statement and gives its rows to `take`, one after the other.
    /// - Parameters:
    ///   - isKept: whether the prepared statement is kept for the next call with the same text. `false` is for texts
    ///     that are put together for each call.
    ///   - take: returns `false` to end the statement. It may use the session, but not with the same text.
    func query(
        _ sql: String, _ values: [any RegistryBindable], isKept: Bool,
        _ receive: (RegistryRow) throws(StoreError) -> Bool
    ) throws(StoreError)

    /// Runs a transaction of changes. It is committed and on synced disk when the call returns. If `body` or the
    /// commit throws, nothing of it remains.
    func transaction<Value>(_ body: () throws(StoreError) -> Value) throws(StoreError) -> Value

    /// Runs statements that see the database at one moment and change nothing.
    func reading<Value>(_ body: () throws(StoreError) -> Value) throws(StoreError) -> Value

    /// Informs all collectors of the registry of what the present transaction changes, as part of it. Does nothing
    /// where there is only one.
    func announce(_ changes: Set<RegistryChange>) throws(StoreError)

    /// - Throws: `.io` if the database was removed or replaced since the session was opened.
    func requireInPlace() throws(StoreError)

    /// Ends the session. What was committed stays.
    func close() throws(StoreError)
}

extension RegistrySession {
    /// Runs a statement to its end and ignores rows.
    /// - Returns: the number of changed rows.
    @discardableResult
    package func run(_ sql: String, _ values: any RegistryBindable...) throws(StoreError) -> Int {
        try execute(sql, values)
    }

    package func hasRow(_ sql: String, _ values: any RegistryBindable...) throws(StoreError) -> Bool {
        var hasRow = false
        try query(sql, values, isKept: true) { _ throws(StoreError) in
            hasRow = true
            return false
        }
        return hasRow
    }

    /// The value that `row` makes of the first row; `nil` if there is no row.
    package func first<Row>(
        _ sql: String, _ values: any RegistryBindable..., row: (RegistryRow) throws(StoreError) -> Row?
    ) throws(StoreError) -> Row? {
        var first: Row?
        try query(sql, values, isKept: true) { found throws(StoreError) in
            first = try row(found)
            return false
        }
        return first
    }

    /// The values that `row` makes of all rows. Rows for which it returns `nil` are left out.
    package func rows<Row>(
        _ sql: String, _ values: any RegistryBindable..., row: (RegistryRow) throws(StoreError) -> Row?
    ) throws(StoreError) -> [Row] {
        var rows: [Row] = []
        try query(sql, values, isKept: true) { found throws(StoreError) in
            if let row = try row(found) { rows.append(row) }
            return true
        }
        return rows
    }

    /// Gives every row to `receive`.
    package func each(
        _ sql: String, _ values: any RegistryBindable..., receive: (RegistryRow) throws(StoreError) -> Void
    ) throws(StoreError) {
        try query(sql, values, isKept: true) { row throws(StoreError) in
            try receive(row)
            return true
        }
    }

    /// One of the collector's own values, such as its ids; empty if absent.
    package func meta(_ name: String) throws(StoreError) -> Data {
        try first("SELECT value FROM meta WHERE name = ?", name) { $0.data(0) } ?? Data()
    }

    func setMeta(_ name: String, to value: Data) throws(StoreError) {
        try run(
            "INSERT INTO meta (name, value) VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET value = excluded.value",
            name,
            value)
    }
}

/// Opens sessions with one registry.
package protocol Registry: Sendable {
    /// - Throws: `.notFound` if no collector has made it yet.
    func requireCollector() throws(StoreError)

    /// Returns what `keepVerification` was last given; `nil` for nothing.
    func verification() throws(StoreError) -> Data?

    /// Keeps the result of `verify`, in place of the former one.
    func keepVerification(_ result: Data) throws(StoreError)

    /// How long one service may use what it has in memory. A new one for each service.
    func makeLease() -> RegistryLease

    /// A session that may change the registry.
    func openWriting() throws(StoreError) -> any RegistrySession

    /// A session that only reads.
    /// - Throws: `.notFound` if there is no registry yet.
    func openReading() throws(StoreError) -> any RegistrySession
}
