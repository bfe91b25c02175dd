import WireModel

/// How the devices' newest values of a metric are spread, by attribute set.
struct DistributionView: Encodable {
    struct Entry: Encodable {
        var attributes: [String: String]
        var count: Int
        var min: Double
        var max: Double
        var mean: Double
        var p50: Double
        var p90: Double
        var p99: Double
        var histogram: [Distribution.Bar]

        init?(_ attributes: [String: String], _ values: [Double]) {
            guard let distribution = Distribution(values) else { return nil }
            self.attributes = attributes
            count = distribution.count
            min = distribution.min
            max = distribution.max
            mean = distribution.mean
            p50 = distribution.p50
            p90 = distribution.p90
            p99 = distribution.p99
            histogram = distribution.histogram
        }
    }

    var metric: String
    var unit: String?
    var kind: String?
    /// With a value.
    var devices: Int
    var distributions: [Entry]

    init(metric: String, definition: MetricDefinition?, devices: Int, values: [[String: String]: [Double]]) {
        self.metric = metric
        unit = definition?.unit
        kind = definition?.kind.name
        self.devices = devices
        distributions = values.sorted { Self.order($0.key) < Self.order($1.key) }.compactMap { Entry($0.key, $0.value) }
    }

    private static func order(_ attributes: [String: String]) -> String {
        attributes.sorted { $0.key < $1.key }.map { "\($0.key)\u{1}\($0.value)" }.joined(separator: "\u{0}")
    }
}
