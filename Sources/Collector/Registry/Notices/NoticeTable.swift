import RecordStore
import WireModel

/// The notices in `collector.sqlite`. Not `Sendable`: the owner of its connection uses it inside its transactions.
package struct NoticeTable {
    package let connection: any RegistrySession

    package init(connection: any RegistrySession) {
        self.connection = connection
    }

    /// The most notices of one organization. The oldest that have ended are removed first.
    private static let kept = 1000
    /// How long the end of a notice that may alternate has to last.
    static let alternationMicroseconds: Int64 = 3600 * 1_000_000

    /// Raises a notice, or counts up the open one.
    /// - Parameter again: a notice that ended less than so many microseconds ago is opened again. One that may
    ///   alternate always is, within an hour.
    package func raise(
        _ code: NoticeRow.Code, organization: String, subject: String, detail: String, again: Int64 = 0, at now: Int64
    ) throws(StoreError) {
        let again = code.mayAlternate ? max(again, Self.alternationMicroseconds) : again
        let raised = try connection.run(
            """
            UPDATE notice SET count = count + 1, last = ?1, detail = ?2,
            posted = CASE WHEN ended IS NOT NULL AND posted = \(Posted.end.rawValue) THEN \(Posted.nothing.rawValue) \
            ELSE posted END,
            ended = NULL WHERE id = (
            SELECT max(id) FROM notice WHERE organization = ?3 AND code = ?4 AND subject = ?5 \
            AND (ended IS NULL OR ended > ?6))
            """, now, detail, organization, code.rawValue, subject, again > 0 ? now - again : Int64.max)
        guard raised == 0 else { return }
        try connection.run(
            """
            INSERT INTO notice (code, organization, subject, detail, count, first, last) \
            VALUES (?1, ?2, ?3, ?4, 1, ?5, ?5)
            """,
            code.rawValue, organization, subject, detail, now)
        try connection.run(
            """
            DELETE FROM notice WHERE id IN
            (SELECT id FROM notice WHERE organization = ?
            ORDER BY CASE WHEN \(Self.isOpen) THEN 0 ELSE 1 END, id DESC \(RegistryDialect.everyRow) OFFSET ?)
            """, organization, Self.kept)
    }

    /// Raises a notice of so many more records of a stream, or of whatever else is counted.
    /// - Parameter detail: makes it of the amount and the streams since the notice was first raised.
    package func raise(
        _ code: NoticeRow.Code, organization: String, subject: String, adding amount: UInt64, of stream: StreamName,
        at now: Int64, detail: (UInt64, Set<StreamName>) -> String
    ) throws(StoreError) {
        let open = """
            id = (SELECT max(id) FROM notice WHERE organization = ?1 AND code = ?2 AND subject = ?3 AND ended IS NULL)
            """
        let former = try connection.first(
            "SELECT amount, streams FROM notice WHERE \(open)", organization, code.rawValue, subject
        ) { (UInt64(clamping: $0.int64(0)), Self.streams($0.int64(1))) }
        var (total, streams) = former ?? (0, [])
        total.addSaturating(amount)
        streams.insert(stream)
        try raise(code, organization: organization, subject: subject, detail: detail(total, streams), at: now)
        try connection.run(
            "UPDATE notice SET amount = ?4, streams = ?5 WHERE \(open)", organization, code.rawValue, subject,
            Int64(clamping: total), Self.column(streams))
    }

    /// The column `streams` has a bit for each stream, by its number on the wire.
    private static func column(_ streams: Set<StreamName>) -> Int64 {
        streams.reduce(0) { $0 | 1 << Int64($1.rawValue) }
    }

    fileprivate static func streams(_ column: Int64) -> Set<StreamName> {
        Set(StreamName.allCases.filter { column & 1 << Int64($0.rawValue) != 0 })
    }

    /// Raises a notice whose subject is of one event alone: it is reported once, however often this is called.
    package func raiseOnce(
        _ code: NoticeRow.Code, organization: String, subject: String, detail: String, at now: Int64
    ) throws(StoreError) {
        let sql = "SELECT 1 FROM notice WHERE organization = ? AND code = ? AND subject = ?"
        if try connection.hasRow(sql, organization, code.rawValue, subject) { return }
        try raise(code, organization: organization, subject: subject, detail: detail, at: now)
    }

    /// Ends a notice whose cause is over. If its beginning was not handed on because it is muted, neither is its end.
    package func end(_ code: NoticeRow.Code, organization: String, subject: String, at now: Int64) throws(StoreError) {
        try connection.run(
            """
            UPDATE notice SET ended = ?1,
            posted = CASE WHEN posted = \(Posted.nothing.rawValue) AND \(Self.isMuted(at: "?1")) THEN \
            \(Posted.end.rawValue) ELSE posted END
            WHERE organization = ?2 AND code = ?3 AND subject = ?4 AND ended IS NULL
            """, now, organization, code.rawValue, subject)
    }

    /// Open notices of a code that were last raised before a time are over.
    package func end(_ code: NoticeRow.Code, lastRaisedBefore time: Int64, at now: Int64) throws(StoreError) {
        let old = try connection.rows(
            "SELECT organization, subject FROM notice WHERE code = ? AND ended IS NULL AND last < ?", code.rawValue,
            time
        ) { (organization: $0.string(0), subject: $0.string(1)) }
        for notice in old { try end(code, organization: notice.organization, subject: notice.subject, at: now) }
    }

    /// Makes the collector's open notices of a code exactly the given ones. Each subject is raised only once ever;
    /// notices of other subjects end.
    package func settle(_ code: NoticeRow.Code, _ present: [String: String], at now: Int64) throws(StoreError) {
        let subjects = try endOthers(code, than: Set(present.keys), at: now)
        for (subject, detail) in present.sorted(by: { $0.key < $1.key }) where !subjects.contains(subject) {
            try raise(code, organization: "", subject: subject, detail: detail, at: now)
        }
    }

    /// Returns what was reported of silent devices, by organization.
    func silenceReported(at now: Int64) throws(StoreError) -> [String: SilencePlan.Reported] {
        var reported: [String: SilencePlan.Reported] = [:]
        try connection.each(
            """
            SELECT organization, code, subject, detail, ended IS NULL AS is_open FROM notice
            WHERE (code = ?1 AND (ended IS NULL OR first > ?3)) OR (code = ?2 AND ended IS NULL)
            """, NoticeRow.Code.deviceSilent.rawValue, NoticeRow.Code.devicesSilent.rawValue,
            now - SilencePlan.dayMicroseconds
        ) { row throws(StoreError) in
            let organization = try row.string("organization")
            if try row.string("code") == NoticeRow.Code.devicesSilent.rawValue {
                reported[organization, default: .init()].many = try row.string("detail")
            } else if let device = try DeviceID(row.string("subject")) {
                reported[organization, default: .init()].recent.insert(device)
                if try row.bool("is_open") { reported[organization, default: .init()].lasting.insert(device) }
            }
        }
        return reported
    }

    /// The collector's of a code whose subjects are not among these are over.
    /// - Returns: every subject there ever was.
    @discardableResult
    func endOthers(
        _ code: NoticeRow.Code, than subjects: Set<String>, at now: Int64
    ) throws(StoreError) -> Set<String> {
        let sql = "SELECT DISTINCT subject FROM notice WHERE organization = '' AND code = ?"
        let known = Set(try connection.rows(sql, code.rawValue) { $0.string(0) })
        for subject in known.subtracting(subjects) { try end(code, organization: "", subject: subject, at: now) }
        return known
    }

    /// Newest first.
    /// - Parameter organization: `nil` for all.
    package func page(
        organization: String?, _ filter: NoticeFilter, below id: Int64?, limit: Int, at now: Int64
    ) throws(StoreError) -> ListPage<NoticeRow, Int64> {
        let rows = try connection.rows(
            """
            \(Self.selection(at: "?4")) WHERE (?1 IS NULL OR notice.organization = ?1) AND (?2 IS NULL OR id < ?2)
            AND (?5 IS NULL OR notice.code = ?5)
            AND (?6 IS NULL OR notice.subject = ?6) \(filter.isOpen ? "AND \(Self.isOpen)" : "") ORDER BY id DESC \
            LIMIT ?3
            """, organization, id, limit + 1, now, filter.code?.rawValue, filter.subject
        ) { row throws(StoreError) in try NoticeRow(row) }
        return ListPage(rows, limit: limit) { $0.id }
    }

    /// Open notices that are not muted.
    /// - Parameter organization: `nil` for all.
    func openCount(organization: String?, at now: Int64) throws(StoreError) -> Int {
        try connection.first(
            """
            SELECT count(*) FROM notice WHERE (?1 IS NULL OR organization = ?1) AND \(Self.isOpen)
            AND NOT \(Self.isMuted(at: "?2"))
            """, organization, now
        ) { $0.int(0) } ?? 0
    }

    // MARK: Muting

    /// Conditions on `notice`, as SQL.
    private static let isOpen = "ended IS NULL AND notice.code IN (\(lasting))"
    private static let lasting = list(\.hasEnd)
    private static let alternating = list(\.mayAlternate)

    private static func list(_ isIncluded: (NoticeRow.Code) -> Bool) -> String {
        NoticeRow.Code.allCases.filter(isIncluded).map { "'\($0.rawValue)'" }.joined(separator: ", ")
    }

    private static func isMuted(at now: String) -> String {
        "EXISTS (SELECT 1 FROM muted_notice AS mute WHERE \(mute(at: now)))"
    }

    private static func mute(at now: String) -> String {
        """
        mute.organization = notice.organization AND mute.code = notice.code AND mute.subject = notice.subject
        AND (mute.until IS NULL OR mute.until > \(now))
        """
    }

    /// The columns of `NoticeRow`, with `posted` among them.
    private static func selection(at now: String) -> String {
        """
        SELECT id, notice.code, notice.organization, notice.subject, detail, amount, streams, count, first, last, ended,
        mute.actor AS muted_by, mute.at AS muted_at, mute.until AS muted_until, posted
        FROM notice LEFT JOIN muted_notice AS mute ON \(mute(at: now))
        """
    }

    /// - Parameter organization: `nil` for any.
    /// - Returns: `nil` if there is no such notice in the organization.
    package func notice(_ id: Int64, organization: String?, at now: Int64) throws(StoreError) -> NoticeRow? {
        try connection.first(
            "\(Self.selection(at: "?3")) WHERE id = ?1 AND (?2 IS NULL OR notice.organization = ?2)", id, organization,
            now
        ) { row throws(StoreError) in try NoticeRow(row) }
    }

    /// Mutes all notices of the same code, organization and subject. Replaces a former mute.
    /// - Returns: `false` if the organization has as many as it may.
    func mute(_ notice: NoticeRow, _ mute: NoticeMute) throws(StoreError) -> Bool {
        try connection.run("DELETE FROM muted_notice WHERE until <= ?", mute.at)
        let others = try connection.first(
            "SELECT count(*) FROM muted_notice WHERE organization = ?1 AND NOT (code = ?2 AND subject = ?3)",
            notice.organization, notice.code.rawValue, notice.subject
        ) { $0.int(0) }
        guard others ?? 0 < NoticeMute.maximum else { return false }
        try connection.run(
            """
            INSERT INTO muted_notice (organization, code, subject, actor, at, until) VALUES (?, ?, ?, ?, ?, ?)
            ON CONFLICT (organization, code, subject)
            DO UPDATE SET actor = excluded.actor, at = excluded.at, until = excluded.until
            """, notice.organization, notice.code.rawValue, notice.subject, mute.by, mute.at, mute.until)
        // One that is over and was not handed on yet never is.
        try connection.run(
            """
            UPDATE notice SET posted = \(Posted.end.rawValue) WHERE organization = ? AND code = ? AND subject = ? \
            AND ended IS NOT NULL
            AND posted = \(Posted.nothing.rawValue)
            """, notice.organization, notice.code.rawValue, notice.subject)
        return true
    }

    func unmute(_ notice: NoticeRow) throws(StoreError) {
        try connection.run(
            "DELETE FROM muted_notice WHERE organization = ? AND code = ? AND subject = ?", notice.organization,
            notice.code.rawValue, notice.subject)
    }

    // MARK: Handing on

    /// How much of a notice was handed on. The raw value is on disk.
    enum Posted: Int64 {
        case nothing = 0
        case beginning = 1
        /// Beginning and end. A notice without an end has this value after its beginning.
        case end = 2
    }

    /// Undelivered news, oldest notice first. A notice that has ended is first reported as begun. The beginning of a
    /// muted notice waits until it is not muted any more; the end of one whose beginning was delivered does not. The
    /// end of one that may alternate waits until it has lasted.
    func unposted(limit: Int, at now: Int64) throws(StoreError) -> [NoticeNews] {
        try connection.rows(
            """
            \(Self.selection(at: "?2")) WHERE posted < \(Posted.end.rawValue)
            AND (posted = \(Posted.nothing.rawValue) AND mute.at IS NULL OR posted <> \(Posted.nothing.rawValue) AND \
            ended IS NOT NULL
            AND (ended <= ?3 OR notice.code NOT IN (\(Self.alternating))))
            ORDER BY id LIMIT ?1
            """, limit, now, now - Self.alternationMicroseconds
        ) { row throws(StoreError) in
            guard let notice = try NoticeRow(row) else { return nil }
            return NoticeNews(try row.int64("posted") == Posted.nothing.rawValue ? .raised : .ended, notice)
        }
    }

    func recordPosted(_ news: NoticeNews) throws(StoreError) {
        let posted: Posted = news.kind == .raised && news.notice.code.hasEnd ? .beginning : .end
        try connection.run("UPDATE notice SET posted = ? WHERE id = ?", posted.rawValue, news.notice.id)
    }

    /// Whether somebody has ever wanted to hear of notices.
    func hasReceiver() throws(StoreError) -> Bool {
        try connection.hasRow("SELECT 1 FROM meta WHERE name = 'notice_posted'")
    }

    /// Starts delivery: of the open notices and of those raised since a time, but not of those that ended before.
    func beginPosting(since time: Int64) throws(StoreError) {
        try connection.run(
            "UPDATE notice SET posted = \(Posted.end.rawValue) WHERE last < ? AND NOT (\(Self.isOpen))", time)
        try connection.run(
            """
            INSERT INTO meta (name, number) VALUES ('notice_posted', 0)
            ON CONFLICT (name) DO UPDATE SET number = excluded.number
            """)
    }

    package func counts() throws(StoreError) -> NoticeCounts {
        var counts: [NoticeRow.Code: NoticeCounts.Count] = [:]
        try connection.each(
            """
            SELECT code, count(*), count(*) FILTER (WHERE ended IS NULL), CAST(sum(count) AS bigint) FROM notice \
            GROUP BY code
            """
        ) { row in
            guard let code = NoticeRow.Code(rawValue: row.string(0)) else { return }
            counts[code] = NoticeCounts.Count(
                notices: row.int(1), lasting: code.hasEnd ? row.int(2) : 0, raised: row.int(3))
        }
        return NoticeCounts(counts)
    }
}

extension NoticeRow {
    /// - Parameter row: as `NoticeTable.selection` has it; `nil` where its code is not known.
    fileprivate init?(_ row: RegistryRow) throws(StoreError) {
        let id = try row.int64("id")
        guard let code = try Code(rawValue: row.string("code")) else { return nil }
        self.init(
            id: id, code: code, organization: try row.string("organization"), subject: try row.string("subject"),
            detail: try row.string("detail"), amount: try row.int64("amount"),
            streams: NoticeTable.streams(try row.int64("streams")), count: try row.int("count"),
            first: try row.int64("first"), last: try row.int64("last"), ended: try row.optionalInt64("ended"),
            muted: try NoticeMute(row))
    }
}

extension NoticeMute {
    /// - Parameter row: as `NoticeTable.selection` has it; `nil` where the notice is not muted.
    fileprivate init?(_ row: RegistryRow) throws(StoreError) {
        guard let person = try row.optionalString("muted_by") else { return nil }
        self.init(by: person, at: try row.int64("muted_at"), until: try row.optionalInt64("muted_until"))
    }
}
