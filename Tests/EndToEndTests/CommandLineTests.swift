import Foundation
import TestKit
import Testing

/// What people and scripts get wrong ends with the documented status and a message that says what, and never with a
/// crash.
@Suite(.timeLimit(.minutes(3)))
struct CommandLineTests {
    struct Case: Sendable, CustomTestStringConvertible {
        let program: Program
        let arguments: [String]
        var environment: [String: String] = [:]
        /// What the message must name.
        let names: String

        var testDescription: String { "\(program.rawValue) \(arguments.joined(separator: " ")) \(environment)" }
    }

    private static let run = ["run", "--data", "/nonexistent/agent", "--collector", "http://127.0.0.1:1"]
    private static let serve = ["serve", "--data", "/nonexistent/collector"]

    private static let misused: [Case] = [
        Case(program: .agent, arguments: ["no-such-command"], names: "no-such-command"),
        Case(program: .agent, arguments: ["run", "--no-such-flag"], names: "no-such-flag"),
        Case(program: .agent, arguments: ["run", "--data", "/nonexistent/agent"], names: "--collector"),
        Case(
            program: .agent, arguments: ["run", "--data", "/nonexistent/agent", "--collector", "no url"],
            names: "scheme"),
        Case(
            program: .agent, arguments: ["run", "--data", "/nonexistent/agent", "--collector", "ftp://host"],
            names: "ftp"),
        Case(program: .agent, arguments: run + ["--sample-interval", "0"], names: "0"),
        Case(program: .agent, arguments: run + ["--sample-interval=-1"], names: "-1"),
        Case(program: .agent, arguments: run + ["--sample-interval", "nan"], names: "nan"),
        Case(program: .agent, arguments: run + ["--sample-interval", "inf"], names: "inf"),
        Case(program: .agent, arguments: run + ["--transmit-interval", "soon"], names: "soon"),
        Case(program: .agent, arguments: run + ["--transmit-interval", "86401"], names: "86"),
        Case(program: .agent, arguments: run + ["--event-hold=-1"], names: "-1"),
        Case(program: .agent, arguments: run + ["--modules", "system,nonsense"], names: "nonsense"),
        Case(program: .agent, arguments: run + ["--modules", "callLog"], names: "callLog"),
        Case(program: .agent, arguments: run + ["--config", "/nonexistent/file"], names: "/nonexistent/file"),
        Case(
            program: .agent, arguments: run + ["--enrollment-token-file", "/nonexistent/token"],
            names: "/nonexistent/token"),
        Case(
            program: .agent, arguments: run, environment: ["WS1_SAMPLE_INTERVAL": "never"], names: "WS1_SAMPLE_INTERVAL"
        ),
        Case(program: .agent, arguments: ["event", "--data", "/nonexistent/agent"], names: "name"),
        Case(
            program: .agent, arguments: ["event", "e", "x", "--type", "integer", "--data", "/nonexistent/agent"],
            names: "whole number"),
        Case(
            program: .agent, arguments: ["event", "e", "1", "--type", "colour", "--data", "/nonexistent/agent"],
            names: "colour"),
        Case(program: .collector, arguments: ["no-such-command"], names: "no-such-command"),
        Case(program: .collector, arguments: serve + ["--listen", "nowhere"], names: "nowhere"),
        Case(program: .collector, arguments: serve + ["--listen", "127.0.0.1:70000"], names: "70000"),
        Case(program: .collector, arguments: serve + ["--listen", "0.0.0.0:8420"], names: "TLS"),
        Case(program: .collector, arguments: serve + ["--tls-certificate", "/nonexistent/pem"], names: "--tls-key"),
        Case(program: .collector, arguments: serve + ["--config", "/nonexistent/file"], names: "/nonexistent/file"),
        Case(program: .collector, arguments: serve + ["--maximum-body-bytes", "1"], names: "maximum-body-bytes"),
        Case(program: .collector, arguments: serve, environment: ["WS1_LOG_LEVEL": "loud"], names: "WS1_LOG_LEVEL"),
    ]

