import CollectorAPI
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
    ///   - notices: the newest.
    ///   - organizations: whose profile revisions are listed.
    func values(notices: NoticesView, organizations: [String]) async throws -> JSONValue {
        let devices = try await visit.api.call(.listDevices, [("sort", "-enrolled"), ("limit", "\(Self.counted)")])
        var revisions: [JSONValue] = []
        for organization in organizations {
            let newest = try await visit.api.call(
                .listProfileRevisions(organization), [("brief", "true"), ("limit", "\(Self.named)")])
            revisions += newest.items.filter { $0.author != nil && isRecent($0.createdAt) }.map { revision in
                let place = ProfilePlace(organization: organization, application: revision.application)
                return JSONValue.of(revision).with(["address": .text(place.address())])
            }
        }
        var values: [String: JSONValue] = [
            "devices": group(devices.items, hasMore: devices.next != nil) { $0.enrolledAt },
            "notices": group(notices.items, hasMore: notices.next != nil) { $0.firstAt },
            "revisions": revisions.isEmpty ? .null : JSONValue.array(revisions).table,
        ]
        if visit.visitor.role >= .administrator {
            let from = Timestamp.text(since)
            let left = try await visit.api.call(
                .listAudit, [("action", "device-unenroll"), ("from", from), ("limit", "\(Self.counted)")])
            values["left"] = group(left.items, hasMore: left.next != nil) { $0.time }
            let audit = try await visit.api.call(.listAudit, [("from", from), ("limit", "\(Self.named)")])
            values["audit"] = JSONValue.of(audit.items).table
            values["auditAddress"] = .text(
                visit.base + FormFields([("from", TimeRange.input(since))]).address("/audit"))
        }
        values["isQuiet"] = .boolean(
            ["devices", "notices", "left", "revisions", "audit"].allSatisfy { values[$0] ?? .null == .null })
        return .object(values)
    }

    /// Those of a page that came in the time; null for none.
    private func group<Item: Encodable>(_ items: [Item], hasMore: Bool, time: (Item) -> String) -> JSONValue {
        let recent = items.filter { isRecent(time($0)) }
        guard !recent.isEmpty else { return .null }
        let isAll = !hasMore || recent.count < items.count
        return [
            "count": .text(isAll ? DisplayText.count(Double(recent.count)) : "\(recent.count) or more"),
            "isOne": .boolean(isAll && recent.count == 1),
            "rows": .of(Array(recent.prefix(Self.named))),
            "hasMore": .boolean(recent.count > Self.named),
        ]
    }

    private func isRecent(_ time: String?) -> Bool {
        time.flatMap { Timestamp.parse($0) }.map { $0 >= since } ?? false
    }
}
