import JSON
import WireModel

/// One event: how often it came and from how many devices, its values, and the single events.
struct EventPage: Page {
    let path = EventQuery.eventPath

    /// The most groups of the table. A file has all.
    private static let groups = 50
    private static let eventsPerPage = "50"

    func view(_ visit: Visit) async throws -> Answer {
        guard let event = visit.query["event"], !event.isEmpty else { return .redirect(EventQuery.path) }
        let query = try await EventQuery(visit, event: event)
        let summaries = EventSummaries(query: query, api: visit.api)
        if visit.query["format"] == "csv" { return try await csv(summaries, visit) }

        var values = query.values(at: visit)
        values["event"] = .text(event)
        values["back"] = .text(query.address(event: nil))
        if case .several = query.devices { return answer(event, values) }
        do {
            let summary = try await summaries.summary(by: "name")
            values.merge(Self.values(summary, query)) { $1 }
            if let group = summary["groups"].items.first {
                values.merge(try await breakdown(group, summaries, visit)) { $1 }
            }
        } catch let problem as APIProblem where [400, 429].contains(problem.status) {
            values["summaryProblem"] = .text(problem.detail)
        }
        values.merge(try await events(query, visit)) { $1 }
        return answer(event, values)
    }

    private func answer(_ event: String, _ values: [String: JSONValue]) -> Answer {
        .view(View("analytics-event", title: "\(event) - SDK Analytics", values))
    }

    private static func values(_ summary: JSONValue, _ query: EventQuery) -> [String: JSONValue] {
        let charts = [EventCharts.counts(ofOne: summary), EventCharts.numbers(summary)].compactMap { $0?.values }
        return [
            "group": summary["groups"].items.first ?? .null, "charts": .array(charts),
            "percentileDigits": summary["percentileDigits"],
        ]
    }

    // MARK: Breakdown

    private func breakdown(
        _ group: JSONValue, _ summaries: EventSummaries, _ visit: Visit
    ) async throws -> [String: JSONValue] {
        let query = summaries.query
        // Numbers have a chart of their own, and nearly each is another value.
        let isNumeric = group["numeric"]["count"] == group["count"]
        let property = Self.property(visit) ?? (isNumeric ? "application" : "value")
        var values: [String: JSONValue] = [
            "groupings": .array(
                EventQuery.groupings.map { name, label in
                    [
                        "label": .text(label), "isHere": .boolean(name == property),
                        "address": .text(query.address("by", name) + "#breakdown"),
                    ]
                }),
            "property": .text(property), "breakdownCSV": .text(query.csv("breakdown")),
        ]
        do {
            let summary = try await summaries.summary(by: property)
            let groups = summary["groups"].items
            let names =
                property == "device"
                ? try await visit.api.deviceNames(of: Set(groups.prefix(Self.groups).compactMap { $0["key"].text }))
                : [:]
            let chart = EventCharts.counts(summary, id: "by-property", title: "Events by \(property)") {
                names[$0] ?? $0
            }
            values["breakdownCharts"] = .array(chart.map { [$0.values] } ?? [])
            let counted = groups.compactMap { $0["count"].integer }.saturatingSum
            let without = (group["count"].integer ?? 0).subtractingSaturating(counted)
            values["without"] = without > 0 ? .integer(without) : .null
            values["leftOutGroups"] = groups.count > Self.groups ? JSONValue(groups.count - Self.groups) : .null
            values["groups"] = .array(
                groups.prefix(Self.groups).map { one in
                    let key = one["key"].text ?? ""
                    return one.with([
                        "label": .text(names[key] ?? (key.isEmpty ? "(empty)" : key)),
                        // An empty filter is none.
                        "address": key.isEmpty ? .null : .text(query.address(property, key)),
                        "deviceAddress": property == "device"
                            ? .text("\(visit.base)/devices/\(key.percentEncoded)") : .null,
                        "share": .real((one["count"].number ?? 0) / Double(max(counted, 1))),
                    ])
                })
        } catch let problem as APIProblem where problem.code == "too-much" {
            values["breakdownProblem"] = .text(problem.detail)
        }
        return values
    }

    private static func property(_ visit: Visit) -> String? {
        visit.query.text("by").flatMap { by in EventQuery.groupings.first { $0.0 == by }?.0 }
    }

    // MARK: Single events

    private func events(_ query: EventQuery, _ visit: Visit) async throws -> [String: JSONValue] {
        let page = try await visit.api.get(
            "/api/v1/events",
            query.selection.with("limit", Self.eventsPerPage).with("cursor", visit.query.text("cursor")))
        let names = try await visit.api.deviceNames(of: Set(page.pageItems.compactMap { $0["device"].text }))
        return [
            "events": .array(
                page.pageItems.map { record in
                    let id = record["device"].text ?? ""
                    return record.with([
                        "deviceName": .text(names[id] ?? id),
                        "deviceAddress": .text("\(visit.base)/devices/\(id.percentEncoded)"),
                        "hasAttributes": .boolean(!record["event"]["attributes"].members.isEmpty),
                        "outcome": record["event"]["succeeded"].truth.map { .text($0 ? "succeeded" : "failed") }
                            ?? .null,
                        "seconds": record["event"]["durationMicroseconds"].number.map { .real($0 / 1_000_000) }
                            ?? .null,
                    ])
                }),
            "more": page.more(at: visit), "eventsCSV": .text(query.csv("events")),
        ]
    }

    private func csv(_ summaries: EventSummaries, _ visit: Visit) async throws -> Answer {
        guard visit.query["table"] == "breakdown" else {
            return .csv(name: "events.csv", rows: try await summaries.events())
        }
        let property = Self.property(visit) ?? "value"
        return .csv(
            name: "events-by-\(property).csv",
            rows: EventSummaries.rows(try await summaries.summary(by: property)))
    }
}
