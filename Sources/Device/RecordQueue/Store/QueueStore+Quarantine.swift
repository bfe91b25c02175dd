import FoundationEssentials
import Logging
import SQLite
import WireModel

/// Keeps quarantined records and queues them again (Documentation/disk-formats.md describes it).
extension QueueStore {
    /// A record on its way from its stream to the quarantine.
    struct QuarantineRow {
        var number: UInt64
        var kind: Int64
        var wallTime: Int64
        var queueTime: Int64
        /// Of the record; a sealed body is longer.
        var size: Int64
        var keyID: Int64
        var link: Data
        var body: Data
    }

    /// The newest of a stream's rows up to a number, as many as the quarantine may hold, oldest first.
    func quarantineRows(through number: UInt64, of table: RecordTable) throws -> [QuarantineRow] {
        let rows = try connection.cached(
            """
            SELECT number, kind, wall_time, queue_time, size, key_id, link, body FROM \(table.name) WHERE number <= ? \
            ORDER BY number DESC LIMIT ?
            """
        )
        try rows.bind(number, configuration.quarantineRecords)
        defer { rows.reset() }
        var found: [QuarantineRow] = []
        while try rows.step() {
            let row = rows.row
            found.append(
                QuarantineRow(
                    number: try row.uint64("number"), kind: try row.int64("kind"),
                    wallTime: try row.int64("wall_time"), queueTime: try row.int64("queue_time"),
                    size: try row.int64("size"), keyID: try row.int64("key_id"), link: try row.data("link"),
                    body: try row.data("body")))
        }
        return found.reversed()
    }

    /// Stores them, and removes the oldest if there are too many.
    func quarantine(_ rows: [QuarantineRow], of stream: StreamName, reason: DropReason, in next: inout QueueState)
        throws
    {
        let insert = try connection.cached(
            """
            INSERT INTO quarantine (stream, number, reason, wall_time, queue_time, size, key_id, link, body, fate)
            VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
            """)
        // Only the number of a refused record has a reason of its own.
        let fate: QuarantineFate = reason == .quarantined ? .open : .uncertain
        for row in rows {
            try insert.bind(
                stream.rawValue, row.number, reason.rawValue, row.wallTime, row.queueTime, row.size, row.keyID,
                row.link, row.body, fate.rawValue)
            try insert.run()
        }
        let trim = try connection.cached(
            """
            DELETE FROM quarantine WHERE id IN (SELECT id FROM (SELECT id, row_number() OVER newest AS position,
            sum(size) OVER newest AS bytes FROM quarantine WINDOW newest AS (ORDER BY id DESC)) \
            WHERE position > ? OR bytes > ?)
            """)
        try trim.bind(configuration.quarantineRecords, configuration.quarantineBytes)
        try trim.run()
        if connection.changes > 0 {
            logger.warning(
                "too many records are quarantined; the oldest are removed",
                metadata: [
                    "queue.records": "\(connection.changes)", "queue.greatest": "\(configuration.quarantineRecords)",
                ])
        }
        next.quarantineTime = next.clock.time
    }

    /// The collector's mark passed numbers of quarantined records, so it is now known which of them it lacks.
    func decideQuarantine(_ stream: StreamName, _ verdict: QuarantineVerdict, through number: UInt64) throws {
        let statement =
            switch verdict {
            case .arrived: try connection.cached("DELETE FROM quarantine WHERE stream = ? AND number <= ? AND fate = ?")
            case .notStored, .uncertain:
                try connection.cached(
                    """
                    UPDATE quarantine SET fate = \
                    \((verdict == .notStored ? QuarantineFate.notStored : .uncertain).sql) WHERE stream = ? \
                    AND number <= ? AND fate = ?
                    """)
            }
        try statement.bind(stream.rawValue, number, QuarantineFate.open.rawValue)
        try statement.run()
        if verdict == .arrived {
            logger.notice(
                "quarantined records had arrived after all", metadata: ["queue.stream": "\(stream)"])
        }
    }

    /// Somebody does not want these records to be sent any more. They were counted when they were quarantined.
    func removeQuarantined(of streams: Set<StreamName>) throws {
        try change { _ in
            let delete = try connection.cached("DELETE FROM quarantine WHERE stream = ?")
            for stream in streams {
                try delete.bind(stream.rawValue, at: 1)
                try delete.run()
            }
        }
    }

    /// The epoch ends. Its numbers mean nothing to the next, so no record may stay open.
    func endQuarantine(_ end: EpochEnd) throws {
        switch end {
        // A lost branch of the history may have sent them again. Salvage starts with an empty quarantine.
        case .restored, .salvaged:
            try connection.execute("UPDATE quarantine SET fate = \(QuarantineFate.uncertain.sql)")
        // What is known stays known. No mark will pass the numbers of the others.
        case .givenUp:
            try connection.execute(
                """
                UPDATE quarantine SET fate = \(QuarantineFate.uncertain.sql) WHERE fate = \(QuarantineFate.open.sql)
                """)
        // They go to a collector that has never seen this device's records.
        case .reboundSend: try connection.execute("UPDATE quarantine SET fate = \(QuarantineFate.notStored.sql)")
        // Abandoned together with what waits.
        case .clone, .wiped, .unenrolled, .reboundDrop: try connection.execute("DELETE FROM quarantine")
        }
    }

