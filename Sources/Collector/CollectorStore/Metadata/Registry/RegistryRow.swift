import FoundationEssentials
import SQLite

/// A row of a result, with columns numbered from 0. It is valid only inside the closure that gets it.
///
/// NULL reads as zero or empty if the result is not optional. SQLite's rows are read in SQLite's memory, without a
/// protocol between; those of another engine through `RegistryColumns`.
package struct RegistryRow {
    private enum Source {
        case sqlite(Statement)
        case other(any RegistryColumns)
    }

    private let source: Source

    init(_ statement: Statement) { source = .sqlite(statement) }
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

/// The columns of the present row of an engine's result.
package protocol RegistryColumns: AnyObject {
    func isNull(_ column: Int32) -> Bool
    /// 0 for NULL; 1 and 0 for a condition.
    func int64(_ column: Int32) -> Int64
    /// Empty for NULL.
    func string(_ column: Int32) -> String
    /// Calls `body` once, also for NULL, with no bytes. The pointer is valid only inside `body`.
    func withBytes(_ column: Int32, _ body: (UnsafeRawBufferPointer) -> Void)
}
