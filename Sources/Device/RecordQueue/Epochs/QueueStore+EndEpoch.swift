import DeviceTunables
import Encryption
import FoundationEssentials
import Logging
import SQLite
import WireModel

/// Ends the current epoch.
extension QueueStore {
    /// Ends the epoch and begins another in one small transaction, however much waits.
    /// - Throws: `.tooSoon` for `.restored` if the budget of new epochs is spent (`DivergenceBudget`).
    func endEpoch(_ end: EpochEnd) throws {
        guard end != .salvaged else {
            throw QueueError(.invalid, "an epoch ends as salvaged only by opening a corrupt file")
        }
        try openLinks()
        if end == .restored {
            let left = DivergenceBudget.wait(wholeAt: state.divergenceBudgetWholeAt, now: queueClock.time)
            guard left == 0 else {
                throw QueueError(
                    .tooSoon,
                    """
                    \(DivergenceBudget.epochs) epochs have ended in a short time because histories had diverged. The \
                    next may end in \((left + 999_999) / 1_000_000) s; waiting records are kept until then. Check \
                    whether two devices share one identity.
                    """)
            }
        }
        let former = state.epoch
        if end == .wiped { try connection.setPragma("secure_delete", to: 1) }
        defer { if end == .wiped { try? connection.setPragma("secure_delete", to: 0) } }
        try change { next in
            let ordinal = next.ordinal
            next.end(end)
            for stream in StreamName.allCases {
                try connection.execute("ALTER TABLE \(stream) RENAME TO \(RecordTable.ended(ordinal, stream).name)")
                try connection.execute(schema.records(stream.description))
            }
            try endQuarantine(end)
        }
        // From here on, damage to the WAL cannot bring the former epoch back as the current one.
        checkpoint()
        writeMarker(syncing: true)
        logger.notice(
            "queue began a new epoch",
            metadata: ["queue.epoch": "\(state.epoch)", "queue.former": "\(former)", "queue.end": "\(end.rawValue)"])
    }

    /// Erases rows, or moves them into the current epoch, about as many as fit into one transaction.
    /// - Returns: `false` if nothing is left to do.
    func advanceEnded() throws -> Bool {
        if try eraseSome() { return true }
        if try dropGivenUp() != nil { return true }
        if try moveSome() { return true }
        return try settleFinished()
    }

    /// Erases rows of ended epochs at or below their front. Abandoned rows whose close is not settled lose their
    /// content at once and keep number and link.
    /// - Returns: `false` if there are none.
    func eraseSome() throws -> Bool {
        for table in state.tables where table != .current(table.stream) {
            // The sizes include rows that only wait to be erased. Emptied rows have size 0.
            let ledger = state[table]
            if state.isChained(table), ledger.abandoned != nil {
                guard ledger.bytes > 0 else { continue }
                try erasing { try emptySome(of: table) }
                return true
            }
            guard ledger.bytes > 0 || state.isMoving(table) else { continue }
            guard let last = try lastErasable(of: table, front: ledger.front) else { continue }
            try erasing { try erase(through: last, of: table) }
            return true
        }
        return false
    }

    /// If the file needs pages, abandoned rows lose number and link as well, those of the oldest epoch first. How far
    /// the collector agreed with them is then known less exactly.
    /// - Returns: `false` if there are none.
    func eraseLinks() throws -> Bool {
        for table in state.tables where state.isChained(table) && state[table].abandoned != nil {
            guard let last = try lastErasable(of: table, front: state[table].front) else { continue }
            try erasing { try erase(through: last, of: table) }
            return true
        }
        return false
    }

    /// Overwrites the content of wiped records while some of it may remain.
    func erasing(_ body: () throws -> Void) throws {
        let isWiped = hasWipedEpoch
        if isWiped { try connection.setPragma("secure_delete", to: 1) }
        defer { if isWiped { try? connection.setPragma("secure_delete", to: 0) } }
        try body()
        checkpointIfDue()
    }

    private func erase(through last: (number: UInt64, bytes: UInt64), of table: RecordTable) throws {
        try change { next in
            let delete = try connection.cached("DELETE FROM \(table.name) WHERE number <= ?")
            try delete.bind(last.number, at: 1)
            try delete.run()
            next[table].bytes -= min(next[table].bytes, last.bytes)
        }
    }

