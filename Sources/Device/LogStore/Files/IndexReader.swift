/// Takes an index's text apart from the front; nothing it meets makes it fail but by `nil` or `false`.
struct IndexReader {
    private var bytes: ArraySlice<UInt8>
    /// No number of an index is greater, so two of them can be added.
    private static let greatest = 1 << 62

    init(bytes: ArraySlice<UInt8>) { self.bytes = bytes }

    var isAtEnd: Bool { bytes.isEmpty }

    /// Whether this comes next; it is taken then.
    mutating func take(_ text: String) -> Bool {
        guard bytes.starts(with: text.utf8) else { return false }
        bytes = bytes.dropFirst(text.utf8.count)
        return true
    }

    /// Decimal digits.
    mutating func number() -> Int? {
        var value = 0
        var end = bytes.startIndex
        while end < bytes.endIndex {
            let digit = bytes[end] &- UInt8(ascii: "0")
            guard digit < 10 else { break }
            guard value <= (Self.greatest - 9) / 10 else { return nil }
            value = value * 10 + Int(digit)
            end += 1
        }
        guard end > bytes.startIndex else { return nil }
        bytes = bytes[end...]
        return value
    }

    /// That many, each after a space.
    mutating func numbers(_ count: Int) -> [Int]? {
        var values: [Int] = []
        values.reserveCapacity(count)
        for _ in 0..<count {
            guard take(" "), let value = number() else { return nil }
            values.append(value)
        }
        return values
    }

    mutating func hexadecimal(bytes count: Int) -> [UInt8]? {
        guard bytes.count >= 2 * count else { return nil }
        var result: [UInt8] = []
        for position in stride(from: bytes.startIndex, to: bytes.startIndex + 2 * count, by: 2) {
            guard let high = Self.digit(bytes[position]), let low = Self.digit(bytes[position + 1]) else { return nil }
            result.append(high << 4 | low)
        }
        bytes = bytes.dropFirst(2 * count)
        return result
    }

    private static func digit(_ byte: UInt8) -> UInt8? {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): byte - UInt8(ascii: "0")
        case UInt8(ascii: "a")...UInt8(ascii: "f"): byte - UInt8(ascii: "a") + 10
        default: nil
        }
    }
}
