import CollectorAPI
import JSON

extension Console {
    /// The metrics that every device's page shows as charts.
    package static var chartedMetrics: [String] { MetricCharts.usual.flatMap(\.metrics) }
}

/// Charts of a device's series. Pure.
struct MetricCharts {
    /// A group of metrics that a page shows as one chart.
    struct Group {
        var id: String
        var title: String
        var metrics: [String]
        /// Whether the lines are bars on top of each other: shares of one whole.
        var isStacked = false
        /// A value of an attribute whose series is left out: it is what the others leave.
        var rest: (attribute: String, value: String)?
    }

    /// The charts of these metrics: those of `usual` together, any other by itself.
    static func groups(of metrics: [String]) -> [Group] {
        var rest = metrics
        var groups: [Group] = []
        for var group in usual {
            group.metrics.removeAll { !metrics.contains($0) }
            rest.removeAll { group.metrics.contains($0) }
            if !group.metrics.isEmpty { groups.append(group) }
        }
        return groups + rest.enumerated().map { Group(id: "metric-\($0)", title: $1, metrics: [$1]) }
    }

    /// The aggregates that charts need of a device's series.
    static func aggregates(of device: DeviceView) -> String {
        // Only OTLP has histograms.
        device.kind == "otlp" ? "mean,rate,p50,p95" : "mean,rate"
    }

    /// - Parameters:
    ///   - aggregate: which of its aggregates; `nil` for `rate` of counters, the median and the 95th percentile of
    ///     histograms as far as they are known, and `mean` of others.
    static func chart(_ group: Group, of answer: SeriesView, aggregate: String? = nil) -> ChartTable {
        var lines = answer.series.filter { series in
            group.metrics.contains(series.metric)
                && !(group.rest.map { series.attributes[$0.attribute]?.text == $0.value } ?? false)
        }.flatMap { Line.lines(of: $0, aggregate) }
        let found = lines.count
        if found > ChartTable.maximumLines {
            let largest = Set(
                lines.indices.sorted { lines[$0].size > lines[$1].size }.prefix(ChartTable.maximumLines))
            lines = lines.indices.filter(largest.contains).map { lines[$0] }
        }
        return ChartTable(
            id: group.id, title: group.title, caption: "\(group.title): \(group.metrics.joined(separator: ", "))",
            style: group.isStacked ? .stacked : .line,
            rows: ChartTable.times(from: answer.from, step: answer.stepSeconds, count: answer.buckets),
            columns: zip(names(of: lines), lines).map { ChartTable.Column(name: $0, unit: $1.unit, values: $1.values) },
            leftOut: found - lines.count)
    }

    /// The unit in which an aggregate of a metric is shown: UCUM, and `%` for shares.
    static func unit(_ unit: String, of metric: String, aggregate: String) -> String {
        switch aggregate {
        case "rate": "\(unit)/s"
        case "count": "1"
        // Percent of a metric are no share from 0 to 1.
        default: unit == "1" && isShare(metric) ? "%" : unit == "%" ? "{%}" : unit
        }
    }

    /// One column.
    private struct Line {
        let metric: String
        let unit: String
        /// The attributes, and what else distinguishes series.
        let attributes: [String: String]
        let values: [Double?]
        /// The size, by which large series are distinguished from small ones.
        let size: Double

        /// The lines of a series: one, or the median and the 95th percentile of a histogram.
        static func lines(of series: SeriesView.Series, _ aggregate: String?) -> [Line] {
            if let aggregate { return [Line(series, aggregate)] }
            switch series.kind {
            case "delta-counter", "cumulative-counter": return [Line(series, "rate")]
            case "delta-histogram", "cumulative-histogram", "summary":
                let known = [("p50", "median"), ("p95", "95th percentile")].filter { name, _ in
                    series.values[name]?.contains { $0 != nil } == true
                }
                return known.isEmpty
                    ? [Line(series, "mean", named: "mean")] : known.map { Line(series, $0.0, named: $0.1) }
            default: return [Line(series, "mean")]
            }
        }

        /// - Parameter name: of the aggregate, where others stand beside it.
        private init(_ series: SeriesView.Series, _ aggregate: String, named name: String = "") {
            metric = series.metric
            unit = MetricCharts.unit(series.unit, of: metric, aggregate: aggregate)
            attributes = FleetCharts.texts(of: series.attributes).merging(
                [
                    "application": series.application ?? "", "otel.scope.name": series.scope ?? "",
                    "service.instance.id": series.instance ?? "", "statistic": name,
                ].filter { !$0.value.isEmpty }
            ) { own, _ in own }
            values = series.values[aggregate] ?? []
            size = values.compactMap { $0.map(abs) }.reduce(0, +)
        }
    }

    private static func isShare(_ metric: String) -> Bool {
        ["utilization", "charge", "health", "pressure.average"].contains { metric.hasSuffix($0) }
    }

    /// Returns a name for each column that distinguishes it from the others.
    private static func names(of lines: [Line]) -> [String] {
        let hasSeveralMetrics = Set(lines.map(\.metric)).count > 1
        return zip(lines, ChartTable.names(of: lines.map(\.attributes))).map { line, attributes in
            let last = line.metric.split(separator: ".").last.map(String.init) ?? line.metric
            if attributes.isEmpty { return last }
            return hasSeveralMetrics ? "\(last) \(attributes)" : attributes
        }
    }
}

extension DisplayText {
    /// - Parameter unit: UCUM, or `%` for shares from 0 to 1.
    static func quantity(_ value: Double, _ unit: String) -> String {
        switch unit {
        case "By": bytes(value)
        case "By/s": "\(bytes(value))/s"
        case "%": percent(value)
        case "s": duration(value)
        case "Cel": "\(number(value)) °C"
        case "1": number(value)
        default: "\(number(value)) \(unit.replacing("{", with: "").replacing("}", with: ""))"
        }
    }
}
