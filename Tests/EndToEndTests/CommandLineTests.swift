import Foundation
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
                ["serve", "--data", deployment.collectorData, "--listen", "127.0.0.1:\(try unusedPort())"])
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
