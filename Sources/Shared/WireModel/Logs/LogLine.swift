import Glibc

/// Where the fields of one line of a log lie: nothing is copied, nothing unescaped. Schemas/logs/FORMAT.md has the form.
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
        guard let categoryEnd = Self.first(space, in: line, from: categoryStart, to: count), categoryEnd > categoryStart else { return nil }
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
