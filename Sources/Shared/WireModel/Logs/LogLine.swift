import Glibc
import TelemetryBasics

/// The positions of the fields in one line of a log. Nothing is copied or unescaped. `Schemas/logs/FORMAT.md` defines
/// the format.
///
/// Reading is strict: a malformed line is `nil`. A viewer shows it as it is, and `verify` reports it.
package struct LogLine: Equatable, Sendable {
    /// Microseconds since 1970, UTC.
    package let time: Int64
    package let level: LogLevel
    package let number: LogNumber
    /// Offsets in the line, in order. The last one ends before the newline.
    package let category: Range<Int>
    package let message: Range<Int>
    /// Empty if there is none.
    package let metadata: Range<Int>

    /// Lengths of the parts at fixed positions.
    package static let timeBytes = Timestamp.bytes
    package static let levelOffset = 28
    package static let numberOffset = 30

    /// - Parameter line: with or without its `\n`.
    package init?(_ line: UnsafeRawBufferPointer) {
        let count = line.last == UInt8(ascii: "\n") ? line.count - 1 : line.count
        let space = UInt8(ascii: " ")
        guard count > Self.numberOffset, line[Self.timeBytes] == space, line[Self.levelOffset + 1] == space,
            let time = Timestamp.microseconds(line), time >= 0, let level = LogLevel(letter: line[Self.levelOffset])
        else { return nil }
        var position = Self.numberOffset
        var number: UInt64 = 0
        while position < count, line[position] != space {
            let digit = line[position] &- UInt8(ascii: "0")
            guard digit < 10, position - Self.numberOffset < 19 else { return nil }
            number = number * 10 + UInt64(digit)
            position += 1
        }
        guard position > Self.numberOffset, position < count else { return nil }
        let categoryStart = position + 1
        guard let categoryEnd = Self.first(space, in: line, from: categoryStart, to: count), categoryEnd > categoryStart
        else { return nil }
        let messageEnd = Self.first(UInt8(ascii: "\t"), in: line, from: categoryEnd + 1, to: count) ?? count
        self.time = time
        self.level = level
        self.number = LogNumber(value: number)
        category = categoryStart..<categoryEnd
        message = (categoryEnd + 1)..<messageEnd
        metadata = min(messageEnd + 1, count)..<count
    }

    private static func first(_ byte: UInt8, in line: UnsafeRawBufferPointer, from start: Int, to end: Int) -> Int? {
        guard let base = line.baseAddress, start < end else { return nil }
        return memchr(base + start, Int32(byte), end - start).map { UnsafeRawPointer($0) - base }
    }
}

/// The number of a line in its store: `segment × 1,000,000 + position`, both from 1. `Schemas/logs/FORMAT.md` says why.
package struct LogNumber: Hashable, Comparable, Sendable {
    package static let linesPerSegment: UInt64 = 1_000_000

    package let value: UInt64

    package init(value: UInt64) { self.value = value }

    /// - Parameters:
    ///   - segment: the segment's ordinal, from 1.
    ///   - position: the line's position in the segment, 1 to 999,999.
    package init(segment: UInt64, position: UInt64) { value = segment * Self.linesPerSegment + position }

    package var segment: UInt64 { value / Self.linesPerSegment }
    package var position: UInt64 { value % Self.linesPerSegment }

    package static func < (left: LogNumber, right: LogNumber) -> Bool { left.value < right.value }
}

/// Limits that both ends and every tool keep to.
package enum LogLimits {
    /// The most text in a segment or chunk (the Workspace ONE SDK's 5 MB, decimal).
    package static let chunkBytes = 5_000_000
    /// The longest line, with its newline.
    package static let lineBytes = 65_536
    /// The longest category.
    package static let categoryBytes = 128
    /// The approximate distance between restart points. A block consists of whole lines.
    package static let blockBytes = 65_536
    /// The most categories that the collector accepts in a filter. A device accepts twice as many, so that a later
    /// collector may accept more.
    package static let filterCategories = 32
    /// The longest text to look for in lines.
    package static let filterTextBytes = 1024
}
