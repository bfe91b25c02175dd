import JSON

/// Charts of the summaries of events. Pure.
enum EventCharts {
    /// How many events there were in each step, by group.
    /// - Parameters:
    ///   - answer: of `/events/summary` with a `step`.
    ///   - name: what a group is called.
    static func counts(
        _ answer: JSONValue, id: String, title: String, name: (String) -> String = { $0 }
    ) -> ChartTable? {
        let groups = answer["groups"].items
        guard let first = groups.first?["buckets"]["count"].items, !first.isEmpty else { return nil }
        let isCut = groups.count > ChartTable.maximumLines
        let named = isCut ? ChartTable.maximumLines - 1 : groups.count
        var columns = groups.prefix(named).map { group in
            ChartTable.Column(
                name: name(group["key"].text ?? ""), values: group["buckets"]["count"].numbers)
        }
        if isCut {
            var sums = [Double?](repeating: 0, count: first.count)
            for group in groups.dropFirst(named) {
                for (index, count) in group["buckets"]["count"].numbers.enumerated() where index < sums.count {
                    sums[index] = (sums[index] ?? 0) + (count ?? 0)
                }
            }
            columns.append(ChartTable.Column(name: "all others", values: sums, color: "grey"))
        }
        return ChartTable(
            id: id, title: title, caption: "Events of each step", style: .stacked,
            rows: ChartTable.times(of: answer, count: first.count), columns: columns)
    }

    /// The counts of one event, with its devices.
    static func counts(ofOne answer: JSONValue) -> ChartTable? {
        guard let buckets = answer["groups"].items.first?["buckets"], !buckets["count"].items.isEmpty else {
            return nil
        }
        return ChartTable(
            id: "counts", title: "Events", caption: "Events of each step, and the devices they came from", style: .bar,
            rows: ChartTable.times(of: answer, count: buckets["count"].items.count),
            columns: [
                ChartTable.Column(name: "Events", values: buckets["count"].numbers),
                ChartTable.Column(name: "Devices", values: buckets["devices"].numbers, isDrawn: false),
            ])
    }

    /// How the numbers of an event are spread; `nil` if no value is a number.
    static func numbers(_ answer: JSONValue) -> ChartTable? {
        guard let group = answer["groups"].items.first, group["numeric"] != .null else { return nil }
        let buckets = group["buckets"]
        guard !buckets["p50"].items.isEmpty else { return nil }
        let drawn = [("p50", "Median"), ("p95", "95th percentile")].map {
            ChartTable.Column(name: $1, values: buckets[$0].numbers)
        }
        let listed = [("min", "Least"), ("max", "Greatest"), ("mean", "Mean"), ("sum", "Sum")].map {
            ChartTable.Column(name: $1, values: buckets[$0].numbers, isDrawn: false)
        }
        return ChartTable(
            id: "numbers", title: "Values", caption: "Values that are numbers, of the events of each step",
            rows: ChartTable.times(of: answer, count: buckets["p50"].items.count), columns: drawn + listed)
    }
}
