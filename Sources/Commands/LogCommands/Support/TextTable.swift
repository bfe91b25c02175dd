import WireModel

/// Columns of equal width, two spaces apart.
struct TextTable {
    private var rows: [[String]]
    private let right: Set<Int>

    /// - Parameter right: columns whose values end at the same place.
    init(_ titles: [String], right: Set<Int> = []) {
        rows = [titles]
        self.right = right
    }

    /// Nothing in a cell steers a terminal or makes another row.
    mutating func add(_ row: [String]) { rows.append(row.map(\.escapingControlCharacters)) }

    var text: String {
        let widths = rows[0].indices.map { column in rows.map { $0[column].count }.max() ?? 0 }
        return rows.map { row in
            var line = ""
            for (column, value) in row.enumerated() {
                let padding = String(repeating: " ", count: widths[column] - value.count)
                line += (column == 0 ? "" : "  ") + (right.contains(column) ? padding + value : value + padding)
            }
            while line.last == " " { line.removeLast() }
            return line + "\n"
        }.joined()
    }
}

/// Sizes for people: decimal, as the limits are.
enum ByteText {
    static func of(_ bytes: Int) -> String {
        guard bytes >= 1000 else { return "\(bytes) B" }
        var value = Double(bytes)
        var unit = ""
        for next in ["kB", "MB", "GB", "TB"] where value >= 1000 {
            value /= 1000
            unit = next
        }
        let tenths = Int((value * 10).rounded())
        return "\(tenths / 10).\(tenths % 10) \(unit)"
    }
}

/// A count with what is counted, for people: `1 chunk`, `2 chunks`.
enum CountText {
    /// - Parameter noun: in the singular; its plural has an s.
    static func of(_ count: some BinaryInteger, _ noun: String) -> String { "\(count) \(noun)\(count == 1 ? "" : "s")" }
}
