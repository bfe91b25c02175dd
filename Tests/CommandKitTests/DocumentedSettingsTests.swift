import ArgumentParser
import Foundation
import Testing

@testable import AgentCommands
@testable import CollectorCommands
@testable import CommandKit

/// What help, documentation, schemas and examples say of settings is what the programs use.
///
/// With `WS1_UPDATE_SETTINGS=1` the generated parts are written first; `Tools/generate-manuals` does that.
@Suite(.serialized) struct DocumentedSettingsTests {
    private static let agent = SettingDocuments(AgentSettings.self, required: ["collector"])
    private static let collector = SettingDocuments(Settings.self, required: [])

    private static func parts() throws -> [GeneratedPart] {
        let (flagged, others) = (
            agent.settings.filter { $0.places.contains(.flag) }, agent.settings.filter { !$0.places.contains(.flag) }
        )
        var retention: [SettingDeclaration] = []
        if case .object(let fields)? = agent.settings.first(where: { $0.name == "log-retention" })?.form {
            retention = fields
        }
        var intake: [SettingDeclaration] = []
        if case .entries(_, .object(let fields))? = agent.settings.first(where: { $0.name == "intake" })?.form {
            intake = fields
        }
        var sources: [SettingDeclaration] = []
        if case .entries(_, .object(let fields))? = agent.settings.first(where: { $0.name == "metric-sources" })?.form {
            sources = fields
        }
        var endpoint: [SettingDeclaration] = []
        if case .entries(_, .object(let fields))? = collector.settings.first(where: { $0.name == "forward" })?.form {
            endpoint = fields
        }
        return [
            .init(
                path: "Documentation/agent.md", name: "settings of ws1agent with a flag", lines: agent.table(flagged)),
            .init(
                path: "Documentation/agent.md", name: "settings of ws1agent without a flag",
                lines: agent.table(others, isByKey: true)),
            .init(
                path: "Documentation/agent.md", name: "settings of intake", lines: agent.table(intake, isByKey: true)),
            .init(
                path: "Documentation/agent.md", name: "settings of metricSources",
                lines: agent.table(sources, isByKey: true)),
            .init(
                path: "Documentation/logs.md", name: "settings of logRetention",
                lines: agent.table(retention, isByKey: true)),
            .init(
                path: "Documentation/collector.md", name: "settings of ws1collector",
                lines: collector.table(collector.settings.filter { $0.places.contains(.flag) })),
            .init(
                path: "Documentation/collector.md", name: "settings of ws1collector without a flag",
                lines: collector.table(collector.settings.filter { !$0.places.contains(.flag) }, isByKey: true)),
            .init(
                path: "Documentation/forwarding.md", name: "settings of forward",
                lines: collector.table(endpoint, isByKey: true)),
            .init(
                path: "Tools/packaging/agent.json5", name: "settings of ws1agent",
                lines: agent.example(comment: "//", indent: "    ", given: ["collector"])),
            .init(
                path: "Tools/packaging/collector.yaml", name: "settings of ws1collector",
                lines: collector.example(comment: "#")),
            .init(
                path: "Schemas/agent/configuration.schema.json", name: nil,
                lines: try agent.schema(title: "Settings of ws1agent")),
            .init(
                path: "Schemas/collector/configuration.schema.json", name: nil,
                lines: try collector.schema(title: "Settings of ws1collector")),
        ]
    }

    private static func url(_ path: String) -> URL {
        URL(fileURLWithPath: #filePath).deletingLastPathComponent().appendingPathComponent("../../\(path)")
    }

    private static func text(_ path: String) throws -> String { try String(contentsOf: url(path), encoding: .utf8) }

    @Test(arguments: try Self.parts()) func `A file says what the table says`(part: GeneratedPart) throws {
        let isUpdate = ProcessInfo.processInfo.environment["WS1_UPDATE_SETTINGS"] == "1"
        let present = isUpdate && part.name == nil ? "" : try Self.text(part.path)
        let wanted = try #require(part.placed(in: present), "\(part.path) has no place for \(part.name ?? "")")
        if isUpdate { try Data(wanted.utf8).write(to: Self.url(part.path)) }
        #expect(isUpdate || present == wanted, "\(part.path) is stale; run Tools/generate-manuals and commit")
    }

    /// The default in the row of a setting.
    private static func standing(_ name: String, in document: String) -> String? {
        document.split(separator: "\n").map { $0.components(separatedBy: " | ") }
            .first { $0[0] == "| `\(name)`" || $0[0].hasPrefix("| `\(name) <") }.map { $0[1] }
    }

    /// - Parameter used: what the program runs with where only what is required is given.
    private static func check<Program: ProgramSettings>(
        _ used: Program, _ documents: SettingDocuments, path: String, help: String
    ) throws {
        let document = try text(path)
        for setting in documents.settings where !documents.required.contains(setting.name) {
            let isFlag = setting.places.contains(.flag)
            let reported = try #require(
                standing(isFlag ? setting.flag : setting.key(documents.style), in: document), "\(setting.name)")
            let value = used.shown(setting.name)
            // Some words say what the default depends on.
            #expect(
                reported == value ?? "none" || reported.hasSuffix(" else \(value ?? "none")"),
                "\(setting.name): \(reported)")
            guard isFlag, !setting.form.isSwitch, value != nil else { continue }
            let range = setting.form.range.map { "\($0); " } ?? ""
            #expect(help.contains("\(setting.help) (\(range)default: \(reported))."), "\(setting.name)")
        }
    }

    @Test func `Where nothing is said, the agent uses the defaults of help and documentation`() throws {
        let layers = SettingLayers<AgentSettings>(
            flags: ["collector": "http://localhost"], environment: [:])
        try Self.check(
            try AgentSettings(layers, needsCollector: true), Self.agent, path: "Documentation/agent.md",
            help: RunCommand.helpMessage(columns: 10_000))
    }

    @Test func `Where nothing is said, the collector uses the defaults of help and documentation`() throws {
        try Self.check(
            try Settings(SettingLayers(flags: [:], environment: [:])), Self.collector,
            path: "Documentation/collector.md", help: ServeCommand.helpMessage(columns: 10_000))
    }

    @Test func `What the documentation calls required is refused where it is not given`() {
        for name in Self.agent.required {
            let flags = ["data": "/data", "collector": "http://localhost"].filter { $0.key != name }
            let error = #expect(throws: CommandError.self) {
                try AgentSettings(SettingLayers(flags: flags, environment: [:]), needsCollector: true)
            }
            #expect(error?.message.hasPrefix("\(name) is not given") == true)
        }
    }
}
