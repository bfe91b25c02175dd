import Foundation
import WireModel

/// The observations that one point of a histogram or a summary tells of. Pure.
struct MetricDistribution: Equatable, Sendable {
    enum Buckets: Equatable, Sendable {
        /// How the observations lie is not told.
        case none
        /// One count more than bounds. Bucket `i` has what is above bound `i - 1`, up to bound `i`, that one included.
        case explicit(bounds: [Double], counts: [UInt64])
        case exponential(Exponential)
    }

    /// Buckets that grow by a constant factor, and one around zero.
    struct Exponential: Equatable, Sendable {
        /// The factor is 2^(2^-scale).
        var scale: Int32
        /// Observations of at most this size are in `zero`.
        var zeroThreshold: Double
        var zero: UInt64
        /// By index: bucket `i` has what is above factor^i, up to factor^(i + 1). Without empty buckets.
        var positive: [Int: UInt64]
        var negative: [Int: UInt64]
    }

    /// The range in which an observation lies. Where nothing bounds it, the edge is infinite.
    struct Range: Hashable, Sendable {
        var low: Double
        var high: Double
    }

    /// A share of the observations from 0 to 1, and the value below which they are, as the sender has computed it.
    struct Quantile: Equatable, Sendable {
        var share: Double
        var value: Double
    }

    var count: UInt64
    /// `nil` if the sender does not say it. OTLP has it only where no observation is negative.
    var sum: Double?
    /// The least and the greatest observation; `nil` if the sender does not say it.
    var minimum: Double?
    var maximum: Double?
    var buckets = Buckets.none
    /// Only of a summary.
    var quantiles: [Quantile] = []
    var isSummary = false

    /// The observations since an earlier point of the same start. `minimum` and `maximum` stay: they bound these, too.
    /// - Returns: `nil` if a count is less than it was, so that the points are not of one series.
    func since(_ earlier: MetricDistribution) -> MetricDistribution? {
        guard count >= earlier.count else { return nil }
        var grown = self
        grown.count = count - earlier.count
        grown.sum = sum.flatMap { sum in earlier.sum.map { sum - $0 } }
        switch (buckets, earlier.buckets) {
        case (.explicit(let bounds, let counts), .explicit(let formerBounds, let former)) where bounds == formerBounds:
            guard counts.count == former.count, zip(counts, former).allSatisfy(>=) else { return nil }
            grown.buckets = .explicit(bounds: bounds, counts: zip(counts, former).map(-))
        case (.exponential(let own), .exponential(let former)) where own.zeroThreshold == former.zeroThreshold:
            guard let buckets = own.since(former) else { return nil }
            grown.buckets = .exponential(buckets)
        default: grown.buckets = .none
        }
        return grown
    }

    /// Where the observations lie, each range with their number.
    var ranges: [(range: Range, count: UInt64)] {
        var found: [(range: Range, count: UInt64)] = []
        func add(_ low: Double, _ high: Double, _ count: UInt64) {
            guard count > 0 else { return }
            var range = Range(low: low, high: high)
            // A sender that gives a sum says by it that no observation is negative.
            if sum != nil, range.high > 0 { range.low = max(range.low, 0) }
            if let minimum, minimum <= range.high { range.low = max(range.low, minimum) }
            if let maximum, maximum >= range.low { range.high = min(range.high, maximum) }
            found.append((range, count))
        }
        switch buckets {
        case .none: add(-.infinity, .infinity, count)
        case .explicit(let bounds, let counts):
            for (place, count) in counts.enumerated() {
                let high = place < bounds.count ? bounds[place] : .infinity
                add(place == 0 ? -.infinity : bounds[place - 1], high, count)
            }
        case .exponential(let buckets):
            add(-buckets.zeroThreshold, buckets.zeroThreshold, buckets.zero)
            for (index, count) in buckets.positive { add(buckets.edge(index), buckets.edge(index + 1), count) }
            for (index, count) in buckets.negative { add(-buckets.edge(index + 1), -buckets.edge(index), count) }
        }
        return found
    }
}

extension MetricDistribution.Exponential {
    /// The lower edge of a positive bucket.
    fileprivate func edge(_ index: Int) -> Double {
        index == 0 ? 1 : exp2(Double(index) * exp2(-Double(scale)))
    }

