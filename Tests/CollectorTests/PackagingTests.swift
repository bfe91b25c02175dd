import Collector
import CommandKit
import Foundation
import Testing
import Yams

@testable import CollectorCommands

/// What lies beside the program for those who run it says what the program knows.
@Suite("Packaging")
struct PackagingTests {
    private static func text(_ name: String) throws -> String {
        try String(
            contentsOf: URL(fileURLWithPath: #filePath).deletingLastPathComponent().appendingPathComponent(
                "../../Tools/packaging/\(name)"),
            encoding: .utf8)
    }

    @Test func `The example is accepted as it is and with everything in it switched on`() throws {
        let text = try Self.text("collector.yaml")
        #expect(try ConfigurationFile.parse(text, path: "collector.yaml").values.isEmpty)
        let lines = text.split(separator: "\n").map { line -> Substring in
            let bare = line.dropFirst(2)
            return line.hasPrefix("# ") && Settings.fileKeys.contains { bare.hasPrefix("\($0): ") }
                ? bare : line
        }
        let all = try ConfigurationFile.parse(lines.joined(separator: "\n"), path: "collector.yaml")
        #expect(Set(all.values.keys) == Set(Settings.fileKeys), "every setting is shown")
        // The certificate of the example is nowhere.
        let settings = try Settings(SettingLayers(flags: [:], environment: [:], file: all))
        #expect(settings.tls?.clientCA != nil)
        let plain = try Settings(SettingLayers(flags: [:], environment: [:]))
        #expect(
            settings.changes(from: plain).map(\.name).allSatisfy { name in
                // These have no default to show.
                let unset = [
                    "tls-certificate", "tls-key", "client-ca", "device-certificates", "device-ca-certificate",
                    "device-ca-key",
                    "maximum-connections-per-address", "notice-webhook", "assets", "log-organization-bytes",
                    "record-organization-bytes-per-day",
                    "log-device-bytes", "clickhouse-urls", "clickhouse-password", "clickhouse-password-file",
                    "clickhouse-ca", "postgresql",
                    "postgresql-password-file", "bucket-endpoint", "bucket", "bucket-prefix", "bucket-ca",
                    "bucket-credentials", "mqtt-broker", "mqtt-user", "mqtt-password-file", "mqtt-ca",
                    "mqtt-certificate", "mqtt-key", "forward",
                ]
                return unset.contains(name) || name.hasPrefix("retention-") && name.hasSuffix("-bytes")
            }, "defaults")
    }

    @Test(arguments: ["prometheus/alerts.yml", "prometheus/dashboard.json"])
    func `Rules and dashboard ask for what is reported`(name: String) throws {
        let text = try Self.text(name)
        _ = try #require(try Yams.load(yaml: text))
        let reported = Set(
            CollectorMetrics.families.flatMap { family in
                [family.name] + ["_bucket", "_sum", "_count"].map { family.name + $0 }
            })
        let asked = Set(text.matches(of: /\b(ws1_[a-z0-9_]+|process_[a-z_]+)\b/).map { String($0.1) })
        #expect(asked.count > 5)
        #expect(asked.subtracting(reported).isEmpty)
    }

    /// A bare `humanize` shows a share of 0.08 as "80m" and bytes without their unit.
    @Test func `Alerts report shares in percent and bytes with their unit`() throws {
        struct Rules: Decodable {
            struct Group: Decodable { var rules: [Rule] }
            struct Rule: Decodable {
                var alert: String
                var expr: String
                var annotations: [String: String]
            }
            var groups: [Group]
        }
        let rules = try YAMLDecoder().decode(Rules.self, from: Self.text("prometheus/alerts.yml")).groups.flatMap(
            \.rules)
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

    @Test func `The dashboard shows devices by state and notices by code`() throws {
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
        let panels = try JSONDecoder().decode(Dashboard.self, from: Data(Self.text("prometheus/dashboard.json").utf8))
            .panels
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

    @Test func `The documentation names every metric`() throws {
        let metrics = try Self.text("../../Documentation/operations.md")
        for family in CollectorMetrics.families where family.name.hasPrefix("ws1_") {
            #expect(metrics.contains("`\(family.name)`"), "\(family.name)")
        }
    }

    /// Keys are handed over by systemd, so that files of root's serve a user that systemd makes; and a leak ends the
    /// service, not the machine.
    @Test(arguments: [
        ("ws1agent", ["enrollment-token", "enrollment", "client-key"]),
        ("ws1collector", ["tls-certificate", "tls-key", "device-ca-key"]),
    ])
    func `Units hand keys over and bound memory`(unit: String, keys: [String]) throws {
        let lines = try Self.text("\(unit).service").split(separator: "\n")
        for key in keys {
            #expect(lines.contains { $0.hasPrefix("LoadCredential=\(key):/etc/\(unit)/") }, "\(key)")
            // What LoadCredential does not find is no failure then.
            #expect(lines.contains { $0 == "SetCredential=\(key):none" }, "\(key)")
        }
        #expect(lines.contains { $0.hasPrefix("MemoryHigh=") } && lines.contains { $0.hasPrefix("MemoryMax=") })
    }

    private struct Package {
        let name: String
        /// `nil`: taken from a branch.
        let version: String?
        var address = "https://example.org/a.git"
        var commit = "aaaaaaaaaa"
    }

    /// `Package.resolved` as SwiftPM writes it.
    private static func resolved(_ packages: [Package]) -> String {
        let pins = packages.map { package in
            let version =
                package.version.map { ",\n        \"version\" : \"\($0)\"" } ?? ",\n        \"branch\" : \"main\""
            return """
                    {
                      "identity" : "\(package.name)",
                      "kind" : "remoteSourceControl",
                      "location" : "\(package.address)",
                      "state" : {
                        "revision" : "\(package.commit)"\(version)
                      }
                    }
                """
        }
        return
            """
            {\n  "originHash" : "0",\n  "pins" : [\n\(pins.joined(separator: ",\n"))\n  ],\n  "version" : 3\n}\n
            """
    }

    /// What `Tools/dependencies` says on standard error, and how it ends, in a directory of its own.
    private static func dependencies(_ verb: String, in root: URL) throws -> (status: Int32, error: String) {
        let ended = try run(root.appendingPathComponent("Tools/dependencies").path, [verb])
        return (ended.status, ended.error)
    }

    private static func run(_ program: String, _ arguments: [String]) throws -> (
        status: Int32, output: String, error: String
    ) {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: program)
        process.arguments = arguments
        let (output, error) = (Pipe(), Pipe())
        (process.standardOutput, process.standardError) = (output, error)
        try process.run()
        let said = try error.fileHandleForReading.readToEnd() ?? Data()
        let written = try output.fileHandleForReading.readToEnd() ?? Data()
        process.waitUntilExit()
        return (
            process.terminationStatus, String(decoding: written, as: UTF8.self), String(decoding: said, as: UTF8.self)
        )
    }

    @Test func `Versions that were not tested are named, and tested ones restored`() throws {
        let root = FileManager.default.temporaryDirectory.appendingPathComponent("dependencies-\(UUID())")
        defer { try? FileManager.default.removeItem(at: root) }
        try FileManager.default.createDirectory(
            at: root.appendingPathComponent("Tools"), withIntermediateDirectories: true)
        let tool = URL(fileURLWithPath: #filePath).deletingLastPathComponent().appendingPathComponent(
            "../../Tools/dependencies")
        try FileManager.default.copyItem(
            at: tool.standardizedFileURL, to: root.appendingPathComponent("Tools/dependencies"))
        /// A repository with one commit, tagged as packages are: with a plain tag, or with one that has a text of its
        /// own.
        func repository(_ name: String, tag: String, isAnnotated: Bool) throws -> (address: String, commit: String) {
            let address = root.appendingPathComponent(name).path
            let author = ["-c", "user.name=a", "-c", "user.email=a@example.org"]
            for step in [
                ["init", "-q", address], ["-C", address] + author + ["commit", "-q", "--allow-empty", "-m", "one"],
                ["-C", address] + author + ["tag"] + (isAnnotated ? ["-a", "-m", "text"] : []) + [tag],
            ] {
                let ended = try Self.run("/usr/bin/git", step)
                try #require(ended.status == 0, "\(ended.error)")
            }
            let clone = try Self.run(
                "/usr/bin/git", ["clone", "-q", address, root.appendingPathComponent(".build/checkouts/\(name)").path])
            try #require(clone.status == 0, "\(clone.error)")
            let head = try Self.run("/usr/bin/git", ["-C", address, "rev-parse", "HEAD"])
            return (address, head.output.trimmingCharacters(in: .whitespacesAndNewlines))
        }
        let file = root.appendingPathComponent("Package.resolved")
        func write(_ packages: [Package]) throws { try Data(Self.resolved(packages).utf8).write(to: file) }
        func expectRefusal(_ verb: String = "check", naming words: String...) throws {
            let refused = try Self.dependencies(verb, in: root)
            #expect(refused.status == 1)
            for word in words { #expect(refused.error.contains(word), "\(refused.error)") }
        }
        let (alpha, beta) = (
            try repository("a", tag: "1.0.0", isAnnotated: false), try repository("b", tag: "2.1.0", isAnnotated: true)
        )
        let tested = [
            Package(name: "alpha", version: "1.0.0", address: alpha.address, commit: alpha.commit),
            Package(name: "beta", version: "2.1.0", address: beta.address, commit: beta.commit),
        ]
        try write(tested)
        #expect(try Self.dependencies("update", in: root).status == 0)
        #expect(try Self.dependencies("check", in: root).status == 0)

        // A mirror may hold the same version under another commit.
        var mirrored = tested[1]
        mirrored.commit = "eeeeeeeeee"
        try write([tested[0], mirrored])
        #expect(try Self.dependencies("check", in: root).status == 0)
        // The same version with other files is not the same.
        let checkout = root.appendingPathComponent(".build/checkouts/b")
        let added = checkout.appendingPathComponent("Added.swift")
        try Data("// added".utf8).write(to: added)
        try expectRefusal(naming: "beta 2.1.0: tested", "checked out changed")
        let author = ["-c", "user.name=a", "-c", "user.email=a@example.org"]
        for step in [["add", "-A"], author + ["commit", "-q", "-m", "two"]] {
            let ended = try Self.run("/usr/bin/git", ["-C", checkout.path] + step)
            try #require(ended.status == 0, "\(ended.error)")
        }
        try expectRefusal(naming: "beta 2.1.0: tested", "other files than those that were tested")
        try FileManager.default.moveItem(at: checkout, to: root.appendingPathComponent("away"))
        try expectRefusal(naming: "beta 2.1.0: tested", "checked out absent")
        let reset = try Self.run(
            "/usr/bin/git", ["-C", root.appendingPathComponent("away").path, "reset", "-q", "--hard", "HEAD~1"])
        try #require(reset.status == 0, "\(reset.error)")
        try FileManager.default.moveItem(at: root.appendingPathComponent("away"), to: checkout)
        #expect(try Self.dependencies("check", in: root).status == 0)
        try write([Package(name: "alpha", version: "1.0.1"), tested[1]])
        try expectRefusal(naming: "alpha: tested 1.0.0, resolved 1.0.1")
        try write(tested + [Package(name: "delta", version: "1.0.0")])
        try expectRefusal(naming: "delta: tested absent, resolved 1.0.0")
        try write([tested[0]])
        try expectRefusal(naming: "beta: tested 2.1.0, resolved absent")
        try write([tested[0], Package(name: "beta", version: nil)])
        try expectRefusal(naming: "without name, version or address")
        try write([])
        try expectRefusal(naming: "no package is read")

        #expect(try Self.dependencies("restore", in: root).status == 0)
        #expect(try Self.dependencies("check", in: root).status == 0)
        let restored = try #require(JSONSerialization.jsonObject(with: Data(contentsOf: file)) as? [String: Any])
        #expect(restored["version"] as? Int == 2)
        let states = try #require(restored["pins"] as? [[String: Any]]).compactMap { $0["state"] as? [String: String] }
        #expect(
            states == [
                ["revision": alpha.commit, "version": "1.0.0"], ["revision": beta.commit, "version": "2.1.0"],
            ])
        _ = try Self.run("/usr/bin/git", ["-C", alpha.address, "tag", "-d", "1.0.0"])
        try expectRefusal("restore", naming: "\(alpha.address) has no tag 1.0.0")
    }

    @Test func `Every direct dependency has a tested version`() throws {
        let manifest = try Self.text("../../Package.swift")
        let listed = try Self.text("../dependencies.txt").split(separator: "\n").map { $0.split(separator: " ") }
        let addresses = manifest.matches(of: /\.package\(url: "([^"]+)"/).map { $0.1 }
        #expect(addresses.count > 10)
        for address in addresses {
            #expect(listed.contains { $0.count == 4 && $0[2] == address && $0[3].count == 40 }, "\(address)")
        }
    }
}
