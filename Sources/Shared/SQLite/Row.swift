import CSQLite
import FoundationEssentials
import TelemetryBasics

/// The current row of a statement, read by the names of its columns. It is for rows of more than four columns; the
/// positional functions of `Statement` are for shorter ones.
///
///     while try statement.step() {
///         let row = statement.row
///         devices.append(try Device(id: row.string("id"), seenAt: row.optionalInt64("seen_at")))
///     }
///
/// The name of a column is the one after `AS`, which an expression needs, or the column's own. The statement looks the
/// names up once. Reading the columns in the order of the SELECT then costs one comparison for each.
///
/// A row is valid until the statement's next `step()` or `reset()`. As with the positional functions, NULL reads as
/// zero or empty if the result is not optional.
/// - Throws: every function throws `.misuse` if the row has no column of that name or two columns have the same name.
package struct Row {
    private let statement: Statement

    init(_ statement: Statement) { self.statement = statement }

    package func isNull(_ name: String) throws(SQLiteError) -> Bool {
        statement.isNull(try statement.column(name))
    }

    package func int64(_ name: String) throws(SQLiteError) -> Int64 {
        statement.int64(try statement.column(name))
    }

    package func int(_ name: String) throws(SQLiteError) -> Int {
        statement.int(try statement.column(name))
    }

    package func bool(_ name: String) throws(SQLiteError) -> Bool {
        statement.bool(try statement.column(name))
    }

    /// - Throws: `.corrupt` for a negative number, because this layer never stores one for an unsigned value.
    package func uint64(_ name: String) throws(SQLiteError) -> UInt64 {
        let value = statement.int64(try statement.column(name))
        guard let unsigned = UInt64(exactly: value) else {
            throw statement.corrupt("column \(name) of a row is negative where a count is expected")
        }
        return unsigned
    }

    package func string(_ name: String) throws(SQLiteError) -> String {
        statement.string(try statement.column(name))
    }

    package func data(_ name: String) throws(SQLiteError) -> Data {
        statement.data(try statement.column(name))
    }

    /// The column's state, which is stored as its name.
    /// - Throws: `.corrupt` if `State` has no case of that name.
    package func state<State: RawRepresentable<String>>(_ name: String) throws(SQLiteError) -> State {
        let text = statement.string(try statement.column(name))
        guard let state = State(rawValue: text) else {
            throw statement.corrupt("column \(name) of a row holds no \(State.self)")
        }
        return state
    }

    package func optionalInt64(_ name: String) throws(SQLiteError) -> Int64? {
        try isNull(name) ? nil : int64(name)
    }

    package func optionalUInt64(_ name: String) throws(SQLiteError) -> UInt64? {
        try isNull(name) ? nil : uint64(name)
    }

    package func optionalString(_ name: String) throws(SQLiteError) -> String? {
        try isNull(name) ? nil : string(name)
    }

    package func optionalData(_ name: String) throws(SQLiteError) -> Data? {
        try isNull(name) ? nil : data(name)
    }

    package func optionalState<State: RawRepresentable<String>>(_ name: String) throws(SQLiteError) -> State? {
        try isNull(name) ? nil : state(name)
    }
}

extension Statement {
    /// The current row by the names of its columns.
    package var row: Row { Row(self) }

    /// The number of the result's column with this name, for the positional functions.
    package func column(_ name: String) throws(SQLiteError) -> Int32 {
        let names = try columnNames == nil ? namesOfColumns() : []
        do throws(ColumnNameFault) {
            if columnNames == nil { columnNames = try ColumnNames(names) }
            return Int32(try columnNames?.index(of: name) ?? 0)
        } catch {
            throw .misuse("row of \(abbreviatedSQL): \(error.finding)", operation: "read column", path: path)
        }
    }

    private func namesOfColumns() throws(SQLiteError) -> [String] {
        let pointer = try handle("read column")
        return (0..<columnCount).map { sqlite3_column_name(pointer, $0).map { String(cString: $0) } ?? "" }
    }

    func corrupt(_ finding: String) -> SQLiteError {
        SQLiteError(
            code: .corrupt, extendedResultCode: SQLITE_CORRUPT,
            message: "\(finding), in \(path). \(SQLiteError.Code.corrupt.remedy)", operation: "read column")
    }
}
