import SQLite
import WireModel

/// The queue's figures.
extension QueueStore {
    /// The balance over the current, the ended and the settled epochs. Waiting records are counted from rows.
    func balance() throws -> [StreamName: StreamBalance] {
        var balance: [StreamName: StreamBalance] = [:]
        for stream in StreamName.allCases {
            var sum = BalanceSum()
            sum.add(state[stream])
            sum.waiting += try countRows(of: .current(stream))
            sum.add(state.past[stream])
            sum.produced += state.apart(stream)
            for epoch in state.ended where epoch.phase != .settled {
                sum.waiting += try countRows(of: .ended(epoch.ordinal, stream))
                guard epoch.phase == .closing else { continue }
                sum.add(epoch.streams[stream])
                sum.dropped[epoch.end.missingReason, default: 0] += epoch.streams[stream].missing
            }
            balance[stream] = sum.balance
        }
        return balance
    }

    private struct BalanceSum {
        var produced: UInt64 = 0
        var waiting: UInt64 = 0
        var mark = StreamMark.none
        var dropped: [DropReason: UInt64] = [:]

        mutating func add(_ ledger: StreamLedger) {
            produced += ledger.produced
            mark.stored += ledger.mark.stored
            mark.lostAtCollector += ledger.mark.lostAtCollector
            mark.rejected.merge(ledger.mark.rejected, uniquingKeysWith: +)
            dropped.merge(ledger.dropped, uniquingKeysWith: +)
        }

        var balance: StreamBalance {
            StreamBalance(
                produced: produced, stored: mark.stored, rejected: mark.rejected, dropped: dropped,
                lostAtCollector: mark.lostAtCollector, waiting: waiting)
        }
    }

    func status(holds: [StreamName: Duration]) throws -> QueueStatus {
        let now = queueClock.time
        var streams: [StreamName: QueueStatus.Stream] = [:]
        for stream in StreamName.allCases {
            let ledger = state[stream]
            streams[stream] = QueueStatus.Stream(
                waiting: ledger.rowCount, waitingBytes: ledger.bytes,
                oldestAgeSeconds: try oldestQueueTime(of: .current(stream)).map {
                    max(0, Double(now) - Double($0)) / 1_000_000
                },
                due: try dueCount(of: stream, hold: holds[stream] ?? .zero, now: now), lastNumber: ledger.last,
                mark: ledger.mark, gaps: ledger.gaps, dropped: ledger.dropped,
                apart: state.tables.reduce(0) {
                    $1.stream == stream && $1 != .current(stream) ? $0 + state[$1].rowCount : $0
                })
        }
        let quarantine = try connection.cached("SELECT count(*), coalesce(sum(size), 0) FROM quarantine")
        defer { quarantine.reset() }
        guard try quarantine.step() else { throw corrupt("the quarantine cannot be counted") }
        return QueueStatus(
            epoch: state.epoch, streams: streams, divergence: state.divergence, binding: state.binding,
            ended: state.ended.map(\.status),
            fileBytes: try connection.fileSize(.main), walBytes: try connection.fileSize(.wal),
            freeBytes: FreeSpace(path: directory)?.bytes, quarantinedRecords: try quarantine.uint64(0),
            quarantinedBytes: try quarantine.uint64(1),
            secondsSinceQuarantine: secondsSinceQuarantine, buffered: 0, commits: commits,
            pagesWritten: UInt64(connection.pagesWritten), failure: nil)
    }

    var secondsSinceQuarantine: Double? {
        state.quarantineTime.map { max(0, Double(queueClock.time) - Double($0)) / 1_000_000 }
    }

    /// Rows whose hold is over. Later records never have an earlier time, so these rows are a prefix and binary search
    /// finds its end.
    private func dueCount(of stream: StreamName, hold: Duration, now: Int64) throws -> UInt64 {
        let ledger = state[stream]
        guard hold > .zero, ledger.rowCount > 0 else { return ledger.rowCount }
        let dueTime = now - hold.queueMicroseconds
        let statement = try connection.cached(
            "SELECT queue_time FROM \(RecordTable.current(stream).name) WHERE number <= ? ORDER BY number DESC LIMIT 1")
        defer { statement.reset() }
        var due = ledger.front
        var notDue = ledger.last + 1
        while notDue - due > 1 {
            let middle = due + (notDue - due) / 2
            try statement.bind(middle, at: 1)
            let isDue = try statement.step() ? statement.int64(0) <= dueTime : true
            statement.reset()
            if isDue { due = middle } else { notDue = middle }
        }
        return min(ledger.rowCount, due - ledger.front)
    }
}

extension EndedEpoch {
    fileprivate var status: QueueStatus.Ended {
        QueueStatus.Ended(
            epoch: id, end: end, isClosed: phase != .closing, endedWallTime: endedWallTime, waiting: streams.rowCount,
            salvage: salvage)
    }
}
