import Foundation

/// All comparisons of one run, for people and as JSON.
struct Report: Codable {
    var machine: Machine
    var rounds: Int
    var comparisons: [Comparison]

    var text: String {
        var lines = [
            """
            \(machine.processor), \(machine.cores) cores, \(machine.kernel), SQLite \(machine.sqlite), \
            \(machine.fileSystem)
            """
        ]
        lines.append("\(rounds) rounds in turns after one that warms up; ratio: to the baseline of the same round")
        for comparison in comparisons {
            let width = max(44, (comparison.results.map(\.name.count).max() ?? 0) + 2)
            lines.append("")
            lines.append(
                Self.padded("\(comparison.name) [\(comparison.unit)]", width)
                    + ["median", "minimum", "maximum"].map { Self.right($0, 12) }.joined()
                    + "   ratio (minimum to maximum)")
            for result in comparison.results {
                var line = Self.padded(result.name, width)
                for value in [result.figures.median, result.figures.minimum, result.figures.maximum] {
                    line += Self.right(Self.number(value), 12)
                }
                if let ratio = result.ratio {
                    line += String(format: "   %.3f (%.3f to %.3f)", ratio.median, ratio.minimum, ratio.maximum)
                } else {
                    line += "   baseline"
                }
                lines.append(line)
            }
            lines += comparison.notes.map { "  \($0)" }
        }
        return lines.joined(separator: "\n")
    }

    /// Thousands apart; three digits at least where the number is small.
    static func number(_ value: Double) -> String {
        guard value.isFinite else { return "-" }
        guard value >= 1000 else { return String(format: value >= 100 ? "%.0f" : value >= 10 ? "%.1f" : "%.2f", value) }
        var digits = Array(String(Int(value.rounded())))
        for position in stride(from: digits.count - 3, to: 0, by: -3) { digits.insert(",", at: position) }
        return String(digits)
    }

    private static func padded(_ text: String, _ width: Int) -> String {
        text + String(repeating: " ", count: max(1, width - text.count))
    }

    private static func right(_ text: String, _ width: Int) -> String {
        String(repeating: " ", count: max(1, width - text.count)) + text
    }
}
