import FoundationEssentials
import Logging
import SQLite
import WireModel

/// Closes ended epochs with the collector.
extension QueueStore {
    /// The oldest ended epoch that must be closed.
    private var closing: EndedEpoch? { state.ended.first { $0.phase == .closing } }

    /// The close request to send. It stays the same until its answer is applied. `nil` if nothing must be closed.
    func nextClose() throws -> WireCloseRequest? {
        guard closing != nil else { return nil }
        try openLinks()
        do { return try closing.map { try request(for: $0) } } catch {
            // Without its links an epoch cannot be compared. It is closed when the key is there.
            guard QueueError(error).code == .keyUnavailable else { throw error }
            return nil
        }
    }

    private func request(for epoch: EndedEpoch) throws -> WireCloseRequest {
        var request = WireCloseRequest()
        request.epoch = epoch.id.data
        for stream in StreamName.allCases {
            var close = WireCloseStream()
            close.stream = stream.wire
            close.last = epoch.streams[stream].last
            close.reason = WireDropReason(rawValue: epoch.end.reason.rawValue) ?? .unspecified
            close.totals = epoch.streams[stream].lastTotals.wire
            close.points = try points(of: epoch, stream).map { number, link in
                var point = WireChainPoint()
                point.number = number
                point.link = link.data
                return point
            }
            request.streams.append(close)
        }
        return request
    }

    /// Applies the answer to `nextClose`.
    /// - Throws: `.invalid` for an impossible answer; nothing changes then.
    func applyClose(_ answer: WireCloseAnswer) throws -> CloseProgress {
        try openLinks()
        guard let epoch = closing else { return .settled }
        guard answer.epoch == epoch.id.data else { return .again }
        var answers: [StreamName: ClosePlan.Answer] = [:]
        var searches: [StreamName: CloseSearch] = [:]
        for stream in StreamName.allCases {
            guard let wire = answer.streams.first(where: { $0.stream == stream.wire }) else {
                throw QueueError(.invalid, "the answer to a close has no stream \(stream); nothing was changed")
            }
            var answer = try Self.answer(wire)
            // The mark's counts are added to those of former epochs, and no sum may exceed what a count may be.
            guard answer.mark.number <= QueueState.greatestTally >> 8 else {
                throw QueueError(
                    .invalid,
                    "the answer to a close has the impossible number \(answer.mark.number) of stream \(stream)")
            }
            let offered = try points(of: epoch, stream)
            if let matched = answer.matched {
                guard offered.contains(where: { $0.number == matched && $0.link.data == wire.matched.link }) else {
                    throw QueueError(
                        .invalid, "the answer to a close matches a point of stream \(stream) that was not offered")
                }
            }
            // The collector's mark is also a point of its history. If the histories have not diverged, it ends the
            // search at once.
            if try isOwn(answer.mark, of: epoch, stream) || isForgotten(answer.mark, of: epoch, stream) {
                answer.matched = answer.mark.number
            }
            answers[stream] = answer
            searches[stream] = ClosePlan.next(
                epoch.streams[stream].closing, offered: offered.map(\.number), answer: answer)
        }
        var searched = epoch
        for (stream, search) in searches { searched.streams[stream].closing = search }
        let areExact = try StreamName.allCases.allSatisfy { stream in
            try isExact(searched, stream, former: epoch.streams[stream].closing)
        }
        guard areExact else {
            let notes = searches
            try change { next in
                for (stream, search) in notes { next[.ended(epoch.ordinal, stream)].closing = search }
            }
            return .again
        }
        try settle(searched, answers)
        return closing == nil ? .settled : .again
    }

    private static func answer(_ wire: WireClosedStream) throws -> ClosePlan.Answer {
        do {
            return ClosePlan.Answer(
                mark: try StreamMark(wire.mark), matched: wire.hasMatched ? wire.matched.number : nil,
                isUnknown: wire.unknown)
        } catch {
            throw QueueError(.invalid, "the answer to a close is malformed: \(error)", cause: error)
        }
    }

    private func isOwn(_ mark: StreamMark, of epoch: EndedEpoch, _ stream: StreamName) throws -> Bool {
        guard mark.number > 0, mark.number <= epoch.streams[stream].last else { return false }
        return try link(at: mark.number, of: epoch, stream) == mark.link
    }

