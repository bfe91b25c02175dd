import CommandKit
import Foundation
import TelemetryBasics
import WireModel
import Yams

/// The collector's YAML file: one flat mapping of the settings' names.
///
///     data: /var/lib/ws1collector
///     listen: 0.0.0.0:8420
///     tls-certificate: /etc/ws1collector/certificate.pem
///     tls-key: /etc/ws1collector/key.pem
struct ConfigurationFile: Equatable, Sendable {
    let values: [String: GivenSetting.Value]

    /// The settings that may be a list.
    private static let lists = Set(
        Settings.declarations.compactMap { declaration in
            if case .names = declaration.form { declaration.key(Settings.keyStyle) } else { nil }
        })

    /// - Throws: `CommandError` `.usage` with key and line of all that is anything else.
    init(text: String, path: String) throws(CommandError) {
        let root: Node?
        do { root = try Yams.compose(yaml: text) } catch {
            // Further lines of the parser's message only show the place.
            let words = "\(error)".split(separator: "\n").first.map(String.init) ?? "unknown"
            throw CommandError(.usage, "\(path) is not YAML: \(words)")
        }
        guard let root, root.null == nil else {
            values = [:]
            return
        }
        guard let mapping = root.mapping else {
            throw CommandError(.usage, "\(path) is not a mapping of settings. Write one `name: value` per line.")
        }
        var values: [String: GivenSetting.Value] = [:]
        let known = Settings.fileKeys
        var mistakes: [CommandError] = []
        for (key, value) in mapping {
            let line = key.mark.map { " in line \($0.line)" } ?? ""
            guard let name = key.string, known.contains(name) else {
                mistakes.append(
                    CommandError(
                        .usage,
                        """
                        \(path): unknown setting `\(key.string ?? "?")`\(line). Known: \
                        \(known.joined(separator: ", ")).
                        """
                    ))
                continue
            }
            guard values[name] == nil else {
                mistakes.append(CommandError(.usage, "\(path): `\(name)`\(line) is given twice."))
                continue
            }
            if let list = value.sequence, Self.lists.contains(name) {
                values[name] = .list(list.compactMap { $0.scalar?.string })
                continue
            }
            guard let scalar = value.scalar, value.null == nil else {
                mistakes.append(CommandError(.usage, "\(path): `\(name)`\(line) has no single value."))
                continue
            }
            values[name] = .text(scalar.string)
        }
        try CommandError.throwIfAny(mistakes)
        self.values = values
    }

    init(path: String) throws(CommandError) {
        let text: String
        let unreadable = "it is not UTF-8 text"
        guard let bytes = try? PlainText.read(path), let decoded = String(validating: bytes, as: UTF8.self) else {
            throw CommandError(.usage, "\(path) cannot be read: \(FileFault(path).words(otherwise: unreadable)).")
        }
        text = decoded
        try self.init(text: text, path: path)
    }
}

extension Settings {
    static func readFile(_ path: String) throws(CommandError) -> [String: GivenSetting.Value] {
        try ConfigurationFile(path: path).values
    }
}
