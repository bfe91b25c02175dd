import CommandKit
import FoundationEssentials
import LogStore
import TelemetryBasics

/// The agent's configuration file: one JSON5 object whose keys are the flags' names in camel case.
enum ConfigurationFile {
    /// More than this is no configuration file.
    static let maximumBytes = 1024 * 1024

    static func read(_ path: String) throws(CommandError) -> [SettingName: GivenSetting.Value] {
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

    static func parse(_ bytes: Data, path: String) throws(CommandError) -> [SettingName: GivenSetting.Value] {
        let decoder = JSONDecoder()
        decoder.allowsJSON5 = true
        let object: [String: Entry]
        do { object = try decoder.decode([String: Entry].self, from: bytes) } catch {
            throw CommandError(
                .usage, "the configuration file \(path) is not a JSON5 object of settings: \(reason(error))",
                cause: error)
        }
        let names = Dictionary(uniqueKeysWithValues: SettingName.allCases.map { ($0.fileKey, $0) })
        var values: [SettingName: GivenSetting.Value] = [:]
        for (key, entry) in object.sorted(by: { $0.key < $1.key }) {
            guard let name = names[key] else {
                throw CommandError(
                    .usage, "unknown key '\(key)' in \(path); known are \(names.keys.sorted().joined(separator: ", "))")
            }
            values[name] = entry.value
        }
        return values
    }

    private static func reason(_ error: any Error) -> String {
        switch error {
        case DecodingError.dataCorrupted(let context), DecodingError.keyNotFound(_, let context),
            DecodingError.typeMismatch(_, let context), DecodingError.valueNotFound(_, let context):
            let key = context.codingPath.map(\.stringValue).joined(separator: ".")
            return key.isEmpty ? context.debugDescription : "\(key): \(context.debugDescription)"
        default: return "\(error)"
        }
    }

    /// A value of one of the forms that a setting takes.
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
                    debugDescription: "neither text, a number, true or false, a list of texts nor an object of these")
            }
        }
    }
}
