import CSQLite
import FoundationEssentials

/// Columns of the row that the last `step()` found, numbered from 0. NULL reads as zero or empty where the result is not optional,
/// and a column of another type is converted by SQLite's rules.
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

    /// - Throws: `.corrupt` for a negative number: this layer never writes one for an unsigned value.
    package func uint64(_ column: Int32) throws(SQLiteError) -> UInt64 {
        guard let value = UInt64(exactly: int64(column)) else {
            throw SQLiteError(
                code: .corrupt, extendedResultCode: SQLITE_CORRUPT,
                message: "column \(column) of a row in \(path) is negative where a count is expected. \(SQLiteError.Code.corrupt.remedy)",
                operation: "read column")
        }
        return value
    }

    package func double(_ column: Int32) -> Double {
        sqlite3_column_double(pointer, column)
    }

    /// Bytes that are not UTF-8 are replaced by U+FFFD.
    package func string(_ column: Int32) -> String {
        // Text first: asking for it may convert the value, and the count is that of the converted one.
        guard let text = sqlite3_column_text(pointer, column) else { return "" }
        return String(decoding: UnsafeBufferPointer(start: text, count: Int(sqlite3_column_bytes(pointer, column))), as: UTF8.self)
    }

    package func bytes(_ column: Int32) -> [UInt8] {
        withBlob(column) { Array($0) }
    }

    package func data(_ column: Int32) -> Data {
        withBlob(column) { Data($0) }
    }

    /// The blob where SQLite holds it, without a copy; the pointer is good only inside `body`, which must not touch the statement.
    package func withBlob<T, E: Error>(_ column: Int32, _ body: (UnsafeRawBufferPointer) throws(E) -> T) throws(E) -> T {
        guard let base = sqlite3_column_blob(pointer, column) else { return try body(UnsafeRawBufferPointer(start: nil, count: 0)) }
        return try body(UnsafeRawBufferPointer(start: base, count: Int(sqlite3_column_bytes(pointer, column))))
    }

    package func optionalInt64(_ column: Int32) -> Int64? { isNull(column) ? nil : int64(column) }
    package func optionalUInt64(_ column: Int32) throws(SQLiteError) -> UInt64? { isNull(column) ? nil : try uint64(column) }
    package func optionalDouble(_ column: Int32) -> Double? { isNull(column) ? nil : double(column) }
    package func optionalString(_ column: Int32) -> String? { isNull(column) ? nil : string(column) }
    package func optionalBytes(_ column: Int32) -> [UInt8]? { isNull(column) ? nil : bytes(column) }
    package func optionalData(_ column: Int32) -> Data? { isNull(column) ? nil : data(column) }
}
