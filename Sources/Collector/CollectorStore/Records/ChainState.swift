import WireModel

/// What the collector knows of one chain: what stands in its row in the newest day's file (or in the baseline), nothing derived.
struct ChainState: Equatable, Sendable {
    var mark = StreamMark.none
    var totals = DeviceTotals()
    /// Set once, for good.
    var closed: Closure?

    /// The epoch was closed: what it has between the mark and `last` counts under `reason`.
    struct Closure: Equatable, Sendable {
        var last: UInt64
        var reason: DropReason
        /// The collector's clock, microseconds since 1970.
        var at: Int64
    }

    /// The epoch is closed, or asked about once more: the first closure stands.
    mutating func close(_ request: EpochClose.Stream, at time: Int64) {
        if closed == nil { closed = Closure(last: request.last, reason: request.reason, at: time) }
        if let last = request.totals { totals.sent = totals.sent.told(also: last) }
    }

    /// The greater of two words on one chain; a closure in either stands, and with it the totals that came along.
    func merged(with other: ChainState) -> ChainState {
        var state = other.mark.number > mark.number ? other : self
        state.closed = closed ?? other.closed
        if state.closed != nil { state.totals.sent = totals.sent.told(also: other.totals.sent) }
        return state
    }

    /// The balance, given what was counted from rows.
    ///
    /// Produced is the device's word (or the mark, where that is higher); waiting is what the device's totals say is above the mark.
    /// Of a closed epoch nothing waits: what it had between the mark and its last number counts under the closure's reason.
    func balance(storedRows: UInt64) -> StreamBalance {
        var dropped = mark.dropped
        let unnumbered = totals.sent.droppedUnnumbered
        for (reason, count) in unnumbered { dropped[reason, default: 0].addSaturating(count) }
        var produced = mark.number
        var waiting: UInt64 = 0
        if let closed {
            if closed.last > mark.number {
                dropped[closed.reason, default: 0].addSaturating(closed.last - mark.number)
                produced = closed.last
            }
        } else {
            let above = totals.above(mark.number)
            for (reason, count) in above.dropped { dropped[reason, default: 0].addSaturating(count) }
            waiting = above.waiting
            produced.addSaturating(totals.sent.apart)
        }
        for count in unnumbered.values { produced.addSaturating(count) }
        if closed == nil { produced = max(produced, totals.sent.produced) }
        return StreamBalance(
            produced: produced, stored: storedRows, rejected: mark.rejected, dropped: dropped, lostAtCollector: mark.lostAtCollector,
            waiting: waiting)
    }
}

/// A device's totals as its newest part carried them, and what of them lay above that part.
struct DeviceTotals: Equatable, Sendable {
    var sent = StreamTotals()
    /// The part's last number.
    var partLast: UInt64 = 0
    /// Rows above the part, those kept apart included.
    var waitingAbovePart: UInt64 = 0
    /// Gaps above the part.
    var droppedAbovePart: [DropReason: UInt64] = [:]

    init() {}

    init(of part: BatchPart) {
        sent = part.totals
        partLast = part.last
        waitingAbovePart = sent.waiting.subtractingSaturating(UInt64(part.records.count))
        droppedAbovePart = sent.dropped
        for gap in part.gaps { droppedAbovePart[gap.reason]?.subtractSaturating(gap.count) }
        droppedAbovePart = droppedAbovePart.filter { $0.value > 0 }
    }

    /// What of it lies above a number at or above the part's last. Gaps are at a stream's front, so they go first.
    func above(_ number: UInt64) -> (waiting: UInt64, dropped: [DropReason: UInt64]) {
        guard number > partLast else { return (waitingAbovePart, droppedAbovePart) }
        var passed = number - partLast
        var dropped = droppedAbovePart
        for reason in dropped.keys.sorted() {
            let taken = min(passed, dropped[reason] ?? 0)
            dropped[reason]?.subtractSaturating(taken)
            passed -= taken
        }
        let numbered = waitingAbovePart.subtractingSaturating(sent.apart)
        return (numbered.subtractingSaturating(passed) + (waitingAbovePart - numbered), dropped.filter { $0.value > 0 })
    }
}
