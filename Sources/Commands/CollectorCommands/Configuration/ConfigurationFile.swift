import CommandKit
import Configuration
import Foundation
import TelemetryBasics
import WireModel
import Yams

/// The collector's YAML file: one flat mapping of `Setting` names.
///
///     data: /var/lib/ws1collector
///     listen: 0.0.0.0:8420
///     tls-certificate: /etc/ws1collector/certificate.pem
///     tls-key: /etc/ws1collector/key.pem
struct ConfigurationFile: Equatable, Sendable {
    let values: [Setting: String]

    /// - Throws: `CommandError` `.usage` naming key and line where the text is not that.
    init(text: String, path: String) throws(CommandError) {
        let root: Node?
        do { root = try Yams.compose(yaml: text) } catch {
            // The parser's own words show the place on further lines.
            let words = "\(error)".split(separator: "\n").first.map(String.init) ?? "unknown"
            throw CommandError(.usage, "\(path) is not YAML: \(words)")
        }
        guard let root, root.null == nil else {
            values = [:]
            return
        }
        guard let mapping = root.mapping else {
            throw CommandError(.usage, "\(path) is not a mapping of settings. Write one `name: value` a line.")
        }
        var values: [Setting: String] = [:]
        for (key, value) in mapping {
            let line = key.mark.map { " in line \($0.line)" } ?? ""
            guard let name = key.string, let setting = Setting(rawValue: name) else {
                let known = Setting.allCases.map(\.rawValue).joined(separator: ", ")
                throw CommandError(.usage, "\(path): unknown setting `\(key.string ?? "?")`\(line). Known: \(known).")
            }
            guard values[setting] == nil else {
                throw CommandError(.usage, "\(path): `\(name)`\(line) is given twice.")
            }
            guard let scalar = value.scalar, value.null == nil else {
                throw CommandError(.usage, "\(path): `\(name)`\(line) has no single value.")
            }
            values[setting] = scalar.string
        }
        self.values = values
    }

    init(path: String) throws(CommandError) {
        let text: String
        do { text = try String(contentsOfFile: path, encoding: .utf8) } catch {
            throw CommandError(
                .usage, "\(path) cannot be read: \(FileFault(path).words(otherwise: "it is no text in UTF-8")).")
        }
        try self.init(text: text, path: path)
    }

    var provider: InMemoryProvider {
        InMemoryProvider(
            name: "file",
            values: .init(uniqueKeysWithValues: values.map { ($0.key.key, ConfigValue(stringLiteral: $0.value)) }))
    }
}

extension Setting {
    var key: AbsoluteConfigKey { AbsoluteConfigKey([rawValue]) }
}
