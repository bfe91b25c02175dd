import JSON

/// Charts of a metric over the fleet. Pure.
enum FleetCharts {
    /// A metric has a chart for each set of attributes. More are left out.
    static let maximumSets = 8

    /// The charts of some sets of attributes.
    struct Charts {
        var tables: [ChartTable]
        /// The attributes of each.
        var sets: [[String: String]]
        var leftOut: Int
    }

    private static let percentiles = [
        ("p50", "Median"), ("p5", "5 %"), ("p25", "25 %"), ("p75", "75 %"), ("p95", "95 %"),
    ]

    /// - Parameters:
    ///   - answer: of `/metrics/series`.
    ///   - statistic: the member and the name of what is compared, if there are groups of devices.
    static func overTime(_ answer: JSONValue, statistic: (name: String, label: String)) -> Charts {
        let series = answer["series"].items
        var sets: [[String: String]] = []
        for set in series.map(attributes) where !sets.contains(set) { sets.append(set) }
        let size = { (set: [String: String]) in
            series.filter { attributes($0) == set }.flatMap { $0["devices"].numbers }.reduce(0) { $0 + ($1 ?? 0) }
        }
        let chosen = largest(sets, by: size)
        let metric = answer["metric"].text ?? ""
        let unit = MetricCharts.unit(
            answer["unit"].text ?? "", of: metric, aggregate: answer["aggregate"].text ?? "")
        let rows = ChartTable.times(of: answer, count: Int(answer["buckets"].integer ?? 0))
        let isGrouped = answer["by"].text != nil
        let tables = zip(chosen, titles(chosen, metric)).enumerated().map { index, set in
            let own = series.filter { attributes($0) == set.0 }
            return ChartTable(
                id: "over-time-\(index)", title: set.1,
                caption: isGrouped ? "\(statistic.label) of the devices' values" : "Percentiles of the devices' values",
                rows: rows,
                columns: isGrouped
                    ? groups(own, statistic, unit) : own.first.map { percentileColumns($0, unit) } ?? [])
        }
        return Charts(tables: tables, sets: chosen, leftOut: sets.count - chosen.count)
    }

    private static func percentileColumns(_ series: JSONValue, _ unit: String) -> [ChartTable.Column] {
        percentiles.map { ChartTable.Column(name: $1, unit: unit, values: series[$0].numbers) }
            + [("min", "Least"), ("max", "Greatest"), ("mean", "Mean")].map {
                ChartTable.Column(name: $1, unit: unit, values: series[$0].numbers, isDrawn: false)
            } + [ChartTable.Column(name: "Devices", values: series["devices"].numbers, isDrawn: false)]
    }

    private static func groups(
        _ series: [JSONValue], _ statistic: (name: String, label: String), _ unit: String
    ) -> [ChartTable.Column] {
        let named = series.map { one -> (name: String, series: JSONValue) in
            let group = one["group"].text ?? ""
            return (one["other"].isTrue ? "all others" : group.isEmpty ? "not reported" : group, one)
        }
        let isOfDevices = statistic.name == "devices"
        let columns = named.map {
            ChartTable.Column(
                name: $0.name, unit: isOfDevices ? "1" : unit, values: $0.series[statistic.name].numbers,
                color: $0.series["other"].isTrue ? "grey" : nil)
        }
        if isOfDevices { return columns }
        return columns
            + named.map {
                ChartTable.Column(name: "\($0.name): devices", values: $0.series["devices"].numbers, isDrawn: false)
            }
    }

    // MARK: Distributions

    /// - Parameters:
    ///   - answer: of `/metrics/distribution`.
    ///   - address: the list of the devices with values of a set from one number to another, both included.
    static func distributions(
        _ answer: JSONValue, address: ([String: String], Double, Double) -> String
    ) -> Charts {
        let entries = answer["distributions"].items
        let sets = entries.map(attributes)
        let chosen = largest(sets) { set in entries.first { attributes($0) == set }?["count"].number ?? 0 }
        let metric = answer["metric"].text ?? ""
        let unit = unit(of: answer)
        let tables = zip(chosen, titles(chosen, metric)).enumerated().map { index, set in
            let bars = entries.first { attributes($0) == set.0 }?["histogram"].items ?? []
            return ChartTable(
                id: "distribution-\(index)", title: set.1, caption: "Devices by their newest value", style: .bar,
                rowsName: "Value",
                rows: bars.enumerated().map { index, bar in
                    let (from, to) = (bar["from"].number ?? 0, bar["to"].number ?? 0)
                    let isLast = index == bars.count - 1
                    return .label(
                        from == to
                            ? DisplayText.quantity(from, unit)
                            : "\(DisplayText.quantity(from, unit)) to \(DisplayText.quantity(to, unit))",
                        // The end of a bar belongs to the next one.
                        address: address(set.0, from, isLast ? to : to.nextDown))
                },
                columns: bars.isEmpty
                    ? [] : [ChartTable.Column(name: "Devices", values: bars.map { $0["count"].number })])
        }
        return Charts(tables: tables, sets: chosen, leftOut: sets.count - chosen.count)
    }

    /// All bars of all sets, for a file.
    static func rows(_ answer: JSONValue) -> [[String]] {
        [["Attributes", "From", "To", "Unit", "Devices"]]
            + answer["distributions"].items.flatMap { entry in
                let names = attributes(entry).sorted { $0.key < $1.key }.map { "\($0.key):\($0.value)" }
                return entry["histogram"].items.map { bar in
                    let numbers = ["from", "to", "count"].map { bar[$0].number.map(DisplayText.plain) ?? "" }
                    return [
                        names.joined(separator: " "), numbers[0], numbers[1], answer["unit"].text ?? "", numbers[2],
                    ]
                }
            }
    }

    /// The unit of newest values. A counter's is the number that the device sent, no rate.
    static func unit(of answer: JSONValue) -> String {
        MetricCharts.unit(answer["unit"].text ?? "", of: answer["metric"].text ?? "", aggregate: "last")
    }

    // MARK: Attributes

    static func attributes(_ series: JSONValue) -> [String: String] {
        series["attributes"].members.compactMapValues { value in
            value.text ?? value.integer.map { "\($0)" } ?? (value == .boolean(true) ? "true" : "false")
        }
    }

    /// The filter that selects one set of attributes among others: its values, and nothing that it does not have.
    static func filter(_ set: [String: String], among sets: [[String: String]]) -> [String] {
        let absent = Set(sets.flatMap(\.keys)).subtracting(set.keys)
        return set.sorted { $0.key < $1.key }.map { "\($0.key):\($0.value)" } + absent.sorted().map { "\($0):" }
    }

    /// The sets that most devices have, in their own order.
    private static func largest(
        _ sets: [[String: String]], by size: ([String: String]) -> Double
    ) -> [[String: String]] {
        guard sets.count > maximumSets else { return sets }
        let sizes = sets.map(size)
        let chosen = Set(sets.indices.sorted { (sizes[$1], $0) < (sizes[$0], $1) }.prefix(maximumSets))
        return sets.indices.filter(chosen.contains).map { sets[$0] }
    }

    private static func titles(_ sets: [[String: String]], _ metric: String) -> [String] {
        ChartTable.names(of: sets).map { $0.isEmpty ? metric : $0 }
    }
}
