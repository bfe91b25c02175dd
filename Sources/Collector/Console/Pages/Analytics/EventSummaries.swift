import JSON

/// Summaries and lists of events, as pages and files need them.
struct EventSummaries {
    let query: EventQuery
    let api: APIClient

    /// The most events of a file.
    var maximumEvents = 10_000
    /// A filter that admits few has pages with few or none. After so many a file ends.
    private static let filePages = 100

    /// Counts by a property. Without counts over time if there are too many groups for them.
    func summary(by property: String) async throws -> JSONValue {
        let fields = query.selection.with("by", property)
        do {
            return try await api.get("/api/v1/events/summary", fields.with("step", "\(query.stepSeconds)"))
        } catch let problem as APIProblem where problem.code == "too-much" {
            return try await api.get("/api/v1/events/summary", fields)
        }
    }

    /// A table of all groups.
    static func rows(_ summary: JSONValue) -> [[String]] {
        let numeric = ["count", "mean", "min", "p50", "p95", "max", "sum"]
        let heads = ["Numbers", "Mean", "Least", "Median", "95th percentile", "Greatest", "Sum"]
        let by = DisplayText.words(summary["by"].text ?? "")
        return [[by.prefix(1).uppercased() + by.dropFirst()] + ["Events", "Devices"] + heads]
            + summary["groups"].items.map { group in
                let key = group["key"].text ?? ""
                return [key]
                    + [group["count"], group["devices"]].map { $0.number.map(DisplayText.plain) ?? "" }
                    + numeric.map { group["numeric"][$0].number.map(DisplayText.plain) ?? "" }
            }
    }

    /// Single events as a table, the newest received first.
    func events() async throws -> [[String]] {
        var rows = [
            [
                "Time", "Received", "Device", "Application", "Type", "Name", "Value", "Value type", "Attributes",
                "Session", "Succeeded", "Duration (s)",
            ]
        ]
        var fields = query.selection.with("limit", "1000")
        for _ in 0..<Self.filePages {
            let page = try await api.get("/api/v1/events", fields)
            for record in page.pageItems.prefix(maximumEvents + 1 - rows.count) { rows.append(Self.row(record)) }
            guard rows.count <= maximumEvents, let next = page["next"].text else { break }
            fields = fields.with("cursor", next)
        }
        return rows
    }

    private static func row(_ record: JSONValue) -> [String] {
        let event = record["event"]
        let duration = event["durationMicroseconds"].number.map { DisplayText.plain($0 / 1_000_000) }
        return [
            record["time"].text ?? "", record["receivedAt"].text ?? "", record["device"].text ?? "",
            record["application"].text ?? "", event["type"].text ?? "", event["name"].text ?? "",
            value(event["value"]), event["valueType"].text ?? "",
            event["attributes"].members.isEmpty ? "" : event["attributes"].compactText,
            event["session"].text ?? "", event["succeeded"].renderText, duration ?? "",
        ]
    }

    private static func value(_ value: JSONValue) -> String {
        if let number = value.number { return DisplayText.plain(number) }
        return switch value {
        case .boolean(let flag): "\(flag)"
        default: value.renderText
        }
    }
}
