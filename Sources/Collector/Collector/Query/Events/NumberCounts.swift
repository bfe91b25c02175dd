import Foundation

/// How often each number occurred. Numbers can be rounded to fewer digits, so that few of them are different and memory
/// stays small; percentiles are then right to so many digits.
struct NumberCounts: Equatable, Sendable {
    private(set) var counts: [Double: Int] = [:]

    /// - Returns: whether there was no such number yet.
    mutating func add(_ number: Double, count: Int = 1) -> Bool {
        let former = counts[number]
        counts[number] = (former ?? 0) + count
        return former == nil
    }

    mutating func add(_ other: NumberCounts) {
        for (number, count) in other.counts { _ = add(number, count: count) }
    }

    mutating func round(to digits: Int) {
        var rounded = NumberCounts()
        for (number, count) in counts { _ = rounded.add(Self.rounded(number, to: digits), count: count) }
        self = rounded
    }

    /// The least numbers such that these shares of all are at or below them; `nil` if there is none.
    func percentiles(_ percents: [Int]) -> [Double]? {
        let total = counts.values.reduce(0, +)
        guard total > 0 else { return nil }
        let sorted = counts.sorted { $0.key < $1.key }
        return percents.map { percent in
            var rest = max(1, (total * percent + 99) / 100)
            for (number, count) in sorted {
                rest -= count
                if rest <= 0 { return number }
            }
            return sorted[sorted.count - 1].key
        }
    }

    /// Rounds to so many significant digits.
    static func rounded(_ number: Double, to digits: Int) -> Double {
        guard number != 0, number.isFinite else { return number }
        let scale = pow(10, Double(digits - 1) - floor(log10(abs(number))))
        let rounded = (number * scale).rounded() / scale
        // The scale of the least numbers is out of range.
        return rounded.isFinite && scale.isFinite ? rounded : number
    }
}