    /// Whether our link at the mark went with its key. Nothing says then that the histories differ, and what the
    /// collector has is not dropped here once more.
    private func isForgotten(_ mark: StreamMark, of epoch: EndedEpoch, _ stream: StreamName) throws -> Bool {
        let ledger = epoch.streams[stream]
        guard seal.isConverting, epoch.end != .restored, mayForget(epoch), mark.number > 0,
            mark.number <= ledger.last, try link(at: mark.number, of: epoch, stream) == nil
        else { return false }
        let gaps = ledger.abandoned == nil ? ledger.gaps[...] : ledger.gaps.dropLast()
        return !gaps.contains { $0.first <= mark.number && mark.number < $0.last }
    }

    /// Whether links of an epoch may be unknown: what they were the links of was wiped or given up.
    private func mayForget(_ epoch: EndedEpoch) -> Bool {
        epoch.isWiped || state.ended.contains { $0.end == .givenUp && $0.ordinal >= epoch.ordinal }
    }

    /// Whether no other number can be the greatest match. If the collector does not know, the newest numbers up to its
    /// mark are offered once more before that is believed.
    private func isExact(_ epoch: EndedEpoch, _ stream: StreamName, former: CloseSearch) throws -> Bool {
        let search = epoch.streams[stream].closing
        if search.isUnknown { return former.isUnknown }
        return try !hasCandidate(ClosePlan.open(epoch.streams[stream]), of: epoch, stream)
    }

    private func hasCandidate(_ range: Range<UInt64>, of epoch: EndedEpoch, _ stream: StreamName) throws -> Bool {
        let ledger = epoch.streams[stream]
        if fixedPoints(ledger).contains(where: { range.contains($0.number) }) { return true }
        guard range.upperBound > ledger.frontOfRows + 1, !range.isEmpty else { return false }
        return try candidate(
            from: max(range.lowerBound, ledger.frontOfRows + 1), below: range.upperBound, of: epoch, stream) != nil
    }

    // MARK: - Points

    private typealias Point = (number: UInt64, link: ChainLink)

    /// The numbers to offer, ascending: the greatest known match, and some that may match.
    private func points(of epoch: EndedEpoch, _ stream: StreamName) throws -> [Point] {
        let ledger = epoch.streams[stream]
        let range = ClosePlan.open(ledger)
        var points: [Point]
        if ledger.closing.isUnknown {
            let least = range.upperBound - min(range.upperBound - range.lowerBound, UInt64(QueueFile.closePoints))
            points = try candidates(least..<range.upperBound, of: epoch, stream, limit: QueueFile.closePoints)
        } else {
            points = try candidates(range, of: epoch, stream, limit: QueueFile.closePoints)
        }
        if let matched = ledger.closing.matched, let link = try link(at: matched, of: epoch, stream) {
            points.insert((matched, link), at: 0)
        }
        return points
    }

    /// Numbers in a range that have a link: the own mark, ends of gaps, rows, the last number. Evenly spread if there
    /// are more than `limit`.
    private func candidates(_ range: Range<UInt64>, of epoch: EndedEpoch, _ stream: StreamName, limit: Int) throws
        -> [Point]
    {
        let ledger = epoch.streams[stream]
        var points: [UInt64: ChainLink] = [:]
        let fixed = fixedPoints(ledger).filter { range.contains($0.number) }
        // If there are many gaps, at least half of the places are for rows.
        let places = max(limit / 2, limit - fixed.count) - 1
        let rows = max(range.lowerBound, ledger.frontOfRows + 1)..<max(range.upperBound, ledger.frontOfRows + 1)
        for target in ClosePlan.targets(rows, points: places) where points[target] == nil {
            guard let point = try candidate(from: target, below: rows.upperBound, of: epoch, stream) else { break }
            points[point.number] = point.link
        }
        for index in ClosePlan.targets(0..<UInt64(fixed.count), points: max(1, limit - places - 2)) {
            points[fixed[Int(index)].number] = fixed[Int(index)].link
        }
        return points.sorted { $0.key < $1.key }.map { ($0.key, $0.value) }
    }

