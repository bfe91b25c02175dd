import WireModel

/// Columns of equal width on a terminal, two spaces apart.
package struct TextTable {
    private var rows: [[String]]
    private let right: Set<Int>?

    /// - Parameter right: the right-aligned columns; `nil` for all columns that contain only numbers.
    package init(_ titles: [String], right: Set<Int>? = nil) {
        rows = [titles]
        self.right = right
    }

    /// Escapes control characters and line ends in the cells.
    package mutating func add(_ row: [String]) { rows.append(row.map(\.escapingControlCharacters)) }

    package var text: String {
        let widths = rows[0].indices.map { column in rows.map { $0[column].columns }.max() ?? 0 }
        let right =
            right
            ?? Set(rows[0].indices.filter { column in rows.dropFirst().allSatisfy { UInt64($0[column]) != nil } })
        return rows.map { row in
            var line = ""
            for (column, value) in row.enumerated() {
                let padding = String(repeating: " ", count: widths[column] - value.columns)
                line += (column == 0 ? "" : "  ") + (right.contains(column) ? padding + value : value + padding)
            }
            while line.last == " " { line.removeLast() }
            return line + "\n"
        }.joined()
    }
}
