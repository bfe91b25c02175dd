/// The collector's cumulative word on one stream of one epoch, as it stands on disk.
///
/// Invariant: `number == stored + rejected + dropped + lostAtCollector`.
package struct StreamMark: Equatable, Sendable {
    package var number: UInt64
    /// `link(number)` of the history the collector has.
    package var link: ChainLink
    package var stored: UInt64
    package var rejected: [RejectReason: UInt64]
    package var dropped: [DropReason: UInt64]
    /// Numbers that a collector acknowledged and does not have: it was restored from a backup, or a damaged record file
    /// was salvaged.
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

    /// Nothing is known of the stream.
    package static let none = StreamMark()

    package var rejectedCount: UInt64 { rejected.values.saturatingSum }
    package var droppedCount: UInt64 { dropped.values.saturatingSum }

    /// Whether the counts add up to the number. Sums saturate, so that a lying peer cannot make them trap.
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
