import Logging
import SQLite
import WireModel

/// Acknowledgement, binding, and the figures.
extension QueueStore {
    func apply(_ answer: PartAnswer) throws -> MarkDecision {
        guard answer.epoch == state.epoch else { return .old }
        if let parting = state.parting { return .parted(parting.reason) }
        guard answer.mark.addsUp else {
            throw QueueError(
                .invalid,
                "the collector's counts for stream \(answer.stream) do not add up to its mark \(answer.mark.number); not taken over")
        }
        let stream = answer.stream
        let ledger = state[stream]
        let decision = try MarkDecision.decide(
            answered: answer.mark, outcome: answer.outcome, ownMark: ledger.mark.number, lastProduced: ledger.last
        ) { (number: UInt64) throws -> ChainLink? in try link(at: number, of: stream) }
        switch decision {
        case .old, .insideGap: break
        case .remove:
            let size = try bytes(through: answer.mark.number, of: stream)
            checkpointBefore(removing: size)
            try change { next in
                try delete(through: answer.mark.number, of: stream)
                next[stream].acknowledge(answer.mark, bytes: size)
            }
        case .parted(let reason):
            try change { $0.parting = QueueParting(reason: reason, stream: stream, wallTime: $0.clock.stamp.wallTime) }
            logger.error("queue and collector have parted", metadata: ["queue.stream": "\(stream)", "queue.reason": "\(reason.rawValue)"])
        }
        return decision
    }

    /// The device's own link at a number above its mark; `nil` inside a gap, and where the row is gone.
    private func link(at number: UInt64, of stream: StreamName) throws -> ChainLink? {
        let ledger = state[stream]
        if number <= ledger.front { return ledger.gaps.first { $0.last == number }?.link }
        if number == ledger.last { return ledger.lastLink }
        let statement = try connection.cached("SELECT link FROM \(QueueFile.table(stream)) WHERE number = ?")
        try statement.bind(number, at: 1)
        defer { statement.reset() }
        return try statement.step() ? ChainLink(statement.data(0)) : nil
    }

    func bind(to binding: QueueBinding) throws -> BindingOutcome {
        guard let bound = state.binding else {
            try change { $0.binding = binding }
            return .bound
        }
        return bound == binding ? .same : .other(bound)
    }

    func balance() throws -> [StreamName: StreamBalance] {
        var balance: [StreamName: StreamBalance] = [:]
        for stream in StreamName.allCases { balance[stream] = state[stream].balance(waiting: try rowCount(of: stream)) }
        return balance
    }

    func status(holds: [StreamName: Duration]) throws -> QueueStatus {
        let now = queueClock.time
        var streams: [StreamName: QueueStatus.Stream] = [:]
        for stream in StreamName.allCases {
            let ledger = state[stream]
            let waiting = try rowCount(of: stream)
            streams[stream] = QueueStatus.Stream(
                waiting: waiting, waitingBytes: ledger.bytes,
                oldestAgeSeconds: try oldestQueueTime(of: stream).map { max(0, Double(now) - Double($0)) / 1_000_000 },
                due: try dueCount(of: stream, hold: holds[stream] ?? .zero, now: now) ?? waiting, lastNumber: ledger.last,
                mark: ledger.mark, gaps: ledger.gaps, dropped: ledger.dropped)
        }
        let quarantine = try connection.cached("SELECT count(*), coalesce(sum(size), 0) FROM quarantine")
        defer { quarantine.reset() }
        guard try quarantine.step() else { throw corrupt("the quarantine cannot be counted") }
        return QueueStatus(
            epoch: state.epoch, streams: streams, parting: state.parting, binding: state.binding,
            fileBytes: try connection.fileSize(.main), walBytes: try connection.fileSize(.wal),
            freeBytes: FreeSpace(path: directory)?.bytes, quarantinedRecords: try quarantine.uint64(0),
            quarantinedBytes: try quarantine.uint64(1),
            secondsSinceQuarantine: secondsSinceQuarantine, buffered: 0, commits: commits,
            pagesWritten: UInt64(connection.pagesWritten), failure: nil)
    }

    var secondsSinceQuarantine: Double? {
        state.quarantineTime.map { max(0, Double(queueClock.time) - Double($0)) / 1_000_000 }
    }

    /// `nil` where there is no hold: all rows are due.
    private func dueCount(of stream: StreamName, hold: Duration, now: Int64) throws -> UInt64? {
        guard hold > .zero else { return nil }
        let statement = try connection.cached("SELECT count(*) FROM \(QueueFile.table(stream)) WHERE queue_time <= ?")
        try statement.bind(now - hold.queueMicroseconds, at: 1)
        defer { statement.reset() }
        return try statement.step() ? try statement.uint64(0) : 0
    }
}
