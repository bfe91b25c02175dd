/// Which bytes may not stand in a part of a line, and what stands for them. Schemas/logs/FORMAT.md has the rule.
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

    /// Where the first byte from `start` on lies that is not plain; the end if there is none.
    @inline(__always)
    func plainEnd(_ text: UnsafeBufferPointer<UInt8>, from start: Int = 0) -> Int {
        var position = start
        // Eight at a time; what may not be plain is looked at again, one by one.
        while position + 8 <= text.count {
            let word = UnsafeRawPointer(text.baseAddress! + position).loadUnaligned(as: UInt64.self)
            if Self.mayHoldControl(word, below: self == .message ? 0x20 : 0x21) || Self.mayHold(word, 0x7F)
                || self != .category && Self.mayHold(word, UInt8(ascii: "\\")) || self == .field && Self.mayHold(word, UInt8(ascii: "="))
            {
                break
            }
            position += 8
        }
        while position < text.count, isPlain(text[position]) { position += 1 }
        return position
    }

    /// What stands for a byte that is not plain, outside of a category.
    static func sequence(_ byte: UInt8) -> [UInt8] {
        switch byte {
        case UInt8(ascii: "\n"): Array("\\n".utf8)
        case UInt8(ascii: "\r"): Array("\\r".utf8)
        case UInt8(ascii: "\t"): Array("\\t".utf8)
        case UInt8(ascii: "\\"): Array("\\\\".utf8)
        default: Array("\\u{\(String(byte, radix: 16, uppercase: true))}".utf8)
        }
    }

    // Bit Twiddling Hacks: "Determine if a word has a byte less than n", "... equal to n". Never misses one.

    @inline(__always)
    private static func mayHoldControl(_ word: UInt64, below bound: UInt64) -> Bool {
        (word &- 0x0101_0101_0101_0101 &* bound) & ~word & 0x8080_8080_8080_8080 != 0
    }

    @inline(__always)
    private static func mayHold(_ word: UInt64, _ byte: UInt8) -> Bool {
        mayHoldControl(word ^ (0x0101_0101_0101_0101 &* UInt64(byte)), below: 1)
    }
}
