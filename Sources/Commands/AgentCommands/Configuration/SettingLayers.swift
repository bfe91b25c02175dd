import CommandKit
import DataSampler

/// A setting as somebody gave it, and where: errors name the flag, variable or key to change.
struct GivenSetting: Sendable {
    enum Value: Equatable, Sendable, CustomStringConvertible {
        case text(String)
        case number(Double)
        case flag(Bool)
        case list([String])
        case table([String: Value])

        /// As a message shows it.
        var description: String {
            switch self {
            case .text(let text): "'\(text)'"
            case .number(let number): "\(number)"
            case .flag(let flag): "\(flag)"
            case .list(let list): "[\(list.joined(separator: ", "))]"
            case .table: "an object"
            }
        }
    }

    var value: Value
    /// `--sample-interval`, `WS1_SAMPLE_INTERVAL` or `sampleInterval in FILE`.
    var origin: String
}

/// Flags over environment over file. One look-up for all settings, so that none can differ in its precedence.
struct SettingLayers: Sendable {
    private var given: [SettingName: GivenSetting] = [:]

    /// - Parameter file: the configuration file's keys, and its path for messages.
    init(
        flags: [SettingName: String], environment: [String: String],
        file: (values: [SettingName: GivenSetting.Value], path: String)?
    ) {
        for name in SettingName.allCases {
            if let text = flags[name] {
                given[name] = GivenSetting(value: .text(text), origin: name.flag)
            } else if !name.isTable, let text = environment[name.variable] {
                given[name] = GivenSetting(value: .text(text), origin: name.variable)
            } else if let file, let value = file.values[name] {
                given[name] = GivenSetting(value: value, origin: "\(name.fileKey) in \(file.path)")
            }
        }
    }

    subscript(name: SettingName) -> GivenSetting? { given[name] }

    /// The settings that have another value than in `former`, wherever it is given.
    func changes(from former: SettingLayers) -> [SettingName] {
        SettingName.allCases.filter { self[$0]?.value != former[$0]?.value }
    }
}

/// A given setting as the type that is wanted, or an error that names where it was given and what it may be.
extension GivenSetting {
    func text() throws(CommandError) -> String {
        guard case .text(let text) = value, !text.isEmpty else { throw wrong("a text that is not empty") }
        return text
    }

    func number() throws(CommandError) -> Double {
        switch value {
        case .number(let number): return number
        case .text(let text):
            if let number = Double(text), number.isFinite { return number }
            throw wrong("a number")
        case .flag, .list, .table: throw wrong("a number")
        }
    }

    func seconds(_ range: SecondsRange) throws(CommandError) -> Double {
        guard let seconds = try? number(), range.contains(seconds) else { throw wrong("a number, \(range)") }
        return seconds
    }

    func flag() throws(CommandError) -> Bool {
        switch value {
        case .flag(let flag): return flag
        case .text("true"), .text("yes"), .text("1"): return true
        case .text("false"), .text("no"), .text("0"): return false
        case .text, .number, .list, .table: throw wrong("true or false")
        }
    }

    /// Names in a list, or in a text separated by commas.
    func names(_ what: String) throws(CommandError) -> [String] {
        switch value {
        case .list(let list): return list
        case .text(let text): return text.split(separator: ",").map { $0.trimmingSpaces }
        case .number, .flag, .table: throw wrong("names of \(what), never a number")
        }
    }

    /// One of the names that an enumeration has.
    func choice<Choice: CaseIterable & RawRepresentable>(_ type: Choice.Type) throws(CommandError) -> Choice
    where Choice.RawValue == String {
        if case .text(let text) = value, let choice = Choice(rawValue: text) { return choice }
        throw wrong("one of \(Choice.allCases.map(\.rawValue).joined(separator: ", "))")
    }

    /// The entries of an object, by key, each with its own origin.
    func table(_ example: String) throws(CommandError) -> [(key: String, entry: GivenSetting)] {
        guard case .table(let table) = value else { throw wrong("an object such as \(example)") }
        return table.sorted { $0.key < $1.key }.map {
            ($0.key, GivenSetting(value: $0.value, origin: "\($0.key) of \(origin)"))
        }
    }

    func wrong(_ expected: String) -> CommandError {
        CommandError(.usage, "\(origin) is \(value): it must be \(expected)")
    }

    func unknownKey(_ known: [String]) -> CommandError {
        CommandError(.usage, "unknown key '\(origin)'; known are \(known.joined(separator: ", "))")
    }

    /// Passes the library's objection on, with where the value was given.
    func refused(_ error: DataSamplerError) -> CommandError {
        CommandError(.usage, "\(origin): \(error.message)", cause: error)
    }
}

extension Substring {
    var trimmingSpaces: String { String(drop { $0 == " " }.reversed().drop { $0 == " " }.reversed()) }
}
