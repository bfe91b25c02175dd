/// Arithmetic on counts from a peer. It saturates instead of trapping.
extension UInt64 {
    package mutating func addSaturating(_ other: UInt64) {
        self = addingSaturating(other)
    }

    package func addingSaturating(_ other: UInt64) -> UInt64 {
        let (sum, overflow) = addingReportingOverflow(other)
        return overflow ? .max : sum
    }

    package mutating func subtractSaturating(_ other: UInt64) { self = subtractingSaturating(other) }

    package func subtractingSaturating(_ other: UInt64) -> UInt64 { self > other ? self - other : 0 }

    package func multipliedSaturating(by other: UInt64) -> UInt64 {
        let (product, overflow) = multipliedReportingOverflow(by: other)
        return overflow ? .max : product
    }
}

/// Arithmetic on times from a peer or a file. It saturates instead of trapping.
extension Int64 {
    package func subtractingSaturating(_ other: Int64) -> Int64 {
        let (difference, overflow) = subtractingReportingOverflow(other)
        guard overflow else { return difference }
        return other < 0 ? .max : .min
    }
}

extension Sequence<UInt64> {
    package var saturatingSum: UInt64 {
        var sum: UInt64 = 0
        for count in self { sum.addSaturating(count) }
        return sum
    }
}
