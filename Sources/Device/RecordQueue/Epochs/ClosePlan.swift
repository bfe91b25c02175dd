import WireModel

/// Searches the greatest number that one stream of an ended epoch and the collector have in common. Pure.
///
/// If a link matches, everything before it matches too. So the matching numbers are a prefix. To find its end, the
/// device offers evenly spread numbers, and then numbers between the greatest match and the next offered one. A million
/// rows need three rounds.
enum ClosePlan {
    /// The collector's answer for one stream.
    struct Answer {
        var mark: StreamMark
        var matched: UInt64?
        var isUnknown: Bool
    }

    /// The numbers to offer from `range`: all of them if they are few, otherwise evenly spread ones including the first
    /// and the last. At most `points` + 1.
    static func targets(_ range: Range<UInt64>, points: Int) -> [UInt64] {
        let count = range.upperBound - range.lowerBound
        guard count > 0, points > 0 else { return [] }
        guard count > UInt64(points) else { return Array(range) }
        let step = (count + UInt64(points) - 1) / UInt64(points)
        return stride(from: 0, to: count - 1, by: Int(step)).map { range.lowerBound + $0 } + [range.upperBound - 1]
    }

    /// The numbers that may still be the greatest match: above the greatest known match, and below the least number
    /// known not to match.
    static func open(_ ledger: StreamLedger) -> Range<UInt64> {
        let least = ledger.closing.matched.map { $0 + 1 } ?? ledger.mark.number
        let bound = ledger.closing.bound ?? ledger.last + 1
        return min(least, bound)..<bound
    }

    /// The state of the search after an answer.
    /// - Parameter offered: the offered numbers, ascending.
    static func next(_ search: CloseSearch, offered: [UInt64], answer: Answer) -> CloseSearch {
        var next = search
        if let matched = answer.matched {
            next.matched = max(matched, search.matched ?? 0)
            next.isUnknown = false
        } else if answer.isUnknown {
            next.isUnknown = true
        }
        // The collector's history has nothing above its mark, and no offered number above the match.
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

/// The result for one stream of a closed epoch, once the greatest common number is known. Pure.
///
/// The close states how the collector counts the numbers between its mark and `last`: as `moved`, or as dropped under
/// the end's reason. The rows may fare differently, because a wipe may have abandoned what an earlier close was to
/// move. So rows that the close does not cover are counted here. In a moved epoch these are all rows above the common
/// number that are not moved after all. In another epoch these are rows that the collector counts as its own, because
/// another branch of the history had sent as many.
struct CloseSettlement: Equatable {
    /// The epoch's final balance, the same as at the collector: its mark, and the numbers between that and `last` under
    /// the end's reason.
    var final: StreamMark
    /// Rows above this number are queued again.
    var keptAbove: UInt64
    /// Records that the device dropped, abandoned or lost and that the close does not cover. The new epoch counts them
    /// as never numbered.
    var carried: [DropReason: UInt64]

    /// - Parameter hasDiverged: the histories of device and collector differ.
    init(_ stream: CloseComparison, end: EpochEnd, hasDiverged: Bool) throws {
        let ledger = stream.ledger
        final = stream.mark
        carried = [:]
        if ledger.last > stream.mark.number {
            final.number = ledger.last
            final.dropped.add(ledger.last - stream.mark.number, end.reason)
        }
        let givenUp = ledger.abandoned?.reason ?? (end.keepsRecords ? nil : end.reason)
        // If the collector's history is unknown, it may contain the rows.
        keptAbove = givenUp == nil ? stream.doubtful : ledger.last
        // The collector's mark lies in a gap or hole of ours directly after the common number. What arrived before it
        // was dropped or lost here is then stored. If the histories diverged that cannot be known, and all of it counts
        // as dropped.
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
        // What this collector had acknowledged and no longer has. It was restored from an older copy, or it is another
        // collector.
        if end.keepsRecords, stream.mark.number < ledger.mark.number {
            let isAnotherDevice = givenUp == .clone || givenUp == .rebound
            carried.add(
                ledger.mark.number - stream.mark.number, isAnotherDevice ? givenUp ?? .unverifiable : .unverifiable)
        }
    }
}

/// Compares one stream of an ended epoch with the collector's, after the search. Pure.
struct CloseComparison {
    let ledger: StreamLedger
    /// The collector's mark.
    let mark: StreamMark
    /// The greatest number known to be the same on both sides.
    let common: UInt64
    /// The greatest of our numbers for which the collector has a record or gap, ours or another.
    let top: UInt64
    /// The collector may have our records up to this number.
    let doubtful: UInt64
    /// The device's drops without those of the epoch's end.
    let gaps: ArraySlice<Gap>
    /// Counts the rows above a number. Includes abandoned rows, which keep only number and link.
    let rowsAbove: (UInt64) throws -> UInt64
    /// No link of ours lies between the common number and the collector's mark: the mark is in a gap or hole of ours.
    let isMarkHidden: Bool
    private let isUnknown: Bool

    /// - Parameter ledger: contains the result of the search.
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
        doubtful =
            isUnknown
            ? min(ledger.last, max(common, (search.bound ?? mark.number + 1).subtractingSaturating(1))) : common
        gaps = ledger.abandoned == nil ? ledger.gaps[...] : ledger.gaps.dropLast()
        isMarkHidden =
            try rowsAbove(common) == rowsAbove(top) && !gaps.contains { $0.last > common && $0.last <= top }
    }

    /// Whether the collector differs where one of our links says what it must have, or has more than was ever produced
    /// here.
    private var showsDivergence: Bool { mark.number > ledger.last || (!isMarkHidden && !isUnknown) }

    /// Whether the histories of device and collector differ, because that is known or a stream shows it. Links of a
    /// corrupt file show nothing.
    static func haveDiverged(_ streams: [CloseComparison], end: EpochEnd) -> Bool {
        end == .restored || (end != .salvaged && streams.contains(where: \.showsDivergence))
    }
}
