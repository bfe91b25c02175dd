import Foundation
import Hummingbird
import HummingbirdCore
import TelemetryBasics
import WireModel

/// The parameters of a request, each read once by the name it has in `openapi.yaml`. What a route does not know is
/// refused: a misspelt filter that is silently ignored shows the wrong data, or deletes it. So is an empty value, which
/// an empty variable of a script makes.
struct QueryParameters {
    static let limits = 1...1000
    static let defaultLimit = 100

    private let values: [String: [String]]

    /// - Parameter repeated: those of `known` that may be given more than once.
    /// - Throws: `Problem` `invalid-parameter` for an unknown one, one without a value, or one that is repeated and may
    ///   not be.
    init(_ request: Request, known: Set<String>, repeated: Set<String> = []) throws {
        var values: [String: [String]] = [:]
        for (name, value) in try Self.pairs(of: request) {
            guard known.contains(name) else {
                throw Problem.invalidParameter(
                    name, "is not known here. Known: \(known.sorted().joined(separator: ", ")).")
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
    }

    /// Names and values as they were meant: split first, then decoded, once.
    /// - Throws: `Problem` `invalid-parameter` for what is no percent-encoding of UTF-8.
    private static func pairs(of request: Request) throws(Problem) -> [(name: String, value: String)] {
        var pairs: [(name: String, value: String)] = []
        for part in (request.uri.query ?? "").split(separator: "&") {
            let sides = part.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            let name = String(sides[0])
            guard let decoded = Self.decoded(sides[0]), let value = sides.count == 1 ? "" : Self.decoded(sides[1])
            else {
                throw .invalidParameter(name, "is not percent-encoded UTF-8: write a `%` as `%25`.")
            }
            pairs.append((decoded, value))
        }
        return pairs
    }

    /// `nil` for what is no percent-encoding. A plus is a space, as forms write it.
    private static func decoded(_ text: Substring) -> String? { text.replacing("+", with: " ").removingPercentEncoding }

    func text(_ name: String) -> String? {
        texts(name).first
    }

    /// Every value given under a name, in order.
    func texts(_ name: String) -> [String] { values[name, default: []] }

    /// Whether a parameter is in a request, before it is known what its others mean.
    static func names(_ name: String, in request: Request) throws(Problem) -> Bool {
        try pairs(of: request).contains { $0.name == name }
    }

    func limit() throws -> Int {
        guard let text = text("limit") else { return Self.defaultLimit }
        guard let limit = Int(text), Self.limits.contains(limit) else {
            throw Problem.invalidParameter(
                "limit", "is \(text); expected \(Self.limits.lowerBound) to \(Self.limits.upperBound).")
        }
        return limit
    }

    func flag(_ name: String) throws -> Bool {
        switch text(name) {
        case nil, "false": return false
        case "true": return true
        case .some(let text): throw Problem.invalidParameter(name, "is \(text); expected true or false.")
        }
    }

    func device(_ name: String) throws -> DeviceID? {
        guard let text = text(name) else { return nil }
        guard let device = DeviceID(text) else { throw Problem.invalidParameter(name, "is not a device id (a UUID).") }
        return device
    }

    /// A time, microseconds since 1970.
    func time(_ name: String) throws -> Int64? {
        guard let text = text(name) else { return nil }
        // An unescaped "+" of an offset has become a space.
        guard let time = Timestamp.parse(text.replacing(" ", with: "+")) else {
            throw Problem.invalidParameter(name, "is \(text); expected a time such as 2026-01-31T12:00:00.000000Z.")
        }
        return time
    }

    func cursor() throws -> PageCursor? {
        guard let text = text("cursor") else { return nil }
        guard let cursor = PageCursor(text) else {
            throw Problem.invalidParameter("cursor", "is not one that this collector gave.")
        }
        return cursor
    }
}
