/// The number of a line in its store: `segment × 1,000,000 + position`, both from 1. Schemas/logs/FORMAT.md says why.
package struct LogNumber: Hashable, Comparable, Sendable {
    package static let linesPerSegment: UInt64 = 1_000_000

    package let value: UInt64

    package init(value: UInt64) { self.value = value }

    /// - Parameters:
    ///   - segment: the segment's ordinal, from 1.
    ///   - position: of the line in it, 1 to 999,999.
    package init(segment: UInt64, position: UInt64) { value = segment * Self.linesPerSegment + position }

    package var segment: UInt64 { value / Self.linesPerSegment }
    package var position: UInt64 { value % Self.linesPerSegment }

    package static func < (left: LogNumber, right: LogNumber) -> Bool { left.value < right.value }
}
