import JSON

/// A metric over time: of one device, or its spread over the fleet, with the devices behind it.
struct ExplorePage: Page {
    let path = ExploreQuery.path

    func view(_ visit: Visit) async throws -> Answer {
        var query = try await ExploreQuery(visit)
        let picker =
            if let device = query.devices.device {
                try await MetricPicker.ofDevice(device, visit.api)
            } else { try await MetricPicker.ofFleet(visit.api, withTest: query.fields.isChecked("test")) }
        query.complete(with: picker)
        if visit.query["format"] == "csv" { return try await csv(query, visit) }

        var values = form(query, picker, visit)
        values["deviceChoice"] = query.devices.values(at: visit)
        guard let metric = query.metric else {
            return .view(View("explore", title: "Explore", values))
        }
        switch query.devices {
        case .one(let device):
            values.merge(try await self.values { try await ofDevice(query, visit) }) { $1 }
            values["device"] = device.with([
                "address": .text(query.deviceAddress(device["id"].text ?? "")),
                "fleet": .text(query.address(device: nil)), "label": .text(DeviceChoice.name(of: device)),
            ])
        case .all:
            values.merge(try await self.values { try await ofFleet(query, visit) }) { $1 }
        case .several: break
        }
        return .view(View("explore", title: "\(metric) - Explore", values))
    }

    /// The values of a part of the page, or why the API refused it.
    private func values(_ part: () async throws -> [String: JSONValue]) async throws -> [String: JSONValue] {
        do { return try await part() } catch let problem as APIProblem where [400, 429].contains(problem.status) {
            return ["chartProblem": .text(problem.detail), "isTooMuch": .boolean(problem.code == "too-much")]
        }
    }

    // MARK: Form

    private func form(_ query: ExploreQuery, _ picker: MetricPicker, _ visit: Visit) -> [String: JSONValue] {
        let fields = query.fields
        let chosen = query.metric.map { metric in
            picker.modules.flatMap(\.metrics).first { $0.name == metric }
                ?? MetricPicker.Metric(name: metric)
        }
        return [
            "metric": JSONValue(query.metric), "description": JSONValue(chosen?.description),
            "module": JSONValue(fields.text("module")),
            "isOfFleet": .boolean(query.devices.device == nil),
            // One more to fill in.
            "attributes": .array((fields.all("attribute") + [""]).map { .text($0) }),
            "groupings": Choice.list(ExploreQuery.groupings, chosen: fields.text("by")),
            "isGrouped": .boolean(query.isGrouped),
            "statistics": Choice.list(
                ExploreQuery.statistics.map { ($0.name, $0.label) }, chosen: query.statistic.name),
            "aggregates": Choice.list(ExploreQuery.aggregates, chosen: fields.text("aggregate")),
            "withTest": .boolean(fields.isChecked("test")),
            "range": query.range.values(at: visit, fragment: "charts"),
            "rangeFields": fields.only(TimeRange.names).hidden,
            "deviceField": JSONValue(query.devices.device?["id"].text ?? visit.query.text("device")),
            "picker": .array(
                picker.modules.map { module in
                    [
                        "module": .text(module.name), "isOwn": .boolean(module.isOwn),
                        "metrics": .array(
                            module.metrics.map {
                                [
                                    "name": .text($0.name), "description": .text($0.description),
                                    "isChosen": .boolean($0.name == query.metric),
                                    "address": .text(
                                        query.address(metric: $0.name, module: module.isOwn ? module.name : nil)),
                                ]
                            }),
                    ]
                }),
        ]
    }

    // MARK: One device

    private func deviceCharts(_ query: ExploreQuery, _ visit: Visit) async throws -> [ChartTable] {
        guard let device = query.devices.device?["id"].text, let metric = query.metric else { return [] }
        let aggregate = query.fields.text("aggregate")
        let answer = try await visit.api.get(
            "/api/v1/devices/\(device.percentEncoded)/samples/series",
            query.series.with("aggregate", aggregate ?? "mean,rate"))
        let group = MetricCharts.Group(id: "over-time", title: metric, metrics: [metric])
        return [MetricCharts.chart(group, of: answer, aggregate: aggregate)].filter { !$0.columns.isEmpty }
    }

    private func ofDevice(_ query: ExploreQuery, _ visit: Visit) async throws -> [String: JSONValue] {
        let charts = try await deviceCharts(query, visit)
        return [
            "charts": .array(charts.map(\.values)), "isEmpty": .boolean(charts.isEmpty),
            "csv": charts.isEmpty ? .null : .text(query.csv("series")),
        ]
    }

    // MARK: The fleet

    private func fleetSeries(_ query: ExploreQuery, _ visit: Visit) async throws -> JSONValue {
        var fields = query.series
        for name in ["aggregate", "by", "sample"] { fields.add(name, query.fields.text(name)) }
        return try await visit.api.get("/api/v1/metrics/series", fields)
    }