    /// Queues quarantined records again in one transaction, so each is in exactly one place.
    ///
    /// - Parameters:
    ///   - ids: empty for all.
    ///   - includingUncertain: also records that the collector may have.
    /// - Throws: `.capReached`, `.diskFull` if there is no room for them, `.keyUnavailable`; nothing changes then.
    func retry(_ ids: Set<Int64>, includingUncertain: Bool) throws -> QueueRetry {
        let rows = try connection.prepare(
            "SELECT \(StoredRow.columns), id, stream, fate FROM quarantine ORDER BY id")
        var retry = QueueRetry(records: [], unknown: [])
        var queued: [(index: Int, record: NewRecord, queueTime: Int64)] = []
        while try rows.step() {
            let row = rows.row
            let id = try row.int64("id")
            guard ids.isEmpty || ids.contains(id) else { continue }
            let (stream, number) = (StreamName(rawValue: try row.int("stream")), try row.uint64("number"))
            let record = try stream.flatMap { stream in
                try seal.open(try StoredRow(rows, of: stream)).flatMap {
                    NewRecord(requeueing: $0.bytes, stream: stream, number: number)
                }
            }
            var outcome: QueueRetry.Outcome
            switch QuarantineFate(rawValue: try row.string("fate")) {
            case .open: outcome = .open
            case .notStored: outcome = .queued
            case .uncertain, nil: outcome = includingUncertain ? .queued : .uncertain
            }
            if outcome == .queued {
                if let record {
                    queued.append((retry.records.count, record, try row.int64("queue_time")))
                } else {
                    outcome = .unreadable
                }
            }
            retry.records.append(
                QueueRetry.Record(
                    id: id, stream: stream?.description ?? "unknown", number: number, outcome: outcome, newNumber: nil))
        }
        retry.unknown = ids.subtracting(retry.records.map(\.id)).sorted()
        guard !queued.isEmpty else { return retry }
        try makeRoomForRetry(records: queued.count, bytes: queued.reduce(0) { $0 + $1.record.byteCount })
        return try change { next in
            var done = retry
            let delete = try connection.cached("DELETE FROM quarantine WHERE id = ?")
            for (index, record, queueTime) in queued {
                try delete.bind(done.records[index].id, at: 1)
                try delete.run()
                // It keeps its old time, so it is not held a second time.
                done.records[index].newNumber = try insert(record, queuedAt: queueTime, into: &next)
            }
            return done
        }
    }

    /// No record is evicted for a quarantined one, which can wait where it is.
    private func makeRoomForRetry(records: Int, bytes: Int) throws {
        let pages = RoomPlan.pages(records: records, bytes: bytes)
        let step =
            state.bytes + UInt64(bytes) <= UInt64(configuration.maximumBytes)
            ? try roomPlan().step(needed: pages) : .evict(pages: pages)
        switch step {
        case .fits: break
        case .grow(let target):
            guard diskAllows(pages: target - allocatedPages) else { throw keptFree(target - allocatedPages) }
            try grow(toPages: target)
        case .evict:
            throw QueueError(
                .capReached,
                """
                \(path) is full: there is no room for \(records) quarantined records (\(bytes) bytes). They stay \
                quarantined. Try again when the waiting records have been sent.
                """)
        }
    }
}

/// The state of knowledge about a quarantined record. It has the same name in the file, for people and in JSON.
package enum QuarantineFate: String, Sendable {
    /// The collector's mark has not passed its number, so it may still have arrived.
    case open
    /// The collector counted its number as dropped: it does not have the record.
    case notStored = "not-stored"
    /// It cannot be found out.
    case uncertain

    /// A literal for the text of a statement.
    var sql: String { "'\(rawValue)'" }
}

/// The verdict of a mark about the quarantined records whose numbers it passes.
enum QuarantineVerdict: Equatable {
    /// The collector has none of them.
    case notStored
    /// They had arrived after all, and the collector decided about all of them as usual.
    case arrived
    case uncertain
}

extension StreamLedger {
    /// A mark's counts are cumulative, so their growth shows the fate of the numbers in between. It does not say which:
    /// if some of several arrived, or the collector lost something, all of them are uncertain.
    ///
    /// - Returns: `nil` if nothing between the present mark and that one was quarantined.
    func verdictOnQuarantine(_ answered: StreamMark) -> QuarantineVerdict? {
        let passed = gaps.reduce(UInt64(0)) { sum, gap in
            gap.reason == .quarantined && gap.first <= answered.number
                ? sum + min(gap.last, answered.number) - gap.first + 1 : sum
        }
        guard passed > 0 else { return nil }
        let (before, after) = (mark.dropped[.quarantined] ?? 0, answered.dropped[.quarantined] ?? 0)
        guard answered.lostAtCollector == mark.lostAtCollector, after >= before else { return .uncertain }
        switch after - before {
        case passed: return .notStored
        case 0: return .arrived
        default: return .uncertain
        }
    }
}

/// The result of queueing quarantined records again. `Codable` is its JSON form.
package struct QueueRetry: Codable, Equatable, Sendable {
    package enum Outcome: String, Codable, Sendable {
        /// Queued again with another number.
        case queued
        /// Stays: the collector has not said yet whether it has the record.
        case open
        /// Stays: the collector may have it, and nobody can know.
        case uncertain
        /// Stays: the row is damaged.
        case unreadable
    }

    package struct Record: Codable, Equatable, Sendable {
        /// The id as in `inspect`.
        package var id: Int64
        package var stream: String
        /// Its number when it was quarantined.
        package var number: UInt64
        package var outcome: Outcome
        /// Its new number, if it was queued.
        package var newNumber: UInt64?
    }

    /// The records in the order in which they were quarantined.
    package var records: [Record]
    /// Requested ids that are not in the quarantine.
    package var unknown: [Int64]
}
