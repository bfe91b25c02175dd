import CollectorAPI
import JSON
import TelemetryBasics
import WireModel

/// Who changed what.
struct AuditPage: ConsolePage {
    let path = "/audit"
    let role = PersonRole.administrator

    private static let filters = ["actor", "action", "subject", "from", "to"]
    /// The actions of the API.
    static let actions = [
        "assignments-put", "certificate-issue", "command-end", "command-issue", "device-conflict", "device-delete",
        "device-do-not-disturb", "device-enroll", "device-erase", "device-job", "device-predecessor", "device-reenroll",
        "device-reinstate", "device-revoke", "device-rotate", "device-unenroll", "log-quota-change", "logs-delete",
        "notice-mute", "notice-unmute", "organization-create", "profile-put", "profile-rollback", "records-purge",
        "retention-release", "sign-in", "sign-out", "token-create", "token-revoke",
    ]

    func view(_ visit: Visit) async throws -> Answer {
        let filters = visit.query.only(Self.filters)
        let query = try Self.query(filters)
        if visit.query["format"] == "csv" {
            return .csv(name: "audit.csv", rows: Self.rows(try await visit.api.all(.listAudit, query)))
        }
        let page = try await visit.api.call(.listAudit, query.with("cursor", visit.query.text("cursor")))
        return .view(
            View(
                "audit", title: "Audit trail",
                [
                    "rows": JSONValue.array(page.items.map(Self.shown)).table, "more": visit.more(page.next),
                    "isFiltered": .boolean(!filters.isEmpty),
                    "actions": Choice.list(
                        [("", "all")] + Self.actions.map { ($0, DisplayText.words($0)) }, chosen: filters["action"]),
                    "csv": .text(visit.base + filters.with("format", "csv").address(visit.path)),
                ]))
    }

    /// A browser's times lack seconds and zone.
    private static func query(_ filters: FormFields) throws(Problem) -> FormFields {
        var query = filters
        for name in ["from", "to"] {
            if let time = try TimeRange.time(filters, name) { query = query.with(name, Timestamp.text(time)) }
        }
        return query
    }

    private static func shown(_ entry: AuditView) -> JSONValue {
        let isDevice = entry.action.hasPrefix("device-") && entry.action != "device-job" && !entry.subject.isEmpty
        return JSONValue.of(entry).with(["isDevice": .boolean(isDevice)])
    }

    private static func rows(_ entries: [AuditView]) -> [[String]] {
        let columns = [
            "time", "actor", "role", "token", "organization", "action", "subject", "outcome", "job", "detail",
        ]
        return [columns]
            + entries.map { entry in
                let detail = entry.detail.sorted { $0.key < $1.key }.map { "\($0.key): \($0.value)" }
                let cells: [String?] = [
                    entry.time, entry.actor, entry.role, entry.token, entry.organization, entry.action, entry.subject,
                    entry.outcome, entry.job, detail.joined(separator: "; "),
                ]
                return cells.map { DisplayText.visible($0 ?? "") }
            }
    }
}