    private func ofFleet(_ query: ExploreQuery, _ visit: Visit) async throws -> [String: JSONValue] {
        let answer = try await fleetSeries(query, visit)
        var overTime = FleetCharts.overTime(answer, statistic: query.statistic)
        if overTime.sets.count + overTime.leftOut > 1 {
            let all = answer["series"].items.map(FleetCharts.attributes)
            for (index, set) in overTime.sets.enumerated() {
                let address = query.address(attributes: FleetCharts.filter(set, among: all))
                overTime.tables[index].links = [("Only \(overTime.tables[index].title)", address)]
            }
        }
        let distribution = try await visit.api.get("/api/v1/metrics/distribution", query.newest)
        let sets = distribution["distributions"].items.map(FleetCharts.attributes)
        let charts = self.distributions(distribution, query)
        var values: [String: JSONValue] = [
            "charts": .array(overTime.tables.map(\.values)), "isEmpty": .boolean(overTime.tables.isEmpty),
            "leftOutSets": overTime.leftOut > 0 ? JSONValue(overTime.leftOut) : .null,
            "deviceCount": answer["devices"], "sampled": answer["sampled"],
            "csv": overTime.tables.isEmpty ? .null : .text(query.csv("series")),
            "histograms": .array(charts.tables.map(\.values)),
            "spread": .array(spread(distribution, charts, query)),
            "withValue": distribution["devices"], "hasSpread": .boolean(!sets.isEmpty),
            "isCounter": .boolean(
                distribution["kind"].text?.hasSuffix("counter") == true
                    && distribution["kind"].text != "up-down-counter"),
            "hasSeveralSets": .boolean(sets.count > 1),
            "distributionCSV": .text(query.csv("distribution")), "devicesCSV": .text(query.csv("devices")),
        ]
        if let list = DeviceList(query, distribution) {
            let page = try await visit.api.get("/api/v1/metrics/latest", list.fields.with("limit", "20"))
            values["list"] = try await list.values(page, query, visit)
        }
        return values
    }

    private func distributions(_ answer: JSONValue, _ query: ExploreQuery) -> FleetCharts.Charts {
        let sets = answer["distributions"].items.map(FleetCharts.attributes)
        return FleetCharts.distributions(answer) { set, from, to in
            query.address(
                attributes: sets.count > 1 ? FleetCharts.filter(set, among: sets) : nil, atLeast: from, atMost: to,
                sort: "-value")
        }
    }

    /// The rows of the table of percentiles, with the ways to the devices at both ends.
    private func spread(_ answer: JSONValue, _ charts: FleetCharts.Charts, _ query: ExploreQuery) -> [JSONValue] {
        let entries = answer["distributions"].items
        let sets = entries.map(FleetCharts.attributes)
        let unit = FleetCharts.unit(of: answer)
        return zip(charts.sets, charts.tables).compactMap { set, table in
            guard let entry = entries.first(where: { FleetCharts.attributes($0) == set }) else { return nil }
            let attributes = sets.count > 1 ? FleetCharts.filter(set, among: sets) : nil
            return [
                "title": .text(table.title), "count": entry["count"],
                "cells": .array(
                    Self.spreadNames.map { .text(entry[$0].number.map { DisplayText.quantity($0, unit) } ?? "") }),
                "low": .text(query.address(attributes: attributes, atMost: entry["p5"].number, sort: "value")),
                "high": .text(query.address(attributes: attributes, atLeast: entry["p95"].number, sort: "-value")),
            ]
        }
    }

    private static let spreadNames = ["min", "p5", "p25", "p50", "p75", "p95", "max", "mean"]

    // MARK: CSV

    private func csv(_ query: ExploreQuery, _ visit: Visit) async throws -> Answer {
        switch visit.query["table"] {
        case "distribution":
            let answer = try await visit.api.get("/api/v1/metrics/distribution", query.newest)
            return .csv(name: "distribution.csv", rows: FleetCharts.rows(answer))
        case "devices":
            let answer = try await visit.api.get("/api/v1/metrics/distribution", query.newest)
            guard let list = DeviceList(query, answer) else { return .csv(name: "devices.csv", rows: []) }
            let page = try await visit.api.get("/api/v1/metrics/latest", list.fields.with("limit", "1000"))
            return .csv(name: "devices.csv", rows: try await list.rows(page, visit))
        default:
            let tables =
                query.devices.device == nil
                ? FleetCharts.overTime(try await fleetSeries(query, visit), statistic: query.statistic).tables
                : try await deviceCharts(query, visit)
            return .csv(name: "series.csv", rows: ChartTable.csv(tables))
        }
    }
}
