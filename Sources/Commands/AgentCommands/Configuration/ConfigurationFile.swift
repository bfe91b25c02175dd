import CommandKit
import FoundationEssentials
import LogStore
import TelemetryBasics

/// The agent's configuration file: one JSON5 object whose keys are the flags' names in camel case.
enum ConfigurationFile {
    /// A larger file is refused.
    static let maximumBytes = 1024 * 1024

    static func read(_ path: String) throws(CommandError) -> SettingFile {
        guard let bytes = try? Files<FileError>.read(path, maximumBytes: maximumBytes + 1) else {
            throw CommandError(
                .usage, "the configuration file \(path) cannot be read: it must be a file, exist and be readable")
        }
        guard bytes.count <= maximumBytes else {
            throw CommandError(
                .usage, "the configuration file \(path) is too long: at most \(maximumBytes) bytes are read")
        }
        return try parse(Data(bytes), path: path)
    }

    static func parse(_ bytes: Data, path: String) throws(CommandError) -> SettingFile {
        let decoder = JSONDecoder()
        decoder.allowsJSON5 = true
        let text = PlainText.normalized(Array(bytes))
        let object: [String: Entry]
        do { object = try decoder.decode([String: Entry].self, from: Data(text)) } catch {
            throw CommandError(
                .usage, "the configuration file \(path) is not a JSON5 object of settings: \(reason(error, text))",
                cause: error)
        }
        let keys = JSON5Keys(of: text)
        var file = SettingFile(path: path, values: object.mapValues(\.value), lines: keys.lines)
        for key in keys.repeated {
            file.note("'\(key.joined(separator: "."))' is given twice: give it once", at: key)
        }
        let known = AgentSettings.fileKeys
        for key in object.keys.filter({ !known.contains($0) }).sorted() {
            file.note("unknown key '\(key)': known are \(known.sorted().joined(separator: ", "))", at: [key])
        }
        return file
    }

    private static func reason(_ error: any Error, _ text: [UInt8]) -> String {
        switch error {
        case DecodingError.dataCorrupted(let context), DecodingError.keyNotFound(_, let context),
            DecodingError.typeMismatch(_, let context), DecodingError.valueNotFound(_, let context):
            let key = context.codingPath.filter { $0.intValue == nil }.map(\.stringValue)
            // Without a key the text is no JSON5, and the description has the line.
            guard !key.isEmpty else { return context.debugDescription }
            let line = JSON5Keys(of: text).lines[key].map { " (line \($0))" } ?? ""
            return "\(key.joined(separator: "."))\(line): \(context.debugDescription)"
        default: return "\(error)"
        }
    }

    /// A value in one of the forms that settings accept.
    private struct Entry: Decodable {
        let value: GivenSetting.Value

        init(from decoder: any Decoder) throws {
            let container = try decoder.singleValueContainer()
            if let flag = try? container.decode(Bool.self) {
                value = .flag(flag)
            } else if let number = try? container.decode(Double.self) {
                value = .number(number)
            } else if let text = try? container.decode(String.self) {
                value = .text(text)
            } else if let list = try? container.decode([String].self) {
                value = .list(list)
            } else if let table = try? container.decode([String: Entry].self) {
                value = .table(table.mapValues(\.value))
            } else {
                throw DecodingError.dataCorruptedError(
                    in: container,
                    debugDescription: "expected text, a number, true or false, a list of texts, or an object of these")
            }
        }
    }
}

extension AgentSettings {
    static func readFile(_ path: String) throws(CommandError) -> SettingFile { try ConfigurationFile.read(path) }
}
