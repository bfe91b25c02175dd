import TelemetryBasics

/// Takes the parts of a syslog message from its bytes.
struct SyslogReader {
    var rest: Slice<UnsafeRawBufferPointer>

    /// What is left, as text.
    var remainder: String { String(decoding: rest, as: UTF8.self) }

    /// `<0>` to `<191>`.
    mutating func priority() -> Int? {
        guard rest.first == UInt8(ascii: "<") else { return nil }
        let digits = rest.dropFirst().prefix(4).prefix { Self.isDigit($0) }
        guard (1...3).contains(digits.count), digits.endIndex < rest.endIndex,
            rest[digits.endIndex] == UInt8(ascii: ">")
        else { return nil }
        let value = digits.reduce(0) { 10 * $0 + Int($1 - UInt8(ascii: "0")) }
        guard value <= SyslogPriority.greatest else { return nil }
        rest = rest[(digits.endIndex + 1)...]
        return value
    }

    mutating func take(_ text: String) -> Bool {
        guard rest.starts(with: text.utf8) else { return false }
        rest = rest.dropFirst(text.utf8.count)
        return true
    }

    /// Bytes up to a space, which is taken too.
    mutating func word() -> String? {
        guard let end = rest.firstIndex(of: UInt8(ascii: " ")), end > rest.startIndex else { return nil }
        defer { rest = rest[(end + 1)...] }
        return String(decoding: rest[..<end], as: UTF8.self)
    }

    /// A name of structured data: printable ASCII without `=`, space, `]` and `"`.
    mutating func name() -> String? {
        let name = rest.prefix {
            (0x21...0x7E).contains($0) && $0 != UInt8(ascii: "=") && $0 != UInt8(ascii: "]") && $0 != UInt8(ascii: "\"")
        }
        guard !name.isEmpty else { return nil }
        rest = rest[name.endIndex...]
        return String(decoding: name, as: UTF8.self)
    }

    /// A value up to its closing quote, which is taken too. `\"`, `\\` and `\]` stand for the second byte.
    mutating func value() -> String? {
        var value: [UInt8] = []
        var index = rest.startIndex
        while index < rest.endIndex {
            switch rest[index] {
            case UInt8(ascii: "\""):
                rest = rest[(index + 1)...]
                return String(decoding: value, as: UTF8.self)
            case UInt8(ascii: "\\")
            where index + 1 < rest.endIndex
                && [UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "]")].contains(rest[index + 1]):
                value.append(rest[index + 1])
                index += 2
            case let byte:
                value.append(byte)
                index += 1
            }
        }
        return nil
    }

    /// `Nov 29 22:14:15 ` or `Nov  9 22:14:15 `, which has neither year nor zone.
    mutating func oldTime() -> String? {
        let text = Array(rest.prefix(16))
        guard text.count == 16, Self.months.contains(String(decoding: text[..<3], as: UTF8.self)) else { return nil }
        let form = Array("    00 00:00:00 ".utf8)
        for (index, byte) in text.enumerated().dropFirst(3) {
            let isGood =
                switch form[index] {
                case UInt8(ascii: "0"): Self.isDigit(byte)
                default: byte == form[index]
                }
            // A day below ten has a space in the place of its first digit.
            guard isGood || index == 4 && byte == UInt8(ascii: " ") else { return nil }
        }
        rest = rest.dropFirst(16)
        return String(decoding: text[..<15], as: UTF8.self)
    }

    /// A time of RFC 3339, which relays write where RFC 3164 has one without a year.
    mutating func newTime() -> String? {
        var behind = self
        guard let word = behind.word(), word.utf8.count <= 40, Timestamp.parse(word, .looseSeparators) != nil else {
            return nil
        }
        self = behind
        return word
    }

    struct Tag {
        var identifier: String
        var process: String?
        /// Behind the tag.
        var reader: SyslogReader
    }

    /// `name: ` or `name[process]: `. Not taken.
    func tag() -> Tag? {
        let word = rest.prefix(Self.tagBytes).prefix { $0 > 0x20 && $0 != 0x7F && $0 != UInt8(ascii: ":") }
        guard !word.isEmpty, word.endIndex < rest.endIndex, rest[word.endIndex] == UInt8(ascii: ":") else { return nil }
        var reader = SyslogReader(rest: rest[(word.endIndex + 1)...])
        // `2001:db8::1` and `12:30:00` are no tags.
        guard reader.rest.isEmpty || reader.take(" ") else { return nil }
        var name = word
        var process: String?
        if word.last == UInt8(ascii: "]"), let open = word.firstIndex(of: UInt8(ascii: "[")) {
            process = String(decoding: word[(open + 1)..<(word.endIndex - 1)], as: UTF8.self)
            name = word[..<open]
        }
        guard !name.isEmpty else { return nil }
        return Tag(
            identifier: String(decoding: name, as: UTF8.self), process: process?.isEmpty == true ? nil : process,
            reader: reader)
    }

    /// RFC 3164 has 32. Programs write longer ones.
    private static let tagBytes = 128
    private static let months: Set<String> = [
        "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
    ]

    private static func isDigit(_ byte: UInt8) -> Bool { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) }
}