    /// A sender that sees a wider range goes to a smaller scale. Its former buckets then lie within new ones.
    fileprivate func since(_ former: Self) -> Self? {
        guard former.scale >= scale, zero >= former.zero else { return nil }
        var grown = self
        grown.zero -= former.zero
        for (path, counts) in [(\Self.positive, former.positive), (\Self.negative, former.negative)] {
            for (index, count) in counts {
                // Shifting rounds down, as scaling does.
                let place = index >> Int(min(64, Int64(former.scale) - Int64(scale)))
                let left = grown[keyPath: path][place, default: 0]
                guard left >= count else { return nil }
                grown[keyPath: path][place] = left == count ? nil : left - count
            }
        }
        return grown
    }
}

/// The observations of histograms and summaries in one bucket of a series.
///
/// Quantiles are as exact as the ranges are: the true one lies within bounds that are computed from them. Ranges of
/// different histograms may overlap, and no assumption about their inside is made.
struct ObservedValues: Equatable, Sendable {
    private(set) var count: UInt64 = 0
    /// Whether the number is known: a summary's quantiles come without it.
    private var isCounted = false
    private var sum: Double? = 0
    private var least = Double.infinity
    private var greatest = -Double.infinity
    private var isWhole = true
    private(set) var ranges: [MetricDistribution.Range: UInt64] = [:]
    /// Those of a summary's newest point.
    private var quantiles: [MetricDistribution.Quantile] = []
    private var quantilesTime = Int64.min

    /// - Parameter isWhole: `minimum` and `maximum` are of these observations alone, not of all since a start.
    mutating func add(_ distribution: MetricDistribution, isWhole: Bool) {
        isCounted = true
        guard distribution.count > 0 else { return }
        count.addSaturating(distribution.count)
        sum = sum.flatMap { sum in distribution.sum.map { sum + $0 } }
        for (range, count) in distribution.ranges { ranges[range, default: 0].addSaturating(count) }
        if isWhole, let minimum = distribution.minimum, let maximum = distribution.maximum {
            least = min(least, minimum)
            greatest = max(greatest, maximum)
        } else {
            self.isWhole = false
        }
    }

    /// Keeps what a summary's sender has computed, if it is the newest.
    mutating func add(_ quantiles: [MetricDistribution.Quantile], at time: Int64) {
        guard !quantiles.isEmpty, time > quantilesTime else { return }
        (self.quantiles, quantilesTime) = (quantiles, time)
    }

    var number: Double? { isCounted ? Double(count) : nil }
    var mean: Double? { count > 0 ? sum.map { $0 / Double(count) } : nil }
    var total: Double? { isCounted ? sum : nil }
    var minimum: Double? { count > 0 && isWhole ? least : nil }
    var maximum: Double? { count > 0 && isWhole ? greatest : nil }

    /// Bounds between which the quantile lies, both included.
    ///
    /// The least that it can be is the quantile of all lower edges, and the greatest is that of all upper edges.
    /// - Returns: `nil` if there is no observation, and of a summary.
    func bounds(ofPercent percent: Int) -> MetricDistribution.Range? {
        guard count > 0, quantiles.isEmpty else { return nil }
        var total: UInt64 = 0
        for count in ranges.values { total.addSaturating(count) }
        let (hundreds, rest) = total.quotientAndRemainder(dividingBy: 100)
        let rank = max(1, hundreds * UInt64(percent) + (rest * UInt64(percent) + 99) / 100)
        func edge(_ edge: (MetricDistribution.Range) -> Double) -> Double {
            var left = rank
            let sorted = ranges.map { (edge: edge($0.key), count: $0.value) }.sorted { $0.edge < $1.edge }
            for (edge, count) in sorted {
                if count >= left { return edge }
                left -= count
            }
            return .infinity
        }
        return MetricDistribution.Range(low: edge(\.low), high: edge(\.high))
    }

    /// The middle of the bounds, which is wrong by half of their distance at most; `nil` if one of them is infinite. Of
    /// a summary what its sender has computed, `nil` if it has not computed this one.
    func quantile(percent: Int) -> Double? {
        if !quantiles.isEmpty { return quantiles.first { $0.share == Double(percent) / 100 }?.value }
        return bounds(ofPercent: percent).map { $0.low / 2 + $0.high / 2 }
    }
}
