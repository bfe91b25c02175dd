/// Reads marshalled values. For any bytes it ends with a value or `nil`. It reads nothing twice, and values nest at
/// most ``maximumDepth`` deep.
struct DBusReader {
    /// The specification allows 32 arrays and 32 structures. What we ask for nests at most 5 deep.
    static let maximumDepth = 16

    private let bytes: ArraySlice<UInt8>
    private let isLittleEndian: Bool
    /// The origin of alignment.
    private let start: Int
    private(set) var position: Int

    /// - Parameter bytes: begin at the origin of alignment, which is the start of a message or of its body.
    init(_ bytes: ArraySlice<UInt8>, isLittleEndian: Bool) {
        self.bytes = bytes
        self.isLittleEndian = isLittleEndian
        start = bytes.startIndex
        position = bytes.startIndex
    }

    /// Bytes read so far.
    var offset: Int { position - start }

    /// Reads one value of each type in the signature.
    mutating func values(_ signature: String) -> [DBusValue]? {
        var types = Array(signature.utf8)[...]
        var values: [DBusValue] = []
        while !types.isEmpty {
            guard let type = Self.takeType(&types, depth: 0), let value = value(type, depth: 0) else { return nil }
            values.append(value)
        }
        return values
    }

    mutating func byte() -> UInt8? {
        guard position < bytes.endIndex else { return nil }
        defer { position += 1 }
        return bytes[position]
    }

    mutating func uint32() -> UInt32? { number(4).map { UInt32(truncatingIfNeeded: $0) } }

    mutating func align(_ alignment: Int) -> Bool {
        let padded = start + (position - start + alignment - 1) / alignment * alignment
        guard padded <= bytes.endIndex else { return false }
        position = padded
        return true
    }

    mutating func signature() -> String? {
        guard let length = byte() else { return nil }
        return text(Int(length))
    }

    mutating func string() -> String? {
        guard let length = uint32() else { return nil }
        return text(Int(length))
    }

    private mutating func text(_ length: Int) -> String? {
        guard bytes.endIndex - position > length, bytes[position + length] == 0 else { return nil }
        defer { position += length + 1 }
        return String(validating: bytes[position..<(position + length)], as: UTF8.self)
    }

    private mutating func number(_ size: Int) -> UInt64? {
        guard align(size), bytes.endIndex - position >= size else { return nil }
        let part = bytes[position..<(position + size)]
        position += size
        return isLittleEndian
            ? part.reversed().reduce(0) { $0 << 8 | UInt64($1) } : part.reduce(0) { $0 << 8 | UInt64($1) }
    }

    private mutating func value(_ type: ArraySlice<UInt8>, depth: Int) -> DBusValue? {
        guard depth < Self.maximumDepth, let first = type.first else { return nil }
        switch Character(UnicodeScalar(first)) {
        case "y": return byte().map { .unsigned(UInt64($0)) }
        case "b": return uint32().flatMap { $0 <= 1 ? .boolean($0 == 1) : nil }
        case "q": return number(2).map { .unsigned($0) }
        case "u", "h": return number(4).map { .unsigned($0) }
        case "t": return number(8).map { .unsigned($0) }
        case "n": return number(2).map { .signed(Int64(Int16(truncatingIfNeeded: $0))) }
        case "i": return number(4).map { .signed(Int64(Int32(truncatingIfNeeded: $0))) }
        case "x": return number(8).map { .signed(Int64(bitPattern: $0)) }
        case "d": return number(8).map { .double(Double(bitPattern: $0)) }
        case "s", "o": return string().map { .text($0) }
        case "g": return signature().map { .text($0) }
        case "v": return variant(depth: depth)
        case "a": return array(of: type.dropFirst(), depth: depth)
        case "(": return structure(type.dropFirst().dropLast(), depth: depth)
        default: return nil
        }
    }

