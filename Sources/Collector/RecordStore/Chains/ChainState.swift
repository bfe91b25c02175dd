import FoundationEssentials
import WireModel

/// The state of one chain: its row in the newest record file, or in the baseline. The functions here derive everything
/// else, are pure, and are the same for every engine.
package struct ChainState: Equatable, Sendable {
    package var mark = StreamMark.none
    package var totals = DeviceTotals()
    /// Set once, for good.
    package internal(set) var closed: Closure?

    package init() {}

    /// The epoch was closed: what it has between the mark and `last` counts under `reason`.
    package struct Closure: Equatable, Sendable {
        package var last: UInt64
        package var reason: DropReason
        /// The collector's clock, microseconds since 1970.
        package var at: Int64
    }

    /// The first closure of an epoch is kept; later ones change nothing.
    package mutating func close(_ request: EpochClose.Stream, at time: Int64) {
        if closed == nil { closed = Closure(last: request.last, reason: request.reason, at: time) }
        if let last = request.totals { totals.sent = totals.sent.combined(with: last) }
    }

    /// The state with the greater mark. A closure in either is kept, with its totals.
    package func merged(with other: ChainState) -> ChainState {
        var state = other.mark.number > mark.number ? other : self
        state.closed = closed ?? other.closed
        if state.closed != nil { state.totals.sent = totals.sent.combined(with: other.totals.sent) }
        return state
    }

    /// The greatest point in the chain's history, up to its mark.
    ///
    /// The search ends with `unknown` at a point whose link was removed. A lower point may be in the history even so
    /// (number 0 always is), but treating it as the greatest would make the device send stored records again.
    /// - Parameters:
    ///   - removedUpTo: the chain's mark in the dropped partitions; `nil` if none was dropped.
    ///   - link: the link at a number between the two marks; `nil` inside a gap or a lost range.
    package func match(
        _ points: [EpochClose.Point], removedUpTo: StreamMark?,
        link: (UInt64) throws(StoreError) -> ChainLink?
    ) throws(StoreError) -> ClosedStream.Match {
        for point in points.sorted(by: { $0.number > $1.number }) where point.number <= mark.number {
            let found: ChainLink?
            if point.number == 0 {
                found = .zero
            } else if point.number == mark.number {
                found = mark.link
            } else if let removedUpTo, point.number <= removedUpTo.number {
                guard point.number == removedUpTo.number else { return .unknown }
                found = removedUpTo.link
            } else {
                found = try link(point.number)
            }
            if found == point.link { return .point(point) }
        }
        return .none
    }

    /// The balance, from the counted rows.
    ///
    /// Produced is the device's number, or the mark if that is higher. Waiting is the part of the device's totals above
    /// the mark. In a closed epoch nothing waits: numbers between the mark and the last number count as dropped under
    /// the closure's reason.
    package func balance(storedRows: UInt64) -> StreamBalance {
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
            produced: produced, stored: storedRows, rejected: mark.rejected, dropped: dropped,
            lostAtCollector: mark.lostAtCollector, waiting: waiting)
    }
}

