import JSON

/// Reads a view from the members that a test names. Every other member is empty: a test says what it is about.
struct FixtureDecoder: Decoder, JSONValueSource {
    let jsonValue: JSONValue
    var codingPath: [any CodingKey] = []
    var userInfo: [CodingUserInfoKey: Any] { [:] }

    static func view<View: Decodable>(_ type: View.Type, from value: JSONValue) throws -> View {
        try FixtureDecoder(jsonValue: value).decode(type)
    }

    /// - Throws: `DecodingError` for a member of another kind, such as a text where a number belongs.
    func decode<View: Decodable>(_ type: View.Type) throws -> View {
        if let simple = try simple(type) { return simple }
        return try View(from: self)
    }

    /// A value that has no parts; `nil` if the type has parts.
    private func simple<Value>(_ type: Value.Type) throws -> Value? {
        switch type {
        case is JSONValue.Type: return jsonValue as? Value
        case is String.Type: return try value("") { if case .text(let text) = $0 { text } else { nil } } as? Value
        case is Bool.Type: return try value(false) { if case .boolean(let flag) = $0 { flag } else { nil } } as? Value
        case is Double.Type: return try value(0) { Self.number($0) } as? Value
        case let type as any FixedWidthInteger.Type: return try integer(type) as? Value
        default: return nil
        }
    }

    private func integer<Number: FixedWidthInteger>(_ type: Number.Type) throws -> Number {
        try value(0) {
            switch $0 {
            case .integer(let value): Number(exactly: value)
            case .unsigned(let value): Number(exactly: value)
            case .real(let value): Number(exactly: value)
            default: nil
            }
        }
    }

    private static func number(_ value: JSONValue) -> Double? {
        switch value {
        case .integer(let value): Double(value)
        case .unsigned(let value): Double(value)
        case .real(let value): value
        default: nil
        }
    }

    private func value<Value>(_ empty: Value, _ read: (JSONValue) -> Value?) throws -> Value {
        if jsonValue == .null { return empty }
        guard let value = read(jsonValue) else {
            throw DecodingError.dataCorrupted(
                .init(codingPath: codingPath, debugDescription: "no \(Value.self): \(jsonValue)"))
        }
        return value
    }

    func container<Key>(keyedBy type: Key.Type) throws -> KeyedDecodingContainer<Key> {
        let members: [String: JSONValue]
        switch jsonValue {
        case .object(let object): members = object
        case .null: members = [:]
        default:
            throw DecodingError.dataCorrupted(
                .init(codingPath: codingPath, debugDescription: "no object: \(jsonValue)"))
        }
        return KeyedDecodingContainer(FixtureMembers(members: members, codingPath: codingPath))
    }

    func unkeyedContainer() throws -> any UnkeyedDecodingContainer {
        switch jsonValue {
        case .array(let items): return FixtureItems(items: items, codingPath: codingPath)
        case .null: return FixtureItems(items: [], codingPath: codingPath)
        default:
            throw DecodingError.dataCorrupted(.init(codingPath: codingPath, debugDescription: "no list: \(jsonValue)"))
        }
    }

    func singleValueContainer() throws -> any SingleValueDecodingContainer { FixtureSingle(source: self) }
}

private struct FixtureMembers<Key: CodingKey>: KeyedDecodingContainerProtocol {
    let members: [String: JSONValue]
    let codingPath: [any CodingKey]
    var allKeys: [Key] { members.keys.compactMap { Key(stringValue: $0) } }

    func contains(_ key: Key) -> Bool { true }
    /// Only for optional members. An absent one is `nil`.
    func decodeNil(forKey key: Key) throws -> Bool { (members[key.stringValue] ?? .null) == .null }

    func decode<Value: Decodable>(_ type: Value.Type, forKey key: Key) throws -> Value {
        try decoder(key).decode(type)
    }

    func nestedContainer<Nested>(keyedBy type: Nested.Type, forKey key: Key) throws -> KeyedDecodingContainer<Nested> {
        try decoder(key).container(keyedBy: type)
    }

    func nestedUnkeyedContainer(forKey key: Key) throws -> any UnkeyedDecodingContainer {
        try decoder(key).unkeyedContainer()
    }

    func superDecoder() throws -> any Decoder { FixtureDecoder(jsonValue: .object(members), codingPath: codingPath) }
    func superDecoder(forKey key: Key) throws -> any Decoder { decoder(key) }

    private func decoder(_ key: Key) -> FixtureDecoder {
        FixtureDecoder(jsonValue: members[key.stringValue] ?? .null, codingPath: codingPath + [key])
    }
}

private struct FixtureItems: UnkeyedDecodingContainer {
    let items: [JSONValue]
    let codingPath: [any CodingKey]
    var currentIndex = 0
    var count: Int? { items.count }
    var isAtEnd: Bool { currentIndex >= items.count }

    init(items: [JSONValue], codingPath: [any CodingKey]) {
        (self.items, self.codingPath) = (items, codingPath)
    }

    private mutating func next() -> FixtureDecoder {
        defer { currentIndex += 1 }
        return FixtureDecoder(jsonValue: items[currentIndex], codingPath: codingPath)
    }

    mutating func decodeNil() throws -> Bool {
        guard !isAtEnd, items[currentIndex] == .null else { return false }
        currentIndex += 1
        return true
    }

    mutating func decode<Value: Decodable>(_ type: Value.Type) throws -> Value { try next().decode(type) }

    mutating func nestedContainer<Nested>(keyedBy type: Nested.Type) throws -> KeyedDecodingContainer<Nested> {
        try next().container(keyedBy: type)
    }

    mutating func nestedUnkeyedContainer() throws -> any UnkeyedDecodingContainer { try next().unkeyedContainer() }
    mutating func superDecoder() throws -> any Decoder { next() }
}

private struct FixtureSingle: SingleValueDecodingContainer {
    let source: FixtureDecoder
    var codingPath: [any CodingKey] { source.codingPath }

    func decodeNil() -> Bool { source.jsonValue == .null }
    func decode<Value: Decodable>(_ type: Value.Type) throws -> Value { try source.decode(type) }
}
