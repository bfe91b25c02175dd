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

    /// - Parameters:
    ///   - aggregate: which of its aggregates; `nil` for `rate` of counters and `mean` of others.
    static func chart(_ group: Group, of answer: SeriesView, aggregate: String? = nil) -> ChartTable {
        var lines = answer.series.filter { series in
            group.metrics.contains(series.metric)
                && !(group.rest.map { series.attributes[$0.attribute]?.text == $0.value } ?? false)
        }.map { Line($0, aggregate) }
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
        default: unit == "1" && isShare(metric) ? "%" : unit
        }
    }

    /// One column.
    private struct Line {
        let metric: String
        let unit: String
        /// The attributes and the application, which also distinguishes series.
        let attributes: [String: String]
        let values: [Double?]
        /// The size, by which large series are distinguished from small ones.
        let size: Double

        init(_ series: SeriesView.Series, _ aggregate: String?) {
            metric = series.metric
            let isCounter = ["delta-counter", "cumulative-counter"].contains(series.kind)
            let aggregate = aggregate ?? (isCounter ? "rate" : "mean")
            unit = MetricCharts.unit(series.unit, of: metric, aggregate: aggregate)
            attributes = FleetCharts.texts(of: series.attributes).merging(
                ["application": series.application ?? ""]) { own, _ in own }
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
