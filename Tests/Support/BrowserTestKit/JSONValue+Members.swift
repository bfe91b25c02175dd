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
        let bytes = Array(String(decoding: message, as: UTF8.self).utf8)
        var mended: [UInt8] = []
        var place = 0
        while place < bytes.count {
            guard bytes[place] == UInt8(ascii: "\\") else {
                mended.append(bytes[place])
                place += 1
                continue
            }
            switch (surrogate(bytes, place), surrogate(bytes, place + 6)) {
            case (.high?, .low?):
                mended += bytes[place..<place + 12]
                place += 12
            case (.some, _):
                mended += Array("\\ufffd".utf8)
                place += 6
            case (nil, _):
                mended += bytes[place..<min(place + 2, bytes.count)]
                place += 2
            }
        }
        return Data(mended)
    }

    private enum Surrogate { case high, low }

    /// What the escape at this place stands for, if for half a pair.
    private static func surrogate(_ bytes: [UInt8], _ place: Int) -> Surrogate? {
        guard place + 6 <= bytes.count, bytes[place] == UInt8(ascii: "\\"), bytes[place + 1] == UInt8(ascii: "u"),
            let unit = UInt16(String(decoding: bytes[place + 2..<place + 6], as: UTF8.self), radix: 16)
        else { return nil }
        switch unit {
        case 0xD800...0xDBFF: return .high
        case 0xDC00...0xDFFF: return .low
        default: return nil
        }
    }
}