    @Test(arguments: misused)
    func `Wrong use is status 64 and names what is wrong`(_ wrong: Case) async throws {
        let outcome = try await wrong.program.run(wrong.arguments, environment: wrong.environment, limit: .seconds(20))
        #expect(outcome.ending == .exited(64), "\(outcome)")
        #expect(
            outcome.errors.localizedCaseInsensitiveContains(wrong.names), "does not name \(wrong.names): \(outcome)")
    }

    @Test(arguments: [Program.agent, .collector])
    func `Help and version are status 0`(_ program: Program) async throws {
        for flag in ["--help", "--version"] {
            let outcome = try await program.run([flag])
            #expect(outcome.succeeded && !outcome.output.isEmpty, "\(flag): \(outcome)")
        }
    }

    // MARK: JSON

    /// Commands without `--json`, and what they print instead.
    private static let withoutJSON = [
        "ws1agent run": "its log", "ws1agent ended": "a line for systemd's log",
        "ws1agent queue export": "records as lines of JSON", "ws1collector serve": "its log",
        "ws1collector export": "records as lines of JSON", "ws1collector rebuild": "nothing",
        "ws1collector token revoke": "nothing", "ws1collector organization create": "nothing",
        "ws1collector device-ca create": "the lines for the configuration file",
        "ws1collector enrollment-file": "the file, which is JSON, or its URL",
        "ws1collector backup-identity": "the recipient alone", "ws1ctl context use": "nothing",
        "ws1ctl context set": "nothing", "ws1ctl context delete": "nothing", "ws1ctl token revoke": "nothing",
    ]

    private struct CommandHelp: Decodable {
        struct Tree: Decodable { var command: Command }
        struct Command: Decodable {
            struct Argument: Decodable {
                struct Name: Decodable { var name: String }
                var names: [Name]?
            }
            var commandName: String
            var subcommands: [Command]?
            var arguments: [Argument]?

            /// The commands without others below them, with their flags.
            func leaves(under path: String = "") -> [(path: String, flags: Set<String>)] {
                let path = path.isEmpty ? commandName : "\(path) \(commandName)"
                let below = (subcommands ?? []).filter { $0.commandName != "help" }
                guard below.isEmpty else { return below.flatMap { $0.leaves(under: path) } }
                return [(path, Set((arguments ?? []).flatMap { ($0.names ?? []).map(\.name) }))]
            }
        }
    }

    @Test func `Every command with a result gives it as JSON`() async throws {
        var without: Set<String> = []
        for program in [Program.agent, .collector, .ctl, .log] {
            let help = try await program.run(["--experimental-dump-help"])
            let leaves = try JSONDecoder().decode(CommandHelp.Tree.self, from: Data(help.output.utf8)).command.leaves()
            try #require(leaves.count > 4)
            without.formUnion(leaves.filter { !$0.flags.contains("json") }.map(\.path))
        }
        #expect(without == Set(Self.withoutJSON.keys))
    }

    @Test func `Records and archives are told as JSON`() async throws {
        try await Deployment.run { deployment in
            try await deployment.startCollector()
            try deployment.startAgent()
            try await deployment.waitUntilAgentAnswers()
            let data = ["--data", deployment.agentData]
            struct Event: Decodable {
                struct Plan: Decodable { var running: Bool }
                var number: UInt64
                var plan: Plan
            }
            let event: Event = try await json(.agent, ["event", "e", "x", "--json"] + data)
            #expect(event.number > 0 && event.plan.running)
            struct Beacon: Decodable {
                var number: UInt64
                var isStored: Bool
            }
            let beacon: Beacon = try await json(.agent, ["beacon", "--json"] + data)
            #expect(beacon.number > 0 && !beacon.isStored)
            let stored: Beacon = try await json(.agent, ["beacon", "--json", "--wait"] + data)
            #expect(stored.number > beacon.number && stored.isStored)
            let consent: [String: String] = try await json(.agent, ["consent", "granted", "--json"] + data)
            #expect(consent == ["consent": "granted"])
            struct Diagnosis: Decodable {
                var archive: String
                var parts: [String]
            }
            let archive = deployment.directory + "/archive.tar.gz"
            let diagnosis: Diagnosis = try await json(.agent, ["diagnose", "--json", "--output", archive] + data)
            #expect(diagnosis.archive == archive && diagnosis.parts.contains("status.json"))
            #expect(FileManager.default.fileExists(atPath: archive))
        }
    }

    @Test func `What validate finds is told as JSON`() async throws {
        let directory = try TemporaryDirectory()
        let data = ["--data", "\(directory.path)/agent"]
        struct Validation: Decodable {
            var isValid: Bool
            var mistakes: [String]
            var settings: [String: String]
        }
        let good: Validation = try await json(
            .agent, ["validate", "--json", "--collector", "http://127.0.0.1:1"] + data)
        #expect(good.isValid && good.mistakes.isEmpty && good.settings["collector"] == "http://127.0.0.1:1")
        #expect(good.settings["enrollmentToken"] == nil)
        let file = "\(directory.path)/collector.yaml"
        try Data("data: \(directory.path)/collector\nlisten: nowhere\nlog-level: loud\n".utf8)
            .write(to: URL(filePath: file))
        let bad: Validation = try await json(.collector, ["validate", "--json", "--config", file], code: 64)
        #expect(!bad.isValid && bad.mistakes.count == 2, "\(bad.mistakes)")
        #expect(bad.mistakes.contains { $0.contains("listen") } && bad.mistakes.contains { $0.contains("log-level") })
    }

    private func json<Answer: Decodable>(
        _ program: Program, _ arguments: [String], code: Int32 = 0
    ) async throws -> Answer {
        let outcome = try await program.run(arguments)
        #expect(outcome.ending == .exited(code), "\(outcome)")
        return try JSONDecoder().decode(Answer.self, from: Data(outcome.output.utf8))
    }

    @Test func `Configuration files are checked to the letter`() async throws {
        let file = FileManager.default.temporaryDirectory.appendingPathComponent("ws1-\(UUID().uuidString).config").path
        defer { try? FileManager.default.removeItem(atPath: file) }
        for (program, text, names) in [
            (Program.agent, "{ no json", file), (.agent, #"{"no-such-setting": 1}"#, "no-such-setting"),
            (.collector, "data: [", file), (.collector, "no-such-setting: 1", "no-such-setting"),
        ] {
            try Data(text.utf8).write(to: URL(fileURLWithPath: file))
            let outcome = try await program.run(
                (program == .agent ? Self.run : Self.serve) + ["--config", file], limit: .seconds(20))
            #expect(outcome.ending == .exited(64) && outcome.errors.contains(names), "\(text): \(outcome)")
        }
    }

    @Test func `A data directory that cannot be made is reported`() async throws {
        let outcome = try await Program.collector.run([
            "serve", "--data", "/proc/no-such-place", "--listen", "127.0.0.1:0",
        ])
        #expect(
            [.exited(1), .exited(64)].contains(outcome.ending) && outcome.errors.contains("/proc/no-such-place"),
            "\(outcome)")
        let agent = try await Program.agent.run([
            "run", "--data", "/proc/no-such-place", "--collector", "http://127.0.0.1:1",
        ])
        #expect(
            [.exited(1), .exited(64)].contains(agent.ending) && agent.errors.contains("/proc/no-such-place"), "\(agent)"
        )
    }

    @Test func `A second process on the same data is told to try again later`() async throws {
        try await Deployment.run { deployment in
            try await deployment.startCollector()
            try deployment.startAgent()
            try await deployment.waitUntilAgentAnswers()

            let collector = try await Program.collector.run(
                ["serve", "--data", deployment.collectorData, "--listen", "127.0.0.1:\(try FreePorts.one())"])
            #expect(
                collector.ending == .exited(75) && collector.errors.contains(deployment.collectorData), "\(collector)")
            let port = try await Program.collector.run(
                [
                    "serve", "--data", deployment.directory + "/other", "--listen",
                    "127.0.0.1:\(deployment.collectorPort)",
                ])
            #expect(port.ending == .exited(75) && port.errors.contains(String(deployment.collectorPort)), "\(port)")
            let agent = try await Program.agent.run([
                "run", "--data", deployment.agentData, "--collector", deployment.collectorURL,
            ])
            #expect(agent.ending == .exited(75) && agent.errors.contains(deployment.agentData), "\(agent)")

            // The first ones go on as if nothing had been.
            let outcome = try await deployment.record(event: "after.intruders", value: 1)
            #expect(outcome.succeeded, "\(outcome)")
            try await deployment.expectExactlyOnce(acknowledged: ["after.intruders"])
        }
    }
}
