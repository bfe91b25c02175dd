import Foundation
import JSON
import TelemetryBasics
import WireModel

/// Reads the fields of a JSON object by name and type. Errors name the position: `sampling.modules[2]`.
///
/// It remembers which fields were read. `finish` refuses the others, so a misspelt field is never ignored.
struct FieldReader {
    let path: String
    private let fields: [String: JSONValue]
    private var known: Set<String> = []

    /// - Throws: `Problem` `malformed` if the body is no JSON object.
    init(body: Data) throws(Problem) { try self.init(Self.parse(body)) }

    /// - Throws: `Problem` `malformed` if the body is no JSON, or exceeds a limit of the parser.
    static func parse(_ body: Data) throws(Problem) -> JSONValue {
        // A file that is sent as it is may begin with one.
        let mark = PlainText.byteOrderMark
        let body = body.starts(with: mark) ? Data(body.dropFirst(mark.count)) : body
        do throws(JSONParser.Fault) { return try JSONValue(parsing: body, limits: .request) } catch {
            throw .malformed(error, in: body)
        }
    }

    /// - Throws: `Problem` `malformed` if the value is no object.
    init(_ value: JSONValue) throws(Problem) {
        guard case .object(let fields) = value else { throw .malformed("The body is not a JSON object.") }
        self.init(path: "", fields: fields)
    }

    private init(path: String, fields: [String: JSONValue]) {
        self.path = path
        self.fields = fields
    }

    /// The position of a field, for messages.
    func place(_ name: String) -> String { path.isEmpty ? name : "\(path).\(name)" }

    /// The names of the fields.
    var names: [String] { fields.keys.sorted() }

    /// `nil` if it is absent or null.
    mutating func value(_ name: String) -> JSONValue? {
        known.insert(name)
        let value = fields[name]
        return value == .null ? nil : value
    }

    mutating func text(_ name: String) throws(Problem) -> String? {
        try value(name).map { value throws(Problem) in try Self.text(value, place(name)) }
    }

    mutating func flag(_ name: String) throws(Problem) -> Bool? {
        try value(name).map { value throws(Problem) -> Bool in
            guard case .boolean(let flag) = value else { throw .invalidField(place(name), "must be true or false.") }
            return flag
        }
    }

    mutating func number(_ name: String) throws(Problem) -> Double? {
        try value(name).map { value throws(Problem) -> Double in
            switch value {
            case .integer(let number): return Double(number)
            case .unsigned(let number): return Double(number)
            case .real(let number): return number
            default: throw .invalidField(place(name), "is not a number.")
            }
        }
    }

    /// A whole number in a range. It may be a string, because protobuf's JSON writes 64-bit numbers so.
    mutating func integer<Number: FixedWidthInteger & Sendable>(_ name: String, _ range: ClosedRange<Number>)
        throws(Problem) -> Number?
    {
        try value(name).map { value throws(Problem) -> Number in
            let number: Number? =
                switch value {
                case .integer(let number): Number(exactly: number)
                case .unsigned(let number): Number(exactly: number)
                case .real(let number): Number(exactly: number)
                case .text(let text): Number(text)
                default: nil
                }
            guard let number, range.contains(number) else {
                throw .invalidField(
                    place(name), "is not a whole number from \(range.lowerBound) to \(range.upperBound).")
            }
            return number
        }
    }

    /// A time in microseconds since 1970, written as RFC 3339.
    mutating func time(_ name: String) throws(Problem) -> Int64? {
        try text(name).map { text throws(Problem) -> Int64 in
            guard let time = Timestamp.parse(text) else {
                throw .invalidField(place(name), "is not a time such as 2026-01-31T12:00:00.000000Z.")
            }
            return time
        }
    }

    mutating func object(_ name: String) throws(Problem) -> FieldReader? {
        try value(name).map { value throws(Problem) in try Self.object(value, place(name)) }
    }

    mutating func objects(_ name: String) throws(Problem) -> [FieldReader] {
        var readers: [FieldReader] = []
        for (position, value) in try list(name).enumerated() {
            readers.append(try Self.object(value, "\(place(name))[\(position)]"))
        }
        return readers
    }

    mutating func texts(_ name: String) throws(Problem) -> [String] {
        var texts: [String] = []
        for (position, value) in try list(name).enumerated() {
            texts.append(try Self.text(value, "\(place(name))[\(position)]"))
        }
        return texts
    }

    private mutating func list(_ name: String) throws(Problem) -> [JSONValue] {
        guard let value = value(name) else { return [] }
        guard case .array(let values) = value else { throw .invalidField(place(name), "is not a list.") }
        return values
    }

    /// - Throws: `Problem` for the first field that was not read.
    func finish() throws(Problem) {
        guard let name = fields.keys.sorted().first(where: { !known.contains($0) }) else { return }
        throw .invalidField(place(name), "is unknown. Known: \(known.sorted().joined(separator: ", ")).")
    }

    private static func text(_ value: JSONValue, _ place: String) throws(Problem) -> String {
        guard case .text(let text) = value else { throw .invalidField(place, "is not a string.") }
        return text
    }

    private static func object(_ value: JSONValue, _ place: String) throws(Problem) -> FieldReader {
        guard case .object(let fields) = value else { throw .invalidField(place, "is not an object.") }
        return FieldReader(path: place, fields: fields)
    }
}

extension Problem {
    /// The body is no JSON, or exceeds a limit.
    static func malformed(_ fault: JSONParser.Fault, in body: Data) -> Problem {
        let size = "The body of \(body.count) bytes"
        return switch fault.reason {
        case .notJSON where fault.place >= body.count: .malformed("\(size) is not JSON: it ends too early.")
        case .notJSON: .malformed("\(size) is not JSON: byte \(fault.place + 1) is not allowed there.")
        case .notUTF8: .malformed("\(size) is not JSON in UTF-8: the text at byte \(fault.place + 1) is not UTF-8.")
        case .tooDeep(let limit):
            .malformed(
                """
                \(size) is nested too deeply at byte \(fault.place + 1): at most \(limit) levels of objects and lists \
                are allowed.
                """
            )
        case .tooManyValues(let limit): .malformed("\(size) has more than \(limit) values.")
        case .nameTooLong(let limit):
            .malformed("The name at byte \(fault.place + 1) of the body has more than \(limit) bytes.")
        case .numberTooLong(let limit):
            .malformed("The number at byte \(fault.place + 1) of the body has more than \(limit) characters.")
        case .tooManyCombiningCharacters(let limit):
            .malformed(
                "The text at byte \(fault.place + 1) of the body has more than \(limit) combining characters in a row.")
        case .repeatedName(let name):
            .malformed("The body has `\(name.escapingControlCharacters)` twice in one object.")
        }
    }

    /// The value is not possible. - Parameter name: its position in the body.
    static func invalidField(_ name: String, _ detail: String) -> Problem {
        var problem = Problem(
            status: 422, code: .invalidField, title: "Invalid field", detail: "`\(name)` \(detail)", scope: .record)
        problem.field = name
        return problem
    }
}
