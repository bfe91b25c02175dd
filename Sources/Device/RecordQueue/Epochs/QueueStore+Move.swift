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
                try moveSome(from: .ended(epoch.ordinal, stream))
                return true
            }
        }
        return false
    }

    /// Moves the first rows of a table to the end of their stream, in one transaction. It deletes them first, so the
    /// move needs no space. A damaged row is dropped and counted as unreadable.
    private func moveSome(from table: RecordTable) throws {
        let ledger = state[table]
        let rows = try movable(of: table)
        guard let last = rows.last else {
            // The ledger reports rows, but there are none.
            try change { next in
                next[table.stream].unnumbered.add(ledger.rowCount, .unreadable)
                next[table].passed(
                    ledger.last, link: ledger.lastLink,
                    removed: RemovedRows(count: ledger.rowCount, bytes: ledger.bytes))
            }
            return
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
    }

    private struct MovableRow {
        var number: UInt64
        var queueTime: Int64
        var size: UInt64
        var link: ChainLink?
        /// `nil` if the row is damaged.
        var record: NewRecord?
    }

    private func movable(of table: RecordTable) throws -> [MovableRow] {
        let ledger = state[table]
        let statement = try connection.cached(
            "SELECT number, queue_time, size, link, body FROM \(table.name) WHERE number > ? ORDER BY number LIMIT ?")
        try statement.bind(ledger.front, Tunables.Queue.transactionRecords / 4)
        defer { statement.reset() }
        var rows: [MovableRow] = []
        var bytes = 0
        // The link before the next row, if known.
        var running: (number: UInt64, link: ChainLink)? =
            ledger.frontLink != .zero ? (ledger.front, ledger.frontLink) : nil
        while try statement.step() {
            let found = statement.row
            let body = try found.data("body")
            var row = MovableRow(
                number: try found.uint64("number"), queueTime: try found.int64("queue_time"),
                size: UInt64(max(0, try found.int64("size"))), link: ChainLink(try found.data("link")))
            let prior = running.flatMap { $0.number + 1 == row.number ? $0.link : nil }
            let fits = prior.map { $0.appending(body) == row.link } ?? true
            row.record = fits ? NewRecord(requeueing: body, stream: table.stream, number: row.number) : nil
            running = row.link.map { (row.number, $0) }
            rows.append(row)
            bytes += body.count
            if bytes >= Tunables.Queue.transactionBytes / 4 { break }
        }
        return rows
    }
}
