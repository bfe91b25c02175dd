import Foundation
import Testing

@testable import AgentCommands
@testable import CollectorCommands
@testable import CommandKit

/// What the documentation says of defaults and ranges is what the programs use.
@Suite struct DocumentedSettingsTests {
    private static func text(_ path: String) throws -> String {
        let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent().appendingPathComponent("../..")
        return try String(contentsOf: root.appendingPathComponent(path), encoding: .utf8)
    }

    /// The cells of the row of a setting, without backquotes: name, default, range and what follows.
    private static func row(_ name: String, in document: String) -> [String]? {
        document.split(separator: "\n").map { line in
            line.split(separator: "|").map { $0.replacing("`", with: "").trimmingCharacters(in: .whitespaces) }
        }.first { $0.first?.split(separator: " ").first.map(String.init) == name }
    }

    /// The numbers in a cell: `1 to 86,400 s` has two.
    private static func numbers(_ cell: String) -> [Double] {
        cell.replacing(",", with: "").replacing("10^15", with: "1000000000000000")
            .split { !$0.isNumber && $0 != "." }.compactMap { Double($0) }
    }

    private static func check(_ setting: SettingDeclaration, row: [String]?) throws {
        let row = try #require(row, "\(setting.name) is in no table")
        try #require(row.count >= 4, "\(setting.name)")
        let standing = row[1].replacing(",", with: "")
        switch setting.form {
        case .number(let range):
            let expected = [range.least, range.greatest]
            #expect(numbers(row[2]) == expected, "\(setting.name): \(row[2])")
            if let text = setting.defaultText, let number = Double(text) {
                #expect(Double(standing) == number, "\(setting.name): \(standing)")
            }
        case .flag: #expect((standing == "true") == (setting.defaultText == "true"), "\(setting.name): \(standing)")
        case .choice(let names):
            let known = Set(row[2].split(separator: ",").map { $0.trimmingCharacters(in: .whitespaces) })
            #expect(known == Set(names), "\(setting.name): \(row[2])")
            if let text = setting.defaultText, names.contains(text) { #expect(standing == text, "\(setting.name)") }
        case .text, .names, .object, .entries: break
        }
    }

    @Test(arguments: AgentSettings.declarations.map(\.name)) func `Of the agent`(name: String) throws {
        let document = try Self.text("Documentation/agent.md")
        let setting = try #require(AgentSettings.declarations.first { $0.name == name })
        let isFlag = setting.places.contains(.flag)
        try Self.check(setting, row: Self.row(isFlag ? setting.flag : setting.key(.camelCase), in: document))
    }

    @Test(arguments: Settings.declarations.map(\.name)) func `Of the collector`(name: String) throws {
        let document = try Self.text("Documentation/collector.md")
        let setting = try #require(Settings.declarations.first { $0.name == name })
        try Self.check(setting, row: Self.row(setting.flag, in: document))
    }

    @Test func `The schema has the agent's bounds and defaults`() throws {
        let bytes = Data(try Self.text("Schemas/agent/configuration.schema.json").utf8)
        let schema = try #require(try JSONSerialization.jsonObject(with: bytes) as? [String: Any])
        let settings = AgentSettings.declarations.filter { $0.places.contains(.file) }
        try Self.check(settings, in: schema)
    }

    private static func check(_ settings: [SettingDeclaration], in schema: [String: Any]) throws {
        let properties = try #require(schema["properties"] as? [String: [String: Any]])
        #expect(Set(properties.keys) == Set(settings.map { $0.key(.camelCase) }))
        for setting in settings {
            let property = try #require(properties[setting.key(.camelCase)])
            let value = property["default"]
            switch setting.form {
            case .number(let range):
                let form = (property["anyOf"] as? [[String: Any]])?.first ?? property
                let least = range.takesZero ? 0 : range.least
                #expect(
                    form[range.excludesLeast ? "exclusiveMinimum" : "minimum"] as? Double == least, "\(setting.name)")
                let greatest = range.greatest == .greatestFiniteMagnitude ? nil : range.greatest
                #expect(form["maximum"] as? Double == greatest, "\(setting.name)")
                if let number = setting.defaultText.flatMap(Double.init) {
                    #expect(value as? Double == number, "\(setting.name)")
                }
            case .choice(let names):
                #expect(property["enum"] as? [String] == names, "\(setting.name)")
                #expect(value as? String == setting.defaultText, "\(setting.name)")
            case .flag: #expect(value as? Bool ?? false == (setting.defaultText == "true"), "\(setting.name)")
            case .object(let fields): try check(fields, in: property)
            case .entries(_, .object(let fields)):
                try check(fields, in: try #require(property["additionalProperties"] as? [String: Any]))
            case .text, .names, .entries: break
            }
        }
    }
}
