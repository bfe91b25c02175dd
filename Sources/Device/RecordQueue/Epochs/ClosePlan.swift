import WireModel

/// The search for the greatest number that one stream of an ended epoch and the collector have in common. Pure: what is to be asked, and
/// what an answer means.
///
/// Where a link is the same, everything before it is. So the numbers that match are a prefix of those that have a link, and its end is found
/// by asking evenly spread ones, then those between the greatest match and the next one asked. A million rows take three rounds.
enum ClosePlan {
    /// What the collector said of one stream.
    struct Answer {
        var mark: StreamMark
        var matched: UInt64?
        var isUnknown: Bool
    }

    /// Where to look for numbers to ask in `range`: everywhere, where that is not much, else at evenly spread places, the first and the last
    /// among them. At most `points` and one.
    static func targets(_ range: Range<UInt64>, points: Int) -> [UInt64] {
        let count = range.upperBound - range.lowerBound
        guard count > 0, points > 0 else { return [] }
        guard count > UInt64(points) else { return Array(range) }
        let step = (count + UInt64(points) - 1) / UInt64(points)
        return stride(from: 0, to: count - 1, by: Int(step)).map { range.lowerBound + $0 } + [range.upperBound - 1]
    }

    /// Numbers among which the greatest match may still be: above the greatest one known, below the least known not to be.
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
        if let refused = offered.first(where: { $0 > (next.matched ?? 0) || next.matched == nil && $0 == 0 }), !answer.isUnknown {
            bound = min(bound, refused)
        }
        next.bound = max(bound, next.matched.map { $0 + 1 } ?? 0)
        return next
    }
}
