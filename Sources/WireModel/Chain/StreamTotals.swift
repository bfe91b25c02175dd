/// A device's running totals of one stream of one epoch, sent with each part.
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
