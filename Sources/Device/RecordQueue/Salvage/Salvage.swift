import DeviceTunables
import Logging
import SQLite
import WireModel

/// Replaces a queue file that is corrupt or gone. Documentation/decisions/salvage-by-itself.md has the alternatives.
///
/// **The steps.** The file and its WAL are moved into `queue.salvaging/` unchanged. Every page is searched for rows of
/// our tables. The rows found go into a new file, in which a new epoch begins at once. The old epoch waits to be closed
/// with the collector, so records that had arrived are not sent again. Numbers without a readable row count as
/// `salvage`. The new file replaces the old one, and the old one is kept as `queue.corrupt-<n>-<time>/`.
///
/// **After a crash**, the next opening finds one of:
/// 1. `queue.salvaging/` without a queue in it: the move goes on.
/// 2. A queue in it and none outside: the salvage begins anew; nothing was queued since.
/// 3. A queue in it and the new one outside: the folder only has to be renamed.
///
/// **Accepted rows.** A row's columns and envelope must agree, and its link must follow from the row before it if that
/// is there. `chain` names the epoch of a row, so a stale copy on an unused page never counts as another epoch's.
///
/// **If the epoch's id is lost** (its row in `epoch` and `queue.epoch` are both gone), the collector cannot be asked
/// what has arrived. The records count as `unverifiable`, because sending them could double them.
enum Salvage {
    /// Opens the queue's file. A file that is corrupt or gone is first replaced, and this is logged.
    static func open(
        directory: String, configuration: RecordQueue.Configuration, clock: any RecordClock, logger: Logger
    ) throws -> (store: QueueStore, isReplaced: Bool) {
        let files = SalvageFiles(directory: directory)
        var isReplaced = false
        if let cause = try files.unfinished() ?? files.missing() {
            try replace(cause, files: files, configuration: configuration, clock: clock, logger: logger)
            isReplaced = true
        }
        do {
            return (
                try QueueStore(directory: directory, configuration: configuration, clock: clock, logger: logger),
                isReplaced
            )
        } catch {
            let error = QueueError(error)
            guard error.code == .corrupt || (error.code == .newerVersion && !files.isVersionPlausible) else {
                throw error
            }
            try replace(error.finding, files: files, configuration: configuration, clock: clock, logger: logger)
            return (
                try QueueStore(directory: directory, configuration: configuration, clock: clock, logger: logger), true
            )
        }
    }

    /// Replaces the file, which nobody may have open.
    static func replace(
        _ cause: String, files: SalvageFiles, configuration: RecordQueue.Configuration, clock: any RecordClock,
        logger: Logger
    ) throws {
        let aside = try files.moveAside(at: clock.now().wallTime)
        let note = QueueStatus.Salvage(cause: String(cause.prefix(500)), file: aside, salvaged: 0, lost: 0)
        let outcome = try fill(files, note: note, configuration: configuration, clock: clock, logger: logger)
        try files.publish(as: aside)
        logger.error(
            "queue file was corrupt and was replaced",
            metadata: [
                "queue.cause": "\(cause)", "queue.file": "\(aside)", "queue.salvaged": "\(outcome.salvaged)",
                "queue.lost": "\(outcome.lost)",
            ])
    }

    /// Makes the new file from what the old one still contains.
    private static func fill(
        _ files: SalvageFiles, note: QueueStatus.Salvage, configuration: RecordQueue.Configuration,
        clock: any RecordClock, logger: Logger
    ) throws -> QueueStatus.Salvage {
        let pages = RawPages(database: files.corruptDatabase, wal: files.corruptDatabase + "-wal")
        var found = SalvagedState()
        let seal = QueueSeal(configuration)
        var rows = RawRows(pages, greatestPayload: QueueFile.greatestPayload)
        rows.forEach { id, row in
            if let row = SalvageRow(id: id, row, seal) { found.add(row) }
        }
        let state = found.state(marker: EpochMarker(in: files.directory), now: clock.now())
        let store = try QueueStore(
            directory: files.salvaging, name: SalvageFiles.newName, initial: state, configuration: configuration,
            clock: clock, logger: logger)
        let outcome = try store.fill(from: pages, found: found, marker: EpochMarker(in: files.directory), note: note)
        // Its WAL stays behind.
        guard try !store.connection.checkpoint(.truncate).busy else {
            throw QueueError(.io, "\(store.path) could not be completed")
        }
        try store.connection.close()
        return outcome
    }
}

