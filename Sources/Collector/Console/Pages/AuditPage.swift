import JSON
import TelemetryBasics

/// Who changed what.
struct AuditPage: Page {
    let path = "/audit"
    let role = Visitor.Role.administrator

    private static let filters = ["actor", "action", "subject", "from", "to"]
    /// The actions of the API.
    static let actions = [
        "assignments-put", "certificate-issue", "command-end", "command-issue", "device-conflict", "device-delete",
        "device-do-not-disturb", "device-enroll", "device-job", "device-predecessor", "device-reenroll",
        "device-reinstate", "device-revoke", "device-rotate", "device-unenroll", "log-quota-change", "logs-delete",
        "notice-mute", "notice-unmute", "organization-create", "profile-put", "profile-rollback", "records-purge",
        "retention-release", "sign-in", "sign-out", "token-create", "token-revoke",
    ]

    func view(_ visit: Visit) async throws -> Answer {
        let filters = visit.query.only(Self.filters)
        let query = try Self.query(filters)
        if visit.query["format"] == "csv" {
            return .csv(name: "audit.csv", rows: Self.rows(try await visit.api.all("/api/v1/audit", query)))
        }
        let page = try await visit.api.get("/api/v1/audit", query.with("cursor", visit.query.text("cursor")))
        return .view(
            View(
                "audit", title: "Audit trail",
                [
                    "rows": JSONValue.array(page.pageItems.map(Self.shown)).table, "more": page.more(at: visit),
                    "isFiltered": .boolean(!filters.isEmpty),
                    "actions": Choice.list(
                        [("", "all")] + Self.actions.map { ($0, DisplayText.words($0)) }, chosen: filters["action"]),
                    "csv": .text(visit.base + filters.with("format", "csv").address(visit.path)),
                ]))
    }

    /// A browser's times lack seconds and zone.
    private static func query(_ filters: FormFields) throws(APIProblem) -> FormFields {
        var query = filters
        for name in ["from", "to"] {
            if let time = try TimeRange.time(filters, name) { query = query.with(name, Timestamp.text(time)) }
        }
        return query
    }

    private static func shown(_ entry: JSONValue) -> JSONValue {
        let isOfDevice = entry["action"].text?.hasPrefix("device-") ?? false
        let isWord = entry["subject"].text?.isEmpty ?? true
        return entry.with(["isDevice": .boolean(isOfDevice && !isWord && entry["action"].text != "device-job")])
    }

    private static func rows(_ entries: [JSONValue]) -> [[String]] {
        let columns = ["time", "actor", "role", "token", "organization", "action", "subject", "outcome", "job"]
        return [columns + ["detail"]]
            + entries.map { entry in
                columns.map { entry[$0].renderText } + [
                    entry["detail"].members.sorted { $0.key < $1.key }.map { "\($0.key): \($0.value.renderText)" }
                        .joined(separator: "; ")
                ]
            }
    }
}

extension JSONValue {
    /// The address of the next page of a list; null at its end.
    func more(at visit: Visit) -> JSONValue {
        guard let next = self["next"].text else { return .null }
        return .text(visit.base + visit.query.with("cursor", next).address(visit.path))
    }
}
