import JSON
import TelemetryBasics

/// The changes of the last 24 hours.
struct RecentChanges {
    private static let seconds: Int64 = 86_400
    /// The most changes of each kind that are named.
    private static let named = 5
    /// The number up to which changes are counted exactly.
    private static let counted = 100

    let visit: Visit
    let since: Int64

    init(_ visit: Visit) {
        self.visit = visit
        since = visit.now - Self.seconds * 1_000_000
    }

    /// - Parameters:
    ///   - notices: the newest, with `next` if there are more.
    ///   - organizations: whose profile revisions are listed.
    func values(notices: JSONValue, organizations: [String]) async throws -> JSONValue {
        let devices = try await visit.api.get("/api/v1/devices", [("sort", "-enrolled"), ("limit", "\(Self.counted)")])
        var revisions: [JSONValue] = []
        for organization in organizations {
            let place = ProfilePlace(organization: organization, application: nil)
            let newest = try await visit.api.get(place.revisions, [("brief", "true"), ("limit", "\(Self.named)")])
            revisions += newest.pageItems.filter { $0["author"] != .null && isRecent($0["createdAt"]) }.map {
                revision in
                revision.with([
                    "address": .text(
                        ProfilePlace(organization: organization, application: revision["application"].text).address())
                ])
            }
        }
        var values: [String: JSONValue] = [
            "devices": group(devices, by: "enrolledAt"), "notices": group(notices, by: "firstAt"),
            "revisions": revisions.isEmpty ? .null : JSONValue.array(revisions).table,
        ]
        if visit.visitor.role >= .administrator {
            let from = Timestamp.text(since)
            let left = try await visit.api.get(
                "/api/v1/audit", [("action", "device-unenroll"), ("from", from), ("limit", "\(Self.counted)")])
            values["left"] = group(left, by: "time")
            let audit = try await visit.api.get("/api/v1/audit", [("from", from), ("limit", "\(Self.named)")])
            values["audit"] = audit["items"].table
            values["auditAddress"] = .text(
                visit.base + FormFields([("from", TimeRange.input(since))]).address("/audit"))
        }
        values["isQuiet"] = .boolean(
            ["devices", "notices", "left", "revisions", "audit"].allSatisfy { values[$0] ?? .null == .null })
        return .object(values)
    }

    /// Those of a page that came in the time; null for none.
    private func group(_ page: JSONValue, by time: String) -> JSONValue {
        let recent = page.pageItems.filter { isRecent($0[time]) }
        guard !recent.isEmpty else { return .null }
        let isAll = page["next"] == .null || recent.count < page.pageItems.count
        return [
            "count": .text(isAll ? DisplayText.count(Double(recent.count)) : "\(recent.count) or more"),
            "isOne": .boolean(isAll && recent.count == 1),
            "rows": .array(Array(recent.prefix(Self.named))),
            "hasMore": .boolean(recent.count > Self.named),
        ]
    }

    private func isRecent(_ time: JSONValue) -> Bool {
        time.text.flatMap { Timestamp.parse($0) }.map { $0 >= since } ?? false
    }
}
