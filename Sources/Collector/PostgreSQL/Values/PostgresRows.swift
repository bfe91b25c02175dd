/// The rows that a statement returned. They stay valid after the session, and on any thread.
package struct PostgresRows: RandomAccessCollection, Sendable {
    private let result: PostgresResult?
    /// Rows that the statement returned or changed.
    package let affectedRows: Int

    init(_ result: PostgresResult?) {
        self.result = result
        affectedRows = result?.affectedRows ?? 0
        endIndex = result?.rowCount ?? 0
    }

    package var startIndex: Int { 0 }
    package let endIndex: Int

    package subscript(position: Int) -> PostgresRow {
        precondition(position >= 0 && position < endIndex, "no such row")
        return PostgresRow(result: result!, row: position)
    }

    /// The number of the column with this name: the one after `AS`, which an expression needs, or the column's own.
    package func column(_ name: String) throws(PostgresError) -> Int {
        guard let result else { throw PostgresError(.statement, "A statement without a result has no column \(name).") }
        return try result.column(name)
    }

    package var columnNames: [String] {
        guard let result else { return [] }
        return (0..<result.columnCount).map(result.columnName)
    }
}
