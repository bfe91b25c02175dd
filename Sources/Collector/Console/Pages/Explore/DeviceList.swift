import CollectorAPI
import JSON

/// The devices with certain newest values of a metric: those of a bar, or those at one end.
struct DeviceList {
    /// The parameters of `/metrics/latest`.
    let fields: FormFields
    private let title: String
    private let isDescending: Bool

    /// Without a choice in the address, the devices from the 95th percentile on.
    /// - Parameter distribution: of the same metric.
    /// - Returns: `nil` if nothing is chosen, and the metric has several sets of attributes: their values cannot be
    ///   compared.
    init?(_ query: ExploreQuery, _ distribution: DistributionView) {
        let chosen = query.fields.only(["atLeast", "atMost", "sort"])
        var fields = query.newest
        if chosen.isEmpty {
            guard distribution.distributions.count == 1 else { return nil }
            fields.add("atLeast", DisplayText.plain(distribution.distributions[0].p95))
        }
        for field in chosen.fields { fields.add(field.name, field.value) }
        if fields["sort"] == nil { fields.add("sort", "-value") }
        self.fields = fields
        isDescending = fields["sort"] != "value"
        let unit = FleetCharts.unit(of: distribution)
        let texts = ["atLeast", "atMost"].map { name in
            fields[name].flatMap(Double.init).map { DisplayText.quantity($0, unit) }
        }
        title =
            switch (texts[0], texts[1]) {
            case (let low?, let high?): "Devices from \(low) to \(high)"
            case (let low?, nil): "Devices from \(low) on"
            case (nil, let high?): "Devices up to \(high)"
            case (nil, nil): isDescending ? "Devices with the greatest values" : "Devices with the least values"
            }
    }

    /// The values for the template.
    func values(_ page: CollectorAPI.Page<LatestValueView>, _ query: ExploreQuery) -> JSONValue {
        let items = page.items
        let labels = labels(of: items)
        let total = page.total ?? 0
        return [
            "title": .text(title), "total": JSONValue(total), "isCut": .boolean(total > items.count),
            "shown": JSONValue(items.count),
            "order": isDescending ? "greatest first" : "least first",
            "devices": .array(
                items.map { item in
                    let unit = MetricCharts.unit(item.unit, of: query.metric ?? "", aggregate: "last")
                    return [
                        "name": .text(item.deviceName ?? item.device), "time": .text(item.time),
                        "address": .text(query.deviceAddress(item.device)),
                        "explore": .text(query.address(device: item.device)),
                        "values": .array(
                            item.values.map { value in
                                [
                                    "label": JSONValue(labels[FleetCharts.texts(of: value.attributes)]),
                                    "text": .text(DisplayText.quantity(value.value, unit)),
                                ]
                            }),
                    ]
                }),
        ]
    }

    /// The rows for a file: a row for each value.
    static func rows(_ page: CollectorAPI.Page<LatestValueView>) -> [[String]] {
        [["Device", "Name", "Time", "Attributes", "Value", "Unit"]]
            + page.items.flatMap { item in
                item.values.map { value in
                    let attributes = FleetCharts.texts(of: value.attributes).sorted { $0.key < $1.key }
                    return [
                        item.device, item.deviceName ?? "", item.time,
                        attributes.map { "\($0.key):\($0.value)" }.joined(separator: " "),
                        DisplayText.plain(value.value), item.unit,
                    ]
                }
            }
    }

    private func labels(of items: [LatestValueView]) -> [[String: String]: String] {
        let sets = Array(Set(items.flatMap { $0.values.map { FleetCharts.texts(of: $0.attributes) } }))
        return Dictionary(zip(sets, ChartTable.names(of: sets))) { first, _ in first }
    }
}
