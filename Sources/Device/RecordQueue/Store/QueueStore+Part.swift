import FoundationEssentials
import Logging
import SQLite
import WireModel

/// Reads the front of a stream.
extension QueueStore {
    /// The prefix to send next; `nil` if nothing is due.
    ///
    /// The chain is recomputed while reading. A row that does not fit ends the part before it. At the front, such a row
    /// is dropped once.
    func nextPart(of stream: StreamName, maximumBytes: Int, maximumRecords: Int, hold: Duration) throws -> BatchPart? {
        guard state.divergence == nil else { return nil }
        while true {
            switch try readPart(
                of: stream, maximumBytes: maximumBytes, maximumRecords: max(1, maximumRecords), hold: hold)
            {
            case .part(let part): return part
            case .nothing: return nil
            case .unreadable: try dropUnreadable(of: stream)
            }
        }
    }

    private enum Reading {
        case part(BatchPart)
        case nothing
        /// The row at the front cannot be read.
        case unreadable
    }

    /// The most gaps in one part. The next part has the rest.
    private static let maximumGaps = 1000

    private func readPart(of stream: StreamName, maximumBytes: Int, maximumRecords: Int, hold: Duration) throws
        -> Reading
    {
        let ledger = state[stream]
        let gaps = Array(ledger.gaps.prefix(Self.maximumGaps))
        // Nothing is sent from a link that is sealed.
        guard ledger.mark.number == 0 || ledger.mark.link != .zero, gaps.allSatisfy({ $0.link != .zero }) else {
            return .nothing
        }
        var records: [Data] = []
        var position = gaps.last?.last ?? ledger.mark.number
        var running = gaps.last?.link ?? ledger.mark.link
        if gaps.count == ledger.gaps.count {
            let dueTime = queueClock.time - hold.queueMicroseconds
            let rows = try connection.cached(
                """
                SELECT \(StoredRow.columns) FROM \(RecordTable.current(stream).name) WHERE number BETWEEN ? \
                AND ? ORDER BY number LIMIT ?
                """
            )
            try rows.bind(position + 1, ledger.last, maximumRecords)
            defer { rows.reset() }
            var bytes = 0
            var isEndOfRows = true
            while try hasRow(rows, after: records) {
                isEndOfRows = false
                guard rows.int64(1) <= dueTime || hold <= .zero else { break }
                let row = try StoredRow(rows, of: stream)
                let content: RowContent?
                // A row that cannot be opened yet waits, and what follows waits behind it.
                do throws(QueueError) { content = try seal.open(row) } catch { break }
                let body = content?.bytes ?? Data()
                let link = running.appending(body)
                guard row.number == position + 1, content?.link == link else {
                    guard position == ledger.front else { break }
                    return .unreadable
                }
                bytes += body.count
                guard bytes <= maximumBytes || records.isEmpty else { break }
                records.append(body)
                position += 1
                running = link
            }
            // Rows are missing at the end.
            if isEndOfRows, position < ledger.last { return .unreadable }
        }
        guard position > ledger.mark.number else { return .nothing }
        return .part(
            BatchPart(
                epoch: state.epoch, stream: stream, first: ledger.mark.number + 1, last: position,
                priorLink: ledger.mark.link,
                lastLink: running, gaps: gaps, totals: state.totals(stream), records: records))
    }

    /// An unreadable page ends the part before it. If there is nothing before it, it is an error.
    private func hasRow(_ rows: Statement, after records: [Data]) throws -> Bool {
        do {
            return try rows.step()
        } catch {
            guard error.code == .corrupt, !records.isEmpty else { throw error }
            return false
        }
    }

    /// The number of rows above a number; with `nil`, above the front.
    func countRows(of table: RecordTable, above number: UInt64? = nil) throws -> UInt64 {
        let statement = try connection.cached("SELECT count(*) FROM \(table.name) WHERE number > ?")
        try statement.bind(number ?? state[table].front, at: 1)
        defer { statement.reset() }
        return try statement.step() ? try statement.uint64(0) : 0
    }

    /// Drops unreadable rows at the front, up to the first link that is confirmed by the next row or by the ledger's
    /// last link.
    private func dropUnreadable(of stream: StreamName) throws {
        let ledger = state[stream]
        let (through, link) = try confirmedLink(above: ledger.front, of: stream)
        try change { next in
            let size = try bytes(through: through, of: .current(stream))
            let removed = RemovedRows(count: try delete(through: through, of: .current(stream)), bytes: size)
            _ = next[stream].drop(through: through, link: link, removed: removed, reason: .unreadable)
        }
        logger.error(
            "queue dropped unreadable records",
            metadata: ["queue.stream": "\(stream)", "queue.first": "\(ledger.front + 1)", "queue.last": "\(through)"])
    }