    /// Numbers whose link the ledger knows, ascending.
    private func fixedPoints(_ ledger: StreamLedger) -> [Point] {
        var fixed: [Point] = ledger.mark.number > 0 ? [(ledger.mark.number, ledger.mark.link)] : []
        fixed += ledger.gaps.map { ($0.last, $0.link) }
        if ledger.last > ledger.front { fixed.append((ledger.last, ledger.lastLink)) }
        return fixed.filter { $0.link != .zero }
    }

    /// The first row with a link from a number on.
    private func candidate(
        from number: UInt64, below bound: UInt64, of epoch: EndedEpoch, _ stream: StreamName
    ) throws -> Point? {
        let rows = try connection.cached(
            """
            SELECT \(StoredRow.columns) FROM \(RecordTable.ended(epoch.ordinal, stream).name)
            WHERE number BETWEEN ? AND ? AND (key_id <> 0 OR length(link) = \(ChainLink.byteCount)) ORDER BY number
            """)
        try rows.bind(number, bound - 1)
        defer { rows.reset() }
        while try rows.step() {
            let row = try StoredRow(rows, of: stream)
            if let link = try forgettable(epoch, { try seal.open(row)?.link }) { return (row.number, link) }
        }
        return nil
    }

    private func link(at number: UInt64, of epoch: EndedEpoch, _ stream: StreamName) throws -> ChainLink? {
        try forgettable(epoch) { try link(at: number, of: .ended(epoch.ordinal, stream), epoch.streams[stream]) }
    }

    /// A link, or `nil` if its key is not at hand and the epoch needs it no more.
    private func forgettable(_ epoch: EndedEpoch, _ link: () throws -> ChainLink?) throws -> ChainLink? {
        do { return try link() } catch {
            guard QueueError(error).code == .keyUnavailable, mayForget(epoch) else { throw error }
            return nil
        }
    }

    // MARK: - Settling

    /// The common numbers are known. Stores the final balance, and starts moving what the collector lacks. One
    /// transaction.
    private func settle(_ epoch: EndedEpoch, _ answers: [StreamName: ClosePlan.Answer]) throws {
        let comparisons = try StreamName.allCases.compactMap { stream in
            try answers[stream].map { answer in
                let (table, front) = (RecordTable.ended(epoch.ordinal, stream), epoch.streams[stream].frontOfRows)
                return try CloseComparison(epoch.streams[stream], mark: answer.mark) {
                    try self.countRows(of: table, above: max($0, front))
                }
            }
        }
        let hasDiverged = CloseComparison.haveDiverged(comparisons, end: epoch.end)
        var settlements: [(StreamName, CloseSettlement, UInt64, ChainLink)] = []
        for (stream, comparison) in zip(StreamName.allCases, comparisons) {
            let settlement = try CloseSettlement(comparison, end: epoch.end, hasDiverged: hasDiverged)
            let kept = try comparison.rowsAbove(settlement.keptAbove)
            settlements.append(
                (stream, settlement, kept, try link(at: settlement.keptAbove, of: epoch, stream) ?? .zero))
        }
        try change { next in
            guard let index = next.ended.firstIndex(where: { $0.ordinal == epoch.ordinal }) else { return }
            for (stream, settlement, kept, link) in settlements {
                let ledger = next.ended[index].streams[stream]
                next.past[stream].fold(settlement.final, unnumbered: ledger.unnumbered)
                next.streams[stream].unnumbered.merge(settlement.carried, uniquingKeysWith: +)
                next.ended[index].streams[stream] = ledger.moving(above: settlement.keptAbove, link: link, rows: kept)
            }
            next.ended[index].phase = .moving
        }
        logger.notice(
            "queue closed an epoch",
            metadata: [
                "queue.epoch": "\(epoch.id)", "queue.end": "\(epoch.end.rawValue)",
                "queue.moved": "\(settlements.reduce(0) { $0 + $1.2 })",
            ])
    }
}

extension StreamLedger {
    /// The totals sent with the close.
    fileprivate var lastTotals: StreamTotals {
        StreamTotals(produced: produced, waiting: rowCount, dropped: droppedAboveMark, droppedUnnumbered: unnumbered)
    }
}
