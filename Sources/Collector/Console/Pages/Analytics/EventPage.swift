import CollectorAPI
import JSON
import WireModel

/// One event: how often it came and from how many devices, its values, and the single events.
struct EventPage: ConsolePage {
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
            if let group = summary.groups.first {
                values.merge(try await breakdown(group, summaries, visit)) { $1 }
            }
        } catch let problem as Problem where [400, 429].contains(problem.status) {
            values["summaryProblem"] = JSONValue(problem.detail)
        }
        values.merge(try await events(query, visit)) { $1 }
        return answer(event, values)
    }

    private func answer(_ event: String, _ values: [String: JSONValue]) -> Answer {
        .view(View("analytics-event", title: "\(event) - SDK Analytics", values))
    }

    private static func values(_ summary: EventSummaryView, _ query: EventQuery) -> [String: JSONValue] {
        let charts = [EventCharts.counts(ofOne: summary), EventCharts.numbers(summary)].compactMap { $0?.values }
        return [
            "group": summary.groups.first?.values ?? .null, "charts": .array(charts),
            "percentileDigits": .of(summary.percentileDigits),
        ]
    }

    // MARK: Breakdown

    private func breakdown(
        _ group: EventSummaryView.Group, _ summaries: EventSummaries, _ visit: Visit
    ) async throws -> [String: JSONValue] {
        let query = summaries.query
        // Numbers have a chart of their own, and nearly each is another value.
        let isNumeric = group.numeric?.count == group.count
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
            let groups = summary.groups
            let chart = EventCharts.counts(summary, id: "by-property", title: "Events by \(property)")
            values["breakdownCharts"] = .array(chart.map { [$0.values] } ?? [])
            let counted = groups.map(\.count).saturatingSum
            let without = group.count.subtractingSaturating(counted)
            values["without"] = without > 0 ? JSONValue(without) : .null
            values["leftOutGroups"] = groups.count > Self.groups ? JSONValue(groups.count - Self.groups) : .null
            values["groups"] = .array(
                groups.prefix(Self.groups).map { one in
                    one.values.with([
                        "label": .text(one.deviceName ?? (one.key.isEmpty ? "(empty)" : one.key)),
                        // An empty filter is none.
                        "address": one.key.isEmpty ? .null : .text(query.address(property, one.key)),
                        "deviceAddress": property == "device"
                            ? .text("\(visit.base)/devices/\(one.key.percentEncoded)") : .null,
                        "share": .real(Double(one.count) / Double(max(counted, 1))),
                    ])
                })
        } catch let problem as Problem where problem.code == "too-much" {
            values["breakdownProblem"] = JSONValue(problem.detail)
        }
        return values
    }

    private static func property(_ visit: Visit) -> String? {
        visit.query.text("by").flatMap { by in EventQuery.groupings.first { $0.0 == by }?.0 }
    }

    // MARK: Single events

    private func events(_ query: EventQuery, _ visit: Visit) async throws -> [String: JSONValue] {
        let page = try await visit.api.call(
            .listEvents, query.selection.with("limit", Self.eventsPerPage).with("cursor", visit.query.text("cursor")))
        return [
            "events": .array(
                page.items.map { record in
                    JSONValue.of(record).with([
                        "deviceName": .text(record.deviceName ?? record.device),
                        "deviceAddress": .text("\(visit.base)/devices/\(record.device.percentEncoded)"),
                        "hasAttributes": .boolean(record.event?.attributes.isEmpty == false),
                        "outcome": JSONValue(record.event?.succeeded.map { $0 ? "succeeded" : "failed" }),
                        "seconds": .of(record.event?.durationMicroseconds.map { Double($0) / 1_000_000 }),
                    ])
                }),
            "more": visit.more(page.next), "eventsCSV": .text(query.csv("events")),
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
