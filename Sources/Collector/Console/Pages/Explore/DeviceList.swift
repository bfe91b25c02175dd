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
    init?(_ query: ExploreQuery, _ distribution: JSONValue) {
        let chosen = query.fields.only(["atLeast", "atMost", "sort"])
        var fields = query.newest
        let entries = distribution["distributions"].items
        if chosen.isEmpty {
            guard entries.count == 1, let high = entries[0]["p95"].number else { return nil }
            fields.add("atLeast", DisplayText.plain(high))
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
    /// - Parameter page: the answer of `/metrics/latest`.
    func values(_ page: JSONValue, _ query: ExploreQuery, _ visit: Visit) async throws -> JSONValue {
        let items = page.pageItems
        let names = try await visit.api.deviceNames(of: Set(items.compactMap { $0["device"].text }))
        let labels = labels(of: items)
        let total = Int(page["total"].integer ?? 0)
        return [
            "title": .text(title), "total": JSONValue(total), "isCut": .boolean(total > items.count),
            "shown": JSONValue(items.count),
            "order": isDescending ? "greatest first" : "least first",
            "devices": .array(
                items.map { item in
                    let id = item["device"].text ?? ""
                    let unit = FleetCharts.unit(of: item.with(["metric": JSONValue(query.metric)]))
                    return [
                        "name": .text(names[id] ?? id), "time": item["time"],
                        "address": .text(query.deviceAddress(id)), "explore": .text(query.address(device: id)),
                        "values": .array(
                            item["values"].items.map { value in
                                [
                                    "label": JSONValue(labels[FleetCharts.attributes(value)]),
                                    "text": .text(DisplayText.quantity(value["value"].number ?? 0, unit)),
                                ]
                            }),
                    ]
                }),
        ]
    }

    /// The rows for a file: a row for each value.
    func rows(_ page: JSONValue, _ visit: Visit) async throws -> [[String]] {
        let names = try await visit.api.deviceNames(of: Set(page.pageItems.compactMap { $0["device"].text }))
        return [["Device", "Name", "Time", "Attributes", "Value", "Unit"]]
            + page.pageItems.flatMap { item in
                item["values"].items.map { value in
                    let id = item["device"].text ?? ""
                    let attributes = FleetCharts.attributes(value).sorted { $0.key < $1.key }
                    return [
                        id, names[id] ?? "", item["time"].text ?? "",
                        attributes.map { "\($0.key):\($0.value)" }.joined(separator: " "),
                        DisplayText.plain(value["value"].number ?? 0), item["unit"].text ?? "",
                    ]
                }
            }
    }

    private func labels(of items: [JSONValue]) -> [[String: String]: String] {
        let sets = Array(Set(items.flatMap { $0["values"].items.map(FleetCharts.attributes) }))
        return Dictionary(zip(sets, ChartTable.names(of: sets))) { first, _ in first }
    }
}
