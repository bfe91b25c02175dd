extension JSONValue {
    /// The value that JSON of `value` would have, without text in between. A member that is `nil` is `null`, where JSON
    /// leaves it out: so all names of a type are there, and a misspelt one can be found.
    ///
    /// A number that is not finite is `null`. What a type's own `encode(to:)` throws ends the program: the collector's
    /// views throw nothing.
    package static func of(_ value: some Encodable) -> JSONValue {
        if let json = value as? JSONValue { return json }
        let place = Place()
        do { try value.encode(to: ValueEncoder(place: place)) } catch {
            preconditionFailure("\(type(of: value)) cannot be encoded: \(error)")
        }
        return place.value
    }
}

/// What an encoder has written at one place. An object or array grows until all of it is encoded.
private final class Place {
    private enum Content {
        case single(JSONValue)
        case members([(name: String, place: Place)])
        case items([Place])
    }

    private var content = Content.single(.null)

    var value: JSONValue {
        switch content {
        case .single(let value): value
        case .members(let members):
            .object(Dictionary(members.map { ($0.name, $0.place.value) }) { $1 })
        case .items(let items): .array(items.map(\.value))
        }
    }

    var count: Int { if case .items(let items) = content { items.count } else { 0 } }

    func set(_ value: JSONValue) { content = .single(value) }

    /// Begins an object or array, or goes on with the one that is there.
    func open(array: Bool) {
        switch (content, array) {
        case (.members, false), (.items, true): break
        case (_, true): content = .items([])
        case (_, false): content = .members([])
        }
    }

    func member(_ name: String) -> Place {
        let place = Place()
        if case .members(var members) = content {
            content = .single(.null)
            members.append((name, place))
            content = .members(members)
        }
        return place
    }

    func item() -> Place {
        let place = Place()
        if case .items(var items) = content {
            content = .single(.null)
            items.append(place)
            content = .items(items)
        }
        return place
    }

    /// Writes a value of any type.
    func put(_ value: some Encodable) throws {
        switch value {
        case let value as JSONValue: set(value)
        case let value as String: set(.text(value))
        case let value as Bool: set(.boolean(value))
        case let value as Double: set(value.isFinite ? .real(value) : .null)
        case let value as Float: set(value.isFinite ? .real(Double(value)) : .null)
        case let value as any BinaryInteger:
            set(Int64(exactly: value).map { .integer($0) } ?? .unsigned(UInt64(clamping: value)))
        default: try value.encode(to: ValueEncoder(place: self))
        }
    }
}

private struct ValueEncoder: Encoder {
    let place: Place
    var codingPath: [any CodingKey] { [] }
    var userInfo: [CodingUserInfoKey: Any] { [:] }

    func container<Key>(keyedBy type: Key.Type) -> KeyedEncodingContainer<Key> {
        place.open(array: false)
        return KeyedEncodingContainer(Members(place: place))
    }

    func unkeyedContainer() -> any UnkeyedEncodingContainer {
        place.open(array: true)
        return Items(place: place)
    }

    func singleValueContainer() -> any SingleValueEncodingContainer { Single(place: place) }
}

private struct Members<Key: CodingKey>: KeyedEncodingContainerProtocol {
    let place: Place
    var codingPath: [any CodingKey] { [] }

    func encodeNil(forKey key: Key) { place.member(key.stringValue).set(.null) }
    func encode(_ value: some Encodable, forKey key: Key) throws { try place.member(key.stringValue).put(value) }

    func encodeIfPresent(_ value: (some Encodable)?, forKey key: Key) throws {
        if let value { try encode(value, forKey: key) } else { encodeNil(forKey: key) }
    }
    // The types that have a requirement of their own.
    func encodeIfPresent(_ value: Bool?, forKey key: Key) throws { try optional(value, key) }
    func encodeIfPresent(_ value: String?, forKey key: Key) throws { try optional(value, key) }
    func encodeIfPresent(_ value: Double?, forKey key: Key) throws { try optional(value, key) }
    func encodeIfPresent(_ value: Float?, forKey key: Key) throws { try optional(value, key) }
    func encodeIfPresent(_ value: Int?, forKey key: Key) throws { try optional(value, key) }
    func encodeIfPresent(_ value: Int8?, forKey key: Key) throws { try optional(value, key) }
    func encodeIfPresent(_ value: Int16?, forKey key: Key) throws { try optional(value, key) }
    func encodeIfPresent(_ value: Int32?, forKey key: Key) throws { try optional(value, key) }
    func encodeIfPresent(_ value: Int64?, forKey key: Key) throws { try optional(value, key) }
    func encodeIfPresent(_ value: UInt?, forKey key: Key) throws { try optional(value, key) }
    func encodeIfPresent(_ value: UInt8?, forKey key: Key) throws { try optional(value, key) }
    func encodeIfPresent(_ value: UInt16?, forKey key: Key) throws { try optional(value, key) }
    func encodeIfPresent(_ value: UInt32?, forKey key: Key) throws { try optional(value, key) }
    func encodeIfPresent(_ value: UInt64?, forKey key: Key) throws { try optional(value, key) }

    private func optional(_ value: (some Encodable)?, _ key: Key) throws {
        if let value { try place.member(key.stringValue).put(value) } else { encodeNil(forKey: key) }
    }

    func nestedContainer<Nested>(
        keyedBy type: Nested.Type, forKey key: Key
    ) -> KeyedEncodingContainer<Nested> {
        ValueEncoder(place: place.member(key.stringValue)).container(keyedBy: type)
    }

    func nestedUnkeyedContainer(forKey key: Key) -> any UnkeyedEncodingContainer {
        ValueEncoder(place: place.member(key.stringValue)).unkeyedContainer()
    }

    func superEncoder() -> any Encoder { ValueEncoder(place: place.member("super")) }
    func superEncoder(forKey key: Key) -> any Encoder { ValueEncoder(place: place.member(key.stringValue)) }
}

private struct Items: UnkeyedEncodingContainer {
    let place: Place
    var codingPath: [any CodingKey] { [] }
    var count: Int { place.count }

    func encodeNil() { place.item().set(.null) }
    func encode(_ value: some Encodable) throws { try place.item().put(value) }

    func nestedContainer<Nested>(keyedBy type: Nested.Type) -> KeyedEncodingContainer<Nested> {
        ValueEncoder(place: place.item()).container(keyedBy: type)
    }

    func nestedUnkeyedContainer() -> any UnkeyedEncodingContainer {
        ValueEncoder(place: place.item()).unkeyedContainer()
    }

    func superEncoder() -> any Encoder { ValueEncoder(place: place.item()) }
}

private struct Single: SingleValueEncodingContainer {
    let place: Place
    var codingPath: [any CodingKey] { [] }

    func encodeNil() { place.set(.null) }
    func encode(_ value: some Encodable) throws { try place.put(value) }
}
