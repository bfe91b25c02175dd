/// How one value each of many devices are spread. Every number is one that a device has, but the mean and the edges of the histogram.
struct Distribution: Equatable, Sendable {
    struct Bar: Equatable, Sendable, Encodable {
        var from: Double
        /// Exclusive, but in the last bar.
        var to: Double
        var count: Int
    }

    let count: Int
    let min: Double
    let max: Double
    let mean: Double
    let p50: Double
    let p90: Double
    let p99: Double
    /// Of equal width; one bar where all values are the same.
    let histogram: [Bar]

    static let bars = 20

    /// - Returns: `nil` of no values, or of some that are not finite.
    init?(_ values: [Double]) {
        let sorted = values.sorted()
        guard let least = sorted.first, let greatest = sorted.last, values.allSatisfy(\.isFinite) else { return nil }
        // The least value that as great a share of all is at or below.
        func percentile(_ percent: Int) -> Double { sorted[Swift.max(0, (sorted.count * percent + 99) / 100 - 1)] }
        count = sorted.count
        min = least
        max = greatest
        // Not the sum first: it may be out of range where the mean is not.
        mean = sorted.reduce(0) { $0 + $1 / Double(sorted.count) }
        p50 = percentile(50)
        p90 = percentile(90)
        p99 = percentile(99)
        let width = greatest / Double(Self.bars) - least / Double(Self.bars)
        guard width > 0 else {
            histogram = [Bar(from: least, to: greatest, count: sorted.count)]
            return
        }
        // Each side by itself: the whole range may be more than a number holds.
        func edge(_ bar: Int) -> Double {
            let share = Double(bar) / Double(Self.bars)
            return bar == Self.bars ? greatest : least * (1 - share) + greatest * share
        }
        var bars = (0..<Self.bars).map { Bar(from: edge($0), to: edge($0 + 1), count: 0) }
        for value in sorted { bars[Swift.min(Self.bars - 1, Int(value / width - least / width))].count += 1 }
        histogram = bars
    }
}
