import CollectorAPI
import JSON

/// Charts of the summaries of events. Pure.
enum EventCharts {
    /// How many events there were in each step, by group.
    /// - Parameter answer: with a `step`.
    static func counts(_ answer: EventSummaryView, id: String, title: String) -> ChartTable? {
        let groups = answer.groups
        guard let first = groups.first?.buckets?.count, !first.isEmpty else { return nil }
        let isCut = groups.count > ChartTable.maximumLines
        let named = isCut ? ChartTable.maximumLines - 1 : groups.count
        var columns = groups.prefix(named).map { group in
            ChartTable.Column(
                name: group.deviceName ?? group.key, values: group.buckets?.count.map(Double.init) ?? [])
        }
        if isCut {
            var sums = [Double?](repeating: 0, count: first.count)
            for group in groups.dropFirst(named) {
                for (index, count) in (group.buckets?.count ?? []).enumerated() where index < sums.count {
                    sums[index] = (sums[index] ?? 0) + Double(count)
                }
            }
            columns.append(ChartTable.Column(name: "all others", values: sums, color: "grey"))
        }
        return ChartTable(
            id: id, title: title, caption: "Events of each step", style: .stacked,
            rows: ChartTable.times(from: answer.from, step: answer.stepSeconds, count: first.count), columns: columns)
    }

    /// The counts of one event, with its devices.
    static func counts(ofOne answer: EventSummaryView) -> ChartTable? {
        guard let buckets = answer.groups.first?.buckets, !buckets.count.isEmpty else { return nil }
        return ChartTable(
            id: "counts", title: "Events", caption: "Events of each step, and the devices they came from", style: .bar,
            rows: ChartTable.times(from: answer.from, step: answer.stepSeconds, count: buckets.count.count),
            columns: [
                ChartTable.Column(name: "Events", values: buckets.count.map(Double.init)),
                ChartTable.Column(name: "Devices", values: buckets.devices.map(Double.init), isDrawn: false),
            ])
    }

    /// How the numbers of an event are spread; `nil` if no value is a number.
    static func numbers(_ answer: EventSummaryView) -> ChartTable? {
        guard let group = answer.groups.first, group.numeric != nil, let buckets = group.buckets, !buckets.p50.isEmpty
        else { return nil }
        let drawn = [("Median", buckets.p50), ("95th percentile", buckets.p95)].map {
            ChartTable.Column(name: $0, values: $1)
        }
        let listed = [
            ("Least", buckets.min), ("Greatest", buckets.max), ("Mean", buckets.mean), ("Sum", buckets.sum),
        ].map { ChartTable.Column(name: $0, values: $1, isDrawn: false) }
        return ChartTable(
            id: "numbers", title: "Values", caption: "Values that are numbers, of the events of each step",
            rows: ChartTable.times(from: answer.from, step: answer.stepSeconds, count: buckets.p50.count),
            columns: drawn + listed)
    }
}
