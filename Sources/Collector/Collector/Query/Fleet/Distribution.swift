import CollectorAPI
import MetricCatalog
import WireModel

/// The distribution of one value of many devices.
extension DistributionView.Entry {
    static let bars = 20

    /// - Returns: `nil` if there is no value, or if one is not finite.
    init?(_ values: [Double]) {
        let sorted = values.sorted()
        guard let least = sorted.first, let greatest = sorted.last, values.allSatisfy(\.isFinite) else { return nil }
        self.init()
        count = sorted.count
        min = least
        max = greatest
        // The sum may be out of range even if the mean is not.
        mean = sorted.reduce(0) { $0 + $1 / Double(sorted.count) }
        p5 = sorted.percentile(5)
        p25 = sorted.percentile(25)
        p50 = sorted.percentile(50)
        p75 = sorted.percentile(75)
        p90 = sorted.percentile(90)
        p95 = sorted.percentile(95)
        p99 = sorted.percentile(99)
        let width = greatest / Double(Self.bars) - least / Double(Self.bars)
        guard width > 0 else {
            histogram = [Bar(from: least, to: greatest, count: sorted.count)]
            return
        }
        // Computed from both sides, because the whole range may exceed a number's.
        func edge(_ bar: Int) -> Double {
            let share = Double(bar) / Double(Self.bars)
            return bar == Self.bars ? greatest : least * (1 - share) + greatest * share
        }
        var bars = (0..<Self.bars).map { Bar(from: edge($0), to: edge($0 + 1), count: 0) }
        for value in sorted { bars[Swift.min(Self.bars - 1, Int(value / width - least / width))].count += 1 }
        histogram = bars
    }
}

extension DistributionView {
    init(metric: String, definition: MetricDefinition?, devices: Int, values: [MetricAttributes: [Double]]) {
        self.init()
        self.metric = metric
        unit = definition?.unit
        kind = definition?.kind.name
        self.devices = devices
        distributions = values.sorted { Self.order($0.key) < Self.order($1.key) }.compactMap { attributes, values in
            var entry = Entry(values)
            entry?.attributes = attributes.json
            return entry
        }
    }

    private static func order(_ attributes: MetricAttributes) -> String {
        attributes.sorted { $0.key < $1.key }.map { "\($0.key)\u{1}\($0.value)" }.joined(separator: "\u{0}")
    }
}
