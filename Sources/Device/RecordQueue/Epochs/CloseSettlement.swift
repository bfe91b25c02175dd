import WireModel

/// What one stream of a closed epoch comes to, once the greatest common number is known. Pure.
///
/// The close says how the collector counts what lies between its mark and `last`: as `moved`, or as given up under the end's reason. What
/// becomes of the rows is apart from that: the first close may have reached the collector before a wipe gave up what was to be moved. So
/// rows are counted here wherever the close does not: of a moved epoch all above the common number that are not moved after all, of another
/// those that the collector takes for its own, because another branch of the history had sent so many.
struct CloseSettlement: Equatable {
    /// The epoch's final balance, as the collector has it too: its mark, and what lies between that and `last` under the reason.
    var final: StreamMark
    /// Rows above this number are queued anew.
    var keptAbove: UInt64
    /// What the device had dropped, given up or lost, and the close does not count: counted in the new epoch, as never numbered.
    var carried: [DropReason: UInt64]

    /// - Parameter hasDiverged: the device's history and the collector's are not one.
    init(_ stream: CloseComparison, end: EpochEnd, hasDiverged: Bool) throws {
        let ledger = stream.ledger
        final = stream.mark
        carried = [:]
        if ledger.last > stream.mark.number {
            final.number = ledger.last
            final.dropped.add(ledger.last - stream.mark.number, end.reason)
        }
        let givenUp = ledger.abandoned?.reason ?? (end.keepsRecords ? nil : end.reason)
        // Where the collector's history is not known, the rows may be in it.
        keptAbove = givenUp == nil ? stream.doubtful : ledger.last
        // The collector's mark in a gap or a hole of ours right behind the common number: what arrived before it was dropped or lost here is
        // stored. Where histories have diverged that cannot be known, and all of it counts as dropped.
        let passed = stream.isMarkHidden && !hasDiverged ? stream.top : stream.common
        let counted = end.keepsRecords ? ledger.last : stream.top
        var gapCount: UInt64 = 0
        for gap in stream.gaps {
            let (first, last) = (max(gap.first, passed + 1), min(gap.last, counted))
            guard first <= last else { continue }
            gapCount += last - first + 1
            carried.add(last - first + 1, gap.reason)
        }
        let left = counted - passed - gapCount
        let unverifiable = try stream.rowsAbove(stream.common) - stream.rowsAbove(stream.doubtful)
        carried.add(unverifiable, .unverifiable)
        if let givenUp {
            carried.add(left - min(left, unverifiable), givenUp)
        } else {
            carried.add(left - min(left, try stream.rowsAbove(passed)), end.missingReason)
        }
        // What this collector had acknowledged and has no more: it came back from an older copy of itself, or was never the one.
        if end.keepsRecords, stream.mark.number < ledger.mark.number {
            let isAnotherDevice = givenUp == .clone || givenUp == .rebound
            carried.add(ledger.mark.number - stream.mark.number, isAnotherDevice ? givenUp ?? .unverifiable : .unverifiable)
        }
    }
}
