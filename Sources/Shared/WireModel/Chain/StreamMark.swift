/// The collector's cumulative acknowledgement of one stream of one epoch, as it is on disk.
///
/// Invariant: `number == stored + rejected + dropped + lostAtCollector`.
package struct StreamMark: Equatable, Sendable {
    package var number: UInt64
    /// `link(number)` of the collector's history.
    package var link: ChainLink
    package var stored: UInt64
    package var rejected: [RejectReason: UInt64]
    package var dropped: [DropReason: UInt64]
    /// Numbers that a collector acknowledged and no longer has, because it was restored from a backup or a damaged
    /// record file was salvaged.
    package var lostAtCollector: UInt64

    package init(
        number: UInt64 = 0, link: ChainLink = .zero, stored: UInt64 = 0, rejected: [RejectReason: UInt64] = [:],
        dropped: [DropReason: UInt64] = [:], lostAtCollector: UInt64 = 0
    ) {
        self.number = number
        self.link = link
        self.stored = stored
        self.rejected = rejected
        self.dropped = dropped
        self.lostAtCollector = lostAtCollector
    }

    /// The mark of a stream of which nothing is known yet.
    package static let none = StreamMark()

    package var rejectedCount: UInt64 { rejected.values.saturatingSum }
    package var droppedCount: UInt64 { dropped.values.saturatingSum }

    /// Whether the counts add up to the number. Sums saturate, so a lying peer cannot cause an overflow trap.
    package var addsUp: Bool {
        var sum = stored
        for count in [lostAtCollector] + rejected.values + dropped.values {
            let (next, overflow) = sum.addingReportingOverflow(count)
            guard !overflow else { return false }
            sum = next
        }
        return sum == number
    }
}

/// A device's running totals of one stream of one epoch. They are sent with each part and when the epoch is closed.
package struct StreamTotals: Equatable, Sendable {
    /// Last number, plus what is kept apart, plus what was dropped before it had a number.
    package var produced: UInt64
    /// Rows counted on the device's disk, those kept apart included.
    package var waiting: UInt64
    package var apart: UInt64
    /// Records dropped above the device's mark: the gaps it still holds.
    package var dropped: [DropReason: UInt64]
    package var droppedUnnumbered: [DropReason: UInt64]

    package init(
        produced: UInt64 = 0, waiting: UInt64 = 0, apart: UInt64 = 0, dropped: [DropReason: UInt64] = [:],
        droppedUnnumbered: [DropReason: UInt64] = [:]
    ) {
        self.produced = produced
        self.waiting = waiting
        self.apart = apart
        self.dropped = dropped
        self.droppedUnnumbered = droppedUnnumbered
    }

    /// Merges totals that were reported twice for a closed epoch: for each reason, the greater count of records that
    /// were dropped before they had a number.
    ///
    /// These counts only grow, so the greater is the newer. A device restored from an older image reports less than
    /// before. What it reported first stays counted: those records were lost.
    package func combined(with other: StreamTotals) -> StreamTotals {
        var totals = self
        totals.droppedUnnumbered.merge(other.droppedUnnumbered, uniquingKeysWith: max)
        totals.produced = max(produced, other.produced)
        return totals
    }
}

/// One stream's balance. Every record that was produced is stored, rejected, dropped, lost at the collector, or
/// waiting.
///
/// Both sides print it; `Codable` is its JSON form.
package struct StreamBalance: Equatable, Sendable, Codable {
    package var produced: UInt64
    package var stored: UInt64
    package var rejected: [String: UInt64]
    package var dropped: [String: UInt64]
    package var lostAtCollector: UInt64
    package var waiting: UInt64
    /// Whether produced = stored + rejected + dropped + lostAtCollector + waiting.
    package let closes: Bool

    package init(
        produced: UInt64, stored: UInt64, rejected: [RejectReason: UInt64], dropped: [DropReason: UInt64],
        lostAtCollector: UInt64, waiting: UInt64
    ) {
        self.produced = produced
        self.stored = stored
        self.rejected = Self.named(rejected)
        self.dropped = Self.named(dropped)
        self.lostAtCollector = lostAtCollector
        self.waiting = waiting
        let (covered, overflow) = produced.subtractingReportingOverflow(waiting)
        let accounted = StreamMark(
            number: covered, stored: stored, rejected: rejected, dropped: dropped, lostAtCollector: lostAtCollector)
        closes = !overflow && accounted.addsUp
    }

    private static func named<Reason: CustomStringConvertible>(_ counts: [Reason: UInt64]) -> [String: UInt64] {
        Dictionary(uniqueKeysWithValues: counts.filter { $0.value > 0 }.map { ($0.key.description, $0.value) })
    }
}