/// A device's totals from its newest part, and the share of them above that part.
package struct DeviceTotals: Equatable, Sendable {
    package var sent = StreamTotals()
    /// The part's last number.
    package var partLast: UInt64 = 0
    /// Rows above the part, records apart included.
    package var waitingAbovePart: UInt64 = 0
    /// Gaps above the part.
    package var droppedAbovePart: [DropReason: UInt64] = [:]

    init() {}

    package init(of part: BatchPart) {
        sent = part.totals
        partLast = part.last
        waitingAbovePart = sent.waiting.subtractingSaturating(UInt64(part.records.count))
        droppedAbovePart = sent.dropped
        for gap in part.gaps { droppedAbovePart[gap.reason]?.subtractSaturating(gap.count) }
        droppedAbovePart = droppedAbovePart.filter { $0.value > 0 }
    }

    /// Returns the part of it that lies above a number at or above the part's last. Gaps are at a stream's front, so
    /// they go first.
    package func above(_ number: UInt64) -> (waiting: UInt64, dropped: [DropReason: UInt64]) {
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

/// One life of a device's queue. With a stream it names one chain.
package struct ChainKey: Hashable, Sendable {
    package let device: DeviceID
    package let epoch: EpochID

    package init(device: DeviceID, epoch: EpochID) {
        self.device = device
        self.epoch = epoch
    }
}

/// A chain's state as columns, the same in every engine: `mark, totals, part_last, above_part, closed_last,
/// closed_reason, closed_at`. The first two are the wire's own messages (`Mark`, `StreamTotals`); `above_part` is a
/// `StreamTotals` whose `waiting` and `dropped` are those above `part_last`.
package struct ChainColumns: Equatable, Sendable {
    package var mark: Data
    package var totals: Data
    package var partLast: UInt64
    package var abovePart: Data
    package var closedLast: UInt64?
    package var closedReason: Int64?
    package var closedAt: Int64?

    package init(mark: Data, totals: Data, partLast: UInt64, abovePart: Data) {
        self.mark = mark
        self.totals = totals
        self.partLast = partLast
        self.abovePart = abovePart
    }

    package init(_ state: ChainState) {
        mark = state.mark.wire.encoded
        totals = state.totals.sent.wire.encoded
        partLast = state.totals.partLast
        let above = StreamTotals(waiting: state.totals.waitingAbovePart, dropped: state.totals.droppedAbovePart)
        abovePart = above.wire.encoded
        closedLast = state.closed?.last
        closedReason = (state.closed?.reason.rawValue).map(Int64.init)
        closedAt = state.closed?.at
    }

    /// The columns of a chain of which nothing is known yet.
    package static let none = ChainColumns(ChainState())
}

extension ChainState {
    /// - Parameter place: of the row, for people.
    /// - Throws: `.corrupt` if no collector could have written the columns.
    package init(_ columns: ChainColumns, of place: String) throws(StoreError) {
        do {
            mark = try StreamMark(WireMark.decode(columns.mark))
            totals.sent = StreamTotals(try WireStreamTotals.decode(columns.totals))
            totals.partLast = columns.partLast
            let above = StreamTotals(try WireStreamTotals.decode(columns.abovePart))
            totals.waitingAbovePart = above.waiting
            totals.droppedAbovePart = above.dropped
            if let last = columns.closedLast {
                closed = Closure(
                    last: last, reason: DropReason(rawValue: Int(columns.closedReason ?? 0)), at: columns.closedAt ?? 0)
            }
        } catch { throw .unreadableChain(place, "\(error)") }
    }
}

extension StoreError {
    /// A chain's row that no collector could have written.
    /// - Parameter place: of the row, for people.
    package static func unreadableChain(_ place: String, _ why: String) -> StoreError {
        StoreError(.corrupt, "a chain's row in \(place) cannot be read: \(why). Run `ws1collector verify`.")
    }
}

/// A device's next epochs, read from several sources that each have some of them, in order.
///
/// A source that gave as many as it may can have more behind its last one. So only epochs up to the least of these last
/// ones are complete.
package struct EpochStretch: Sendable {
    package let after: EpochID?
    /// The most epochs that each source gives.
    package let limit: Int
    /// The epoch up to which every source was read; `nil` if all were read to their ends.
    package private(set) var complete: EpochID?
    private var count = 0
    private var last: EpochID?

    package init(after: EpochID?, limit: Int) { (self.after, self.limit) = (after, limit) }

    /// The source gave an epoch.
    package mutating func read(_ epoch: EpochID) {
        count += 1
        last = epoch
    }

    /// The next source begins.
    package mutating func endSource() {
        if count >= limit, let last { complete = min(complete ?? last, last) }
        (count, last) = (0, nil)
    }
}
