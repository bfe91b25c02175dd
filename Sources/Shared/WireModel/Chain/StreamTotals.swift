/// A device's running totals of one stream of one epoch, sent with each part and with its close.
package struct StreamTotals: Equatable, Sendable {
    /// Last number, plus what is kept apart, plus what was dropped before it had a number.
    package var produced: UInt64
    /// Rows counted on the device's disk, those kept apart included.
    package var waiting: UInt64
    package var apart: UInt64
    /// Above the device's mark: the gaps it still holds.
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
}

extension StreamTotals {
    /// What stands of a closed epoch when its totals are told once more: of what never had a number, reason by reason, the greater count.
    ///
    /// Such counts only grow, so of one device the greater is the newer. Of a device that was brought back to an older image, what was told
    /// before the image came back is not taken back: it was lost.
    package func told(also other: StreamTotals) -> StreamTotals {
        var totals = self
        totals.droppedUnnumbered.merge(other.droppedUnnumbered, uniquingKeysWith: max)
        totals.produced = max(produced, other.produced)
        return totals
    }
}
