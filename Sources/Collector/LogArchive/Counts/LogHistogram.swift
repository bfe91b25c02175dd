import WireModel

/// Buckets of time: `[from + i * step, from + (i + 1) * step)`, the last one cut at `to`. Microseconds since 1970.
package struct LogBuckets: Equatable, Sendable {
    package let from: Int64
    /// Exclusive; greater than `from`.
    package let to: Int64
    /// Greater than 0.
    package let step: Int64

    package init(from: Int64, to: Int64, step: Int64) {
        (self.from, self.to, self.step) = (from, to, step)
    }

    package var count: Int { Int((to - from - 1) / step) + 1 }

    /// The bucket of a time; `nil` outside of all.
    package func bucket(of time: Int64) -> Int? { time >= from && time < to ? Int((time - from) / step) : nil }

    /// The one bucket that all these times are in; `nil` if there is none.
    func bucket(of times: ClosedRange<Int64>) -> Int? {
        guard let first = bucket(of: times.lowerBound), first == bucket(of: times.upperBound) else { return nil }
        return first
    }
}

/// Lines by level and time.
package struct LogHistogram: Equatable, Sendable {
    package let buckets: LogBuckets
    /// The counts by level, most severe first, then by bucket.
    package private(set) var counts: [[Int]]
    /// Buckets before it were not counted, because the lines that were found there are not all there are.
    package var firstCounted = 0
    /// Whether every line in a counted bucket was counted there and only there.
    package var isExact = true
    /// Bytes of text that were read.
    package var scannedBytes = 0

    init(_ buckets: LogBuckets) {
        self.buckets = buckets
        counts = Array(repeating: Array(repeating: 0, count: buckets.count), count: LogLevel.allCases.count)
    }

    mutating func add(_ count: Int, _ level: LogLevel, to bucket: Int) { counts[level.rawValue - 1][bucket] += count }

    /// Adds lines that are somewhere in these times, as if they were spread evenly.
    /// - Parameter share: how many of them count, 0 to 1.
    mutating func spread(_ count: Int, _ level: LogLevel, over times: ClosedRange<Int64>, share: Double = 1) {
        guard count > 0, times.upperBound >= buckets.from, times.lowerBound < buckets.to else { return }
        let width = Double(times.upperBound) - Double(times.lowerBound) + 1
        /// How many lines are before a time, in whole lines: so their sum is right.
        func before(_ time: Int64) -> Int {
            let part = (Double(time) - Double(times.lowerBound)) / width
            return Int((Double(count) * share * min(max(part, 0), 1)).rounded())
        }
        let first = buckets.bucket(of: max(times.lowerBound, buckets.from)) ?? 0
        let last = buckets.bucket(of: min(times.upperBound, buckets.to - 1)) ?? first
        for bucket in first...last {
            let start = buckets.from + Int64(bucket) * buckets.step
            add(before(min(start + buckets.step, buckets.to)) - before(start), level, to: bucket)
        }
    }
}
