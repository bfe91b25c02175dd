import Foundation
import JSON

/// Reading what the browser reports. What is absent or of another kind reads as `null` or `nil`.
extension JSONValue {
    subscript(name: String) -> JSONValue {
        if case .object(let members) = self { members[name] ?? .null } else { .null }
    }

    var text: String? { if case .text(let text) = self { text } else { nil } }

    var items: [JSONValue] { if case .array(let items) = self { items } else { [] } }

    var members: [String: JSONValue] { if case .object(let members) = self { members } else { [:] } }

    var integer: Int? { number.flatMap { Int(exactly: $0) } }

    var number: Double? {
        switch self {
        case .integer(let value): Double(value)
        case .unsigned(let value): Double(value)
        case .real(let value): value
        case .null, .boolean, .text, .array, .object: nil
        }
    }

    /// The value as it stands in a script.
    var script: String {
        // Every value of this type can be encoded.
        (try? JSONEncoder().encode(self)).map { String(decoding: $0, as: UTF8.self) } ?? "null"
    }

    init(_ number: Int) { self = .integer(Int64(number)) }
}

extension JSONValue {
    /// Parses a message of the browser. A script's string may contain half a surrogate pair, which no text in UTF-8
    /// has; it becomes U+FFFD.
    init(message: Data) throws {
        do {
            self = try JSONValue(parsing: message, limits: .own)
        } catch {
            self = try JSONValue(parsing: Self.mended(message), limits: .own)
        }
    }

    private static func mended(_ message: Data) -> Data {
        // A pair, half a pair, or any other escape.
        let escape = #/\\(?:u[dD][89abAB]..\\u[dD][c-fC-F]..|(u[dD][89a-fA-F]..)|.)/#.matchingSemantics(.unicodeScalar)
        let text = String(decoding: message, as: UTF8.self)
        return Data(text.replacing(escape) { $0.1 == nil ? String($0.0) : "\\ufffd" }.utf8)
    }
}
