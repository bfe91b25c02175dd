/// Counts that others say: however great they are, a sum does not trap.
extension UInt64 {
    package mutating func addSaturating(_ other: UInt64) {
        let (sum, overflow) = addingReportingOverflow(other)
        self = overflow ? .max : sum
    }

    package mutating func subtractSaturating(_ other: UInt64) { self = subtractingSaturating(other) }

    package func subtractingSaturating(_ other: UInt64) -> UInt64 { self > other ? self - other : 0 }
}

extension Sequence<UInt64> {
    package var saturatingSum: UInt64 {
        var sum: UInt64 = 0
        for count in self { sum.addSaturating(count) }
        return sum
    }
}
