import FoundationEssentials
import RecordStore
import SQLite

/// A row of a result, read by the names of its columns, or by their numbers from 0 if it has at most four. It is valid
/// only inside the closure that gets it.
///
/// NULL reads as zero or empty if the result is not optional. SQLite's rows are read in SQLite's memory, without a
/// protocol between; those of another engine through `RegistryColumns`.
package struct RegistryRow {
    private enum Source {
        case sqlite(Statement)
        case other(any RegistryColumns)
    }

    private let source: Source

    package init(_ statement: Statement) { source = .sqlite(statement) }
    package init(_ columns: any RegistryColumns) { source = .other(columns) }

    package func isNull(_ column: Int32) -> Bool {
        switch source {
        case .sqlite(let statement): statement.isNull(column)
        case .other(let columns): columns.isNull(column)
        }
    }

    package func int64(_ column: Int32) -> Int64 {
        switch source {
        case .sqlite(let statement): statement.int64(column)
        case .other(let columns): columns.int64(column)
        }
    }

    package func int(_ column: Int32) -> Int { Int(int64(column)) }

    /// The value of an integer that is not 0, or of a condition.
    package func bool(_ column: Int32) -> Bool { int64(column) != 0 }

    /// - Throws: `.corrupt` for a negative number, because nobody stores one for an unsigned value.
    package func uint64(_ column: Int32) throws(StoreError) -> UInt64 {
        guard let value = UInt64(exactly: int64(column)) else {
            throw StoreError(
                .corrupt, "column \(column) of a row is negative where a count is expected. The registry is damaged.")
        }
        return value
    }

    package func string(_ column: Int32) -> String {
        switch source {
        case .sqlite(let statement): statement.string(column)
        case .other(let columns): columns.string(column)
        }
    }

    package func data(_ column: Int32) -> Data { withBlob(column) { Data($0) } }

    /// The bytes in the engine's memory, without a copy. The pointer is valid only inside `body`.
    package func withBlob<Value>(_ column: Int32, _ body: (UnsafeRawBufferPointer) -> Value) -> Value {
        switch source {
        case .sqlite(let statement): return statement.withBlob(column, body)
        case .other(let columns):
            var value: Value?
            columns.withBytes(column) { value = body($0) }
            return value ?? body(UnsafeRawBufferPointer(start: nil, count: 0))
        }
    }

    package func optionalInt64(_ column: Int32) -> Int64? { isNull(column) ? nil : int64(column) }
    package func optionalString(_ column: Int32) -> String? { isNull(column) ? nil : string(column) }
    package func optionalData(_ column: Int32) -> Data? { isNull(column) ? nil : data(column) }
}

/// Columns by their names: the one after `AS`, which an expression needs, or the column's own. A result's names are
/// read once. Reading the columns in the order of the SELECT then costs one comparison for each.
/// - Throws: every function throws `.internalFault` if the result has no column of that name or two columns have the
///   same name.
extension RegistryRow {
    package func isNull(_ name: String) throws(StoreError) -> Bool { isNull(try column(name)) }
    package func int64(_ name: String) throws(StoreError) -> Int64 { int64(try column(name)) }
    package func int(_ name: String) throws(StoreError) -> Int { int(try column(name)) }
    package func bool(_ name: String) throws(StoreError) -> Bool { bool(try column(name)) }

    /// - Throws: `.corrupt` for a negative number, because nobody stores one for an unsigned value.
    package func uint64(_ name: String) throws(StoreError) -> UInt64 {
        guard let value = UInt64(exactly: try int64(name)) else {
            throw StoreError(
                .corrupt, "column \(name) of a row is negative where a count is expected. The registry is damaged.")
        }
        return value
    }

    package func string(_ name: String) throws(StoreError) -> String { string(try column(name)) }
    package func data(_ name: String) throws(StoreError) -> Data { data(try column(name)) }

    /// The bytes in the engine's memory, without a copy. The pointer is valid only inside `body`.
    package func withBlob<Value>(
        _ name: String, _ body: (UnsafeRawBufferPointer) -> Value
    ) throws(StoreError) -> Value {
        withBlob(try column(name), body)
    }

    package func optionalInt64(_ name: String) throws(StoreError) -> Int64? { optionalInt64(try column(name)) }
    package func optionalString(_ name: String) throws(StoreError) -> String? { optionalString(try column(name)) }
    package func optionalData(_ name: String) throws(StoreError) -> Data? { optionalData(try column(name)) }

    private func column(_ name: String) throws(StoreError) -> Int32 {
        switch source {
        case .sqlite(let statement): try StoreError.mapping(statement.column(name))
        case .other(let columns): try columns.column(name)
        }
    }
}

/// The columns of the present row of an engine's result.
package protocol RegistryColumns: AnyObject {
    /// The number of the column with this name.
    /// - Throws: `.internalFault` if the result has no column of that name or two columns have the same name.
    func column(_ name: String) throws(StoreError) -> Int32
    func isNull(_ column: Int32) -> Bool
    /// 0 for NULL; 1 and 0 for a condition.
    func int64(_ column: Int32) -> Int64
    /// Empty for NULL.
    func string(_ column: Int32) -> String
    /// Calls `body` once, also for NULL, with no bytes. The pointer is valid only inside `body`.
    func withBytes(_ column: Int32, _ body: (UnsafeRawBufferPointer) -> Void)
}
