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
enum ConfigurationFile {
    /// The settings that may be a list.
    private static let lists = Set(
        Settings.declarations.compactMap { declaration in
            if case .names = declaration.form { declaration.key(Settings.keyStyle) } else { nil }
        })

    /// The settings that have settings inside.
    private static let sections = Set(
        Settings.declarations.compactMap { declaration in
            if case .entries = declaration.form { declaration.key(Settings.keyStyle) } else { nil }
        })

    /// What stands below a key, and the lines of its keys.
    private static func section(_ node: Node, at keys: [String], in file: inout SettingFile) -> GivenSetting.Value? {
        if let mapping = node.mapping {
            var table: [String: GivenSetting.Value] = [:]
            for (key, value) in mapping {
                let name = key.string ?? "?"
                let inside = keys + [name]
                file.lines[inside] = key.mark?.line
                if table[name] != nil { file.note("`\(inside.joined(separator: "."))` is given twice.", at: inside) }
                table[name] = section(value, at: inside, in: &file)
            }
            return .table(table)
        }
        if let list = node.sequence { return .list(list.compactMap { $0.scalar?.string }) }
        if let scalar = node.scalar, node.null == nil { return .text(scalar.string) }
        file.note("`\(keys.joined(separator: "."))` has no value.", at: keys)
        return nil
    }

    static func read(_ path: String) throws(CommandError) -> SettingFile {
        let unreadable = "it is not UTF-8 text"
        guard let bytes = try? PlainText.read(path), let text = String(validating: bytes, as: UTF8.self) else {
            throw CommandError(.usage, "\(path) cannot be read: \(FileFault(path).words(otherwise: unreadable)).")
        }
        return try parse(text, path: path)
    }

    static func parse(_ text: String, path: String) throws(CommandError) -> SettingFile {
        let root: Node?
        do { root = try Yams.compose(yaml: text) } catch {
            // Further lines of the parser's message only show the place.
            let words = "\(error)".split(separator: "\n").first.map(String.init) ?? "unknown"
            throw CommandError(.usage, "\(path) is not YAML: \(words)")
        }
        var file = SettingFile(path: path)
        guard let root, root.null == nil else { return file }
        guard let mapping = root.mapping else {
            throw CommandError(.usage, "\(path) is not a mapping of settings. Write one `name: value` per line.")
        }
        let known = Settings.fileKeys
        for (key, value) in mapping {
            let name = key.string ?? "?"
            file.lines[[name]] = key.mark?.line
            if !known.contains(name) {
                file.note("unknown setting `\(name)`. Known: \(known.joined(separator: ", ")).", at: [name])
            } else if file.values[name] != nil {
                file.note("`\(name)` is given twice.", at: [name])
            } else if let list = value.sequence, lists.contains(name) {
                file.values[name] = .list(list.compactMap { $0.scalar?.string })
            } else if value.mapping != nil, sections.contains(name) {
                file.values[name] = section(value, at: [name], in: &file)
            } else if let scalar = value.scalar, value.null == nil {
                file.values[name] = .text(scalar.string)
            } else {
                file.note("`\(name)` has no single value.", at: [name])
            }
        }
        return file
    }
}

extension Settings {
    static func readFile(_ path: String) throws(CommandError) -> SettingFile { try ConfigurationFile.read(path) }
}
