import WireModel

/// The accounts of one stream: what every commit keeps true beside the rows. A value; the rules of numbering and of gaps live here.
///
/// Invariant: `mark.number`, the gaps (without a hole, from mark + 1) and the rows (`front + 1 ... last`) tile `1...last`.
struct StreamLedger: Equatable, Sendable {
    var last: UInt64 = 0
    var lastLink = ChainLink.zero
    /// The queue time of the last record: later ones are never earlier, so that what is due is a prefix.
    var lastQueueTime: Int64 = 0
    /// The sum of the rows' sizes.
    var bytes: UInt64 = 0
    /// The collector's word, as last taken over.
    var mark = StreamMark.none
    var gaps: [Gap] = []
    /// Refused before they had a number.
    var unnumbered: [DropReason: UInt64] = [:]

    /// Everything up to here has left the table.
    var front: UInt64 { gaps.last?.last ?? mark.number }
    /// `link(front)`.
    var frontLink: ChainLink { gaps.last?.link ?? mark.link }
    /// Rows there must be.
    var rowCount: UInt64 { last - front }

    var unnumberedCount: UInt64 { unnumbered.values.reduce(0, +) }
    var produced: UInt64 { last + unnumberedCount }

    /// The device's drops above the mark, by reason.
    var droppedAboveMark: [DropReason: UInt64] {
        gaps.reduce(into: [:]) { $0[$1.reason, default: 0] += $1.count }
    }

    mutating func append(link: ChainLink, bytes size: Int, queueTime: Int64) {
        last += 1
        lastLink = link
        lastQueueTime = max(lastQueueTime, queueTime)
        bytes += UInt64(size)
    }

    /// The records up to `number` leave without being acknowledged.
    /// - Parameters:
    ///   - link: `link(number)`.
    ///   - size: the sum of their sizes.
    mutating func drop(through number: UInt64, link: ChainLink, bytes size: UInt64, reason: DropReason) -> Gap {
        let gap = Gap(first: front + 1, last: number, reason: reason, link: link)
        if let merged = gaps.last?.merged(with: gap) {
            gaps[gaps.count - 1] = merged
        } else {
            gaps.append(gap)
        }
        removed(size)
        return gap
    }

    /// The collector's mark is taken over.
    /// - Parameter size: the sum of the sizes of the rows up to it.
    mutating func acknowledge(_ answered: StreamMark, bytes size: UInt64) {
        mark = answered
        gaps.removeAll { $0.last <= answered.number }
        removed(size)
    }

    /// The sum starts anew whenever the table is empty.
    private mutating func removed(_ size: UInt64) {
        bytes = rowCount == 0 ? 0 : bytes - min(bytes, size)
    }

    /// - Parameter waiting: rows, counted.
    func totals(waiting: UInt64) -> StreamTotals {
        StreamTotals(produced: produced, waiting: waiting, apart: 0, dropped: droppedAboveMark, droppedUnnumbered: unnumbered)
    }

    /// - Parameter waiting: rows, counted.
    func balance(waiting: UInt64) -> StreamBalance {
        StreamBalance(
            produced: produced, stored: mark.stored, rejected: mark.rejected, dropped: dropped, lostAtCollector: mark.lostAtCollector,
            waiting: waiting)
    }

    /// All drops: up to the mark as the collector counted them, above it as the gaps say, and those without a number.
    var dropped: [DropReason: UInt64] {
        mark.dropped.merging(droppedAboveMark, uniquingKeysWith: +).merging(unnumbered, uniquingKeysWith: +)
    }

    /// What cannot be true of a ledger that this code has written; `nil` where all is well.
    var fault: String? {
        guard last <= BatchPart.greatestNumber else { return "last number \(last) is impossible" }
        guard mark.addsUp else { return "the counts of mark \(mark.number) do not add up" }
        guard mark.number <= last else { return "mark \(mark.number) is above the last number \(last)" }
        var position = mark.number
        for gap in gaps {
            guard gap.first == position + 1, gap.last >= gap.first, gap.last <= last else {
                return "gap \(gap.first)...\(gap.last) does not follow \(position)"
            }
            position = gap.last
        }
        if front == last, frontLink != lastLink { return "the chain at \(last) has two links" }
        return nil
    }
}
