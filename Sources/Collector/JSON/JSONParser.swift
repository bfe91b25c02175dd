/// Reads JSON from bytes that stay where they are while it does. They come from protobuf's own writer, or have been found to be JSON, so it
/// tells no place of a fault; nesting is bounded.
struct JSONParser {
    struct Fault: Error {
        /// The name that an object has twice, where that is the fault.
        var repeatedName: String?
    }

    private static let maximumDepth = 128

    private let bytes: UnsafeRawBufferPointer
    private var place = 0
    private var depth = 0

    init(_ bytes: UnsafeRawBufferPointer) {
        self.bytes = bytes
    }

    mutating func document() throws(Fault) -> JSONValue {
        let value = try value()
        guard next() == nil else { throw Fault() }
        return value
    }

    /// The next byte that is not white, without taking it.
    private mutating func next() -> UInt8? {
        while place < bytes.count {
            switch bytes[place] {
            case UInt8(ascii: " "), UInt8(ascii: "\n"), UInt8(ascii: "\r"), UInt8(ascii: "\t"): place += 1
            case let byte: return byte
            }
        }
        return nil
    }

    private mutating func take(_ byte: UInt8) throws(Fault) {
        guard next() == byte else { throw Fault() }
        place += 1
    }

    private mutating func takes(_ byte: UInt8) -> Bool {
        guard next() == byte else { return false }
        place += 1
        return true
    }

    private mutating func value() throws(Fault) -> JSONValue {
        switch next() {
        case UInt8(ascii: "{"): return .object(try object())
        case UInt8(ascii: "["): return .array(try array())
        case UInt8(ascii: "\""): return .text(try text())
        case UInt8(ascii: "t"): return try word("true", .boolean(true))
        case UInt8(ascii: "f"): return try word("false", .boolean(false))
        case UInt8(ascii: "n"): return try word("null", .null)
        default: return try number()
        }
    }

    private mutating func word(_ word: StaticString, _ value: JSONValue) throws(Fault) -> JSONValue {
        let length = word.utf8CodeUnitCount
        guard place + length <= bytes.count, (0..<length).allSatisfy({ bytes[place + $0] == word.utf8Start[$0] }) else { throw Fault() }
        place += length
        return value
    }

    private mutating func object() throws(Fault) -> [String: JSONValue] {
        try enter(UInt8(ascii: "{"))
        defer { depth -= 1 }
        var fields: [String: JSONValue] = [:]
        guard !takes(UInt8(ascii: "}")) else { return fields }
        repeat {
            guard next() == UInt8(ascii: "\"") else { throw Fault() }
            let name = try text()
            try take(UInt8(ascii: ":"))
            // Which of two is meant nobody can tell.
            guard fields.updateValue(try value(), forKey: name) == nil else { throw Fault(repeatedName: name) }
        } while takes(UInt8(ascii: ","))
        try take(UInt8(ascii: "}"))
        return fields
    }

    private mutating func array() throws(Fault) -> [JSONValue] {
        try enter(UInt8(ascii: "["))
        defer { depth -= 1 }
        var values: [JSONValue] = []
        guard !takes(UInt8(ascii: "]")) else { return values }
        repeat { values.append(try value()) } while takes(UInt8(ascii: ","))
        try take(UInt8(ascii: "]"))
        return values
    }

    private mutating func enter(_ byte: UInt8) throws(Fault) {
        try take(byte)
        depth += 1
        guard depth <= Self.maximumDepth else { throw Fault() }
    }

    private mutating func text() throws(Fault) -> String {
        place += 1
        let start = place
        while place < bytes.count, bytes[place] != UInt8(ascii: "\""), bytes[place] != UInt8(ascii: "\\") { place += 1 }
        guard place < bytes.count else { throw Fault() }
        var text = String(decoding: bytes[start..<place], as: UTF8.self)
        while bytes[place] != UInt8(ascii: "\"") {
            text.unicodeScalars.append(try escaped())
            let start = place
            while place < bytes.count, bytes[place] != UInt8(ascii: "\""), bytes[place] != UInt8(ascii: "\\") { place += 1 }
            guard place < bytes.count else { throw Fault() }
            text += String(decoding: bytes[start..<place], as: UTF8.self)
        }
        place += 1
        return text
    }

    /// After a backslash.
    private mutating func escaped() throws(Fault) -> Unicode.Scalar {
        guard place + 1 < bytes.count else { throw Fault() }
        let letter = bytes[place + 1]
        place += 2
        switch letter {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"): return Unicode.Scalar(letter)
        case UInt8(ascii: "b"): return "\u{8}"
        case UInt8(ascii: "f"): return "\u{C}"
        case UInt8(ascii: "n"): return "\n"
        case UInt8(ascii: "r"): return "\r"
        case UInt8(ascii: "t"): return "\t"
        case UInt8(ascii: "u"):
            let first = try hexadecimal()
            if let scalar = Unicode.Scalar(first) { return scalar }
            // The first half of a pair.
            guard first < 0xDC00, place + 1 < bytes.count, bytes[place] == UInt8(ascii: "\\"), bytes[place + 1] == UInt8(ascii: "u") else {
                throw Fault()
            }
            place += 2
            let second = try hexadecimal()
            guard (0xDC00...0xDFFF).contains(second),
                let scalar = Unicode.Scalar(0x10000 + (first - 0xD800) << 10 + (second - 0xDC00))
            else { throw Fault() }
            return scalar
        default: throw Fault()
        }
    }

    private mutating func hexadecimal() throws(Fault) -> UInt32 {
        guard place + 4 <= bytes.count,
            let value = UInt32(String(decoding: bytes[place..<place + 4], as: UTF8.self), radix: 16)
        else { throw Fault() }
        place += 4
        return value
    }

    private mutating func number() throws(Fault) -> JSONValue {
        let start = place
        while place < bytes.count {
            switch bytes[place] {
            case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "+"), UInt8(ascii: "."), UInt8(ascii: "e"),
                UInt8(ascii: "E"):
                place += 1
                continue
            default: break
            }
            break
        }
        let text = String(decoding: bytes[start..<place], as: UTF8.self)
        if let value = Int64(text) { return .integer(value) }
        if let value = UInt64(text) { return .unsigned(value) }
        guard let value = Double(text) else { throw Fault() }
        return .real(value)
    }
}
