import Foundation
import Hummingbird
import HummingbirdCore
import JSON
import TelemetryBasics
import WireModel

/// The parameters of a request, each read once by its name in `openapi.yaml`. Unknown parameters are refused, because a
/// misspelt filter that is ignored shows or deletes the wrong data. An empty value, as from an empty variable of a
/// script, is refused too.
struct QueryParameters {
    /// The organization whose data is meant. Every route for people accepts it (`Callers.person`).
    static let organization = "organization"
    /// The value that means all organizations.
    static let allOrganizations = "*"

    static let limits = 1...1000
    static let defaultLimit = 100

    private let values: [String: [String]]
    /// The field of a body that holds them; `nil` for those of the request's target.
    private let field: String?

    /// - Parameter repeated: those of `known` that may occur more than once.
    /// - Throws: `Problem` `invalid-parameter` for a parameter that is unknown, has no value, or is repeated without
    ///   permission.
    init(_ request: Request, known: Set<String>, repeated: Set<String> = []) throws {
        var values: [String: [String]] = [:]
        for (name, value) in try Self.pairs(of: request) {
            guard known.contains(name) || name == Self.organization else {
                throw Problem.invalidParameter(name, "is unknown. Known: \(known.sorted().joined(separator: ", ")).")
            }
            guard !value.isEmpty else {
                throw Problem.invalidParameter(name, "is empty. Give a value, or leave it out.")
            }
            guard values[name] == nil || repeated.contains(name) else {
                throw Problem.invalidParameter(name, "is given twice.")
            }
            values[name, default: []].append(value)
        }
        self.values = values
        field = nil
    }

    /// The same parameters as an object in a body: texts, whole numbers, `true` and `false`.
    /// - Parameter field: where the object is, for messages.
    /// - Throws: `Problem` `invalid-field` for a member that is unknown or has another value.
    init(_ members: [String: JSONValue], field: String, known: Set<String>) throws(Problem) {
        var values: [String: [String]] = [:]
        for (name, value) in members.sorted(by: { $0.key < $1.key }) {
            let place = "\(field).\(name)"
            guard known.contains(name) else {
                throw .invalidField(place, "is unknown. Known: \(known.sorted().joined(separator: ", ")).")
            }
            switch value {
            case .null: continue
            case .boolean(let flag): values[name] = ["\(flag)"]
            case .integer(let number): values[name] = ["\(number)"]
            case .unsigned(let number): values[name] = ["\(number)"]
            case .text(let text) where !text.isEmpty: values[name] = [text]
            case .text: throw .invalidField(place, "is empty. Give a value, or leave it out.")
            case .real, .array, .object: throw .invalidField(place, "is neither a text nor a whole number nor a flag.")
            }
        }
        self.values = values
        self.field = field
    }

    /// The refusal of a value.
    func invalid(_ name: String, _ detail: String) -> Problem {
        field.map { .invalidField("\($0).\(name)", detail) } ?? .invalidParameter(name, detail)
    }

    /// Names and values: split first, then decoded once.
    /// - Throws: `Problem` `invalid-parameter` for invalid percent-encoding of UTF-8.
    private static func pairs(of request: Request) throws(Problem) -> [(name: String, value: String)] {
        var pairs: [(name: String, value: String)] = []
        for part in (request.uri.query ?? "").split(separator: "&") {
            let sides = part.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            let name = String(sides[0])
            guard let decoded = Self.decoded(sides[0]), let value = sides.count == 1 ? "" : Self.decoded(sides[1])
            else { throw .invalidParameter(name, "is not percent-encoded UTF-8: write a `%` as `%25`.") }
            pairs.append((decoded, value))
        }
        return pairs
    }

    /// `nil` for invalid percent-encoding. A plus is a space, as in forms.
    private static func decoded(_ text: Substring) -> String? { text.replacing("+", with: " ").removingPercentEncoding }

    func text(_ name: String) -> String? { texts(name).first }

    /// All values of a name, in order.
    func texts(_ name: String) -> [String] { values[name, default: []] }

    /// Whether a request has a parameter, before the meaning of the others is known.
    static func names(_ name: String, in request: Request) throws(Problem) -> Bool {
        try value(name, in: request) != nil
    }

    /// A parameter's first value, before the meaning of the others is known.
    static func value(_ name: String, in request: Request) throws(Problem) -> String? {
        try pairs(of: request).first { $0.name == name }?.value
    }

    func limit() throws -> Int { try integer("limit", Self.limits) ?? Self.defaultLimit }

    func flag(_ name: String) throws -> Bool {
        switch text(name) {
        case nil, "false": return false
        case "true": return true
        case .some(let text): throw invalid(name, "is \(text); expected true or false.")
        }
    }

    func device(_ name: String) throws -> DeviceID? {
        guard let text = text(name) else { return nil }
        guard let device = DeviceID(text) else { throw invalid(name, "is not a device id (a UUID).") }
        return device
    }

    /// Several devices, each named once.
    func devices(_ name: String, most: Int) throws -> [DeviceID] {
        var devices: [DeviceID] = []
        for text in texts(name) {
            guard let device = DeviceID(text) else {
                throw Problem.invalidParameter(name, "is not a device id (a UUID).")
            }
            guard !devices.contains(device) else { throw Problem.invalidParameter(name, "names \(device) twice.") }
            devices.append(device)
        }
        guard devices.count <= most else {
            throw Problem.invalidParameter(name, "is given \(devices.count) times; expected at most \(most).")
        }
        return devices
    }

    /// A number in a range.
    func integer(_ name: String, _ range: ClosedRange<Int>) throws -> Int? {
        guard let text = text(name) else { return nil }
        guard let number = Int(text), range.contains(number) else {
            throw Problem.invalidParameter(
                name, "is \(text); expected \(range.lowerBound) to \(range.upperBound).")
        }
        return number
    }

    /// A time, microseconds since 1970.
    func time(_ name: String) throws -> Int64? {
        guard let text = text(name) else { return nil }
        // The unescaped "+" of an offset has become a space.
        guard let time = Timestamp.parse(text.replacing(" ", with: "+")) else {
            throw invalid(name, "is \(text); expected a time such as 2026-01-31T12:00:00.000000Z.")
        }
        return time
    }

    /// Reads one of a few words; `nil` if the parameter is absent.
    func choice<Value>(_ name: String, _ values: [(word: String, value: Value)]) throws -> Value? {
        guard let text = text(name) else { return nil }
        guard let found = values.first(where: { $0.word == text }) else {
            throw invalid(name, "must be one of \(values.map(\.word).joined(separator: ", ")).")
        }
        return found.value
    }

    func cursor() throws -> PageCursor? {
        guard let text = text("cursor") else { return nil }
        guard let cursor = PageCursor(text) else {
            throw invalid("cursor", "is not one that this collector gave.")
        }
        return cursor
    }
}
