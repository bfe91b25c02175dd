import CollectorAPI
import JSON
import WireModel

/// Summaries and lists of events, as pages and files need them.
struct EventSummaries {
    let query: EventQuery
    let api: APIClient

    /// The most events of a file.
    var maximumEvents = 10_000
    /// A filter that admits few has pages with few or none. After so many a file ends.
    private static let filePages = 100

    /// Counts by a property. Without counts over time if there are too many groups for them.
    func summary(by property: String) async throws -> EventSummaryView {
        let fields = query.selection.with("by", property)
        do {
            return try await api.call(.summarizeEvents, fields.with("step", "\(query.stepSeconds)"))
        } catch let problem as Problem where problem.code == "too-much" {
            return try await api.call(.summarizeEvents, fields)
        }
    }

    /// A table of all groups.
    static func rows(_ summary: EventSummaryView) -> [[String]] {
        let heads = ["Numbers", "Mean", "Least", "Median", "95th percentile", "Greatest", "Sum"]
        let by = DisplayText.words(summary.by)
        return [[by.prefix(1).uppercased() + by.dropFirst()] + ["Events", "Devices"] + heads]
            + summary.groups.map { group in
                let numbers = group.numeric.map {
                    [Double($0.count), $0.mean, $0.min, $0.p50, $0.p95, $0.max, $0.sum].map(DisplayText.plain)
                }
                return [group.key, "\(group.count)", "\(group.devices)"]
                    + (numbers ?? Array(repeating: "", count: heads.count))
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
            let page = try await api.call(.listEvents, fields)
            for record in page.items.prefix(maximumEvents + 1 - rows.count) { rows.append(Self.row(record)) }
            guard rows.count <= maximumEvents, let next = page.next else { break }
            fields = fields.with("cursor", next)
        }
        return rows
    }

    private static func row(_ record: RecordView) -> [String] {
        let event = record.event ?? EventView()
        let duration = event.durationMicroseconds.map { DisplayText.plain(Double($0) / 1_000_000) }
        return [
            record.time, record.receivedAt, record.device, record.application ?? "", event.type, event.name,
            value(event.value), event.valueType,
            event.attributes.isEmpty ? "" : JSONValue.object(event.attributes).compactText,
            event.session ?? "", JSONValue.of(event.succeeded).renderText, duration ?? "",
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