    /// Rows are deleted and inserted again. If they were emptied in place, each page would stay almost empty.
    private func emptySome(of table: RecordTable) throws {
        let ledger = state[table]
        let rows = try connection.cached(
            """
            SELECT \(StoredRow.columns) FROM \(table.name) WHERE number BETWEEN ? AND ? AND size > 0 ORDER BY number \
            LIMIT ?
            """
        )
        try rows.bind(max(emptied[table] ?? 0, ledger.frontOfRows) + 1, ledger.front, Tunables.Queue.transactionRecords)
        var found: [StoredRow] = []
        var bytes: UInt64 = 0
        while bytes < UInt64(Tunables.Queue.transactionBytes), try rows.step() {
            let row = try StoredRow(rows, of: table.stream)
            found.append(try emptied(row))
            bytes += UInt64(max(0, row.size))
        }
        rows.reset()
        try change { next in
            guard let first = found.first?.number, let last = found.last?.number else {
                // The ledger reports content, but there is none.
                next[table].bytes = 0
                return
            }
            let delete = try connection.cached("DELETE FROM \(table.name) WHERE number BETWEEN ? AND ?")
            try delete.bind(first, last)
            try delete.run()
            let insert = try connection.cached(
                """
                INSERT INTO \(table.name) (number, kind, wall_time, queue_time, size, key_id, link, body, chain)
                VALUES (?, 0, 0, 0, 0, ?, ?, ?, 0)
                """)
            for row in found {
                try insert.bind(row.number, row.keyID, row.link, row.body)
                try insert.run()
            }
            next[table].bytes -= min(next[table].bytes, bytes)
        }
        emptied[table] = found.last?.number
    }

    /// A row without content: its number, and its link as far as that can still be read and sealed.
    private func emptied(_ row: StoredRow) throws -> StoredRow {
        var empty = StoredRow(
            stream: row.stream, number: row.number, queueTime: 0, size: 0, keyID: 0, link: row.link, body: Data())
        guard row.keyID != 0 else { return empty }
        do throws(QueueError) {
            guard let link = try seal.open(row)?.link else { return empty }
            guard let key = try seal.sealingKey(), let place = empty.place else {
                empty.link = link.data
                return empty
            }
            empty.body = try seal.seal(RowContent(link: link, bytes: Data()), at: place, with: key)
            empty.keyID = Int64(key.id)
        } catch {
            guard error.code == .keyUnavailable else { throw error }
        }
        return empty
    }

    /// Whether content of wiped records is still on disk.
    var hasWipedEpoch: Bool { state.ended.contains { $0.phase != .settled && $0.isWiped } }

    /// After a wipe, free pages, unused parts of pages, the file's tail and old WAL frames still contain erased and
    /// acknowledged records. So the file is rewritten with the little that it contains, and both files are truncated
    /// and allocated again.
    func scrub() throws {
        try settle()
        try connection.execute("VACUUM")
        try connection.setChunkSize(bytes: QueueFile.pageBytes)
        guard try !connection.checkpoint(.truncate).busy else {
            throw QueueError(.io, "\(path) could not be cut after a wipe")
        }
        isWALAllocated = false
        try allocate()
    }

    private func lastErasable(of table: RecordTable, front: UInt64) throws -> (number: UInt64, bytes: UInt64)? {
        let rows = try connection.cached(
            "SELECT number, size FROM \(table.name) WHERE number <= ? ORDER BY number LIMIT ?")
        try rows.bind(front, Tunables.Queue.transactionRecords)
        defer { rows.reset() }
        var last: (number: UInt64, bytes: UInt64)?
        while try rows.step() {
            last = (try rows.uint64(0), (last?.bytes ?? 0) + UInt64(max(0, rows.int64(1))))
            if let last, last.bytes >= UInt64(Tunables.Queue.transactionBytes) { break }
        }
        return last
    }

    /// Drops the tables of epochs of which nothing is left.
    private func settleFinished() throws -> Bool {
        guard
            let epoch = state.ended.first(where: { epoch in
                epoch.phase == .moving && StreamName.allCases.allSatisfy { epoch.streams[$0].rowCount == 0 }
            })
        else { return false }
        try change { next in
            for stream in StreamName.allCases {
                try connection.execute("DROP TABLE \(RecordTable.ended(epoch.ordinal, stream).name)")
            }
            next.settle(epoch.ordinal)
        }
        // Moved records are sent from now on. Losing the WAL must not bring their former rows back.
        checkpoint()
        return true
    }
}

extension QueueState {
    /// Ends the current epoch and begins another.
    mutating func end(_ end: EpochEnd) {
        var over = EndedEpoch(
            ordinal: ordinal, id: epoch, end: end, phase: .closing, endedWallTime: clock.stamp.wallTime,
            streams: streams)
        epoch = .random()
        ordinal += 1
        streams = StreamLedgers()
        divergence = nil
        if end == .restored {
            divergenceBudgetWholeAt = DivergenceBudget.spend(wholeAt: divergenceBudgetWholeAt, now: clock.time)
        }
        if !end.keepsRecords {
            for stream in StreamName.allCases { over.streams[stream].abandon(end.reason) }
            abandonEarlier(end)
        }
        ended.append(over)
        giveUpOldest()
        // The next collector has never seen this epoch, so there is nothing to compare or close.
        if end == .reboundSend { moveUnasked(ended.count - 1) }
    }

    /// Abandons the records of earlier epochs too. They never had a number in this one. The close may already have
    /// informed the collector that they are moved, so it keeps that reason.
    private mutating func abandonEarlier(_ end: EpochEnd) {
        for stream in StreamName.allCases {
            for index in ended.indices where ended[index].phase == .moving {
                abandon(.ended(ended[index].ordinal, stream), end.reason)
            }
            for index in ended.indices where ended[index].phase == .closing {
                ended[index].streams[stream].abandon(end.reason)
            }
        }
    }

