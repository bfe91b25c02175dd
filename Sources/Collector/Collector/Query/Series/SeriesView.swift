import WireModel

/// Series as people see them: `values[aggregate][i]` is of the bucket that begins at `from` + i × `stepSeconds`, null where there is none.
struct SeriesView: Encodable {
    struct Series: Encodable {
        var metric: String
        /// UCUM.
        var unit: String
        var kind: String
        var module: String
        var application: String?
        var attributes: [String: String]
        var values: [String: [Double?]]
    }

    var device: String
    var from: String
    var to: String
    var stepSeconds: Int64
    var buckets: Int
    var series: [Series]

    init(_ accumulator: SeriesAccumulator, _ aggregates: [SeriesAggregate], device: DeviceID) {
        let window = accumulator.window
        self.device = device.description
        from = Timestamp.text(window.from)
        to = Timestamp.text(window.to)
        stepSeconds = window.step / 1_000_000
        buckets = window.buckets
        series = accumulator.series.sorted { Self.order($0.key) < Self.order($1.key) }.map { key, found in
            let values = aggregates.map { aggregate in
                (aggregate.rawValue, (0..<window.buckets).map { (found.buckets[$0] ?? SeriesBucket()).value(aggregate) })
            }
            return Series(
                metric: key.metric, unit: found.definition.unit, kind: found.definition.kind.name, module: key.module,
                application: key.application.isEmpty ? nil : key.application, attributes: key.attributes,
                values: Dictionary(values) { first, _ in first })
        }
    }

    private static func order(_ key: SeriesAccumulator.Key) -> String {
        let attributes = key.attributes.sorted { $0.key < $1.key }.map { "\($0.key)\u{1}\($0.value)" }
        return ([key.metric, key.module, key.application] + attributes).joined(separator: "\u{0}")
    }
}

extension MetricDefinition.Kind {
    /// As the API names it.
    var name: String {
        switch self {
        case .gauge: "gauge"
        case .upDownCounter: "up-down-counter"
        case .deltaCounter: "delta-counter"
        case .cumulativeCounter: "cumulative-counter"
        }
    }
}
