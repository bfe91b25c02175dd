import ArgumentParser
import Foundation
import Testing

@testable import CommandKit

/// The files that describe to people what a program can be set to, made from its table.
struct SettingDocuments {
    let settings: [SettingDeclaration]
    let style: SettingKeyStyle
    /// The settings that have no default and must be given.
    let required: Set<String>

    init<Settings: ProgramSettings>(_ program: Settings.Type, required: Set<String>) {
        settings = Settings.declarations
        style = Settings.keyStyle
        self.required = required
    }

    private var inFile: [SettingDeclaration] { settings.filter { $0.places.contains(.file) } }

    func standing(_ setting: SettingDeclaration) -> String {
        required.contains(setting.name) ? "required" : setting.defaultText ?? "none"
    }

    /// A table in Markdown.
    /// - Parameter isByKey: whether settings are named by their keys in the file, instead of their flags.
    func table(_ settings: [SettingDeclaration], isByKey: Bool = false) -> [String] {
        let rows = settings.map { setting in
            let flag = setting.flag + (setting.valueName.map { " <\($0)>" } ?? "")
            let cells = [
                "`\(isByKey ? setting.key(style) : flag)`", standing(setting), setting.form.words,
                setting.reload.rawValue, setting.help,
            ]
            return "| \(cells.joined(separator: " | ")) |"
        }
        return ["", "| setting | default | range | on reload | meaning |", "|---|---|---|---|---|"] + rows + [""]
    }

    /// All settings of the file with what `--help` says of them, each commented out with its default or an example.
    /// - Parameter given: those that are not commented out.
    func example(comment: String, indent: String = "", given: Set<String> = []) -> [String] {
        let isJSON = style == .camelCase
        return inFile.reduce(into: [""]) { lines, setting in
            let text = setting.example ?? setting.defaultText ?? ""
            let value = isJSON ? setting.form.json5(text) + "," : text
            let mark = given.contains(setting.name) ? "" : comment + " "
            lines += setting.argumentHelp.abstract.wrapped(prefix: indent + comment)
            lines += ["\(indent)\(mark)\(setting.key(style)): \(value)", ""]
        }
    }

    /// A JSON Schema of the file.
    func schema(title: String) throws -> [String] {
        var schema = SettingForm.object(inFile).schema(style)
        schema["$schema"] = "https://json-schema.org/draft/2020-12/schema"
        schema["title"] = title
        let bytes = try JSONSerialization.data(
            withJSONObject: schema, options: [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes])
        return String(decoding: bytes, as: UTF8.self).components(separatedBy: "\n") + [""]
    }
}

extension SettingForm {
    /// The range, that of each entry included.
    fileprivate var words: String {
        switch self {
        case .object(let fields):
            fields.map { "`\($0.key(.camelCase))`: \($0.form.words)" }.joined(separator: "; ")
        case .entries(let known, let form):
            (known.map { "\($0.joined(separator: ", ")): " } ?? "") + form.words
        case .text, .number, .flag, .choice, .names: range ?? ""
        }
    }

    fileprivate func json5(_ text: String) -> String {
        switch self {
        case .text, .choice: "'\(text)'"
        case .names: "[\(text.split(separator: ",").map { "'\($0)'" }.joined(separator: ", "))]"
        case .number, .flag, .object, .entries: text
        }
    }

    fileprivate func schema(_ style: SettingKeyStyle) -> [String: Any] {
        switch self {
        case .text(_, let pattern?): return ["type": "string", "pattern": pattern]
        case .text(_, nil): return ["type": "string", "minLength": 1]
        case .flag: return ["type": "boolean"]
        case .choice(let names): return ["enum": names]
        case .names(let known):
            let item: [String: Any] = known.map { ["enum": $0] } ?? ["type": "string", "minLength": 1]
            return ["type": "array", "items": item, "uniqueItems": true]
        case .number(let range):
            // A number may be written as a text too.
            var schema: [String: Any] = [
                "type": [range.isWhole ? "integer" : "number", "string"], "pattern": "^[0-9.]+$",
            ]
            let least = range.takesZero ? 0 : range.least
            schema[range.excludesLeast ? "exclusiveMinimum" : "minimum"] = Self.exact(least)
            if range.greatest < .greatestFiniteMagnitude { schema["maximum"] = Self.exact(range.greatest) }
            return schema
        case .object(let fields):
            let properties = fields.map { ($0.key(style), $0.schema(style)) }
            return [
                "type": "object", "additionalProperties": false,
                "properties": Dictionary(uniqueKeysWithValues: properties),
            ]
        case .entries(let known, let form):
            var schema: [String: Any] = ["type": "object", "additionalProperties": form.schema(style)]
            if let known { schema["propertyNames"] = ["enum": known] }
            return schema
        }
    }

    fileprivate static func exact(_ number: Double) -> Any { Int(exactly: number) ?? number }

    /// The default as JSON; `nil`: it is said in words only.
    fileprivate func json(_ text: String) -> Any? {
        switch self {
        case .number: Double(text).map(Self.exact)
        case .flag: text == "true"
        case .choice(let names): names.contains(text) ? text : nil
        case .text, .names, .object, .entries: nil
        }
    }
}

extension SettingDeclaration {
    fileprivate func schema(_ style: SettingKeyStyle) -> [String: Any] {
        var schema = form.schema(style)
        schema["description"] = argumentHelp.abstract
        schema["default"] = defaultText.flatMap(form.json)
        return schema
    }
}

extension String {
    fileprivate func wrapped(prefix: String) -> [String] {
        split(separator: " ").reduce(into: [prefix]) { lines, word in
            if lines[lines.count - 1].count + 1 + word.count > 120 { lines.append(prefix) }
            lines[lines.count - 1] += " \(word)"
        }
    }
}

/// A part of a file that is made from a table. It stands between two lines of comment, the first with its name.
struct GeneratedPart: CustomTestStringConvertible {
    let path: String
    /// `nil`: the whole file.
    let name: String?
    let lines: [String]

    var testDescription: String { "\(path), \(name ?? "whole")" }

    /// The file as it is to be.
    func placed(in document: String) -> String? {
        guard let name else { return lines.joined(separator: "\n") }
        var all = document.components(separatedBy: "\n")
        guard let begin = all.firstIndex(where: { $0.contains("\(name): generated") }),
            let end = all[begin...].firstIndex(where: {
                ["<!-- end -->", "// end", "# end"].contains($0.trimmingCharacters(in: .whitespaces))
            })
        else { return nil }
        all.replaceSubrange(begin + 1..<end, with: lines)
        return all.joined(separator: "\n")
    }
}