    private mutating func abandon(_ table: RecordTable, _ reason: DropReason) {
        let count = self[table].rowCount
        guard count > 0 else { return }
        streams[table.stream].unnumbered[reason, default: 0] += count
        let bytes = self[table].bytes
        self[table].passed(self[table].last, link: self[table].lastLink, removed: RemovedRows(count: count, bytes: 0))
        self[table].bytes = bytes
    }

    /// Limits the number of epochs that wait for a collector. The outcome of the oldest stays unknown.
    private mutating func giveUpOldest() {
        let closing = ended.indices.filter { ended[$0].phase == .closing }
        guard closing.count > Tunables.Queue.closingEpochs, let index = closing.first else { return }
        for stream in StreamName.allCases {
            ended[index].streams[stream].abandon(.unverifiable)
            let ledger = ended[index].streams[stream]
            var final = ledger.mark
            final.number = ledger.last
            final.dropped.merge(ledger.droppedAboveMark, uniquingKeysWith: +)
            past[stream].fold(final, unnumbered: ledger.unnumbered)
            ended[index].streams[stream] = ledger.moving(above: ledger.last, link: ledger.lastLink, rows: 0)
        }
        ended[index].phase = .moving
    }

    /// Handles an epoch that is compared with no collector. The device's balance is final, and waiting records are
    /// queued again.
    private mutating func moveUnasked(_ index: Int) {
        for stream in StreamName.allCases {
            let ledger = ended[index].streams[stream]
            var final = ledger.mark
            final.number = ledger.last
            final.dropped.merge(ledger.droppedAboveMark, uniquingKeysWith: +)
            final.dropped.add(ledger.rowCount, .moved)
            final.dropped.add(ledger.missing, .unreadable)
            past[stream].fold(final, unnumbered: ledger.unnumbered)
            ended[index].streams[stream] = ledger.moving(
                above: ledger.front, link: ledger.frontLink, rows: ledger.rowCount)
        }
        ended[index].phase = .moving
    }

    mutating func settle(_ ordinal: Int64) {
        guard let index = ended.firstIndex(where: { $0.ordinal == ordinal }) else { return }
        ended[index].phase = .settled
        ended[index].streams = StreamLedgers()
        let settled = ended.filter { $0.phase == .settled }
        for epoch in settled.dropLast(Tunables.Queue.keptSettledEpochs) {
            ended.removeAll { $0.ordinal == epoch.ordinal }
        }
    }
}

extension StreamLedger {
    /// Adds a settled epoch's final balance.
    mutating func fold(_ final: StreamMark, unnumbered counts: [DropReason: UInt64]) {
        mark.number += final.number
        mark.stored += final.stored
        mark.lostAtCollector += final.lostAtCollector
        mark.rejected.merge(final.rejected, uniquingKeysWith: +)
        mark.dropped.merge(final.dropped, uniquingKeysWith: +)
        unnumbered.merge(counts, uniquingKeysWith: +)
        last = mark.number
    }

    /// The ledger of rows that move. Those up to `number` are done.
    func moving(above number: UInt64, link: ChainLink, rows: UInt64) -> StreamLedger {
        var ledger = StreamLedger()
        ledger.last = last
        ledger.lastLink = number == last ? link : lastLink
        ledger.lastQueueTime = lastQueueTime
        ledger.mark = StreamMark(number: number, link: link, stored: number)
        ledger.rowCount = rows
        ledger.bytes = bytes
        return ledger
    }
}

extension [DropReason: UInt64] {
    mutating func add(_ count: UInt64, _ reason: DropReason) {
        if count > 0 { self[reason, default: 0] += count }
    }
}

/// Limits how often an epoch may end because histories diverged. Pure; times are microseconds on the queue clock.
///
/// Each new epoch costs a close, three tables and rewriting all that waits, at most 64 MiB. A collector that always
/// reports divergence must not make the device start again for ever. But a person who restores one image after another
/// must not wait. So there is a budget of six, and one is refunded every hour: at most 24 epochs or 1.5 GiB of flash
/// writes per day. Even if none can be closed for a day, all 30 are kept separately (`Tunables.Queue.closingEpochs`).
/// The budget is stored as the time at which it will be whole again.
enum DivergenceBudget {
    static let epochs: Int64 = 6
    static let refill: Int64 = 3600 * 1_000_000

    /// - Parameter wholeAt: `nil` if nothing was ever spent.
    /// - Returns: how long until an epoch may end; 0 for now.
    static func wait(wholeAt: Int64?, now: Int64) -> Int64 {
        max(0, bounded(wholeAt, now) - now - (epochs - 1) * refill)
    }

    /// Spends one.
    static func spend(wholeAt: Int64?, now: Int64) -> Int64 { bounded(wholeAt, now) + refill }

    /// An impossible time must not delay longer than an empty budget does.
    private static func bounded(_ wholeAt: Int64?, _ now: Int64) -> Int64 {
        min(max(wholeAt ?? now, now), now + epochs * refill)
    }
}
