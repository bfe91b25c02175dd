import Collector
import Foundation
import Testing
import Yams

@testable import CollectorCommands

/// What lies beside the program for those who run it says what the program knows.
@Suite("Packaging")
struct PackagingTests {
    private static func text(_ name: String) throws -> String {
        try String(
            contentsOf: URL(fileURLWithPath: #filePath).deletingLastPathComponent().appendingPathComponent("../../Tools/packaging/\(name)"),
            encoding: .utf8)
    }

    @Test func theExampleIsTakenAsItIsAndWithEverythingInItSwitchedOn() throws {
        let text = try Self.text("collector.yaml")
        #expect(try ConfigurationFile(text: text, path: "collector.yaml").values.isEmpty)
        let lines = text.split(separator: "\n").map { line -> Substring in
            let bare = line.dropFirst(2)
            return line.hasPrefix("# ") && Setting.allCases.contains { bare.hasPrefix("\($0.rawValue): ") } ? bare : line
        }
        let all = try ConfigurationFile(text: lines.joined(separator: "\n"), path: "collector.yaml")
        #expect(Set(all.values.keys) == Set(Setting.allCases), "every setting is shown")
        // The certificate of the example is nowhere.
        let settings = try Settings(flags: [:], environment: [:], file: all)
        #expect(settings.tls?.clientCA != nil)
        let plain = try Settings(flags: [.data: "/d"], environment: [:], file: ConfigurationFile(text: "data: /d", path: "c.yaml"))
        #expect(
            settings.changes(from: plain).map(\.rawValue).allSatisfy { name in
                // These have no default to show.
                let unset = [
                    "data", "tls-certificate", "tls-key", "client-ca", "device-certificates", "device-ca-certificate", "device-ca-key",
                    "maximum-connections-per-address", "notice-webhook", "log-organization-bytes",
                ]
                return unset.contains(name) || name.hasPrefix("retention-") && name.hasSuffix("-bytes")
            }, "defaults")
    }

    @Test(arguments: ["prometheus/alerts.yml", "prometheus/dashboard.json"])
    func rulesAndDashboardAskForWhatIsTold(name: String) throws {
        let text = try Self.text(name)
        _ = try #require(try Yams.load(yaml: text))
        let told = Set(
            CollectorMetrics.families.flatMap { family in [family.name] + ["_bucket", "_sum", "_count"].map { family.name + $0 } })
        let asked = Set(text.matches(of: /\b(ws1_[a-z0-9_]+|process_[a-z_]+)\b/).map { String($0.1) })
        #expect(asked.count > 5)
        #expect(asked.subtracting(told).isEmpty)
    }

    @Test func theReadmeNamesEverySettingAndEveryMetric() throws {
        let readme = try Self.text("../../README.md")
        for setting in Setting.allCases { #expect(readme.contains("`--\(setting.rawValue)"), "\(setting.rawValue)") }
        for family in CollectorMetrics.families where family.name.hasPrefix("ws1_") {
            #expect(readme.contains("`\(family.name)`"), "\(family.name)")
        }
    }
}
