import SQLite

/// A part of a list.
package struct ListPage<Row: Equatable & Sendable, Position: Equatable & Sendable>: Equatable, Sendable {
    package var rows: [Row]
    /// Where the next page begins: the last row's position. `nil` at the end.
    package var next: Position?

    /// - Parameter rows: one more than `limit` if the list goes on.
    package init(_ rows: [Row], limit: Int, position: (Row) -> Position?) {
        self.rows = Array(rows.prefix(limit))
        next = rows.count > limit ? self.rows.last.flatMap(position) : nil
    }
}

/// Runs a statement from the connection's cache with its values bound in order, and resets it.
extension Connection {
    /// Runs it to the end and ignores rows.
    package func run(_ sql: String, _ values: (any BindableValue)?...) throws(SQLiteError) {
        try bound(sql, values).run()
    }

    package func hasRow(_ sql: String, _ values: (any BindableValue)?...) throws(SQLiteError) -> Bool {
        let statement = try bound(sql, values)
        defer { statement.reset() }
        return try statement.step()
    }

    /// The value that `row` makes of the first row; `nil` if there is no row.
    package func first<Row>(
        _ sql: String, _ values: (any BindableValue)?..., row: (Statement) throws(SQLiteError) -> Row?
    ) throws(SQLiteError) -> Row? {
        let statement = try bound(sql, values)
        defer { statement.reset() }
        return try statement.step() ? try row(statement) : nil
    }

    /// The values that `row` makes of all rows. Rows for which it returns `nil` are left out.
    package func rows<Row>(
        _ sql: String, _ values: (any BindableValue)?..., row: (Statement) throws(SQLiteError) -> Row?
    ) throws(SQLiteError) -> [Row] {
        let statement = try bound(sql, values)
        defer { statement.reset() }
        var rows: [Row] = []
        while try statement.step() { if let row = try row(statement) { rows.append(row) } }
        return rows
    }

    /// The bound statement. The caller steps through its rows and resets it.
    package func bound(_ sql: String, _ values: [(any BindableValue)?]) throws(SQLiteError) -> Statement {
        let statement = try cached(sql)
        guard values.count == Int(statement.parameterCount) else {
            throw SQLiteError(
                code: .misuse, message: "\(values.count) values for \(statement.parameterCount) parameters on \(path).",
                operation: "bind")
        }
        for (place, value) in values.enumerated() { try value?.bind(to: statement, at: Int32(place + 1)) }
        return statement
    }
}
