import FoundationEssentials
import WireModel

/// The audit trail in `collector.sqlite`. Not `Sendable`: the owner of its connection uses it inside its transactions.
///
/// Each organization has its own limits, so none can displace another's entries: the newest 20,000 entries of the last
/// 400 days are kept. The newest 1,000 are kept at any age, so a clock that jumps forward does not empty the trail.
/// Entries about devices' actions have separate limits of the same size, so devices cannot displace what people did. So
/// have those of jobs over many devices, each of which writes one for each device.
struct AuditTable {
    let connection: any RegistrySession

    static let kept = 20_000
    static let keptOfAnyAge = 1000
    static let keptMicroseconds: Int64 = 400 * 86_400 * 1_000_000
    /// Old entries are removed with every 64th entry.
    private static let pruneEvery: Int64 = 64
    /// Limit of a subject and of each text in a detail.
    private static let textBytes = 1024

    func append(_ entry: AuditEntry, at now: Int64) throws(StoreError) {
        let id = try connection.first(
            """
            INSERT INTO audit (at, actor, token, role, organization, action, subject, detail, outcome, job)
            VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?) RETURNING id
            """, now, entry.actor.name, entry.actor.token, (entry.actor.role?.rawValue).map(Int64.init),
            entry.organization,
            entry.action.rawValue, entry.subject.cut(toBytes: Self.textBytes), Self.text(entry.detail),
            entry.outcome.rawValue, entry.actor.job
        ) { $0.int64(0) }
        if let id, id % Self.pruneEvery == 0 { try prune(like: entry, at: now) }
    }

    private func prune(like entry: AuditEntry, at now: Int64) throws(StoreError) {
        let ofDevices = AuditEntry.Action.allCases.filter(\.isOfDevices).map { "'\($0.rawValue)'" }.joined(
            separator: ", ")
        let alike = """
            organization = ?1 AND action \(entry.action.isOfDevices ? "IN" : "NOT IN") (\(ofDevices))
            AND job IS \(entry.actor.job == nil ? "NULL" : "NOT NULL")
            """
        for (kept, before) in [(Self.kept, Int64.max), (Self.keptOfAnyAge, now - Self.keptMicroseconds)] {
            try connection.run(
                """
                DELETE FROM audit WHERE \(alike) AND at < ?2
                AND id <= (SELECT id FROM audit WHERE \(alike) ORDER BY id DESC LIMIT 1 OFFSET ?3)
                """, entry.organization, before, kept)
        }
    }

    /// Newest first.
    func page(_ query: AuditQuery, below id: Int64?, limit: Int) throws(StoreError) -> ListPage<AuditRow, Int64> {
        let rows = try connection.rows(
            """
            SELECT id, at, actor, token, role, organization, action, subject, detail, outcome, job FROM audit
            WHERE \(query.organization == nil ? "?1 IS NULL" : "organization = ?1") AND (?2 IS NULL OR id < ?2)
            AND (?3 IS NULL OR actor = ?3 OR token = ?3) AND (?4 IS NULL OR action = ?4) AND (?5 IS NULL OR at >= ?5)
            AND (?6 IS NULL OR at < ?6) AND (?7 IS NULL OR subject = ?7) ORDER BY id DESC LIMIT ?8
            """, query.organization, id, query.actor, query.action?.rawValue, query.from, query.to, query.subject,
            limit + 1
        ) { row -> AuditRow? in
            guard let action = AuditEntry.Action(rawValue: row.string(6)),
                let outcome = AuditEntry.Outcome(rawValue: row.string(9))
            else { return nil }
            let actor = AuditActor(
                name: row.string(2), token: row.optionalString(3), role: PersonRole(rawValue: row.int(4)),
                job: row.optionalString(10))
            let entry = AuditEntry(
                action, by: actor, organization: row.string(5), subject: row.string(7),
                detail: Self.detail(row.string(8)), outcome: outcome)
            return AuditRow(id: row.int64(0), at: row.int64(1), entry: entry)
        }
        return ListPage(rows, limit: limit) { $0.id }
    }

    private static func text(_ detail: [String: String]) -> String {
        // It has only strings, so encoding cannot fail.
        let cut = detail.mapValues { $0.cut(toBytes: textBytes) }
        guard let bytes = try? JSONEncoder.stable().encode(cut) else { return "{}" }
        return String(decoding: bytes, as: UTF8.self)
    }

    private static func detail(_ text: String) -> [String: String] {
        (try? JSONDecoder().decode([String: String].self, from: Data(text.utf8))) ?? [:]
    }
}

/// Limits how often one device gets an audit entry. Pure. In memory, because no device can restart a collector.
///
/// A device gets one entry per hour and action; repeats are counted and reported with the next entry. So one device
/// makes at most 24 entries per day and action, and needs months to displace the 20,000 entries of other devices. A
/// fleet that enrolls at once still gets an entry per device.
struct DeviceAuditLimit {
    static let intervalMicroseconds: Int64 = 3_600_000_000
    /// The most remembered devices and actions. If an hour has more, the rest get no entry.
    static let maximum = 16_384

    private struct Key: Hashable {
        var device: DeviceID
        var action: AuditEntry.Action
    }

    private struct Told {
        var at: Int64
        var leftOut = 0

        /// A clock that was set back does not silence a device for long.
        func isRecent(at now: Int64) -> Bool { (0..<DeviceAuditLimit.intervalMicroseconds).contains(now - at) }
    }

    private var told: [Key: Told] = [:]

    /// - Returns: how often the same was left out since the last entry; `nil` if this is left out too.
    mutating func admit(_ action: AuditEntry.Action, of device: DeviceID, at now: Int64) -> Int? {
        let key = Key(device: device, action: action)
        if let former = told[key] {
            if former.isRecent(at: now) {
                told[key]?.leftOut += 1
                return nil
            }
            told[key] = Told(at: now)
            return former.leftOut
        }
        if told.count >= Self.maximum { told = told.filter { $0.value.isRecent(at: now) } }
        guard told.count < Self.maximum else { return nil }
        told[key] = Told(at: now)
        return 0
    }
}