extension QueueStore {
    /// Reads the records of a corrupt file.
    fileprivate func fill(
        from pages: RawPages, found: SalvagedState, marker: EpochMarker?, note: QueueStatus.Salvage
    ) throws -> QueueStatus.Salvage {
        var unknown: [StreamName: UInt64] = [:]
        var batch: [SalvageRow.Record] = []
        var bytes = 0
        var isFull = false
        func flush() throws {
            guard !batch.isEmpty else { return }
            defer {
                batch.removeAll(keepingCapacity: true)
                bytes = 0
            }
            guard !isFull, let failure = try insertFitting(batch[...]) else { return }
            // Records without room stay in the old file and count as lost.
            isFull = true
            logger.error("no room for all records of a corrupt queue", metadata: ["queue.error": "\(failure)"])
        }
        var rows = RawRows(pages, greatestPayload: QueueFile.greatestPayload)
        try rows.forEach { id, row in
            guard case .record(var record)? = SalvageRow(id: id, row, seal) else { return }
            // Nothing confirms this column of a plain row. A time that is far ahead would make all other records look
            // old. The tag of a sealed row covers it.
            if record.keyID == 0 { record.queueTime = min(record.queueTime, found.greatestQueueTime ?? .max) }
            guard let table = state.table(of: record.chain) else {
                if !found.isStale(record.chain, marker: marker) { unknown[record.chain.stream, default: 0] += 1 }
                return
            }
            guard record.number > state[table].front, isWhole(record) else { return }
            batch.append(record)
            bytes += record.body.count
            if bytes >= configuration.transactionBytes || batch.count >= Tunables.Queue.transactionRecords {
                try flush()
            }
        }
        try flush()
        return try count(unknown, note)
    }

    /// A sealed row is damaged if its tag does not fit. One whose key is not at hand is kept as it is.
    private func isWhole(_ record: SalvageRow.Record) -> Bool {
        guard record.keyID != 0 else { return true }
        let row = StoredRow(
            stream: record.chain.stream, number: record.number, queueTime: record.queueTime, size: record.size,
            keyID: record.keyID, link: record.link, body: record.body)
        do throws(QueueError) { return try seal.open(row) != nil } catch { return true }
    }

    /// Inserts records, in halves if they do not fit into one transaction.
    /// - Returns: the error if not even one record fits; `nil` if all are in.
    private func insertFitting(_ records: ArraySlice<SalvageRow.Record>) throws -> QueueError? {
        do {
            try insert(salvaged: records)
            return nil
        } catch {
            let failure = QueueError(error)
            guard failure.code == .diskFull else { throw error }
            guard records.count > 1 else { return failure }
            checkpoint()
            let middle = records.startIndex + records.count / 2
            return try insertFitting(records[..<middle]) ?? insertFitting(records[middle...])
        }
    }

    private func insert(salvaged records: ArraySlice<SalvageRow.Record>) throws {
        let bytes = records.reduce(0) { $0 + $1.body.count }
        let pages = try growIfAllowed(records: records.count, bytes: bytes)
        try connection.transaction(.immediate, mapping: { $0 as any Error }) { () throws in
            for record in records {
                guard let table = state.table(of: record.chain) else { continue }
                // Copies of one row are equal.
                let statement = try connection.cached(
                    """
                    INSERT OR IGNORE INTO \(table.name) (number, kind, wall_time, queue_time, size, key_id, link, \
                    body, chain)
                    VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
                    """)
                try statement.bind(
                    record.number, record.kind, record.wallTime, record.queueTime, record.size, record.keyID,
                    record.link, record.body, record.chain.rawValue)
                try statement.run()
            }
            // Moving them into the new epoch needs this reserve.
            if try availablePages() < Tunables.Queue.reservePages { throw outOfPages(pages) }
        }
        checkpointIfDue()
    }

