import WireModel

/// The search for the greatest number that one stream of an ended epoch and the collector have in common. Pure.
///
/// If a link matches, everything before it does. So the matching numbers are a prefix. Its end is found by asking
/// evenly spread numbers, then those between the greatest match and the next one asked. A million rows take three
/// rounds.
enum ClosePlan {
    /// What the collector said of one stream.
    struct Answer {
        var mark: StreamMark
        var matched: UInt64?
        var isUnknown: Bool
    }

    /// Where to look for numbers to ask in `range`: everywhere, where that is not much, else at evenly spread places,
    /// the first and the last among them. At most `points` and one.
    static func targets(_ range: Range<UInt64>, points: Int) -> [UInt64] {
        let count = range.upperBound - range.lowerBound
        guard count > 0, points > 0 else { return [] }
        guard count > UInt64(points) else { return Array(range) }
        let step = (count + UInt64(points) - 1) / UInt64(points)
        return stride(from: 0, to: count - 1, by: Int(step)).map { range.lowerBound + $0 } + [range.upperBound - 1]
    }

    /// Numbers among which the greatest match may still be: above the greatest one known, below the least known not to
    /// be.
    static func open(_ ledger: StreamLedger) -> Range<UInt64> {
        let least = ledger.closing.matched.map { $0 + 1 } ?? ledger.mark.number
        let bound = ledger.closing.bound ?? ledger.last + 1
        return min(least, bound)..<bound
    }

    /// The search after an answer.
    /// - Parameter offered: the numbers that were asked, ascending.
    static func next(_ search: CloseSearch, offered: [UInt64], answer: Answer) -> CloseSearch {
        var next = search
        if let matched = answer.matched {
            next.matched = max(matched, search.matched ?? 0)
            next.isUnknown = false
        } else if answer.isUnknown {
            next.isUnknown = true
        }
        // Nothing above the collector's mark is in its history, nor any number offered above the match.
        var bound = min(search.bound ?? .max, answer.mark.number + 1)
        if let refused = offered.first(where: { $0 > (next.matched ?? 0) || next.matched == nil && $0 == 0 }),
            !answer.isUnknown
        {
            bound = min(bound, refused)
        }
        next.bound = max(bound, next.matched.map { $0 + 1 } ?? 0)
        return next
    }
}

/// The outcome for one stream of a closed epoch, once the greatest common number is known. Pure.
///
/// The close says how the collector counts what lies between its mark and `last`: as `moved`, or as given up under the
/// end's reason. The rows may fare otherwise, because a wipe may have given up what an earlier close was to move. So
/// rows are counted here wherever the close does not count them: of a moved epoch all above the common number that are
/// not moved after all; of another epoch those that the collector takes for its own, because another branch of the
/// history had sent as many.
struct CloseSettlement: Equatable {
    /// The epoch's final balance, as the collector has it too: its mark, and what lies between that and `last` under
    /// the reason.
    var final: StreamMark
    /// Rows above this number are queued anew.
    var keptAbove: UInt64
    /// What the device had dropped, given up or lost, and the close does not count: counted in the new epoch, as never
    /// numbered.
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
        // The collector's mark in a gap or a hole of ours right behind the common number: what arrived before it was
        // dropped or lost here is stored. Where histories have diverged that cannot be known, and all of it counts as
        // dropped.
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
        // What this collector had acknowledged and has no more: it came back from an older copy of itself, or was never
        // the one.
        if end.keepsRecords, stream.mark.number < ledger.mark.number {
            let isAnotherDevice = givenUp == .clone || givenUp == .rebound
            carried.add(
                ledger.mark.number - stream.mark.number, isAnotherDevice ? givenUp ?? .unverifiable : .unverifiable)
        }
    }
}

/// One stream of an ended epoch beside what the collector has of it, once the search is over. Pure.
struct CloseComparison {
    let ledger: StreamLedger
    /// The collector's.
    let mark: StreamMark
    /// The greatest number known to be the same on both sides.
    let common: UInt64
    /// The greatest number of ours that the collector has a record or a gap for, ours or another.
    let top: UInt64
    /// The collector may have our records up to this number.
    let doubtful: UInt64
    /// The device's drops, without what the end of an epoch gave up.
    let gaps: ArraySlice<Gap>
    /// Counts the rows above a number, those included that were given up and keep no more than number and link.
    let rowsAbove: (UInt64) throws -> UInt64
    /// Whether no link of ours lies between the common number and the collector's mark: the mark is in a gap or a hole
    /// of ours.
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

    /// Whether the collector has something else where a link of ours says what it should have, or more than was ever
    /// produced here.
    private var showsDivergence: Bool { mark.number > ledger.last || (!isMarkHidden && !isUnknown) }

    /// Whether the device's history and the collector's are not one: it is known, or a stream shows it. Links of a
    /// corrupt file show nothing.
    static func haveDiverged(_ streams: [CloseComparison], end: EpochEnd) -> Bool {
        end == .restored || (end != .salvaged && streams.contains(where: \.showsDivergence))
    }
}
