/// Arithmetic on counts and times from a peer or a file. It saturates instead of trapping.
extension FixedWidthInteger {
    @inlinable package mutating func addSaturating(_ other: Self) { self = addingSaturating(other) }

    @inlinable package func addingSaturating(_ other: Self) -> Self {
        let (sum, overflow) = addingReportingOverflow(other)
        guard overflow else { return sum }
        return other < 0 ? .min : .max
    }

    @inlinable package mutating func subtractSaturating(_ other: Self) { self = subtractingSaturating(other) }

    /// A count that would be negative is 0.
    @inlinable package func subtractingSaturating(_ other: Self) -> Self {
        let (difference, overflow) = subtractingReportingOverflow(other)
        guard overflow else { return difference }
        return other < 0 ? .max : .min
    }

    @inlinable package func multipliedSaturating(by other: Self) -> Self {
        let (product, overflow) = multipliedReportingOverflow(by: other)
        guard overflow else { return product }
        return (self < 0) == (other < 0) ? .max : .min
    }
}

extension Sequence where Element: FixedWidthInteger {
    @inlinable package var saturatingSum: Element { reduce(0) { $0.addingSaturating($1) } }
}
