import CSQLite
import FoundationEssentials
import TelemetryBasics

/// A prepared statement. Not `Sendable`: only the user of its connection may use it, one at a time.
///
/// As in SQLite, parameters are numbered from 1 and columns from 0. A statement that ended or failed is reset
/// automatically and holds no lock. A statement in the middle of its rows holds a read transaction until `reset()`.
package final class Statement {
    /// `nil` after its connection was closed.
    var pointer: OpaquePointer?
    let path: String
    /// The names of the result's columns; `nil` until a row is first read by name.
    var columnNames: ColumnNames?

    init(_ pointer: OpaquePointer, path: String) {
        self.pointer = pointer
        self.path = path
    }

    deinit {
        sqlite3_finalize(pointer)
    }

    /// Advances to the next row.
    /// - Returns: `false` at the end. The statement is then reset, and the next call starts again.
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

    /// Runs to the end, ignores rows, and resets.
    package func run() throws(SQLiteError) {
        while try step() {}
    }

    /// Returns to the beginning. Bound values stay.
    package func reset() {
        // The result repeats the error that step() threw.
        sqlite3_reset(pointer)
    }

    /// Sets all parameters to NULL.
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

    /// The prepared text. It contains no values, since these are bound.
    func failure(_ result: Int32, _ verb: String) -> SQLiteError {
        SQLiteError.of(
            pointer.flatMap { sqlite3_db_handle($0) }, result: result, operation: "\(verb) \(abbreviatedSQL)",
            path: path)
    }

    var abbreviatedSQL: String {
        Statement.abbreviated(pointer.flatMap { sqlite3_sql($0) }.map { String(cString: $0) } ?? "")
    }

    static func abbreviated(_ sql: String) -> String {
        sql.count <= 80 ? sql : "\(sql.prefix(80))..."
    }
}

/// SQLite copies bound values unless stated otherwise.
extension Statement {
    package func bind(_ value: Int64, at index: Int32) throws(SQLiteError) {
        try check(sqlite3_bind_int64(pointer, index, value), index)
    }

    package func bind(_ value: Int, at index: Int32) throws(SQLiteError) {
        try bind(Int64(value), at: index)
    }

    /// SQLite's integers are signed. A value above `Int64.max` would come back negative and sort first, so it is
    /// `.misuse`.
    package func bind(_ value: UInt64, at index: Int32) throws(SQLiteError) {
        guard let signed = Int64(exactly: value) else {
            throw .misuse(
                "an integer above 9,223,372,036,854,775,807 cannot be stored (parameter \(index))", operation: "bind",
                path: path)
        }
        try bind(signed, at: index)
    }

    package func bind(_ value: Double, at index: Int32) throws(SQLiteError) {
        try check(sqlite3_bind_double(pointer, index, value), index)
    }

    package func bind(_ value: String, at index: Int32) throws(SQLiteError) {
        var value = value
        let result = value.withUTF8 { text -> Int32 in
            guard let base = text.baseAddress else { return sqlite3_bind_text(pointer, index, "", 0, Statement.copied) }
            return base.withMemoryRebound(to: CChar.self, capacity: text.count) {
                sqlite3_bind_text64(pointer, index, $0, UInt64(text.count), Statement.copied, UInt8(SQLITE_UTF8))
            }
        }
        try check(result, index)
    }

    /// Zero bytes make an empty blob, never NULL.
    package func bind(_ value: UnsafeRawBufferPointer, at index: Int32) throws(SQLiteError) {
        try check(bindBlob(value, at: index, Statement.copied), index)
    }

    package func bind(_ value: [UInt8], at index: Int32) throws(SQLiteError) {
        try check(value.withUnsafeBytes { bindBlob($0, at: index, Statement.copied) }, index)
    }

    package func bind(_ value: Data, at index: Int32) throws(SQLiteError) {
        try check(value.withUnsafeBytes { bindBlob($0, at: index, Statement.copied) }, index)
    }

    package func bindNull(at index: Int32) throws(SQLiteError) {
        try check(sqlite3_bind_null(pointer, index), index)
    }

    /// `bind(nil, at: 1)`
    package func bind(_: _OptionalNilComparisonType, at index: Int32) throws(SQLiteError) {
        try bindNull(at: index)
    }

    /// Binds other values and optionals; `nil` is NULL.
    package func bind(_ value: (some BindableValue)?, at index: Int32) throws(SQLiteError) {
        if let value { try value.bind(to: self, at: index) } else { try bindNull(at: index) }
    }

    /// Binds all parameters in order. The number of values must match.
    package func bind(_ values: (any BindableValue)?...) throws(SQLiteError) {
        guard values.count == Int(parameterCount) else {
            throw .misuse("\(values.count) values for \(parameterCount) parameters", operation: "bind", path: path)
        }
        for (offset, value) in values.enumerated() {
            if let value {
                try value.bind(to: self, at: Int32(offset + 1))
            } else {
                try bindNull(at: Int32(offset + 1))
            }
        }
    }

    /// Binds a blob without copying it, runs to the end and unbinds it. SQLite does not use the bytes afterwards.
    package func run(bindingUncopied bytes: UnsafeRawBufferPointer, at index: Int32) throws(SQLiteError) {
        defer { sqlite3_bind_null(pointer, index) }
        try check(bindBlob(bytes, at: index, nil), index)
        try run()
    }

