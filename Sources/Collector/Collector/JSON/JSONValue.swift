import Foundation

/// Any JSON, for what has no fixed shape: bodies of records as telemetry.proto describes them, and bodies of requests.
///
/// Not `Decodable`: `JSONParser` alone reads it, in a time that grows with the bytes.
enum JSONValue: Equatable, Sendable, Encodable {
    case null
    case boolean(Bool)
    case integer(Int64)
    case unsigned(UInt64)
    case real(Double)
    case text(String)
    case array([JSONValue])
    case object([String: JSONValue])

    func encode(to encoder: any Encoder) throws {
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

extension JSONValue {
    /// The body of a request, or what a program of ours has written, as JSON.
    ///
    /// `JSONDecoder` cannot be asked what comes next. A type that takes any JSON has to try one after the other, and
    /// each wrong guess is an error thrown at every level of nesting: a kilobyte then takes seconds.
    /// - Throws: `JSONParser.Fault` for what is no JSON, or over a limit.
    init(parsing bytes: Data, limits: JSONParser.Limits) throws(JSONParser.Fault) {
        let outcome: Result<JSONValue, JSONParser.Fault> = bytes.withUnsafeBytes { bytes in
            var parser = JSONParser(bytes, limits: limits)
            do throws(JSONParser.Fault) { return .success(try parser.document()) } catch { return .failure(error) }
        }
        self = try outcome.get()
    }
}
