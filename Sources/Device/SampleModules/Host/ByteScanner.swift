import Glibc
import TelemetryBasics

/// Reads numbers and words from a line of a kernel file without making strings.
///
/// Valid as long as the bytes it looks at. It never moves past the end; a missing item is `nil`.
struct ByteScanner {
    private let bytes: UnsafeRawBufferPointer
    private var position = 0

    init(_ bytes: UnsafeRawBufferPointer) {
        self.bytes = bytes
    }

    var isAtEnd: Bool { position >= bytes.count }

    mutating func skipBlanks() {
        while position < bytes.count, Self.isBlank(bytes[position]) { position += 1 }
    }

    /// Consumes `text` if it comes next.
    mutating func consume(_ text: StaticString) -> Bool {
        let count = text.utf8CodeUnitCount
        guard bytes.count - position >= count else { return false }
        for index in 0..<count where bytes[position + index] != text.utf8Start[index] { return false }
        position += count
        return true
    }

    /// The next decimal number after blanks. `nil` if there is none, or if it needs more than 64 bits.
    mutating func number() -> UInt64? {
        skipBlanks()
        return digits()
    }

    /// A number with a sign.
    mutating func signedNumber() -> Int64? {
        skipBlanks()
        let negative = consume("-")
        guard let magnitude = digits(), let value = Int64(exactly: magnitude) else { return nil }
        return negative ? -value : value
    }

    /// A number with exactly two decimals, in hundredths ("1.05" is 105).
    mutating func hundredths() -> UInt32? {
        guard let whole = number(), consume("."), position + 2 <= bytes.count else { return nil }
        let start = position
        guard let part = digits(), position - start == 2, whole < 40_000_000 else { return nil }
        return UInt32(whole * 100 + part)
    }

    private mutating func digits() -> UInt64? {
        var value: UInt64 = 0
        let start = position
        while position < bytes.count {
            let digit = bytes[position] &- 0x30
            guard digit <= 9 else { break }
            let (tens, overflow) = value.multipliedReportingOverflow(by: 10)
            let (sum, carry) = tens.addingReportingOverflow(UInt64(digit))
            if overflow || carry { return nil }
            value = sum
            position += 1
        }
        return position > start ? value : nil
    }

    /// The characters up to the next blank; `nil` at the end.
    mutating func word() -> UnsafeRawBufferPointer? {
        skipBlanks()
        let start = position
        while position < bytes.count, !Self.isBlank(bytes[position]) { position += 1 }
        return position > start ? UnsafeRawBufferPointer(rebasing: bytes[start..<position]) : nil
    }

    /// The remaining bytes.
    mutating func rest() -> UnsafeRawBufferPointer {
        let start = position
        position = bytes.count
        return UnsafeRawBufferPointer(rebasing: bytes[start...])
    }

    private static func isBlank(_ byte: UInt8) -> Bool { byte == 0x20 || byte == 0x09 }
}

/// The lines of a file that people and their programs write, such as those in `/etc`. The last line counts without a
/// newline too. Editors of other systems leave carriage returns at the ends of lines and a byte order mark at the
/// beginning; neither belongs to a line.
struct WrittenLines: Sequence, IteratorProtocol {
    private var rest: UnsafeRawBufferPointer

    init(_ bytes: UnsafeRawBufferPointer) {
        let mark = PlainText.byteOrderMark
        rest = bytes.starts(with: mark) ? UnsafeRawBufferPointer(rebasing: bytes[mark.count...]) : bytes
    }

    mutating func next() -> UnsafeRawBufferPointer? {
        guard !rest.isEmpty else { return nil }
        let end = rest.firstIndex(of: 0x0a) ?? rest.count
        var last = end
        while last > 0, rest[last - 1] == 0x0d { last -= 1 }
        let line = UnsafeRawBufferPointer(rebasing: rest[..<last])
        rest = UnsafeRawBufferPointer(rebasing: rest[Swift.min(end + 1, rest.count)...])
        return line
    }
}

/// The complete lines of a file that the kernel generates. A last line without newline was cut off and is skipped,
/// because half a number is no number.
struct CompleteLines: Sequence, IteratorProtocol {
    private let bytes: UnsafeRawBufferPointer
    private var position = 0

    init(_ bytes: UnsafeRawBufferPointer) {
        self.bytes = bytes
    }

    mutating func next() -> UnsafeRawBufferPointer? {
        // memchr is fast: the interrupt line of /proc/stat has tens of kilobytes on a large server.
        guard position < bytes.count, let base = bytes.baseAddress,
            let found = memchr(base + position, 0x0a, bytes.count - position)
        else { return nil }
        let end = UnsafeRawPointer(found) - base
        defer { position = end + 1 }
        return UnsafeRawBufferPointer(rebasing: bytes[position..<end])
    }
}

extension UnsafeRawBufferPointer {
    /// The bytes as text. Bytes that are not UTF-8 become the replacement character, because protobuf strings must be
    /// valid.
    var text: String { String(decoding: self, as: UTF8.self) }

    /// The bytes of a name as text that no other name has: Linux accepts any bytes as an interface's name. A byte that
    /// is not UTF-8 becomes the replacement character and two hexadecimal digits. A replacement character in the name
    /// is doubled.
    var distinctText: String {
        let text = text
        let mark = "\u{FFFD}"
        guard text.unicodeScalars.contains("\u{FFFD}") else { return text }
        var name = ""
        var position = 0
        while position < count {
            // A character has at most four bytes.
            let character = (1...4).lazy.filter { position + $0 <= count }.compactMap { length in
                String(validating: self[position..<(position + length)], as: UTF8.self)
            }.first
            if let character {
                name += character == mark ? mark + mark : character
            } else {
                name += mark + String(self[position], radix: 16)
            }
            position += character?.utf8.count ?? 1
        }
        return name
    }

    func equals(_ text: StaticString) -> Bool {
        guard count == text.utf8CodeUnitCount else { return false }
        for index in 0..<count where self[index] != text.utf8Start[index] { return false }
        return true
    }

    /// Up to the last newline.
    var wholeLines: UnsafeRawBufferPointer {
        UnsafeRawBufferPointer(rebasing: self[..<(lastIndex(of: 0x0a).map { $0 + 1 } ?? 0)])
    }

    /// The bytes without blanks, newlines and NULs at both ends.
    var trimmed: UnsafeRawBufferPointer {
        var start = 0
        var end = count
        while start < end, self[start] <= 0x20 { start += 1 }
        while end > start, self[end - 1] <= 0x20 { end -= 1 }
        return UnsafeRawBufferPointer(rebasing: self[start..<end])
    }
}