    /// Deletes rows that do not follow from the row before, and corrects the ledgers.
    private func count(_ unknown: [StreamName: UInt64], _ note: QueueStatus.Salvage) throws -> QueueStatus.Salvage {
        let tables = state.tables.filter { $0 != .current($0.stream) }
        for table in tables {
            for chunk in try unchained(table).chunked(1000) {
                try connection.transaction(.immediate, mapping: { $0 as any Error }) { () throws in
                    let delete = try connection.cached("DELETE FROM \(table.name) WHERE number = ?")
                    for number in chunk {
                        try delete.bind(number, at: 1)
                        try delete.run()
                    }
                }
                checkpointIfDue()
            }
        }
        var figures: [RecordTable: RecordTableFigures] = [:]
        for table in tables { figures[table] = try self.figures(of: table) }
        let counted = figures
        return try change { next in
            var note = note
            var greatestTime = next.clock.time
            for (table, figures) in counted {
                if !next.isChained(table) {
                    let lost = next[table].rowCount - min(next[table].rowCount, figures.removed.count)
                    next[table.stream].unnumbered.add(lost, .salvage)
                    note.lost += lost
                }
                next[table].adopt(figures)
                greatestTime = max(greatestTime, figures.queueTime)
                note.salvaged += figures.removed.count
                if case .ended(let ordinal, _) = table, next.ended.last?.ordinal == ordinal {
                    note.lost += next[table].missing
                }
            }
            for (stream, count) in unknown {
                next[stream].unnumbered.add(count, .unverifiable)
                note.lost += count
            }
            next.clock = QueueClock(time: greatestTime, stamp: next.clock.stamp)
            if next.ended.last?.phase == .closing {
                next.ended[next.ended.count - 1].salvage = note
            } else {
                // The epoch is unknown, so the note stands alone.
                next.ended.append(
                    EndedEpoch(
                        ordinal: next.ordinal - 1, id: .random(), end: .salvaged, phase: .settled,
                        endedWallTime: next.clock.stamp.wallTime, salvage: note, streams: StreamLedgers()))
            }
            return note
        }
    }

    /// Numbers of rows whose link does not follow from that of the row before.
    private func unchained(_ table: RecordTable) throws -> [UInt64] {
        let rows = try connection.cached("SELECT \(StoredRow.columns) FROM \(table.name) ORDER BY number")
        defer { rows.reset() }
        // `nil`: sealed, and its key is not at hand.
        var running: (number: UInt64, link: ChainLink?) = (state[table].front, frontLink(of: table))
        var unchained: [UInt64] = []
        while try rows.step() {
            let row = try StoredRow(rows, of: table.stream)
            var content: RowContent?
            do throws(QueueError) { content = try seal.open(row) } catch {
                running = (row.number, nil)
                continue
            }
            if row.number == running.number + 1, let link = running.link,
                content.map({ link.appending($0.bytes) != $0.link }) ?? true
            {
                unchained.append(row.number)
            }
            running = (row.number, content?.link)
        }
        return unchained
    }

    /// The link at the front; `nil` if it is sealed or was forgotten.
    private func frontLink(of table: RecordTable) -> ChainLink? {
        let ledger = state[table]
        return ledger.front > 0 && ledger.frontLink == .zero ? nil : ledger.frontLink
    }

    struct RecordTableFigures {
        var removed: RemovedRows
        var last: UInt64
        var lastLink: ChainLink
        var queueTime: Int64
    }

    private func figures(of table: RecordTable) throws -> RecordTableFigures {
        let sums = try connection.cached(
            "SELECT count(*), coalesce(sum(size), 0), coalesce(max(queue_time), 0) FROM \(table.name)")
        defer { sums.reset() }
        guard try sums.step() else { throw corrupt("\(table.name) cannot be counted") }
        var figures = RecordTableFigures(
            removed: RemovedRows(count: try sums.uint64(0), bytes: try sums.uint64(1)), last: 0, lastLink: .zero,
            queueTime: sums.int64(2))
        let last = try connection.cached(
            "SELECT \(StoredRow.columns) FROM \(table.name) ORDER BY number DESC LIMIT 1")
        defer { last.reset() }
        if try last.step() {
            let row = try StoredRow(last, of: table.stream)
            figures.last = row.number
            figures.lastLink = (try? seal.open(row)?.link) ?? .zero
        }
        return figures
    }
}

extension StreamLedger {
    /// Rows were found, perhaps more than the ledger knew.
    fileprivate mutating func adopt(_ figures: QueueStore.RecordTableFigures) {
        rowCount = figures.removed.count
        bytes = figures.removed.bytes
        lastQueueTime = max(lastQueueTime, figures.queueTime)
        // The last link may have been sealed in the ledger and be known from the row.
        if figures.last > last || (figures.last == last && lastLink == .zero) {
            last = figures.last
            lastLink = figures.lastLink
        }
    }
}

extension QueueState {
    /// The table of a row found in a corrupt file; `nil` if it belongs nowhere any more.
    fileprivate func table(of chain: ChainCode) -> RecordTable? {
        ended.contains { $0.ordinal == chain.ordinal && $0.phase != .settled }
            ? .ended(chain.ordinal, chain.stream) : nil
    }
}

extension Array {
    fileprivate func chunked(_ size: Int) -> [ArraySlice<Element>] {
        stride(from: 0, to: count, by: size).map { self[$0..<Swift.min($0 + size, count)] }
    }
}
