import FoundationEssentials
import PostgreSQL
import RecordStore
import Registry
import TelemetryBasics

/// The columns of the present row of a result. The first column of another type than expected is recorded; the session
/// throws it when the row has been read.
final class PostgresRegistryColumns: RegistryColumns {
    var row: PostgresRow?
    private(set) var failure: PostgresError?
    private let rows: PostgresRows
    /// `nil` until a row is first read by name.
    private var names: ColumnNames?

    init(_ rows: PostgresRows) { self.rows = rows }

    func column(_ name: String) throws(StoreError) -> Int32 {
        do throws(ColumnNameFault) {
            if names == nil { names = try ColumnNames(rows.columnNames) }
            return Int32(try names?.index(of: name) ?? 0)
        } catch { throw StoreError(.internalFault, "a row of the registry: \(error.finding).") }
    }

    func isNull(_ column: Int32) -> Bool { noting(true) { row throws(PostgresError) in try row.isNull(Int(column)) } }

    /// SQLite has no type for conditions, so one is read as 0 or 1.
    func int64(_ column: Int32) -> Int64 {
        noting(0) { row throws(PostgresError) in
            do throws(PostgresError) { return try row.optionalInt64(Int(column)) ?? 0 } catch {
                guard let condition = try? row.optionalBool(Int(column)) else { throw error }
                return condition ? 1 : 0
            }
        }
    }

    func string(_ column: Int32) -> String {
        noting("") { row throws(PostgresError) in try row.optionalString(Int(column)) ?? "" }
    }

    func withBytes(_ column: Int32, _ body: (UnsafeRawBufferPointer) -> Void) {
        let data = noting(Data()) { row throws(PostgresError) in try row.optionalData(Int(column)) ?? Data() }
        data.withUnsafeBytes(body)
    }

    private func noting<Value>(
        _ instead: Value, _ read: (PostgresRow) throws(PostgresError) -> Value
    ) -> Value {
        guard let row else { return instead }
        do throws(PostgresError) { return try read(row) } catch {
            failure = failure ?? error
            return instead
        }
    }
}
