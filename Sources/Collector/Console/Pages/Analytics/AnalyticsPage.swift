import CollectorAPI
import JSON
import WireModel

/// The events of programs by name.
struct AnalyticsPage: ConsolePage {
    let path = EventQuery.path

    /// The most names of the table. A file has all.
    private static let names = 200

    func view(_ visit: Visit) async throws -> Answer {
        let query = try await EventQuery(visit)
        let events = EventSummaries(query: query, api: visit.api)
        if visit.query["format"] == "csv" {
            guard visit.query["table"] != "events" else {
                return .csv(name: "events.csv", rows: try await events.events())
            }
            return .csv(
                name: "events-by-name.csv", rows: EventSummaries.rows(try await events.summary(by: "name")))
        }
        var values = query.values(at: visit)
        if case .several = query.devices { return answer(values) }
        do {
            let summary = try await events.summary(by: "name")
            values.merge(Self.values(summary, query)) { $1 }
            if summary.groups.isEmpty {
                values["reasons"] = .array(try await EventAbsence.reasons(query, visit))
            }
        } catch let problem as Problem where [400, 429].contains(problem.status) {
            values["summaryProblem"] = JSONValue(problem.detail)
        }
        return answer(values)
    }

    private func answer(_ values: [String: JSONValue]) -> Answer {
        .view(View("analytics", title: "SDK Analytics", values))
    }

    private static func values(_ summary: EventSummaryView, _ query: EventQuery) -> [String: JSONValue] {
        let groups = summary.groups
        let total = groups.reduce(0) { $0 + Double($1.count) }
        let chart = EventCharts.counts(summary, id: "by-name", title: "Events by name")
        return [
            "total": .real(total), "nameCount": JSONValue(groups.count), "isEmpty": .boolean(groups.isEmpty),
            "charts": .array(chart.map { [$0.values] } ?? []),
            "isTooMuch": .boolean(chart == nil && !groups.isEmpty),
            "leftOutNames": groups.count > names ? JSONValue(groups.count - names) : .null,
            "percentileDigits": .of(summary.percentileDigits),
            "groups": .array(
                groups.prefix(names).map { group in
                    group.values.with([
                        "address": .text(query.address(event: group.key)),
                        "label": .text(group.key.isEmpty ? "(without a name)" : group.key),
                        "share": .real(Double(group.count) / total),
                    ])
                }),
            "summaryCSV": .text(query.csv("names")), "eventsCSV": .text(query.csv("events")),
        ]
    }
}

extension EventSummaryView.Group {
    /// The values for templates, without those over time, which charts have.
    var values: JSONValue {
        var group = self
        group.buckets = nil
        return .of(group)
    }
}
