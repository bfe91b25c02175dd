import CommandKit
import DataSampler
import Foundation
import Testing

@testable import AgentCommands

/// The schema and the example that people write their files by say what the agent accepts, neither more nor less.
@Suite struct ConfigurationSchemaTests {
    private static let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent().appendingPathComponent(
        "../.."
    )
    .standardizedFileURL

    private static func schema() throws -> [String: [String: Any]] {
        let bytes = try Data(contentsOf: root.appendingPathComponent("Schemas/agent/configuration.schema.json"))
        let schema = try #require(try JSONSerialization.jsonObject(with: bytes) as? [String: Any])
        return try #require(schema["properties"] as? [String: [String: Any]])
    }

    private static func example() throws -> String {
        try String(contentsOf: root.appendingPathComponent("Tools/packaging/agent.json5"), encoding: .utf8)
    }

    private static func settings(_ text: String) throws -> DataSamplerConfiguration {
        let given = try ConfigurationFile.parse(Data(text.utf8), path: "agent.json5")
        let layers = SettingLayers<AgentSettings>(
            flags: ["data": "/data"], environment: [:], file: given)
        return try AgentSettings(layers, needsCollector: true).configuration
    }

    @Test func `Numbers at the schema's bounds are taken, those beyond are not`() throws {
        var tried = 0
        for (key, property) in try Self.schema() {
            guard let least = property["minimum"] as? Double, let greatest = property["maximum"] as? Double else {
                continue
            }
            tried += 1
            for value in [least, greatest] {
                _ = try Self.settings("{collector: 'http://localhost', \(key): \(value)}")
            }
            for value in [least - 1, greatest + 1] {
                #expect(throws: CommandError.self, "\(key): \(value)") {
                    try Self.settings("{collector: 'http://localhost', \(key): \(value)}")
                }
            }
        }
        #expect(tried >= 5)
    }

    @Test func `Names that the schema lists are those that are taken`() throws {
        let schema = try Self.schema()
        func names(_ key: String) -> [String] {
            let property = schema[key] ?? [:]
            return (property["enum"] ?? (property["items"] as? [String: Any])?["enum"]) as? [String] ?? []
        }
        #expect(names("telecomSource") == TelecomSource.allCases.map(\.rawValue))
        #expect(names("logLevel") == TraceLevel.allCases.map(\.rawValue))
        #expect(names("detectors") == BuiltInDetector.allCases.map(\.rawValue))
        for module in names("modules") { _ = try DataSamplerModules(names: [module]) }
        let privacy = schema["privacy"] ?? [:]
        let actions = (privacy["additionalProperties"] as? [String: Any])?["enum"] as? [String]
        #expect(actions == PersonalFieldAction.allCases.map(\.rawValue))
        for name in (privacy["propertyNames"] as? [String: Any])?["enum"] as? [String] ?? [] {
            _ = try Self.settings("{collector: 'http://localhost', privacy: {'\(name)': 'drop'}}")
        }
    }

    @Test func `The example is taken as it is, and with everything in it switched on`() throws {
        let text = try Self.example()
        #expect(try Self.settings(text).collectorURL == "https://collector.example:8420")
        // What is commented out has its comment marks removed; prose stays a comment.
        let keys = Set(AgentSettings.fileKeys)
        let lines = text.split(separator: "\n", omittingEmptySubsequences: false).map { line -> String in
            let bare = line.trimmingCharacters(in: .whitespaces)
            guard bare.hasPrefix("// "), let key = bare.dropFirst(3).split(separator: ":").first,
                keys.contains(String(key))
            else {
                return String(line)
            }
            return String(bare.dropFirst(3))
        }
        let shown = keys.filter { key in lines.contains { $0.trimmingCharacters(in: .whitespaces).hasPrefix("\(key):") }
        }
        #expect(shown == keys)
        // What names files and groups of a real device is not on this machine.
        let elsewhere = [
            "enrollment:", "enrollmentToken:", "enrollmentTokenFile:", "binaryDigest:", "ca:", "accessGroup:",
            "noticeHook",
            // They need another collector.
            "mqtt",
        ]
        let everything = lines.filter { line in !elsewhere.contains { line.hasPrefix($0) } }.joined(separator: "\n")
        let settings = try Self.settings(everything)
        #expect(settings.budgets?.processorShare == 0.01)
        #expect(settings.logRetention == LogRetention())
        #expect(settings.privacy["mac"] == .hash)
        #expect(settings.offlineTimeAllowed == 604_800)
    }
}