    private mutating func variant(depth: Int) -> DBusValue? {
        guard let signature = signature() else { return nil }
        var types = Array(signature.utf8)[...]
        guard let type = Self.takeType(&types, depth: 0), types.isEmpty else { return nil }
        return value(type, depth: depth + 1)
    }

    private mutating func structure(_ types: ArraySlice<UInt8>, depth: Int) -> DBusValue? {
        guard align(8) else { return nil }
        var types = types
        var members: [DBusValue] = []
        while !types.isEmpty {
            guard let type = Self.takeType(&types, depth: depth), let member = value(type, depth: depth + 1) else {
                return nil
            }
            members.append(member)
        }
        return .structure(members)
    }

    private mutating func array(of element: ArraySlice<UInt8>, depth: Int) -> DBusValue? {
        guard let first = element.first, let length = uint32(), align(Self.alignment(first)),
            length <= UInt32(bytes.endIndex - position)
        else { return nil }
        let end = position + Int(length)
        let isDictionary = first == UInt8(ascii: "{")
        var elements: [DBusValue] = []
        var entries: [String: DBusValue] = [:]
        while position < end {
            let before = position
            if isDictionary {
                var types = element.dropFirst().dropLast()
                guard align(8), let keyType = Self.takeType(&types, depth: depth),
                    let valueType = Self.takeType(&types, depth: depth),
                    types.isEmpty, let key = value(keyType, depth: depth + 1),
                    let entry = value(valueType, depth: depth + 1)
                else { return nil }
                if let name = key.textValue { entries[name] = entry }
            } else {
                guard let value = value(element, depth: depth + 1) else { return nil }
                elements.append(value)
            }
            // Every type takes at least one byte. Otherwise the loop would not end.
            guard position > before else { return nil }
        }
        guard position == end else { return nil }
        return isDictionary ? .dictionary(entries) : .array(elements)
    }

    private static func alignment(_ type: UInt8) -> Int {
        switch Character(UnicodeScalar(type)) {
        case "y", "g", "v": 1
        case "n", "q": 2
        case "x", "t", "d", "(", "{": 8
        default: 4
        }
    }

    /// Removes the first complete type from a signature and returns it.
    private static func takeType(_ types: inout ArraySlice<UInt8>, depth: Int) -> ArraySlice<UInt8>? {
        guard depth < maximumDepth, let first = types.first else { return nil }
        let start = types.startIndex
        let whole = types
        types = types.dropFirst()
        switch first {
        case UInt8(ascii: "a"):
            guard takeType(&types, depth: depth + 1) != nil else { return nil }
        case UInt8(ascii: "("), UInt8(ascii: "{"):
            let close = first == UInt8(ascii: "(") ? UInt8(ascii: ")") : UInt8(ascii: "}")
            while types.first != close {
                guard takeType(&types, depth: depth + 1) != nil else { return nil }
            }
            // An empty structure has no size; the specification forbids it.
            guard types.startIndex > start + 1 else { return nil }
            types = types.dropFirst()
        case UInt8(ascii: ")"), UInt8(ascii: "}"): return nil
        default: break
        }
        return whole[start..<types.startIndex]
    }
}

/// A D-Bus value (D-Bus specification, "Marshaling"), reduced to what we ask for.
indirect enum DBusValue: Equatable, Sendable {
    case boolean(Bool)
    case unsigned(UInt64)
    case signed(Int64)
    case double(Double)
    /// Strings, object paths and signatures.
    case text(String)
    case array([DBusValue])
    case structure([DBusValue])
    /// Keys that are not text are left out.
    case dictionary([String: DBusValue])

    subscript(_ key: String) -> DBusValue? {
        if case .dictionary(let entries) = self { entries[key] } else { nil }
    }

    var unsignedValue: UInt64? {
        if case .unsigned(let value) = self { value } else { nil }
    }

    var textValue: String? {
        if case .text(let text) = self { text } else { nil }
    }
}