    /// Makes SQLite copy before the call returns (`SQLITE_TRANSIENT`, in C a cast of -1).
    private static var copied: sqlite3_destructor_type { unsafeBitCast(-1, to: sqlite3_destructor_type.self) }

    private func bindBlob(_ bytes: UnsafeRawBufferPointer, at index: Int32, _ destructor: sqlite3_destructor_type?)
        -> Int32
    {
        guard let base = bytes.baseAddress, !bytes.isEmpty else { return sqlite3_bind_zeroblob(pointer, index, 0) }
        return sqlite3_bind_blob64(pointer, index, base, UInt64(bytes.count), destructor)
    }

    private func check(_ result: Int32, _ index: Int32) throws(SQLiteError) {
        guard result == SQLITE_OK else {
            _ = try handle("bind")
            throw failure(result, "bind parameter \(index) of")
        }
    }
}

/// A type that can be bound to a parameter.
package protocol BindableValue {
    func bind(to statement: Statement, at index: Int32) throws(SQLiteError)
}

extension BindableValue where Self: FixedWidthInteger {
    package func bind(to statement: Statement, at index: Int32) throws(SQLiteError) {
        try statement.bind(Int64(self), at: index)
    }
}

extension Int64: BindableValue {}
extension Int: BindableValue {}
extension Int32: BindableValue {}
extension UInt32: BindableValue {}

extension UInt64: BindableValue {
    package func bind(to statement: Statement, at index: Int32) throws(SQLiteError) {
        try statement.bind(self, at: index)
    }
}

extension Bool: BindableValue {
    package func bind(to statement: Statement, at index: Int32) throws(SQLiteError) {
        try statement.bind(Int64(self ? 1 : 0), at: index)
    }
}

extension Double: BindableValue {
    package func bind(to statement: Statement, at index: Int32) throws(SQLiteError) {
        try statement.bind(self, at: index)
    }
}

extension String: BindableValue {
    package func bind(to statement: Statement, at index: Int32) throws(SQLiteError) {
        try statement.bind(self, at: index)
    }
}

extension [UInt8]: BindableValue {
    package func bind(to statement: Statement, at index: Int32) throws(SQLiteError) {
        try statement.bind(self, at: index)
    }
}

extension Data: BindableValue {
    package func bind(to statement: Statement, at index: Int32) throws(SQLiteError) {
        try statement.bind(self, at: index)
    }
}

extension UnsafeRawBufferPointer: BindableValue {
    package func bind(to statement: Statement, at index: Int32) throws(SQLiteError) {
        try statement.bind(self, at: index)
    }
}

/// Columns of the current row, numbered from 0. NULL reads as zero or empty if the result is not optional. SQLite's
/// rules convert columns of another type.
extension Statement {
    package func isNull(_ column: Int32) -> Bool {
        sqlite3_column_type(pointer, column) == SQLITE_NULL
    }

    package func int64(_ column: Int32) -> Int64 {
        sqlite3_column_int64(pointer, column)
    }

    package func int(_ column: Int32) -> Int {
        Int(sqlite3_column_int64(pointer, column))
    }

    package func bool(_ column: Int32) -> Bool {
        sqlite3_column_int64(pointer, column) != 0
    }

    /// - Throws: `.corrupt` for a negative number, because this layer never stores one for an unsigned value.
    package func uint64(_ column: Int32) throws(SQLiteError) -> UInt64 {
        guard let value = UInt64(exactly: int64(column)) else {
            throw corrupt("column \(column) of a row is negative where a count is expected")
        }
        return value
    }

    package func double(_ column: Int32) -> Double {
        sqlite3_column_double(pointer, column)
    }

    /// Bytes that are not UTF-8 become U+FFFD.
    package func string(_ column: Int32) -> String {
        // The order matters: asking for the text may convert the value, and the byte count is that of the converted
        // value.
        guard let text = sqlite3_column_text(pointer, column) else { return "" }
        return String(
            decoding: UnsafeBufferPointer(start: text, count: Int(sqlite3_column_bytes(pointer, column))), as: UTF8.self
        )
    }

    package func bytes(_ column: Int32) -> [UInt8] {
        withBlob(column) { Array($0) }
    }

    package func data(_ column: Int32) -> Data {
        withBlob(column) { Data($0) }
    }

    /// The blob in SQLite's memory, without a copy. The pointer is valid only inside `body`, which must not use the
    /// statement.
    package func withBlob<T, E: Error>(
        _ column: Int32, _ body: (UnsafeRawBufferPointer) throws(E) -> T
    ) throws(E) -> T {
        guard let base = sqlite3_column_blob(pointer, column) else {
            return try body(UnsafeRawBufferPointer(start: nil, count: 0))
        }
        return try body(UnsafeRawBufferPointer(start: base, count: Int(sqlite3_column_bytes(pointer, column))))
    }

    package func optionalInt64(_ column: Int32) -> Int64? { isNull(column) ? nil : int64(column) }
    package func optionalUInt64(_ column: Int32) throws(SQLiteError) -> UInt64? {
        isNull(column) ? nil : try uint64(column)
    }
    package func optionalDouble(_ column: Int32) -> Double? { isNull(column) ? nil : double(column) }
    package func optionalString(_ column: Int32) -> String? { isNull(column) ? nil : string(column) }
    package func optionalBytes(_ column: Int32) -> [UInt8]? { isNull(column) ? nil : bytes(column) }
    package func optionalData(_ column: Int32) -> Data? { isNull(column) ? nil : data(column) }
}
