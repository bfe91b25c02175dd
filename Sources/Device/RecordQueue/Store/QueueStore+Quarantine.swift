import FoundationEssentials
import Logging
import SQLite
import WireModel

/// Records that were quarantined because they alone were refused, and sending them again (QueueFile.swift has their
/// story).
extension QueueStore {
    /// A record on its way from its stream to the quarantine.
    struct QuarantineRow {
        var number: UInt64
        var kind: Int64
        var wallTime: Int64
        var queueTime: Int64
        var keyID: Int64
        var link: Data
        var body: Data
    }

    /// The newest of a stream's rows up to a number, as many as may be kept aside; oldest first.
    func quarantineRows(through number: UInt64, of table: RecordTable) throws -> [QuarantineRow] {
        let rows = try connection.cached(
            "SELECT number, kind, wall_time, queue_time, key_id, link, body FROM \(table.name) WHERE number <= ? ORDER BY number DESC LIMIT ?"
        )
        try rows.bind(number, configuration.quarantineRecords)
        defer { rows.reset() }
        var found: [QuarantineRow] = []
        while try rows.step() {
            found.append(
                QuarantineRow(
                    number: try rows.uint64(0), kind: rows.int64(1), wallTime: rows.int64(2), queueTime: rows.int64(3),
                    keyID: rows.int64(4),
                    link: rows.data(5), body: rows.data(6)))
        }
        return found.reversed()
    }

    /// Keeps them, and lets the oldest go where there are too many.
    func quarantine(_ rows: [QuarantineRow], of stream: StreamName, reason: DropReason, in next: inout QueueState)
        throws
    {
        let insert = try connection.cached(
            """
            INSERT INTO quarantine (stream, number, reason, wall_time, queue_time, size, key_id, link, body, fate)
            VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
            """)
        // Only a refused record's number is told from others by its reason.
        let fate: QuarantineFate = reason == .quarantined ? .open : .uncertain
        for row in rows {
            try insert.bind(
                stream.rawValue, row.number, reason.rawValue, row.wallTime, row.queueTime, row.body.count, row.keyID,
                row.link, row.body,
                fate.rawValue)
            try insert.run()
        }
        let trim = try connection.cached(
            """
            DELETE FROM quarantine WHERE id IN (SELECT id FROM (SELECT id, row_number() OVER newest AS position,
            sum(size) OVER newest AS bytes FROM quarantine WINDOW newest AS (ORDER BY id DESC)) WHERE position > ? OR bytes > ?)
            """)
        try trim.bind(configuration.quarantineRecords, configuration.quarantineBytes)
        try trim.run()
        if connection.changes > 0 {
            logger.warning(
                "too many records are quarantined; the oldest are given up",
                metadata: [
                    "queue.records": "\(connection.changes)", "queue.greatest": "\(configuration.quarantineRecords)",
                ])
        }
        next.quarantineTime = next.clock.time
    }

    /// The collector's mark passes numbers of records that were quarantined: now it is known which of them it lacks.
    func decideQuarantine(_ stream: StreamName, _ verdict: QuarantineVerdict, through number: UInt64) throws {
        let statement =
            switch verdict {
            case .arrived: try connection.cached("DELETE FROM quarantine WHERE stream = ? AND number <= ? AND fate = ?")
            case .notStored, .uncertain:
                try connection.cached(
                    "UPDATE quarantine SET fate = \((verdict == .notStored ? QuarantineFate.notStored : .uncertain).rawValue) "
                        + "WHERE stream = ? AND number <= ? AND fate = ?")
            }
        try statement.bind(stream.rawValue, number, QuarantineFate.open.rawValue)
        try statement.run()
        if verdict == .arrived {
            logger.notice(
                "records that were quarantined had arrived after all", metadata: ["queue.stream": "\(stream)"])
        }
    }

    /// The epoch ends: its numbers mean nothing to the next one, so that no record stays open.
    func endQuarantine(_ end: EpochEnd) throws {
        switch end {
        // A branch of the history that is gone may have sent them again. Salvage begins with an empty quarantine.
        case .restored, .salvaged:
            try connection.execute("UPDATE quarantine SET fate = \(QuarantineFate.uncertain.rawValue)")
        // They go to somebody who has never heard of this device's records.
        case .reboundSend: try connection.execute("UPDATE quarantine SET fate = \(QuarantineFate.notStored.rawValue)")
        // Given up with what waits.
        case .clone, .wiped, .unenrolled, .reboundDrop: try connection.execute("DELETE FROM quarantine")
        }
    }

