/// A setting's value as given, and its origin. Errors name the flag, variable or key to change.
package struct GivenSetting: Sendable {
    package enum Value: Equatable, Sendable, CustomStringConvertible {
        case text(String)
        case number(Double)
        case flag(Bool)
        case list([String])
        case table([String: Value])

        /// The value as messages show it.
        package var description: String {
            switch self {
            case .text(let text): "'\(text)'"
            case .number(let number): "\(number)"
            case .flag(let flag): "\(flag)"
            case .list(let list): "[\(list.joined(separator: ", "))]"
            case .table: "an object"
            }
        }
    }

    package let value: Value
    /// The place, for example `--sample-interval`, `WS1_SAMPLE_INTERVAL` or `sampleInterval in FILE`.
    private let place: String
    /// The path of keys inside an object.
    private let inside: [String]
    private let isSecret: Bool
    /// Lines of the file, by the path of keys inside an object.
    private let line: @Sendable ([String]) -> Int?

    init(
        value: Value, place: String, inside: [String] = [], isSecret: Bool = false,
        line: @escaping @Sendable ([String]) -> Int? = { _ in nil }
    ) {
        self.value = value
        self.place = place
        self.inside = inside
        self.isSecret = isSecret
        self.line = line
    }

    package var origin: String {
        let name = inside.isEmpty ? place : "\(inside.joined(separator: ".")) of \(place)"
        return line(inside).map { "\(name) (line \($0))" } ?? name
    }

    func entry(_ key: String, _ value: Value) -> GivenSetting {
        GivenSetting(value: value, place: place, inside: inside + [key], isSecret: isSecret, line: line)
    }
}

/// Conversions to the wanted type. Errors name the origin and the allowed values.
extension GivenSetting {
    package func text() throws(CommandError) -> String {
        guard case .text(let text) = value, !text.isEmpty else { throw wrong("a text that is not empty") }
        return text
    }

    func number(_ range: SettingRange) throws(CommandError) -> Double {
        let number: Double? =
            switch value {
            case .number(let number): number
            case .text(let text): Double(text)
            case .flag, .list, .table: nil
            }
        guard let number, range.contains(number) else { throw wrong("a number, \(range)") }
        return number
    }

    func flag() throws(CommandError) -> Bool {
        if case .flag(let flag) = value { return flag }
        if case .text(let text) = value {
            if ["true", "yes", "1"].contains(text.lowercased()) { return true }
            if ["false", "no", "0"].contains(text.lowercased()) { return false }
        }
        throw wrong("true or false")
    }

    /// Names in a list, or in a text separated by commas.
    package func names(_ what: String) throws(CommandError) -> [String] {
        switch value {
        case .list(let list): return list
        case .text(let text):
            return text.split(separator: ",").map { $0.trimmingSpaces }
        case .number, .flag, .table: throw wrong("names of \(what), not a number")
        }
    }

    /// Reads the entries of an object, by key, each with its own origin.
    /// - Throws: what is wrong in all of them.
    func forEachEntry(_ read: (String, GivenSetting) throws(CommandError) -> Void) throws(CommandError) {
        guard case .table(let table) = value else { throw wrong("an object") }
        var mistakes: [CommandError] = []
        for (key, value) in table.sorted(by: { $0.key < $1.key }) {
            do throws(CommandError) { try read(key, entry(key, value)) } catch { mistakes.append(error) }
        }
        try CommandError.throwIfAny(mistakes)
    }

    package func wrong(_ expected: String) -> CommandError {
        refused("it must be \(expected)")
    }

    func unknownKey(_ known: [String]) -> CommandError {
        CommandError(.usage, "unknown key \(origin): known are \(known.joined(separator: ", "))")
    }

    /// An error that names the origin, the value and the objection to it.
    package func refused(_ objection: String, cause: (any Error)? = nil) -> CommandError {
        CommandError(.usage, "\(origin)\(isSecret ? "" : " is \(value)"): \(objection)", cause: cause)
    }
}

extension Substring {
    package var trimmingSpaces: String { String(drop { $0 == " " }.reversed().drop { $0 == " " }.reversed()) }
}
