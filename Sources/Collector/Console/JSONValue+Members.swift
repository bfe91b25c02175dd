import Foundation
import JSON
import WireModel

/// Reading an answer of the API. What is absent or of another kind reads as `null` or `nil`: pages show less then.
extension JSONValue {
    subscript(name: String) -> JSONValue {
        if case .object(let members) = self { members[name] ?? .null } else { .null }
    }

    var text: String? { if case .text(let text) = self { text } else { nil } }

    var items: [JSONValue] { if case .array(let items) = self { items } else { [] } }

    var members: [String: JSONValue] { if case .object(let members) = self { members } else { [:] } }

    var isTrue: Bool { self == .boolean(true) }

    var truth: Bool? { if case .boolean(let value) = self { value } else { nil } }

    var number: Double? {
        switch self {
        case .integer(let value): Double(value)
        case .unsigned(let value): Double(value)
        case .real(let value): value
        default: nil
        }
    }

    var integer: Int64? {
        switch self {
        case .integer(let value): value
        case .unsigned(let value): Int64(exactly: value)
        case .real(let value): Int64(exactly: value)
        default: nil
        }
    }

    /// This object with further members.
    func with(_ members: [String: JSONValue]) -> JSONValue {
        .object(self.members.merging(members) { $1 })
    }

    /// The text on one line.
    var compactText: String { encodedText([]) }

    /// The text for reading, with one member to a line.
    var prettyText: String { encodedText(.prettyPrinted) }

    private func encodedText(_ format: JSONEncoder.OutputFormatting) -> String {
        // Every value of this type can be encoded.
        (try? JSONEncoder.stable(format).encode(self)).map { String(decoding: $0, as: UTF8.self) } ?? ""
    }
}

extension JSONValue? {
    /// A member of a message that a view may have; null without the message.
    subscript(name: String) -> JSONValue { self?[name] ?? .null }
}

extension JSONValue {
    /// `null` for `nil`.
    init(_ text: String?) { self = text.map { .text($0) } ?? .null }
    init(_ number: Int) { self = .integer(Int64(number)) }
}
