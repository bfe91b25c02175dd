import FoundationEssentials

/// Any prefix of what a stream holds on synced disk, gaps included: its items tile `first...last`.
package struct BatchPart: Equatable, Sendable {
    package var epoch: EpochID
    package var stream: StreamName
    package var first: UInt64
    package var last: UInt64
    /// `link(first - 1)`.
    package var priorLink: ChainLink
    /// `link(last)`.
    package var lastLink: ChainLink
    /// Ascending.
    package var gaps: [Gap]
    package var totals: StreamTotals
    /// Serialized records, ascending: the numbers not covered by gaps.
    package var records: [Data]

    package init(
        epoch: EpochID, stream: StreamName, first: UInt64, last: UInt64, priorLink: ChainLink, lastLink: ChainLink,
        gaps: [Gap] = [], totals: StreamTotals = StreamTotals(), records: [Data]
    ) {
        self.epoch = epoch
        self.stream = stream
        self.first = first
        self.last = last
        self.priorLink = priorLink
        self.lastLink = lastLink
        self.gaps = gaps
        self.totals = totals
        self.records = records
    }

    /// Numbers above this are refused everywhere, so that sums and SQLite's signed integers cannot overflow.
    package static let greatestNumber: UInt64 = 1 << 62
}
