import Foundation

/// One row with values by the number of their column, counted from 0. A row with more than four columns is read by
/// their names. For many rows, `PostgresRows.column` finds the number of each column once.
///
/// A value of another type, NULL where a value is expected, and a column that is not there are errors of the code
/// `.statement`; the message names the column. A `numeric`, such as the `sum` of `int8`, needs a cast in SQL.
package struct PostgresRow: Sendable {
    let result: PostgresResult
    let row: Int

    /// The number of the column with this name: the one after `AS`, which an expression needs, or the column's own.
    package func column(_ name: String) throws(PostgresError) -> Int { try result.column(name) }

    /// The value of an int2, int4 or int8.
    package func int64(_ column: Int) throws(PostgresError) -> Int64 {
        try required(try optionalInt64(column), column)
    }

    package func optionalInt64(_ column: Int) throws(PostgresError) -> Int64? {
        guard let bytes = try value(column) else { return nil }
        switch (PostgresType(rawValue: result.type(column)), bytes.count) {
        case (.int8, 8): return Int64(bigEndian: bytes.loadUnaligned(as: Int64.self))
        case (.int4, 4): return Int64(Int32(bigEndian: bytes.loadUnaligned(as: Int32.self)))
        case (.int2, 2): return Int64(Int16(bigEndian: bytes.loadUnaligned(as: Int16.self)))
        case (.oid, 4): return Int64(UInt32(bigEndian: bytes.loadUnaligned(as: UInt32.self)))
        default: throw mismatch(column, "an integer")
        }
    }

    package func int(_ column: Int) throws(PostgresError) -> Int { Int(try int64(column)) }

    package func optionalInt(_ column: Int) throws(PostgresError) -> Int? { try optionalInt64(column).map { Int($0) } }

    /// A negative number is an error.
    package func uint64(_ column: Int) throws(PostgresError) -> UInt64 {
        try required(try optionalUInt64(column), column)
    }

    package func optionalUInt64(_ column: Int) throws(PostgresError) -> UInt64? {
        guard let number = try optionalInt64(column) else { return nil }
        guard let unsigned = UInt64(exactly: number) else {
            throw PostgresError(.statement, "The column \(result.columnName(column)) has a negative number.")
        }
        return unsigned
    }

    package func bool(_ column: Int) throws(PostgresError) -> Bool {
        try required(try optionalBool(column), column)
    }

    package func optionalBool(_ column: Int) throws(PostgresError) -> Bool? {
        guard let bytes = try value(column) else { return nil }
        guard result.type(column) == PostgresType.bool.rawValue, bytes.count == 1 else {
            throw mismatch(column, "a bool")
        }
        return bytes[0] != 0
    }

    /// The value of a float8 or float4.
    package func double(_ column: Int) throws(PostgresError) -> Double {
        try required(try optionalDouble(column), column)
    }

    package func optionalDouble(_ column: Int) throws(PostgresError) -> Double? {
        guard let bytes = try value(column) else { return nil }
        switch (PostgresType(rawValue: result.type(column)), bytes.count) {
        case (.float8, 8): return Double(bitPattern: UInt64(bigEndian: bytes.loadUnaligned(as: UInt64.self)))
        case (.float4, 4):
            return Double(Float(bitPattern: UInt32(bigEndian: bytes.loadUnaligned(as: UInt32.self))))
        default: throw mismatch(column, "a floating point number")
        }
    }

    /// The value of a text, varchar, char, name or json.
    package func string(_ column: Int) throws(PostgresError) -> String {
        try required(try optionalString(column), column)
    }

    package func optionalString(_ column: Int) throws(PostgresError) -> String? {
        guard let bytes = try value(column) else { return nil }
        switch PostgresType(rawValue: result.type(column)) {
        case .text, .varchar, .bpchar, .name, .char, .json: return String(decoding: bytes, as: UTF8.self)
        default: throw mismatch(column, "a text")
        }
    }

    /// The value of a bytea.
    package func data(_ column: Int) throws(PostgresError) -> Data {
        try required(try optionalData(column), column)
    }

    package func optionalData(_ column: Int) throws(PostgresError) -> Data? {
        guard let bytes = try value(column) else { return nil }
        guard result.type(column) == PostgresType.bytea.rawValue else { throw mismatch(column, "a bytea") }
        return Data(bytes)
    }

    package func isNull(_ column: Int) throws(PostgresError) -> Bool { try value(column) == nil }

    package func int64(_ name: String) throws(PostgresError) -> Int64 { try int64(try column(name)) }
    package func int(_ name: String) throws(PostgresError) -> Int { try int(try column(name)) }
    package func bool(_ name: String) throws(PostgresError) -> Bool { try bool(try column(name)) }
    package func string(_ name: String) throws(PostgresError) -> String { try string(try column(name)) }
    package func optionalData(_ name: String) throws(PostgresError) -> Data? { try optionalData(try column(name)) }

    private func value(_ column: Int) throws(PostgresError) -> UnsafeRawBufferPointer? {
        guard column >= 0, column < result.columnCount else {
            throw PostgresError(
                .statement, "The result has \(result.columnCount) columns, and column \(column) was asked for.")
        }
        return result.value(row, column)
    }

    private func required<Value>(_ value: Value?, _ column: Int) throws(PostgresError) -> Value {
        guard let value else {
            throw PostgresError(.statement, "The column \(result.columnName(column)) is NULL; a value is expected.")
        }
        return value
    }

    private func mismatch(_ column: Int, _ expected: String) -> PostgresError {
        PostgresError(
            .statement,
            "The column \(result.columnName(column)) has the type \(result.type(column)) of pg_type; \(expected) is "
                + "expected. Cast it in SQL.")
    }
}
