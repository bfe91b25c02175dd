import FoundationEssentials
import Logging
import SQLite
import WireModel

/// Leaving at the front without acknowledgement.
extension QueueStore {
    /// Drops the oldest records, at least one where there is one: up to `count`, and no more than about `bytes` of them.
    ///
    /// - Returns: what was dropped now; in the ledger it may be part of a longer gap. `nil`: the stream is empty.
    func drop(oldest count: Int, bytes: Int, of stream: StreamName, reason: DropReason, keepAside: Bool) throws -> Gap? {
        guard count > 0, let prefix = try prefix(of: stream, records: count, bytes: bytes) else { return nil }
        func run(keepingAside: Bool) throws -> Gap {
            try change { next in
                if keepingAside { try setAside(through: prefix.last, of: stream, reason: reason, in: &next) }
                try delete(through: prefix.last, of: stream)
                return next[stream].drop(through: prefix.last, link: prefix.link, bytes: prefix.bytes, reason: reason)
            }
        }
        guard keepAside, configuration.quarantineRecords > 0 else { return try run(keepingAside: false) }
        do {
            return try run(keepingAside: true)
        } catch {
            guard QueueError(error).code == .diskFull else { throw error }
            // Dropping goes on without room for a copy.
            return try run(keepingAside: false)
        }
    }

    /// Drops what is older than the cap allows.
    func dropOverAged() throws {
        let limit = queueClock.time - configuration.maximumAge.queueMicroseconds
        for stream in StreamName.allCases {
            while try oldestQueueTime(of: stream).map({ $0 <= limit }) ?? false {
                let statement = try connection.cached(
                    "SELECT count(*) FROM (SELECT queue_time FROM \(QueueFile.table(stream)) ORDER BY number LIMIT ?) WHERE queue_time <= ?"
                )
                try statement.bind(QueueFile.transactionRecords, limit)
                let count = try statement.step() ? statement.int(0) : 0
                statement.reset()
                guard
                    let gap = try drop(
                        oldest: count, bytes: QueueFile.transactionBytes, of: stream, reason: .ageCap, keepAside: false)
                else { break }
                logger.notice(
                    "queue dropped records past the age cap", metadata: ["queue.stream": "\(stream)", "queue.dropped": "\(gap.count)"])
            }
        }
    }

    func oldestQueueTime(of stream: StreamName) throws -> Int64? {
        let statement = try connection.cached("SELECT queue_time FROM \(QueueFile.table(stream)) ORDER BY number LIMIT 1")
        defer { statement.reset() }
        return try statement.step() ? statement.int64(0) : nil
    }

    /// The sum of the sizes of the rows up to a number.
    func bytes(through number: UInt64, of stream: StreamName) throws -> UInt64 {
        let statement = try connection.cached("SELECT coalesce(sum(size), 0) FROM \(QueueFile.table(stream)) WHERE number <= ?")
        try statement.bind(number, at: 1)
        defer { statement.reset() }
        return try statement.step() ? try statement.uint64(0) : 0
    }

    func delete(through number: UInt64, of stream: StreamName) throws {
        let statement = try connection.cached("DELETE FROM \(QueueFile.table(stream)) WHERE number <= ?")
        try statement.bind(number, at: 1)
        try statement.run()
    }

    private struct Prefix {
        var last: UInt64
        var link: ChainLink
        var bytes: UInt64
    }

    private func prefix(of stream: StreamName, records: Int, bytes: Int) throws -> Prefix? {
        let statement = try connection.cached("SELECT number, size, link FROM \(QueueFile.table(stream)) ORDER BY number LIMIT ?")
        try statement.bind(records, at: 1)
        defer { statement.reset() }
        var prefix: Prefix?
        while try statement.step() {
            guard let link = ChainLink(statement.data(2)) else { throw corrupt("a row of stream \(stream) has no link") }
            let number = try statement.uint64(0)
            guard number > state[stream].front, number <= state[stream].last, (0...Int64(Int32.max)).contains(statement.int64(1)) else {
                throw corrupt("stream \(stream) has a row \(number) outside of its ledger")
            }
            prefix = Prefix(last: number, link: link, bytes: (prefix?.bytes ?? 0) + (try statement.uint64(1)))
            if let prefix, prefix.bytes >= UInt64(bytes) { break }
        }
        return prefix
    }

    /// Copies the records about to be dropped, and lets the oldest copies go where there are too many.
    private func setAside(through number: UInt64, of stream: StreamName, reason: DropReason, in next: inout QueueState) throws {
        let copy = try connection.cached(
            """
            INSERT INTO quarantine (stream, number, reason, wall_time, queue_time, size, key_id, link, body)
            SELECT ?, number, ?, wall_time, queue_time, size, key_id, link, body FROM \(QueueFile.table(stream))
            WHERE number <= ? ORDER BY number DESC LIMIT ?
            """)
        try copy.bind(stream.rawValue, reason.rawValue, number, configuration.quarantineRecords)
        try copy.run()
        let trim = try connection.cached(
            """
            DELETE FROM quarantine WHERE id IN (SELECT id FROM (SELECT id, row_number() OVER newest AS position,
            sum(size) OVER newest AS bytes FROM quarantine WINDOW newest AS (ORDER BY id DESC)) WHERE position > ? OR bytes > ?)
            """)
        try trim.bind(configuration.quarantineRecords, configuration.quarantineBytes)
        try trim.run()
        next.quarantineTime = next.clock.time
    }
}
