import FoundationEssentials
import PostgreSQL
import RecordStore
import Registry

/// A session with the registry in PostgreSQL.
///
/// A transaction of changes first acquires the registry's advisory lock, so changes are serial in the whole cluster, as
/// they are in SQLite. It then sees everything that was committed before. Reading acquires no lock and sees one
/// snapshot. The rows of a result are in memory before the first is returned.
///
/// A text's U+0000, which PostgreSQL refuses, is stored as U+FFFD.
package final class PostgresRegistrySession: RegistrySession {
    private let database: PostgresDatabase
    private let isWriting: Bool
    /// Inside of a transaction.
    private var present: PostgresSession?
    /// Texts as PostgreSQL accepts them.
    private var translated: [String: String] = [:]

    package let name: String
    package let dialect = RegistryDialect(orderedJoin: "JOIN")

    /// Acquires the lock of all changes. With READ COMMITTED each later statement sees what was committed before the
    /// lock was granted. At another level, which a database may have by default, it would see the time before the wait.
    static let acquireLock = """
        SET TRANSACTION ISOLATION LEVEL READ COMMITTED; SELECT pg_advisory_xact_lock(\(changeLock))
        """
    private static let changeLock: Int64 = 0x5753_3152_0000_0002
    private static let maximumTexts = 512

    init(_ database: PostgresDatabase, name: String, isWriting: Bool) {
        self.database = database
        self.name = name
        self.isWriting = isWriting
    }

    /// A session inside of a transaction that somebody else has begun and ends. It acquires the lock of all changes.
    init(within present: PostgresSession, of database: PostgresDatabase, name: String) throws(StoreError) {
        self.database = database
        self.name = name
        isWriting = true
        self.present = present
        do throws(PostgresError) {
            try present.execute("SELECT pg_advisory_xact_lock($1)", Self.changeLock)
        } catch { throw StoreError(error) }
    }

    package func execute(_ sql: String, _ values: [any RegistryBindable]) throws(StoreError) -> Int {
        guard let present else {
            return try transaction { () throws(StoreError) in try execute(sql, values) }
        }
        return try rows(of: sql, values, isKept: true, in: present).affectedRows
    }

    package func query(
        _ sql: String, _ values: [any RegistryBindable], isKept: Bool,
        _ receive: (RegistryRow) throws(StoreError) -> Bool
    ) throws(StoreError) {
        guard let present else {
            return try reading { () throws(StoreError) in try query(sql, values, isKept: isKept, receive) }
        }
        let rows = try rows(of: sql, values, isKept: isKept, in: present)
        let columns = PostgresRegistryColumns(rows)
        for row in rows {
            columns.row = row
            let goesOn = try receive(RegistryRow(columns))
            if let failure = columns.failure { throw StoreError(failure) }
            guard goesOn else { return }
        }
    }

    package func transaction<Value>(_ body: () throws(StoreError) -> Value) throws(StoreError) -> Value {
        guard isWriting else {
            throw StoreError(.internalFault, "a session that only reads the registry was asked for a change.")
        }
        try requireNoTransaction()
        return try database.blockingTransaction(mapping: { StoreError($0) }) { session throws(StoreError) in
            do throws(PostgresError) { try session.executeScript(Self.acquireLock) } catch { throw StoreError(error) }
            present = session
            defer { present = nil }
            try requireTurn()
            return try body()
        }
    }

    /// Holds the turn's row, so that no other collector acquires the turn before this transaction has ended.
    private func requireTurn() throws(StoreError) {
        guard let term = HousekeepingTerm.current else { return }
        guard try hasRow("SELECT 1 FROM housekeeping WHERE term = ? FOR SHARE", term) else {
            throw StoreError.turnIsOver
        }
    }

    package func reading<Value>(_ body: () throws(StoreError) -> Value) throws(StoreError) -> Value {
        try requireNoTransaction()
        return try database.blockingRead(mapping: { StoreError($0) }) { session throws(StoreError) in
            present = session
            defer { present = nil }
            return try body()
        }
    }

    package func announce(_ changes: Set<RegistryChange>) throws(StoreError) {
        guard isWriting, present != nil else {
            throw StoreError(.internalFault, "changes of the registry were told outside of their transaction.")
        }
        try ChangeTable(session: self).append(changes)
    }

    /// The check of each new connection compares the server with the known one.
    package func requireInPlace() throws(StoreError) {}

    /// The database belongs to the registry, which closes it.
    package func close() throws(StoreError) {}

    private func requireNoTransaction() throws(StoreError) {
        guard present == nil else { throw StoreError(.internalFault, "transactions of the registry were nested.") }
    }

    private func rows(
        of sql: String, _ values: [any RegistryBindable], isKept: Bool, in session: PostgresSession
    ) throws(StoreError) -> PostgresRows {
        var parameters: [any PostgresEncodable] = []
        parameters.reserveCapacity(values.count)
        for value in values { parameters.append(Self.parameter(try value.registryValue())) }
        do throws(PostgresError) { return try session.query(text(sql, isKept: isKept), parameters: parameters) } catch {
            throw StoreError(error)
        }
    }

    private func text(_ sql: String, isKept: Bool) -> String {
        if let known = translated[sql] { return known }
        let text = RegistryPlaceholders.translated(sql)
        guard isKept else { return text }
        if translated.count >= Self.maximumTexts { translated.removeAll() }
        translated[sql] = text
        return text
    }

    /// A text as PostgreSQL accepts it.
    static func storable(_ text: String) -> String {
        text.contains("\0") ? text.replacing("\0", with: "\u{FFFD}") : text
    }

    private static func parameter(_ value: RegistryValue) -> any PostgresEncodable {
        switch value {
        case .integer(let value): value
        case .real(let value): value
        case .text(let value): storable(value)
        case .bytes(let value): value
        case .null(.integer): Int64?.none
        case .null(.real): Double?.none
        case .null(.text): String?.none
        case .null(.bytes): Data?.none
        }
    }
}
