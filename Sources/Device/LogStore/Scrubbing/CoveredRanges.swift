/// Places of a text that are covered, whatever covers them; what overlaps or touches is one.
struct CoveredRanges: Equatable, Sendable {
    /// Ascending, with room between neighbours, once `settle` was called.
    private(set) var ranges: [Range<Int>] = []
    private var isSettled = true

    var isEmpty: Bool { ranges.isEmpty }

    mutating func add(_ range: Range<Int>) {
        // Finds come mostly in order: they are merged at once, so there are never more than there are holes.
        var range = range
        while let last = ranges.last, last.upperBound >= range.lowerBound, range.upperBound >= last.lowerBound {
            range = min(last.lowerBound, range.lowerBound)..<max(last.upperBound, range.upperBound)
            ranges.removeLast()
        }
        if let last = ranges.last, last.lowerBound > range.lowerBound { isSettled = false }
        ranges.append(range)
    }

    mutating func settle() {
        if isSettled { return }
        let sorted = ranges.sorted { $0.lowerBound < $1.lowerBound }
        ranges = []
        for range in sorted { add(range) }
        isSettled = true
    }

    /// The part of them that lies within `bounds`, counted from its start.
    func clipped(to bounds: Range<Int>) -> CoveredRanges {
        var result = CoveredRanges()
        for range in ranges where range.overlaps(bounds) {
            let clipped = range.clamped(to: bounds)
            result.add((clipped.lowerBound - bounds.lowerBound)..<(clipped.upperBound - bounds.lowerBound))
        }
        return result
    }
}
