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

    /// A bare `humanize` shows a share of 0.08 as "80m" and bytes without their unit.
    @Test func alertsTellSharesInPercentAndBytesWithTheirUnit() throws {
        struct Rules: Decodable {
            struct Group: Decodable { var rules: [Rule] }
            struct Rule: Decodable {
                var alert: String
                var expr: String
                var annotations: [String: String]
            }
            var groups: [Group]
        }
        let rules = try YAMLDecoder().decode(Rules.self, from: Self.text("prometheus/alerts.yml")).groups.flatMap(\.rules)
        var shown = 0
        for rule in rules {
            for match in rule.annotations.values.joined().matches(of: /\$value \| (.*?) *}}/) {
                shown += 1
                let expected: [String] =
                    if rule.expr.contains(" / ") && !rule.expr.hasPrefix("histogram") {
                        ["humanizePercentage"]
                    } else if rule.expr.contains("_seconds") {
                        ["humanizeDuration"]
                    } else if rule.expr.contains("_bytes") {
                        ["humanize1024"]
                    } else {
                        ["humanize", "printf \"%.0f\""]
                    }
                #expect(expected.contains(String(match.1)), "\(rule.alert): \(match.0)")
            }
        }
        #expect(shown > 5)
    }

    @Test func theDashboardShowsDevicesByStateAndNoticesByCode() throws {
        struct Dashboard: Decodable {
            struct Place: Decodable { var x: Int, y: Int, w: Int, h: Int }
            struct Target: Decodable { var expr: String }
            struct Panel: Decodable {
                var id: Int
                var gridPos: Place
                var targets: [Target]
            }
            var panels: [Panel]
        }
        let panels = try JSONDecoder().decode(Dashboard.self, from: Data(Self.text("prometheus/dashboard.json").utf8)).panels
        let asked = panels.flatMap(\.targets).map(\.expr)
        #expect(asked.contains { $0.hasPrefix("sum by (state) (ws1_devices{") })
        #expect(asked.contains { $0.hasPrefix("sum by (code) (ws1_notices{") })
        #expect(Set(panels.map(\.id)).count == panels.count)
        let cells = panels.flatMap { panel in
            (panel.gridPos.y..<panel.gridPos.y + panel.gridPos.h).flatMap { y in
                (panel.gridPos.x..<panel.gridPos.x + panel.gridPos.w).map { [$0, y] }
            }
        }
        #expect(Set(cells).count == cells.count, "no panel covers another")
    }

    @Test func theReadmeNamesEverySettingAndEveryMetric() throws {
        let readme = try Self.text("../../README.md")
        for setting in Setting.allCases { #expect(readme.contains("`--\(setting.rawValue)"), "\(setting.rawValue)") }
        for family in CollectorMetrics.families where family.name.hasPrefix("ws1_") {
            #expect(readme.contains("`\(family.name)`"), "\(family.name)")
        }
    }

    /// Keys are handed over by systemd, so that files of root's serve a user that systemd makes; and a leak ends the service, not the machine.
    @Test(arguments: [
        ("ws1agent", ["enrollment-token", "client-key"]), ("ws1collector", ["tls-certificate", "tls-key", "device-ca-key"]),
    ])
    func unitsHandKeysOverAndBoundMemory(unit: String, keys: [String]) throws {
        let lines = try Self.text("\(unit).service").split(separator: "\n")
        for key in keys {
            #expect(lines.contains { $0.hasPrefix("LoadCredential=\(key):/etc/\(unit)/") }, "\(key)")
            // What LoadCredential does not find is no failure then.
            #expect(lines.contains { $0 == "SetCredential=\(key):none" }, "\(key)")
        }
        #expect(lines.contains { $0.hasPrefix("MemoryHigh=") } && lines.contains { $0.hasPrefix("MemoryMax=") })
    }

    /// `Package.resolved` as SwiftPM writes it.
    private static func resolved(_ packages: [(name: String, version: String?, commit: String)]) -> String {
        let pins = packages.map { package in
            let version = package.version.map { ",\n        \"version\" : \"\($0)\"" } ?? ",\n        \"branch\" : \"main\""
            return """
                    {
                      "identity" : "\(package.name)",
                      "kind" : "remoteSourceControl",
                      "location" : "https://example.org/\(package.name).git",
                      "state" : {
                        "revision" : "\(package.commit)"\(version)
                      }
                    }
                """
        }
        return "{\n  \"originHash\" : \"0\",\n  \"pins\" : [\n\(pins.joined(separator: ",\n"))\n  ],\n  \"version\" : 3\n}\n"
    }

    /// What `Tools/dependencies` says on standard error, and how it ends, in a directory of its own.
    private static func dependencies(_ verb: String, in root: URL) throws -> (status: Int32, error: String) {
        let process = Process()
        process.executableURL = root.appendingPathComponent("Tools/dependencies")
        process.arguments = [verb]
        let (output, error) = (Pipe(), Pipe())
        (process.standardOutput, process.standardError) = (output, error)
        try process.run()
        let said = try error.fileHandleForReading.readToEnd() ?? Data()
        _ = try output.fileHandleForReading.readToEnd()
        process.waitUntilExit()
        return (process.terminationStatus, String(decoding: said, as: UTF8.self))
    }

    @Test func versionsThatWereNotTestedAreNamedAndTestedOnesRestored() throws {
        let root = FileManager.default.temporaryDirectory.appendingPathComponent("dependencies-\(UUID())")
        defer { try? FileManager.default.removeItem(at: root) }
        try FileManager.default.createDirectory(at: root.appendingPathComponent("Tools"), withIntermediateDirectories: true)
        let tool = URL(fileURLWithPath: #filePath).deletingLastPathComponent().appendingPathComponent("../../Tools/dependencies")
        try FileManager.default.copyItem(at: tool.standardizedFileURL, to: root.appendingPathComponent("Tools/dependencies"))
        func write(_ packages: [(name: String, version: String?, commit: String)]) throws {
            try Data(Self.resolved(packages).utf8).write(to: root.appendingPathComponent("Package.resolved"))
        }
        func expectRefusal(naming words: [String], _ packages: [(name: String, version: String?, commit: String)]) throws {
            try write(packages)
            let refused = try Self.dependencies("check", in: root)
            #expect(refused.status == 1)
            for word in words { #expect(refused.error.contains(word), "\(refused.error)") }
        }
        let tested: [(name: String, version: String?, commit: String)] = [
            ("alpha", "1.0.0", "aaaaaaaaaa"), ("beta", "2.1.0", "bbbbbbbbbb"), ("gamma", nil, "cccccccccc"),
        ]
        try write(tested)
        #expect(try Self.dependencies("update", in: root).status == 0)
        #expect(try Self.dependencies("check", in: root).status == 0)

        try expectRefusal(naming: ["alpha: tested 1.0.0", "resolved 1.0.1"], [("alpha", "1.0.1", "dddddddddd")] + tested[1...])
        // The same version with another commit is another package.
        try expectRefusal(
            naming: ["beta: tested 2.1.0 (bbbbbbbbbb), resolved 2.1.0 (eeeeeeeeee)"],
            [tested[0], ("beta", "2.1.0", "eeeeeeeeee"), tested[2]])
        try expectRefusal(naming: ["delta: tested absent"], tested + [("delta", "1.0.0", "ffffffffff")])
        try expectRefusal(naming: ["gamma: tested none"], Array(tested[..<2]))
        try expectRefusal(naming: ["no package is read"], [])

        #expect(try Self.dependencies("restore", in: root).status == 0)
        #expect(try Self.dependencies("check", in: root).status == 0)
        let restored = try Data(contentsOf: root.appendingPathComponent("Package.resolved"))
        #expect(try #require(JSONSerialization.jsonObject(with: restored) as? [String: Any])["version"] as? Int == 2)
    }

    @Test func everyDirectDependencyHasATestedVersion() throws {
        let manifest = try Self.text("../../Package.swift")
        let listed = try Self.text("../dependencies.txt").split(separator: "\n").map { $0.split(separator: " ") }
        let addresses = manifest.matches(of: /\.package\(url: "([^"]+)"/).map { $0.1 }
        #expect(addresses.count > 10)
        for address in addresses { #expect(listed.contains { $0.count == 4 && $0[3] == address }, "\(address)") }
    }
}
