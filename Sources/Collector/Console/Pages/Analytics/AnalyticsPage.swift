import JSON

/// The events of programs by name.
struct AnalyticsPage: Page {
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
            if summary["groups"].items.isEmpty {
                values["reasons"] = .array(try await EventAbsence.reasons(query, visit))
            }
        } catch let problem as APIProblem where [400, 429].contains(problem.status) {
            values["summaryProblem"] = .text(problem.detail)
        }
        return answer(values)
    }

    private func answer(_ values: [String: JSONValue]) -> Answer {
        .view(View("analytics", title: "SDK Analytics", values))
    }

    private static func values(_ summary: JSONValue, _ query: EventQuery) -> [String: JSONValue] {
        let groups = summary["groups"].items
        let total = groups.compactMap { $0["count"].number }.reduce(0, +)
        let chart = EventCharts.counts(summary, id: "by-name", title: "Events by name")
        return [
            "total": .real(total), "nameCount": JSONValue(groups.count), "isEmpty": .boolean(groups.isEmpty),
            "charts": .array(chart.map { [$0.values] } ?? []),
            "isTooMuch": .boolean(chart == nil && !groups.isEmpty),
            "leftOutNames": groups.count > names ? JSONValue(groups.count - names) : .null,
            "percentileDigits": summary["percentileDigits"],
            "groups": .array(
                groups.prefix(names).map { group in
                    let name = group["key"].text ?? ""
                    return group.with([
                        "address": .text(query.address(event: name)),
                        "label": .text(name.isEmpty ? "(without a name)" : name),
                        "share": .real((group["count"].number ?? 0) / total),
                    ])
                }),
            "summaryCSV": .text(query.csv("names")), "eventsCSV": .text(query.csv("events")),
        ]
    }
}
