import Glibc

/// Where the fields of one line of a log lie: nothing is copied, nothing unescaped. Schemas/logs/FORMAT.md has the
/// form.
///
/// Reading is strict: what is not of the form is `nil`, for a viewer to show as it is and for `verify` to report.
package struct LogLine: Equatable, Sendable {
    /// Microseconds since 1970, UTC.
    package let time: Int64
    package let level: LogLevel
    package let number: LogNumber
    /// Offsets into the line; all in order, the last ends before the line's end.
    package let category: Range<Int>
    package let message: Range<Int>
    /// Empty where there is none.
    package let metadata: Range<Int>

    /// What stands at fixed places.
    package static let timeBytes = 27
    package static let levelOffset = 28
    package static let numberOffset = 30

    /// - Parameter line: with or without its `\n`.
    package init?(_ line: UnsafeRawBufferPointer) {
        let count = line.last == UInt8(ascii: "\n") ? line.count - 1 : line.count
        let space = UInt8(ascii: " ")
        guard count > Self.numberOffset, line[Self.timeBytes] == space, line[Self.levelOffset + 1] == space,
            let time = LogTime.microseconds(line), let level = LogLevel(letter: line[Self.levelOffset])
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

/// Sizes of logs that both ends and every tool keep to, in bytes.
package enum LogLimits {
    /// Text of a segment and of a chunk, at most (the Workspace ONE SDK's 5 MB, decimal).
    package static let chunkBytes = 5_000_000
    /// A line with its end, at most.
    package static let lineBytes = 65_536
    /// A category, at most.
    package static let categoryBytes = 128
    /// Text between two restart points, about; a block is whole lines.
    package static let blockBytes = 65_536
}
