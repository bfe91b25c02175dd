import FoundationEssentials

/// Any JSON value: bodies of records as in telemetry.proto, and bodies of requests.
///
/// Only `JSONParser` reads its text, in a time that grows with the bytes. Decoders of text cannot read it.
package enum JSONValue: Equatable, Sendable, Encodable {
    case null
    case boolean(Bool)
    case integer(Int64)
    case unsigned(UInt64)
    case real(Double)
    case text(String)
    case array([JSONValue])
    case object([String: JSONValue])

    package func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        switch self {
        case .null: try container.encodeNil()
        case .boolean(let value): try container.encode(value)
        case .integer(let value): try container.encode(value)
        case .unsigned(let value): try container.encode(value)
        // JSON has no NaN or infinity.
        case .real(let value): if value.isFinite { try container.encode(value) } else { try container.encodeNil() }
        case .text(let value): try container.encode(value)
        case .array(let value): try container.encode(value)
        case .object(let value): try container.encode(value)
        }
    }
}

/// A decoder of JSON values that are in memory.
package protocol JSONValueSource: Decoder {
    var jsonValue: JSONValue { get }
}

extension JSONValue: Decodable {
    /// - Parameter decoder: a `JSONValueSource`.
    /// - Throws: `DecodingError` for any other decoder.
    package init(from decoder: any Decoder) throws {
        guard let source = decoder as? any JSONValueSource else {
            throw DecodingError.dataCorrupted(
                .init(codingPath: decoder.codingPath, debugDescription: "Only JSONParser reads any JSON."))
        }
        self = source.jsonValue
    }
}

extension JSONValue {
    /// Parses the body of a request, or JSON that this program wrote.
    ///
    /// `JSONDecoder` does not know the type of the next value, so a type for any JSON must try one after the other.
    /// Each wrong guess throws an error at every level of nesting, and then a kilobyte costs seconds.
    /// - Throws: `JSONParser.Fault` if it is no JSON or exceeds a limit.
    package init(parsing bytes: Data, limits: JSONParser.Limits) throws(JSONParser.Fault) {
        let outcome: Result<JSONValue, JSONParser.Fault> = bytes.withUnsafeBytes { bytes in
            var parser = JSONParser(bytes, limits: limits)
            do throws(JSONParser.Fault) { return .success(try parser.document()) } catch { return .failure(error) }
        }
        self = try outcome.get()
    }
}

extension JSONValue: ExpressibleByStringLiteral, ExpressibleByBooleanLiteral, ExpressibleByIntegerLiteral,
    ExpressibleByArrayLiteral, ExpressibleByDictionaryLiteral
{
    package init(stringLiteral value: String) { self = .text(value) }
    package init(booleanLiteral value: Bool) { self = .boolean(value) }
    package init(integerLiteral value: Int64) { self = .integer(value) }
    package init(arrayLiteral elements: JSONValue...) { self = .array(elements) }
    package init(dictionaryLiteral elements: (String, JSONValue)...) {
        self = .object(Dictionary(elements) { $1 })
    }
}
