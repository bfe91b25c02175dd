import CLibPQ

/// The session with which a body runs its statements.
///
/// Not `Sendable`, and valid only inside the body that got it; later calls throw `.statement`. After an error of a
/// statement PostgreSQL refuses the other statements of the transaction, so a body lets the error pass.
package final class PostgresSession {
    enum Transaction { case none, readOnly, readWrite }

    let connection: PostgresConnection
    private let transaction: Transaction
    private var isOver = false
    /// The first error of a statement. A body that hides it must not commit.
    private(set) var firstFailure: PostgresError?
    /// A statement of the body has ended the transaction, so what is committed is not known.
    private(set) var hasEndedTransaction = false

    init(_ connection: PostgresConnection, in transaction: Transaction) {
        self.connection = connection
        self.transaction = transaction
    }

    /// Refuses all later calls.
    func end() { isOver = true }

    /// Runs one statement with `$1`, `$2` ... for the parameters. It is prepared once for each connection.
    package func query(_ sql: String, _ parameters: any PostgresEncodable...) throws(PostgresError) -> PostgresRows {
        try query(sql, parameters: parameters)
    }

    package func query(_ sql: String, parameters: [any PostgresEncodable]) throws(PostgresError) -> PostgresRows {
        let values = try PostgresParameters(parameters)
        return try noting { () throws(PostgresError) in try run(sql, values) }
    }

    /// - Returns: the number of rows that were inserted, changed, deleted or selected.
    @discardableResult
    package func execute(_ sql: String, _ parameters: any PostgresEncodable...) throws(PostgresError) -> Int {
        try query(sql, parameters: parameters).affectedRows
    }

    @discardableResult
    package func execute(_ sql: String, parameters: [any PostgresEncodable]) throws(PostgresError) -> Int {
        try query(sql, parameters: parameters).affectedRows
    }

    /// Runs several statements without parameters. Never put data into the text.
    ///
    /// Each statement has the whole statement timeout.
    package func executeScript(_ sql: String) throws(PostgresError) {
        try noting { () throws(PostgresError) in
            let results = try exchange { connection.library.call.sendQuery($0, sql) }
            // A script may end the transaction and begin another one.
            if transaction != .none, results.contains(where: { Self.endingTags.contains($0.commandTag) }) {
                throw endedTransaction()
            }
        }
    }

    private func run(_ sql: String, _ values: PostgresParameters) throws(PostgresError) -> PostgresRows {
        let key = StatementCache.Key(sql: sql, types: values.types)
        guard let name = connection.statements.name(of: key) else {
            return try send(try prepare(key), values)
        }
        do throws(PostgresError) { return try send(name, values) } catch {
            // The schema has changed (0A000), or someone has dropped the statement (26000). This transaction is lost,
            // and the next one prepares it anew.
            guard error.sqlState == "0A000" || error.sqlState == "26000" else { throw error }
            connection.statements.remove(key)
            throw PostgresError(.conflict, error.message, sqlState: error.sqlState)
        }
    }

    private func prepare(_ key: StatementCache.Key) throws(PostgresError) -> String {
        if let evicted = connection.statements.evict() {
            _ = try exchange { self.connection.library.call.sendQuery($0, "DEALLOCATE \(evicted)") }
        }
        let name = connection.statements.newName()
        _ = try exchange {
            self.connection.library.call.sendPrepare($0, name, key.sql, Int32(key.types.count), key.types)
        }
        connection.statements.insert(key, name: name)
        return name
    }

    private func send(_ name: String, _ values: PostgresParameters) throws(PostgresError) -> PostgresRows {
        let results = try exchange { handle in
            values.withPointers { pointers, lengths, formats in
                self.connection.library.call.sendQueryPrepared(
                    handle, name, values.count, pointers, lengths, formats, 1)
            }
        }
        return PostgresRows(results.last)
    }

    private func exchange(_ send: (OpaquePointer) -> Int32) throws(PostgresError) -> [PostgresResult] {
        try connection.exchange(readOnly: transaction == .readOnly, send)
    }

    /// Runs a call, and records what decides later whether the transaction may be committed.
    private func noting<Value>(_ call: () throws(PostgresError) -> Value) throws(PostgresError) -> Value {
        guard !isOver else { throw PostgresError(.statement, "A session of PostgreSQL was used outside of its body.") }
        let value: Value
        do throws(PostgresError) { value = try call() } catch {
            firstFailure = firstFailure ?? error
            try recordEnd()
            throw error
        }
        try recordEnd()
        return value
    }

    private func recordEnd() throws(PostgresError) {
        if transaction != .none, connection.isIdle { throw endedTransaction() }
    }

    private func endedTransaction() -> PostgresError {
        hasEndedTransaction = true
        connection.markBroken()
        return PostgresError(.statement, "A statement ended the transaction that it ran in; only its owner may do so.")
    }

    /// After these the transaction is not the one that the body began in. ROLLBACK may also be one to a savepoint.
    private static let endingTags: Set = ["BEGIN", "START TRANSACTION", "COMMIT", "PREPARE TRANSACTION"]
}