    /// Queues records anew that were quarantined, in one transaction: each is in one place or in the other.
    ///
    /// - Parameters:
    ///   - ids: empty: all.
    ///   - includingUncertain: also those that the collector may have.
    /// - Throws: `.capReached`, `.diskFull` where there is no room for them; nothing changes then.
    func retry(_ ids: Set<Int64>, includingUncertain: Bool) throws -> QueueRetry {
        let rows = try connection.prepare(
            "SELECT id, stream, number, queue_time, fate, body FROM quarantine ORDER BY id")
        var retry = QueueRetry(records: [], unknown: [])
        var queued: [(index: Int, record: NewRecord, queueTime: Int64)] = []
        while try rows.step() {
            let id = rows.int64(0)
            guard ids.isEmpty || ids.contains(id) else { continue }
            let (stream, number) = (StreamName(rawValue: rows.int(1)), try rows.uint64(2))
            let record = stream.flatMap { NewRecord(requeueing: rows.data(5), stream: $0, number: number) }
            var outcome: QueueRetry.Outcome
            switch QuarantineFate(rawValue: rows.int(4)) {
            case .open: outcome = .open
            case .notStored: outcome = .queued
            case .uncertain, nil: outcome = includingUncertain ? .queued : .uncertain
            }
            if outcome == .queued {
                if let record {
                    queued.append((retry.records.count, record, rows.int64(3)))
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
                // With its old time it is not held a second time.
                done.records[index].newNumber = try insert(record, queuedAt: queueTime, into: &next)
            }
            return done
        }
    }

    /// Nothing gives way to a record that was quarantined: it can wait where it is.
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
                "\(path) is full: \(records) records that were quarantined (\(bytes) bytes) find no room. They stay quarantined. Try again when "
                    + "what waits has been sent.")
        }
    }
}

/// What is known of a record that was quarantined.
package enum QuarantineFate: Int, Sendable {
    /// The collector's mark has not passed its number yet: it may have arrived after all.
    case open = 1
    /// The collector has counted its number as dropped: it does not have the record.
    case notStored = 2
    /// Nobody can tell any more.
    case uncertain = 3
}

extension QuarantineFate: CustomStringConvertible {
    /// The name people and JSON see.
    package var description: String {
        switch self {
        case .open: "open"
        case .notStored: "not-stored"
        case .uncertain: "uncertain"
        }
    }
}

/// What a mark says of the records quarantined whose numbers it passes.
enum QuarantineVerdict: Equatable {
    /// None of them is at the collector.
    case notStored
    /// The collector has decided on all of them as on any other record: they had arrived after all.
    case arrived
    case uncertain
}

extension StreamLedger {
    /// A mark's counts are cumulative, so their growth says what became of the numbers in between. It does not say of
    /// which: where some of several had arrived, or the collector has lost something, all of them are uncertain.
    ///
    /// - Returns: `nil` where nothing was quarantined between the present mark and that one.
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

/// What became of records that were quarantined, when they were to be sent again. `Codable` is its JSON form.
package struct QueueRetry: Codable, Equatable, Sendable {
    package enum Outcome: String, Codable, Sendable {
        /// Queued anew, under another number.
        case queued
        /// Stays quarantined: the collector has not said yet whether it has the record.
        case open
        /// Stays quarantined: the collector may have it, and nobody can tell any more.
        case uncertain
        /// Stays quarantined: the row is damaged.
        case unreadable
    }

    package struct Record: Codable, Equatable, Sendable {
        /// As `inspect` shows it.
        package var id: Int64
        package var stream: String
        /// The one it was quarantined under.
        package var number: UInt64
        package var outcome: Outcome
        /// The one it has now, where it was queued.
        package var newNumber: UInt64?
    }

    /// Sorted as they were quarantined.
    package var records: [Record]
    /// Ids that were asked for and are not quarantined.
    package var unknown: [Int64]
}
