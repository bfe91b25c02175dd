import CollectorAPI
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

    /// - Parameters:
    ///   - statistic: the member and the name of what is compared, if there are groups of devices.
    static func overTime(_ answer: FleetSeriesView, statistic: (name: String, label: String)) -> Charts {
        let series = answer.series
        var sets: [[String: String]] = []
        for set in series.map({ texts(of: $0.attributes) }) where !sets.contains(set) { sets.append(set) }
        let size = { (set: [String: String]) in
            series.filter { texts(of: $0.attributes) == set }.flatMap(\.devices).reduce(0) { $0 + Double($1) }
        }
        let chosen = largest(sets, by: size)
        let unit = MetricCharts.unit(answer.unit ?? "", of: answer.metric, aggregate: answer.aggregate ?? "")
        let rows = ChartTable.times(from: answer.from, step: answer.stepSeconds, count: answer.buckets)
        let isGrouped = answer.by != nil
        let tables = zip(chosen, titles(chosen, answer.metric)).enumerated().map { index, set in
            let own = series.filter { texts(of: $0.attributes) == set.0 }
            return ChartTable(
                id: "over-time-\(index)", title: set.1,
                caption: isGrouped ? "\(statistic.label) of the devices' values" : "Percentiles of the devices' values",
                rows: rows,
                columns: isGrouped
                    ? groups(own, statistic, unit) : own.first.map { percentileColumns($0, unit) } ?? [])
        }
        return Charts(tables: tables, sets: chosen, leftOut: sets.count - chosen.count)
    }

    private static func percentileColumns(_ series: FleetSeriesView.Series, _ unit: String) -> [ChartTable.Column] {
        let drawn = [
            ("Median", series.p50), ("5 %", series.p5), ("25 %", series.p25), ("75 %", series.p75),
            ("95 %", series.p95),
        ]
        let listed = [("Least", series.min), ("Greatest", series.max), ("Mean", series.mean)]
        return drawn.map { ChartTable.Column(name: $0, unit: unit, values: $1) }
            + listed.map { ChartTable.Column(name: $0, unit: unit, values: $1, isDrawn: false) }
            + [ChartTable.Column(name: "Devices", values: series.devices.map(Double.init), isDrawn: false)]
    }

    private static func groups(
        _ series: [FleetSeriesView.Series], _ statistic: (name: String, label: String), _ unit: String
    ) -> [ChartTable.Column] {
        let named = series.map { one -> (name: String, series: FleetSeriesView.Series) in
            let group = one.group ?? ""
            return (one.other == true ? "all others" : group.isEmpty ? "not reported" : group, one)
        }
        let isOfDevices = statistic.name == "devices"
        let columns = named.map {
            ChartTable.Column(
                name: $0.name, unit: isOfDevices ? "1" : unit, values: $0.series.values(of: statistic.name),
                color: $0.series.other == true ? "grey" : nil)
        }
        if isOfDevices { return columns }
        return columns
            + named.map {
                ChartTable.Column(
                    name: "\($0.name): devices", values: $0.series.devices.map(Double.init), isDrawn: false)
            }
    }

    // MARK: Distributions

    /// - Parameter address: the list of the devices with values of a set from one number to another, both included.
    static func distributions(
        _ answer: DistributionView, address: ([String: String], Double, Double) -> String
    ) -> Charts {
        let entries = answer.distributions
        let sets = answer.sets
        let chosen = largest(sets) { set in
            entries.first { texts(of: $0.attributes) == set }.map { Double($0.count) } ?? 0
        }
        let unit = unit(of: answer)
        let tables = zip(chosen, titles(chosen, answer.metric)).enumerated().map { index, set in
            let bars = entries.first { texts(of: $0.attributes) == set.0 }?.histogram ?? []
            return ChartTable(
                id: "distribution-\(index)", title: set.1, caption: "Devices by their newest value", style: .bar,
                rowsName: "Value",
                rows: bars.enumerated().map { index, bar in
                    let (from, to) = (bar.from, bar.to)
                    let isLast = index == bars.count - 1
                    return .label(
                        from == to
                            ? DisplayText.quantity(from, unit)
                            : "\(DisplayText.quantity(from, unit)) to \(DisplayText.quantity(to, unit))",
                        // The end of a bar belongs to the next one.
                        address: address(set.0, from, isLast ? to : to.nextDown))
                },
                columns: bars.isEmpty
                    ? [] : [ChartTable.Column(name: "Devices", values: bars.map { Double($0.count) })])
        }
        return Charts(tables: tables, sets: chosen, leftOut: sets.count - chosen.count)
    }

    /// All bars of all sets, for a file.
    static func rows(_ answer: DistributionView) -> [[String]] {
        [["Attributes", "From", "To", "Unit", "Devices"]]
            + answer.distributions.flatMap { entry in
                let names = texts(of: entry.attributes).sorted { $0.key < $1.key }.map { "\($0.key):\($0.value)" }
                return entry.histogram.map { bar in
                    [
                        names.joined(separator: " "), DisplayText.plain(bar.from), DisplayText.plain(bar.to),
                        answer.unit ?? "", "\(bar.count)",
                    ]
                }
            }
    }

    /// The unit of newest values. A counter's is the number that the device sent, no rate.
    static func unit(of answer: DistributionView) -> String {
        MetricCharts.unit(answer.unit ?? "", of: answer.metric, aggregate: "last")
    }

    // MARK: Attributes

    static func texts(of attributes: [String: JSONValue]) -> [String: String] {
        attributes.compactMapValues { value in
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

extension FleetSeriesView.Series {
    /// - Parameter statistic: a name of `ExploreQuery.statistics`.
    fileprivate func values(of statistic: String) -> [Double?] {
        switch statistic {
        case "p5": p5
        case "p25": p25
        case "p50": p50
        case "p75": p75
        case "p95": p95
        case "min": min
        case "max": max
        case "mean": mean
        default: devices.map(Double.init)
        }
    }
}

extension DistributionView {
    /// The attributes of each distribution.
    var sets: [[String: String]] { distributions.map { FleetCharts.texts(of: $0.attributes) } }
}