    private func confirmedLink(above front: UInt64, of stream: StreamName) throws -> (UInt64, ChainLink) {
        let ledger = state[stream]
        let rows = try connection.cached(
            """
            SELECT \(StoredRow.columns) FROM \(RecordTable.current(stream).name) WHERE number BETWEEN ? AND ? \
            ORDER BY number
            """
        )
        try rows.bind(front + 1, ledger.last)
        defer { rows.reset() }
        var former: (number: UInt64, link: ChainLink)?
        while try rows.step() {
            let row = try StoredRow(rows, of: stream)
            let content = try seal.open(row)
            if let former, let content, row.number == former.number + 1,
                former.link.appending(content.bytes) == content.link
            {
                return former
            }
            // The tag of a sealed row confirms its link.
            if row.keyID != 0, let content { return (row.number, content.link) }
            former = content.map { (row.number, $0.link) }
        }
        guard ledger.lastLink != .zero else { throw unknownLink }
        // Nothing after the damage continues the chain. The next record will.
        return (ledger.last, ledger.lastLink)
    }
}

/// Acknowledgement, binding and figures.
extension QueueStore {
    func apply(_ answer: PartAnswer) throws -> MarkDecision {
        guard answer.epoch == state.epoch else { return .old }
        if let divergence = state.divergence { return .diverged(divergence.reason) }
        guard answer.mark.addsUp else {
            throw QueueError(
                .invalid,
                """
                the collector's counts for stream \(answer.stream) do not add up to its mark \(answer.mark.number); \
                not taken over
                """
            )
        }
        let stream = answer.stream
        let ledger = state[stream]
        let decision = try MarkDecision.decide(
            answered: answer.mark, outcome: answer.outcome, ownMark: ledger.mark.number, lastProduced: ledger.last
        ) { (number: UInt64) throws -> ChainLink? in try link(at: number, of: .current(stream), ledger) }
        switch decision {
        case .old, .insideGap: break
        case .remove:
            let size = try bytes(through: answer.mark.number, of: .current(stream))
            checkpointBefore(removing: size)
            try change(deferring: configuration.lossWindow > .zero ? size : nil) { next in
                if let verdict = next[stream].verdictOnQuarantine(answer.mark) {
                    try decideQuarantine(stream, verdict, through: answer.mark.number)
                }
                let count = try delete(through: answer.mark.number, of: .current(stream))
                next[stream].acknowledge(answer.mark, removed: RemovedRows(count: count, bytes: size))
            }
        case .diverged(let reason):
            try change {
                $0.divergence = QueueDivergence(reason: reason, stream: stream, wallTime: $0.clock.stamp.wallTime)
            }
            logger.error(
                "queue and collector have diverged",
                metadata: ["queue.stream": "\(stream)", "queue.reason": "\(reason.rawValue)"])
        }
        return decision
    }

    /// The device's own link at a number; `nil` inside a gap, or if the row is gone.
    /// - Throws: `.keyUnavailable` if it is sealed, and its key is not at hand.
    func link(at number: UInt64, of table: RecordTable, _ ledger: StreamLedger) throws -> ChainLink? {
        func known(_ link: ChainLink) throws -> ChainLink? {
            guard number > 0, link == .zero else { return link }
            // Sealed, or forgotten when the file was made from what another one still had.
            if let linkObstacle { throw linkObstacle }
            return nil
        }
        if number == ledger.mark.number { return try known(ledger.mark.link) }
        if number == ledger.last { return try known(ledger.lastLink) }
        if number <= ledger.frontOfRows {
            return try ledger.gaps.first { $0.last == number }.flatMap { try known($0.link) }
        }
        let row = try connection.cached("SELECT \(StoredRow.columns) FROM \(table.name) WHERE number = ?")
        try row.bind(number, at: 1)
        defer { row.reset() }
        return try row.step() ? try seal.open(try StoredRow(row, of: table.stream))?.link : nil
    }

    func bind(to binding: QueueBinding) throws -> BindingOutcome {
        guard let bound = state.binding else {
            try change { $0.binding = binding }
            return .bound
        }
        return bound == binding ? .same : .other(bound)
    }

    /// Clears the binding. The next caller binds.
    func unbind() throws {
        try change { $0.binding = nil }
    }
}
