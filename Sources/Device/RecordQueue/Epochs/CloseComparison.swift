import WireModel

/// One stream of an ended epoch beside what the collector has of it, once the search is over. Pure.
struct CloseComparison {
    let ledger: StreamLedger
    /// The collector's.
    let mark: StreamMark
    /// The greatest number known to be the same on both sides.
    let common: UInt64
    /// The greatest number of ours that the collector has a record or a gap for, ours or another.
    let top: UInt64
    /// Up to here the collector cannot rule out that it has our records.
    let doubtful: UInt64
    /// The device's drops, without what the end of an epoch gave up.
    let gaps: ArraySlice<Gap>
    /// Counts the rows above a number, those included that were given up and keep no more than number and link.
    let rowsAbove: (UInt64) throws -> UInt64
    /// Whether no link of ours lies between the common number and the collector's mark: the mark is in a gap or a hole of ours.
    let isMarkHidden: Bool
    private let isUnknown: Bool

    /// - Parameter ledger: with the outcome of the search.
    init(_ ledger: StreamLedger, mark: StreamMark, rowsAbove: @escaping (UInt64) throws -> UInt64) throws {
        let search = ledger.closing
        self.ledger = ledger
        self.mark = mark
        self.rowsAbove = rowsAbove
        isUnknown = search.isUnknown && search.matched == nil
        let common = max(search.matched ?? 0, ledger.mark.number)
        let top = max(common, min(mark.number, ledger.last))
        self.common = common
        self.top = top
        doubtful = isUnknown ? min(ledger.last, max(common, (search.bound ?? mark.number + 1) - 1)) : common
        gaps = ledger.abandoned == nil ? ledger.gaps[...] : ledger.gaps.dropLast()
        isMarkHidden =
            try rowsAbove(common) == rowsAbove(top) && !gaps.contains { $0.last > common && $0.last <= top }
    }

    /// Whether the collector has something else where a link of ours says what it should have, or more than was ever produced here.
    private var showsDivergence: Bool { mark.number > ledger.last || (!isMarkHidden && !isUnknown) }

    /// Whether the device's history and the collector's are not one: it is known, or a stream shows it. Links of a corrupt file show nothing.
    static func haveDiverged(_ streams: [CloseComparison], end: EpochEnd) -> Bool {
        end == .restored || (end != .salvaged && streams.contains(where: \.showsDivergence))
    }
}
