import CollectorAPI
import FoundationEssentials
import RecordStore
import TelemetryBasics
import WireModel

/// The audit trail in `collector.sqlite`. Not `Sendable`: the owner of its connection uses it inside its transactions.
///
/// Each organization has its own limits, so none can displace another's entries. Within an organization each class of
/// entries has its own, so whoever can cause entries of one class displaces none of another:
///
/// | class | entries |
/// |---|---|
/// | `administrator`, `administrator-job` | of administrators and of the command line; those of jobs apart |
/// | `other`, `other-job` | of people with lesser roles |
/// | `session` | sign-ins and sign-outs |
/// | `consequence` | of the collector itself, because a profile asks for it |
/// | `device` | of devices |
///
/// Of each class the newest 20,000 entries of the last 400 days are kept. The newest 1,000 are kept at any age, so a
/// clock that jumps forward does not empty the trail. If a class is full, whoever has the most entries loses the
/// oldest: an actor displaces nobody who has written less. A consequence counts for its device.
package struct AuditTable {
    package let connection: any RegistrySession
    /// The newest entries of a class that are kept.
    package var limit = AuditTable.kept

    package static let kept = 20_000
    static let keptOfAnyAge = 1000
    static let keptMicroseconds: Int64 = 400 * CivilDate.microsecondsPerDay
    /// Old entries are removed with every 64th entry.
    private static let pruneEvery: Int64 = 64
    /// Limit of a subject and of each text in a detail.
    private static let textBytes = 1024

    /// The class of a row. The one place that knows the classes.
    private static let classOfRow = """
        CASE WHEN token IS NULL AND actor = '\(AuditActor.consequence.name)' THEN 'consequence'
        WHEN action IN (\(names(AuditEntry.Action.allCases.filter(\.isOfDevices)))) THEN 'device'
        WHEN action IN (\(names([.signIn, .signOut]))) THEN 'session'
        ELSE CASE WHEN role = \(PersonRole.administrator.rawValue)
        OR (token IS NULL AND actor = '\(AuditActor.commandLine.name)') THEN 'administrator' ELSE 'other' END
        || CASE WHEN job IS NULL THEN '' ELSE '-job' END END
        """
    /// The owner whose share of its class a row uses.
    private static let ownerOfRow = """
        CASE WHEN token IS NULL AND actor = '\(AuditActor.consequence.name)' THEN subject
        ELSE coalesce(token, actor) END
        """

    private static func names(_ actions: [AuditEntry.Action]) -> String {
        actions.map { "'\($0.rawValue)'" }.joined(separator: ", ")
    }

    package func append(_ entry: AuditEntry, at now: Int64) throws(StoreError) {
        let written = try connection.first(
            """
            INSERT INTO audit (at, actor, token, role, organization, action, subject, detail, outcome, job)
            VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?) RETURNING id, \(Self.classOfRow)
            """, now, entry.actor.name, entry.actor.token, (entry.actor.role?.rawValue).map(Int64.init),
            entry.organization,
            entry.action.rawValue, entry.subject.cut(toBytes: Self.textBytes), Self.text(entry.detail),
            entry.outcome.rawValue, entry.actor.job
        ) { (id: $0.int64(0), ofClass: $0.string(1)) }
        if let written, written.id % Self.pruneEvery == 0 {
            try prune(written.ofClass, of: entry.organization, at: now)
        }
    }

    private func prune(_ name: String, of organization: String, at now: Int64) throws(StoreError) {
        let alike = "organization = ?1 AND \(Self.classOfRow) = ?2"
        try connection.run(
            """
            DELETE FROM audit WHERE id IN (
                SELECT id FROM (
                    SELECT id, row_number() OVER (PARTITION BY \(Self.ownerOfRow) ORDER BY id DESC) AS place
                    FROM audit WHERE \(alike)) AS ranked
                ORDER BY place, id DESC \(RegistryDialect.everyRow) OFFSET ?3)
            """, organization, name, limit)
        try connection.run(
            """
            DELETE FROM audit WHERE \(alike) AND at < ?3
            AND id <= (SELECT id FROM audit WHERE \(alike) ORDER BY id DESC LIMIT 1 OFFSET ?4)
            """, organization, name, now - Self.keptMicroseconds, Self.keptOfAnyAge)
    }

    /// Newest first.
    package func page(_ query: AuditQuery, below id: Int64?, limit: Int) throws(StoreError) -> ListPage<AuditRow, Int64>
    {
        let rows = try connection.rows(
            """
            SELECT id, at, actor, token, role, job, action, outcome, organization, subject, detail FROM audit
            WHERE \(query.organization == nil ? "?1 IS NULL" : "organization = ?1") AND (?2 IS NULL OR id < ?2)
            AND (?3 IS NULL OR actor = ?3 OR token = ?3) AND (?4 IS NULL OR action = ?4) AND (?5 IS NULL OR at >= ?5)
            AND (?6 IS NULL OR at < ?6) AND (?7 IS NULL OR subject = ?7) ORDER BY id DESC LIMIT ?8
            """, query.organization, id, query.actor, query.action?.rawValue, query.from, query.to, query.subject,
            limit + 1
        ) { row throws(StoreError) -> AuditRow? in
            let (id, time) = (try row.int64("id"), try row.int64("at"))
            let actor = AuditActor(
                name: try row.string("actor"), token: try row.optionalString("token"),
                role: try PersonRole(rawValue: row.int("role")), job: try row.optionalString("job"))
            guard let action = try AuditEntry.Action(rawValue: row.string("action")),
                let outcome = try AuditEntry.Outcome(rawValue: row.string("outcome"))
            else { return nil }
            let entry = AuditEntry(
                action, by: actor, organization: try row.string("organization"), subject: try row.string("subject"),
                detail: Self.detail(try row.string("detail")), outcome: outcome)
            return AuditRow(id: id, at: time, entry: entry)
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
