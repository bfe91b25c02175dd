/// A set of characters (Unicode scalars) in a pattern.
package struct ScrubCharacters: Equatable, Sendable {
    /// Ascending, with room between neighbours.
    package private(set) var ranges: [ClosedRange<UInt32>] = []

    private static let greatest: UInt32 = 0x10FFFF

    package init() {}

    package init(_ scalar: Unicode.Scalar) { ranges = [scalar.value...scalar.value] }

    private init(_ ranges: [ClosedRange<Unicode.Scalar>]) {
        for range in ranges { insert(range.lowerBound.value...range.upperBound.value) }
    }

    package static let digits = ScrubCharacters(["0"..."9"])
    package static let wordCharacters = ScrubCharacters(["0"..."9", "A"..."Z", "_"..."_", "a"..."z"])
    /// Tab, the four line ends of ASCII, space.
    package static let spaces = ScrubCharacters(["\t"..."\r", " "..." "])
    package static let anyButNewline = ScrubCharacters("\n").inverted

    /// The character where there is just one.
    package var single: UInt32? {
        guard ranges.count == 1, let range = ranges.first, range.count == 1 else { return nil }
        return range.lowerBound
    }

    package var inverted: ScrubCharacters {
        var result = ScrubCharacters()
        var next: UInt32 = 0
        for range in ranges {
            if range.lowerBound > next { result.ranges.append(next...(range.lowerBound - 1)) }
            next = range.upperBound + 1
        }
        if next <= Self.greatest { result.ranges.append(next...Self.greatest) }
        return result
    }

    package mutating func insert(_ other: ScrubCharacters) {
        for range in other.ranges { insert(range) }
    }

    package mutating func insert(_ range: ClosedRange<UInt32>) {
        var (low, high) = (range.lowerBound, range.upperBound)
        // Neighbours that touch or overlap become one with it.
        for other in ranges where other.lowerBound <= high + 1 && low <= other.upperBound + 1 {
            (low, high) = (min(low, other.lowerBound), max(high, other.upperBound))
        }
        ranges.removeAll { $0.lowerBound >= low && $0.upperBound <= high }
        ranges.insert(low...high, at: ranges.firstIndex { $0.lowerBound > high } ?? ranges.endIndex)
    }

    package func contains(_ scalar: UInt32) -> Bool { ranges.contains { $0.contains(scalar) } }
}
