import FoundationEssentials

extension DataSamplerProfile {
    /// One value of ``customPayload``.
    ///
    /// A payload that is a JSON object has its members; a dot leads into an object: `door.opening`. Any other payload
    /// is read as lines of `key = value` or `key: value`; the first line with the key counts, and `#` begins a comment
    /// line.
    ///
    /// - Parameter key: of the value.
    /// - Returns: a string as it is, anything else as JSON; `nil` if there is no payload or no such key.
    public func customPayloadValue(_ key: String) -> String? {
        guard let customPayload else { return nil }
        if let value = JSONValue(customPayload), case .object = value { return value.member(key)?.text }
        for line in customPayload.split(whereSeparator: \.isNewline) {
            let line = line.trimmed
            guard !line.hasPrefix("#"), let end = line.firstIndex(where: { $0 == "=" || $0 == ":" }),
                line[..<end].trimmed == key
            else { continue }
            return String(line[line.index(after: end)...].trimmed)
        }
        return nil
    }
}

extension Substring {
    fileprivate var trimmed: Substring {
        var rest = drop { $0.isWhitespace }
        while rest.last?.isWhitespace == true { rest.removeLast() }
        return rest
    }
}

/// Any JSON.
package enum JSONValue: Codable, Equatable, Sendable {
    case null
    case bool(Bool)
    case integer(Int64)
    case number(Double)
    case string(String)
    case array([JSONValue])
    case object([String: JSONValue])

    /// `nil` if the text is no JSON.
    package init?(_ text: String) { self.init(Data(text.utf8)) }

    package init?(_ bytes: Data) {
        guard let value = try? JSONDecoder().decode(JSONValue.self, from: bytes) else { return nil }
        self = value
    }

    package init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        if container.decodeNil() {
            self = .null
        } else if let value = try? container.decode(Bool.self) {
            self = .bool(value)
        } else if let value = try? container.decode(Int64.self) {
            self = .integer(value)
        } else if let value = try? container.decode(Double.self) {
            self = .number(value)
        } else if let value = try? container.decode(String.self) {
            self = .string(value)
        } else if let value = try? container.decode([JSONValue].self) {
            self = .array(value)
        } else {
            self = .object(try container.decode([String: JSONValue].self))
        }
    }

    package func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        switch self {
        case .null: try container.encodeNil()
        case .bool(let value): try container.encode(value)
        case .integer(let value): try container.encode(value)
        case .number(let value): try container.encode(value)
        case .string(let value): try container.encode(value)
        case .array(let value): try container.encode(value)
        case .object(let value): try container.encode(value)
        }
    }

    /// The member of that name, or else the one that the name leads to by its dots.
    fileprivate func member(_ key: String) -> JSONValue? {
        guard case .object(let members) = self else { return nil }
        if let value = members[key] { return value }
        guard let dot = key.firstIndex(of: ".") else { return nil }
        return members[String(key[..<dot])]?.member(String(key[key.index(after: dot)...]))
    }

    fileprivate var text: String {
        if case .string(let text) = self { return text }
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        return (try? encoder.encode(self)).map { String(decoding: $0, as: UTF8.self) } ?? "null"
    }

    /// All strings inside, keys of objects excepted.
    package var strings: [String] {
        switch self {
        case .null, .bool, .integer, .number: []
        case .string(let text): [text]
        case .array(let values): values.flatMap(\.strings)
        case .object(let members): members.sorted { $0.key < $1.key }.flatMap(\.value.strings)
        }
    }

    /// A copy with each member of an object changed, the innermost ones first.
    package func mapMembers(_ change: (_ name: String, JSONValue) -> JSONValue) -> JSONValue {
        switch self {
        case .null, .bool, .integer, .number, .string: return self
        case .array(let values): return .array(values.map { $0.mapMembers(change) })
        case .object(let members):
            var changed = members
            for (name, value) in members { changed[name] = change(name, value.mapMembers(change)) }
            return .object(changed)
        }
    }

    /// A copy with each string and each key changed.
    package func mapStrings(_ change: (String) -> String) -> JSONValue {
        switch self {
        case .null, .bool, .integer, .number: self
        case .string(let text): .string(change(text))
        case .array(let values): .array(values.map { $0.mapStrings(change) })
        case .object(let members):
            .object(
                Dictionary(members.map { (change($0.key), $0.value.mapStrings(change)) }) { first, _ in first })
        }
    }
}
