import WireModel

/// Builds the text of a line, from its category to its end, in the form it has on disk. It escapes what must be
/// escaped, and cuts a line that grows too long.
struct LineBody {
    /// The most bytes a body may have. The prefix before the body is counted at its longest, so the cut does not depend
    /// on the line's number, which is not known yet.
    static let maximumBytes = LogLimits.lineBytes - (LogLine.numberOffset + numberDigits + 2)
    /// Digits of the longest number.
    private static let numberDigits = 19
    /// Room for the mark of a cut, `…[+N]`.
    private static let markBytes = 25

    private(set) var bytes: [UInt8] = []
    private let limit: Int
    /// Bytes the body would have without a cut.
    private var total = 0
    /// Where to cut: the last border between characters that leaves room for the mark. `nil` while the body fits.
    private var cut: Int?

    init(reserve: Int = 256, limit: Int = maximumBytes) {
        self.limit = limit
        bytes.reserveCapacity(reserve)
    }

    /// Adds the category. An empty one becomes `-`; characters a category may not hold become `_`.
    mutating func addCategory(_ category: UnsafeBufferPointer<UInt8>) {
        if category.isEmpty { return addPlain(CollectionOfOne(UInt8(ascii: "-"))) }
        var length = min(category.count, LogLimits.categoryBytes)
        while length < category.count, length > 0, category[length] & 0xC0 == 0x80 { length -= 1 }
        addPlain(category[..<length].lazy.map { Escape.category.isPlain($0) ? $0 : UInt8(ascii: "_") })
    }

    mutating func addMessage(_ text: UnsafeBufferPointer<UInt8>) {
        addPlain(CollectionOfOne(UInt8(ascii: " ")))
        add(text, .message)
    }

    mutating func addField(_ key: UnsafeBufferPointer<UInt8>, _ value: UnsafeBufferPointer<UInt8>, isFirst: Bool) {
        addPlain(CollectionOfOne(isFirst ? UInt8(ascii: "\t") : UInt8(ascii: " ")))
        add(key, .field)
        addPlain(CollectionOfOne(UInt8(ascii: "=")))
        add(value, .field)
    }

    /// Cuts the body if it is too long. Nothing may be added afterwards.
    /// - Parameter bytes: bytes that the caller left out before; the mark counts them too.
    mutating func finish(leavingOut bytes: Int = 0) {
        if bytes > 0, cut == nil { cut = total }
        total += bytes
        guard total > limit || bytes > 0, let cut else { return }
        self.bytes.removeLast(self.bytes.count - cut)
        self.bytes.append(contentsOf: "…[+\(total - cut)]".utf8)
    }

    private mutating func add(_ text: UnsafeBufferPointer<UInt8>, _ escape: Escape) {
        var position = 0
        while position < text.count {
            let end = escape.plainEnd(text, from: position)
            if end > position { addRun(UnsafeBufferPointer(rebasing: text[position..<end])) }
            position = end
            while position < text.count, !escape.isPlain(text[position]) {
                addPlain(Escape.sequence(text[position]))
                position += 1
            }
        }
    }

    /// Adds text that may be cut between any two characters.
    private mutating func addRun(_ run: UnsafeBufferPointer<UInt8>) {
        let room = limit - Self.markBytes - total
        if cut == nil, run.count > room {
            var length = max(0, room)
            while length > 0, run[length] & 0xC0 == 0x80 { length -= 1 }
            cut = total + length
        }
        bytes.append(contentsOf: run.prefix(max(0, limit - total)))
        total += run.count
    }

    /// Adds a few bytes that a cut must not separate.
    private mutating func addPlain(_ run: some Collection<UInt8>) {
        if cut == nil, total + run.count > limit - Self.markBytes { cut = total }
        if total + run.count <= limit { bytes.append(contentsOf: run) }
        total += run.count
    }
}

/// The texts of a line before they are escaped.
struct LineFields: Equatable, Sendable {
    struct Field: Equatable, Sendable {
        var key: String
        var value: String
    }

    var category: String
    var message: String
    /// The fields in any order. On disk they are sorted by the bytes of their keys.
    var fields: [Field]
    /// Bytes of overlong texts that were left out before.
    var leftOutBytes = 0

    /// The line as it will be on disk, from its category to its end.
    var body: [UInt8] {
        var body = LineBody(reserve: category.utf8.count + message.utf8.count + 32 * fields.count + 16)
        var (category, message) = (category, message)
        category.withUTF8 { body.addCategory($0) }
        message.withUTF8 { body.addMessage($0) }
        for (index, field) in fields.sorted(by: { $0.key.utf8.lexicographicallyPrecedes($1.key.utf8) }).enumerated() {
            var field = field
            field.key.withUTF8 { key in field.value.withUTF8 { value in body.addField(key, value, isFirst: index == 0) }
            }
        }
        body.finish(leavingOut: leftOutBytes)
        return body.bytes
    }
}

/// The bytes that must be escaped in each part of a line, and how. `Schemas/logs/FORMAT.md` states the rule.
enum Escape {
    case category
    case message
    /// A key or value of the metadata.
    case field

    @inline(__always)
    func isPlain(_ byte: UInt8) -> Bool {
        switch self {
        case .category: byte > 0x20 && byte != 0x7F
        case .message: byte >= 0x20 && byte != 0x7F && byte != UInt8(ascii: "\\")
        case .field: byte > 0x20 && byte != 0x7F && byte != UInt8(ascii: "\\") && byte != UInt8(ascii: "=")
        }
    }

    /// The offset of the first byte from `start` on that must be escaped, or the end of the text.
    @inline(__always)
    func plainEnd(_ text: UnsafeBufferPointer<UInt8>, from start: Int = 0) -> Int {
        var position = start
        // Tests eight bytes at a time. A group with a hit is tested again byte by byte.
        while position + 8 <= text.count {
            let word = UnsafeRawPointer(text.baseAddress! + position).loadUnaligned(as: UInt64.self)
            if Self.mayHoldControl(word, below: self == .message ? 0x20 : 0x21) || Self.mayHold(word, 0x7F)
                || self != .category && Self.mayHold(word, UInt8(ascii: "\\"))
                || self == .field && Self.mayHold(word, UInt8(ascii: "="))
            {
                break
            }
            position += 8
        }
        while position < text.count, isPlain(text[position]) { position += 1 }
        return position
    }

    /// The escape sequence of a byte, outside of a category.
    static func sequence(_ byte: UInt8) -> [UInt8] {
        switch byte {
        case UInt8(ascii: "\n"): Array("\\n".utf8)
        case UInt8(ascii: "\r"): Array("\\r".utf8)
        case UInt8(ascii: "\t"): Array("\\t".utf8)
        case UInt8(ascii: "\\"): Array("\\\\".utf8)
        default: Array("\\u{\(String(byte, radix: 16, uppercase: true))}".utf8)
        }
    }

    // From "Bit Twiddling Hacks": "Determine if a word has a byte less than n" and "... equal to n". They may report a
    // byte too many, never one too few.

    @inline(__always)
    private static func mayHoldControl(_ word: UInt64, below bound: UInt64) -> Bool {
        (word &- 0x0101_0101_0101_0101 &* bound) & ~word & 0x8080_8080_8080_8080 != 0
    }

    @inline(__always)
    private static func mayHold(_ word: UInt64, _ byte: UInt8) -> Bool {
        mayHoldControl(word ^ (0x0101_0101_0101_0101 &* UInt64(byte)), below: 1)
    }
}
