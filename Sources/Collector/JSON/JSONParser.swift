/// Reads JSON (RFC 8259) in UTF-8, strictly and in one pass. The cost grows only with the number of bytes.
///
/// Everything that a client could make expensive has a limit: nesting, the number of values, the length of names and
/// numbers, and runs of combining characters. Each limit is checked before anything is allocated.
package struct JSONParser {
    package struct Limits: Equatable, Sendable {
        /// The deepest nesting of objects and lists.
        package var depth: Int
        /// The most values of any kind, including objects and lists.
        package var values: Int
        /// The longest name in an object, in bytes.
        package var nameBytes: Int
        /// The longest run of combining characters; `nil` for no limit.
        package var combiningCharacters: Int?

        /// The limits for request bodies of people and scripts. The largest profile has about 5,000 values and 4
        /// levels.
        ///
        /// Comparing and hashing strings needs a time that grows with the square of a run of combining characters.
        /// Unicode's Stream-Safe Text Format (UAX #15) allows 30, more than any language uses.
        package static let request = Limits(depth: 16, values: 16_384, nameBytes: 256, combiningCharacters: 30)
        /// The limits for JSON that protobuf's writer in this program produced.
        package static let own = Limits(depth: 128, values: .max, nameBytes: .max, combiningCharacters: nil)
    }

    package struct Fault: Error, Equatable {
        package enum Reason: Equatable {
            case notJSON
            case notUTF8
            case tooDeep(limit: Int)
            case tooManyValues(limit: Int)
            case nameTooLong(limit: Int)
            case numberTooLong(limit: Int)
            case tooManyCombiningCharacters(limit: Int)
            /// An object contains this name twice.
            case repeatedName(String)
        }

        package var reason: Reason
        /// The offset of the byte, from 0.
        package var place: Int

        /// The name that an object contains twice, if that is the fault.
        package var repeatedName: String? {
            if case .repeatedName(let name) = reason { name } else { nil }
        }
    }

    /// A double needs 25 characters, but some programs write more digits.
    private static let numberBytes = 128

    private let bytes: UnsafeRawBufferPointer
    private let limits: Limits
    private var place = 0
    private var depth = 0
    private var values = 0
    /// The work done: one for each byte read, each value made and each character checked.
    package private(set) var steps = 0

    /// - Parameter bytes: must stay in place during reading.
    package init(_ bytes: UnsafeRawBufferPointer, limits: Limits) {
        self.bytes = bytes
        self.limits = limits
    }

    package mutating func document() throws(Fault) -> JSONValue {
        let value = try value()
        guard next() == nil else { throw fault() }
        return value
    }

    private func fault(_ reason: Fault.Reason = .notJSON, at place: Int? = nil) -> Fault {
        Fault(reason: reason, place: place ?? self.place)
    }

    /// The next byte that is no white space. It is not consumed.
    private mutating func next() -> UInt8? {
        while place < bytes.count {
            steps += 1
            switch bytes[place] {
            case UInt8(ascii: " "), UInt8(ascii: "\n"), UInt8(ascii: "\r"), UInt8(ascii: "\t"): place += 1
            case let byte: return byte
            }
        }
        return nil
    }

    private mutating func require(_ byte: UInt8) throws(Fault) {
        guard next() == byte else { throw fault() }
        place += 1
    }

    private mutating func consume(_ byte: UInt8) -> Bool {
        guard next() == byte else { return false }
        place += 1
        return true
    }

    private mutating func value() throws(Fault) -> JSONValue {
        let first = next()
        steps += 1
        values += 1
        guard values <= limits.values else { throw fault(.tooManyValues(limit: limits.values)) }
        switch first {
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
        steps += length
        guard place + length <= bytes.count, (0..<length).allSatisfy({ bytes[place + $0] == word.utf8Start[$0] }) else {
            throw fault()
        }
        place += length
        return value
    }

    private mutating func object() throws(Fault) -> [String: JSONValue] {
        try enter(UInt8(ascii: "{"))
        defer { depth -= 1 }
        var fields: [String: JSONValue] = [:]
        guard !consume(UInt8(ascii: "}")) else { return fields }
        repeat {
            guard next() == UInt8(ascii: "\"") else { throw fault() }
            let start = place
            let name = try text()
            guard name.utf8.count <= limits.nameBytes else {
                throw fault(.nameTooLong(limit: limits.nameBytes), at: start)
            }
            try require(UInt8(ascii: ":"))
            // Nobody can know which of the two is meant.
            guard fields.updateValue(try value(), forKey: name) == nil else {
                throw fault(.repeatedName(name), at: start)
            }
        } while consume(UInt8(ascii: ","))
        try require(UInt8(ascii: "}"))
        return fields
    }

    private mutating func array() throws(Fault) -> [JSONValue] {
        try enter(UInt8(ascii: "["))
        defer { depth -= 1 }
        var values: [JSONValue] = []
        guard !consume(UInt8(ascii: "]")) else { return values }
        repeat { values.append(try value()) } while consume(UInt8(ascii: ","))
        try require(UInt8(ascii: "]"))
        return values
    }

    private mutating func enter(_ byte: UInt8) throws(Fault) {
        guard depth < limits.depth else { throw fault(.tooDeep(limit: limits.depth)) }
        try require(byte)
        depth += 1
    }

    // MARK: Text

    private mutating func text() throws(Fault) -> String {
        place += 1
        let start = place
        try skipPlainText()
        guard bytes[place] != UInt8(ascii: "\"") else {
            defer { place += 1 }
            return try text(of: UnsafeRawBufferPointer(rebasing: bytes[start..<place]), from: start)
        }
        var unescaped = Array(bytes[start..<place])
        while bytes[place] != UInt8(ascii: "\"") {
            unescaped.append(contentsOf: try escaped().utf8)
            let start = place
            try skipPlainText()
            unescaped.append(contentsOf: bytes[start..<place])
        }
        place += 1
        return try text(of: unescaped, from: start)
    }

    /// Advances to the quote or backslash that ends a run of plain bytes.
    private mutating func skipPlainText() throws(Fault) {
        let start = place
        defer { steps += place - start }
        while place < bytes.count {
            switch bytes[place] {
            case UInt8(ascii: "\""), UInt8(ascii: "\\"): return
            // Control characters must be escaped.
            case 0..<0x20: throw fault()
            default: place += 1
            }
        }
        throw fault()
    }

    private mutating func text(of bytes: some Collection<UInt8>, from start: Int) throws(Fault) -> String {
        steps += bytes.count
        guard let text = String(validating: bytes, as: UTF8.self) else { throw fault(.notUTF8, at: start) }
        guard let limit = limits.combiningCharacters, text.utf8.count > limit, text.utf8.contains(where: { $0 >= 0x80 })
        else { return text }
        var run = 0
        for scalar in text.unicodeScalars {
            steps += 1
            run = scalar.properties.canonicalCombiningClass == .notReordered ? 0 : run + 1
            guard run <= limit else { throw fault(.tooManyCombiningCharacters(limit: limit), at: start) }
        }
        return text
    }

    /// Reads the escape after a backslash.
    private mutating func escaped() throws(Fault) -> Unicode.Scalar {
        guard place + 1 < bytes.count else { throw fault() }
        let letter = bytes[place + 1]
        place += 2
        steps += 2
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
            // The first half of a surrogate pair.
            guard first < 0xDC00, place + 1 < bytes.count, bytes[place] == UInt8(ascii: "\\"),
                bytes[place + 1] == UInt8(ascii: "u")
            else { throw fault() }
            place += 2
            let second = try hexadecimal()
            guard (0xDC00...0xDFFF).contains(second),
                let scalar = Unicode.Scalar(0x10000 + (first - 0xD800) << 10 + (second - 0xDC00))
            else { throw fault() }
            return scalar
        default: throw fault(at: place - 1)
        }
    }

    private mutating func hexadecimal() throws(Fault) -> UInt32 {
        guard place + 4 <= bytes.count else { throw fault() }
        var value: UInt32 = 0
        for byte in bytes[place..<place + 4] {
            switch byte {
            case UInt8(ascii: "0")...UInt8(ascii: "9"): value = value << 4 | UInt32(byte - UInt8(ascii: "0"))
            case UInt8(ascii: "a")...UInt8(ascii: "f"): value = value << 4 | UInt32(byte - UInt8(ascii: "a") + 10)
            case UInt8(ascii: "A")...UInt8(ascii: "F"): value = value << 4 | UInt32(byte - UInt8(ascii: "A") + 10)
            default: throw fault()
            }
        }
        place += 4
        steps += 4
        return value
    }

    // MARK: Numbers

    private mutating func number() throws(Fault) -> JSONValue {
        let start = place
        if byte == UInt8(ascii: "-") { place += 1 }
        // No other number begins with 0.
        if byte == UInt8(ascii: "0") { place += 1 } else { try digits() }
        if byte == UInt8(ascii: ".") {
            place += 1
            try digits()
        }
        if byte == UInt8(ascii: "e") || byte == UInt8(ascii: "E") {
            place += 1
            if byte == UInt8(ascii: "+") || byte == UInt8(ascii: "-") { place += 1 }
            try digits()
        }
        steps += place - start
        guard place - start <= Self.numberBytes else { throw fault(.numberTooLong(limit: Self.numberBytes), at: start) }
        let text = String(decoding: bytes[start..<place], as: UTF8.self)
        if let value = Int64(text) { return .integer(value) }
        if let value = UInt64(text) { return .unsigned(value) }
        guard let value = Double(text), value.isFinite else { throw fault(at: start) }
        return .real(value)
    }

    private var byte: UInt8? { place < bytes.count ? bytes[place] : nil }

    /// Skips digits, at least one.
    private mutating func digits() throws(Fault) {
        let start = place
        while let byte, (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) { place += 1 }
        guard place > start else { throw fault() }
    }
}
