import CollectorAPI
import JSON
import WireModel

/// A metric over time: of one device, or its spread over the fleet, with the devices behind it.
struct ExplorePage: ConsolePage {
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
            values["device"] = JSONValue.of(device).with([
                "address": .text(query.deviceAddress(device.id)),
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
        do { return try await part() } catch let problem as Problem where [400, 429].contains(problem.status) {
            return ["chartProblem": JSONValue(problem.detail), "isTooMuch": .boolean(problem.code == "too-much")]
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
            "deviceField": JSONValue(query.devices.device?.id ?? visit.query.text("device")),
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
        guard let device = query.devices.device, let metric = query.metric else { return [] }
        let aggregate = query.fields.text("aggregate")
        let answer = try await visit.api.call(
            .getSampleSeries(device.id),
            query.series.with("aggregate", aggregate ?? MetricCharts.aggregates(of: device)))
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

    private func fleetSeries(_ query: ExploreQuery, _ visit: Visit) async throws -> FleetSeriesView {
        var fields = query.series
        for name in ["aggregate", "by", "sample"] { fields.add(name, query.fields.text(name)) }
        return try await visit.api.call(.getFleetSeries, fields)
    }

    private func ofFleet(_ query: ExploreQuery, _ visit: Visit) async throws -> [String: JSONValue] {
        let answer = try await fleetSeries(query, visit)
        var overTime = FleetCharts.overTime(answer, statistic: query.statistic)
        if overTime.sets.count + overTime.leftOut > 1 {
            let all = answer.series.map { FleetCharts.texts(of: $0.attributes) }
            for (index, set) in overTime.sets.enumerated() {
                let address = query.address(attributes: FleetCharts.filter(set, among: all))
                overTime.tables[index].links = [("Only \(overTime.tables[index].title)", address)]
            }
        }
        let distribution = try await visit.api.call(.getDistribution, query.newest)
        let sets = distribution.sets
        let charts = self.distributions(distribution, query)
        var values: [String: JSONValue] = [
            "charts": .array(overTime.tables.map(\.values)), "isEmpty": .boolean(overTime.tables.isEmpty),
            "leftOutSets": overTime.leftOut > 0 ? JSONValue(overTime.leftOut) : .null,
            "deviceCount": JSONValue(answer.devices), "sampled": .of(answer.sampled),
            "csv": overTime.tables.isEmpty ? .null : .text(query.csv("series")),
            "histograms": .array(charts.tables.map(\.values)),
            "spread": .array(spread(distribution, charts, query)),
            "withValue": JSONValue(distribution.devices), "hasSpread": .boolean(!sets.isEmpty),
            "isCounter": .boolean(
                distribution.kind?.hasSuffix("counter") == true && distribution.kind != "up-down-counter"),
            "hasSeveralSets": .boolean(sets.count > 1),
            "distributionCSV": .text(query.csv("distribution")), "devicesCSV": .text(query.csv("devices")),
        ]
        if let list = DeviceList(query, distribution) {
            let page = try await visit.api.call(.getLatestValues, list.fields.with("limit", "20"))
            values["list"] = list.values(page, query)
        }
        return values
    }

    private func distributions(_ answer: DistributionView, _ query: ExploreQuery) -> FleetCharts.Charts {
        let sets = answer.sets
        return FleetCharts.distributions(answer) { set, from, to in
            query.address(
                attributes: sets.count > 1 ? FleetCharts.filter(set, among: sets) : nil, atLeast: from, atMost: to,
                sort: "-value")
        }
    }

    /// The rows of the table of percentiles, with the ways to the devices at both ends.
    private func spread(
        _ answer: DistributionView, _ charts: FleetCharts.Charts, _ query: ExploreQuery
    ) -> [JSONValue] {
        let sets = answer.sets
        let unit = FleetCharts.unit(of: answer)
        return zip(charts.sets, charts.tables).compactMap { set, table in
            guard let index = sets.firstIndex(of: set) else { return nil }
            let entry = answer.distributions[index]
            let attributes = sets.count > 1 ? FleetCharts.filter(set, among: sets) : nil
            return [
                "title": .text(table.title), "count": JSONValue(entry.count),
                "cells": .array(
                    [entry.min, entry.p5, entry.p25, entry.p50, entry.p75, entry.p95, entry.max, entry.mean].map {
                        .text(DisplayText.quantity($0, unit))
                    }),
                "low": .text(query.address(attributes: attributes, atMost: entry.p5, sort: "value")),
                "high": .text(query.address(attributes: attributes, atLeast: entry.p95, sort: "-value")),
            ]
        }
    }

    // MARK: CSV

    private func csv(_ query: ExploreQuery, _ visit: Visit) async throws -> Answer {
        switch visit.query["table"] {
        case "distribution":
            let answer = try await visit.api.call(.getDistribution, query.newest)
            return .csv(name: "distribution.csv", rows: FleetCharts.rows(answer))
        case "devices":
            let answer = try await visit.api.call(.getDistribution, query.newest)
            guard let list = DeviceList(query, answer) else { return .csv(name: "devices.csv", rows: []) }
            let page = try await visit.api.call(.getLatestValues, list.fields.with("limit", "1000"))
            return .csv(name: "devices.csv", rows: DeviceList.rows(page))
        default:
            let tables =
                query.devices.device == nil
                ? FleetCharts.overTime(try await fleetSeries(query, visit), statistic: query.statistic).tables
                : try await deviceCharts(query, visit)
            return .csv(name: "series.csv", rows: ChartTable.csv(tables))
        }
    }
}
