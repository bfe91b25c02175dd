import CSQLite

/// One prepared statement. Not `Sendable`: used by whoever uses its connection, one at a time.
///
/// Parameters are numbered from 1, columns from 0, as in SQLite. A statement that has come to its end or has failed is reset by
/// itself and holds no lock; one left in the middle of its rows holds a read transaction until `reset()`.
package final class Statement {
    /// nil once its connection was closed.
    var pointer: OpaquePointer?
    let path: String

    init(_ pointer: OpaquePointer, path: String) {
        self.pointer = pointer
        self.path = path
    }

    deinit {
        sqlite3_finalize(pointer)
    }

    /// Goes to the next row.
    /// - Returns: true where there is one; false at the end, after which the statement is reset and the next call begins anew.
    package func step() throws(SQLiteError) -> Bool {
        let pointer = try handle("step")
        let result = sqlite3_step(pointer)
        switch result {
        case SQLITE_ROW:
            return true
        case SQLITE_DONE:
            sqlite3_reset(pointer)
            return false
        default:
            let error = failure(result, "step")
            sqlite3_reset(pointer)
            throw error
        }
    }

    /// Runs to the end, ignoring rows, and is reset.
    package func run() throws(SQLiteError) {
        while try step() {}
    }

    /// Back to the beginning; bound values stay.
    package func reset() {
        // The result repeats the error that step() has thrown already.
        sqlite3_reset(pointer)
    }

    /// All parameters are NULL again.
    package func clearBindings() {
        sqlite3_clear_bindings(pointer)
    }

    package var columnCount: Int32 { sqlite3_column_count(pointer) }
    package var parameterCount: Int32 { sqlite3_bind_parameter_count(pointer) }

    func finalize() {
        sqlite3_finalize(pointer)
        pointer = nil
    }

    func handle(_ operation: String) throws(SQLiteError) -> OpaquePointer {
        guard let pointer else { throw .misuse("the connection is closed", operation: operation, path: path) }
        return pointer
    }

    /// The text as prepared: values are bound, so it holds none.
    func failure(_ result: Int32, _ verb: String) -> SQLiteError {
        let sql = pointer.flatMap { sqlite3_sql($0) }.map { String(cString: $0) } ?? ""
        return SQLiteError.of(
            pointer.flatMap { sqlite3_db_handle($0) }, result: result, operation: "\(verb) \(Statement.abbreviated(sql))", path: path)
    }

    static func abbreviated(_ sql: String) -> String {
        sql.count <= 80 ? sql : "\(sql.prefix(80))..."
    }
}
