import Foundation

/// One JSON document on standard output, keys sorted.
func printJSON(_ value: some Encodable) throws {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .prettyPrinted, .withoutEscapingSlashes]
    print(String(decoding: try encoder.encode(value), as: UTF8.self))
}

/// Rows with their columns under one another; a column that holds only numbers is aligned right.
func printTable(_ rows: [[String]]) {
    guard let header = rows.first else { return }
    let columns = header.indices.map { column -> (width: Int, numeric: Bool) in
        let cells = rows.map { $0[column] }
        return (cells.map(\.count).max() ?? 0, rows.count > 1 && cells.dropFirst().allSatisfy { UInt64($0) != nil })
    }
    for row in rows {
        var line = ""
        for (cell, column) in zip(row, columns) {
            let padding = String(repeating: " ", count: column.width - cell.count)
            line += (column.numeric ? padding + cell : cell + padding) + "  "
        }
        while line.last == " " { line.removeLast() }
        print(line)
    }
}
