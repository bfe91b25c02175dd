import FoundationEssentials
import Logging
import SQLite
import WireModel

/// The shelf of a file of version 5 or before: records without a number that waited for consent. They lay in tables
/// `consent_<stream>`, with ledgers of the ordinal -1. Since version 6 they are rows of their stream.
///
/// The opening moves them into their streams, in their order and with their times, and drops the tables. Each
/// transaction has a bounded size and leaves a valid file of version 5, so after a crash the next opening goes on.
extension QueueStore {
    func emptyShelf() throws {
        var moved: UInt64 = 0
        try erasing {
            for stream in StreamName.allCases {
                while let count = try moveFromShelf(stream) { moved += count }
            }
            try change { next in
                for stream in StreamName.allCases {
                    // The ledger says there are rows, and there are none.
                    next[stream].unnumbered.add(try shelfLedger(stream).rows, .unreadable)
                    try connection.execute("DROP TABLE \(QueueFile.shelf(stream))")
                }
                for table in ["ledger", "tally", "gap"] {
                    try connection.execute("DELETE FROM \(table) WHERE chain < 0")
                }
                try connection.setUserVersion(QueueFile.schemaVersion)
            }
        }
        checkpoint()
        guard moved > 0 else { return }
        logger.notice(
            "records that waited for consent were numbered", metadata: ["queue.records": "\(moved)"])
    }

    private struct ShelfRow {
        var number: UInt64
        var queueTime: Int64
        var body: Data
    }

    /// Moves as many as fit into one transaction. Rows at or below the front had left and only waited to be erased.
    /// - Returns: the number of moved records; `nil` if the shelf is empty.
    private func moveFromShelf(_ stream: StreamName) throws -> UInt64? {
        let ledger = try shelfLedger(stream)
        let rows = try shelfRows(stream)
        guard let last = rows.last?.number else { return nil }
        let waiting = rows.filter { $0.number > ledger.front }
        let bytes = rows.reduce(0) { $0 + $1.body.count }
        checkpointBefore(removing: UInt64(bytes))
        // Each record gets a number and a link, which need space.
        let added = waiting.count * (NewRecord.numberBytes + ChainLink.byteCount)
        let pages = (try? growIfAllowed(records: waiting.count, bytes: added)) ?? 0
        func move(dropping reason: DropReason?) throws {
            try change { next in
                let delete = try connection.cached("DELETE FROM \(QueueFile.shelf(stream)) WHERE number <= ?")
                try delete.bind(last, at: 1)
                try delete.run()
                let update = try connection.cached(
                    "UPDATE ledger SET mark_number = ?1, stored = ?1, rows = max(0, rows - ?2) WHERE chain = ?3")
                try update.bind(
                    max(last, ledger.front), waiting.count,
                    ChainCode(ordinal: ChainCode.shelf, stream: stream).rawValue)
                try update.run()
                for row in waiting {
                    if let reason {
                        next[stream].unnumbered.add(1, reason)
                    } else if let record = NewRecord(envelope: row.body, stream: stream) {
                        _ = try insert(record, queuedAt: row.queueTime, into: &next)
                    } else {
                        next[stream].unnumbered.add(1, .unreadable)
                    }
                }
                if reason == nil, try availablePages() < QueueFile.reservePages { throw outOfPages(pages) }
            }
        }
        do { try move(dropping: nil) } catch  where QueueError(error).code == .diskFull {
            // The opening must not fail on a full disk. Dropping these records makes room for the next.
            try move(dropping: .diskFull)
        }
        checkpointIfDue()
        return UInt64(waiting.count)
    }

    private func shelfRows(_ stream: StreamName) throws -> [ShelfRow] {
        let statement = try connection.cached(
            "SELECT number, queue_time, body FROM \(QueueFile.shelf(stream)) ORDER BY number LIMIT ?")
        try statement.bind(QueueFile.transactionRecords / 4, at: 1)
        defer { statement.reset() }
        var rows: [ShelfRow] = []
        var bytes = 0
        while bytes < QueueFile.transactionBytes / 4, try statement.step() {
            rows.append(
                ShelfRow(number: try statement.uint64(0), queueTime: statement.int64(1), body: statement.data(2)))
            bytes += rows.last?.body.count ?? 0
        }
        return rows
    }

    private func shelfLedger(_ stream: StreamName) throws -> (front: UInt64, rows: UInt64) {
        let row = try connection.cached("SELECT mark_number, rows FROM ledger WHERE chain = ?")
        try row.bind(ChainCode(ordinal: ChainCode.shelf, stream: stream).rawValue, at: 1)
        defer { row.reset() }
        guard try row.step() else { throw corrupt("the shelf of stream \(stream) has no ledger") }
        return (try row.uint64(0), try row.uint64(1))
    }
}
