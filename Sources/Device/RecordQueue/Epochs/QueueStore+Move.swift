import DeviceTunables
import FoundationEssentials
import SQLite
import WireModel

/// Moves the rows of a closed epoch into the current one.
extension QueueStore {
    /// Moves some rows of a closed epoch.
    /// - Returns: `false` if there are none.
    func moveSome() throws -> Bool {
        for epoch in state.ended where epoch.phase == .moving {
            for stream in StreamName.allCases where epoch.streams[stream].rowCount > 0 {
                if try moveSome(from: .ended(epoch.ordinal, stream)) { return true }
            }
        }
        return false
    }

    /// Moves the first rows of a table to the end of their stream, in one transaction. It deletes them first, so the
    /// move needs no space. A damaged row is dropped and counted as unreadable. A sealed row waits for its key.
    /// - Returns: `false` if the first row waits.
    private func moveSome(from table: RecordTable) throws -> Bool {
        let ledger = state[table]
        guard let rows = try movable(of: table) else { return false }
        guard let last = rows.last else {
            // The ledger reports rows, but there are none.
            try change { next in
                next[table.stream].unnumbered.add(ledger.rowCount, .unreadable)
                next[table].passed(
                    ledger.last, link: ledger.lastLink,
                    removed: RemovedRows(count: ledger.rowCount, bytes: ledger.bytes))
            }
            return true
        }
        let bytes = rows.reduce(UInt64(0)) { $0 + $1.size }
        checkpointBefore(removing: bytes)
        try change { next in
            let count = try delete(through: last.number, of: table)
            next[table].passed(last.number, link: last.link ?? .zero, removed: RemovedRows(count: count, bytes: bytes))
            for row in rows {
                if let record = row.record {
                    _ = try insert(record, queuedAt: row.queueTime, into: &next)
                } else {
                    next[table.stream].unnumbered.add(1, .unreadable)
                }
            }
        }
        checkpointIfDue()
        return true
    }

    private struct MovableRow {
        var number: UInt64
        var queueTime: Int64
        var size: UInt64
        var link: ChainLink?
        /// `nil` if the row is damaged.
        var record: NewRecord?
    }

    /// `nil` if the key of the first row is not at hand, or no key to seal it again.
    private func movable(of table: RecordTable) throws -> [MovableRow]? {
        let ledger = state[table]
        let statement = try connection.cached(
            "SELECT \(StoredRow.columns) FROM \(table.name) WHERE number > ? ORDER BY number LIMIT ?")
        try statement.bind(ledger.front, Tunables.Queue.transactionRecords / 4)
        defer { statement.reset() }
        var rows: [MovableRow] = []
        var bytes = 0
        // The link before the next row, if known.
        var running: (number: UInt64, link: ChainLink)? =
            ledger.frontLink != .zero ? (ledger.front, ledger.frontLink) : nil
        while try statement.step() {
            let found = try StoredRow(statement, of: table.stream)
            let content: RowContent?
            do throws(QueueError) {
                content = try seal.open(found)
                if rows.isEmpty { _ = try seal.sealingKey() }
            } catch {
                guard error.code == .keyUnavailable else { throw error }
                if rows.isEmpty { return nil }
                break
            }
            let body = content?.bytes ?? found.body
            var row = MovableRow(
                number: found.number, queueTime: found.queueTime, size: UInt64(max(0, found.size)),
                link: content?.link)
            let prior = running.flatMap { $0.number + 1 == row.number ? $0.link : nil }
            let fits = prior.map { $0.appending(body) == row.link } ?? true
            row.record =
                fits && content != nil
                ? NewRecord(requeueing: body, stream: table.stream, number: row.number) : nil
            running = row.link.map { (row.number, $0) }
            rows.append(row)
            bytes += body.count
            if bytes >= Tunables.Queue.transactionBytes / 4 { break }
        }
        return rows
    }
}
