import Foundation
import Glibc
import TestKit
import Testing

/// Programs that nobody here wrote, vectors and kills against an agent that takes OTLP, with a real collector.
@Suite(.serialized, .timeLimit(.minutes(10)))
struct OTLPAgentTests {
    private static let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent().appendingPathComponent(
        "../../.."
    ).standardizedFileURL.path
    private static let sdkPython = "\(root)/.build/otlp-clients/bin/python"

    static var isSDKInstalled: Bool { access(sdkPython, X_OK) == 0 }

    /// An agent that takes OTLP at a port of its own.
    private struct Agent {
        let deployment: Deployment
        let port: Int
        let configuration: String

        init(_ deployment: Deployment) throws {
            self.deployment = deployment
            port = try FreePorts.one()
            configuration = "\(deployment.directory)/agent.json5"
            try Data("{intake: {otlp: {otlp: true, port: \(port), bytesPerDay: 1000000000}}}".utf8).write(
                to: URL(fileURLWithPath: configuration))
        }

        var url: String { "http://127.0.0.1:\(port)" }

        func start() throws { try deployment.startAgent(["--config", configuration]) }

        /// Returns when the port is open.
        func waitUntilOpen() async throws {
            try await deployment.until("the agent takes OTLP", while: deployment.agent) {
                let status = try await Program.agent.run(["status", "--data", deployment.agentData])
                return status.output.contains("OTLP at")
            }
        }
    }

    private static func run(_ program: String, _ arguments: [String], in deployment: Deployment) async throws
        -> (ending: ChildProcess.Ending?, text: String)
    {
        let log = "\(deployment.directory)/\(UUID()).log"
        let child = try ChildProcess(
            program, arguments, environment: Program.environment([:]), output: log, errors: log)
        let ending = await child.ending(within: .seconds(400))
        if ending == nil { await child.killAndReap() }
        return (ending, Program.text(log))
    }

    @Test func `The agent passes every vector that is not about tokens`() async throws {
        try await Deployment.run { deployment in
            try await deployment.startCollector()
            let agent = try Agent(deployment)
            try agent.start()
            try await agent.waitUntilOpen()
            let run = try await Self.run(
                "/usr/bin/env", ["python3", "\(Self.root)/Tools/otlp-vectors", agent.url], in: deployment)
            #expect(run.ending == .exited(0), Comment(rawValue: run.text))
            #expect(run.text.contains(" 0 failed, "), Comment(rawValue: run.text))
            try await deployment.stopAgent()
        }
    }

    @Test(
        .enabled(if: OTLPAgentTests.isSDKInstalled, "needs Tools/otlp-clients"), arguments: ["protobuf", "json"])
    func `What OpenTelemetry's SDK sends to an agent that is killed is stored, every item of it`(
        encoding: String
    ) async throws {
        var dice = SeededGenerator.announced(for: "OTLPAgentTests \(encoding)")
        try await Deployment.run { deployment in
            try await deployment.startCollector()
            let person = try await Program.collector.run([
                "token", "create", "--data", deployment.collectorData, "--role", "viewer", "--name", "reader",
                "--organization", "default",
            ])
            let token = person.output.trimmingCharacters(in: .whitespacesAndNewlines)
            let agent = try Agent(deployment)
            try agent.start()
            try await deployment.waitUntilAgentAnswers()
            try await agent.waitUntilOpen()
            let (log, lines, go) = (
                "\(deployment.directory)/sdk.log", "\(deployment.directory)/lines", "\(deployment.directory)/go"
            )
            #expect(mkfifo(go, 0o600) == 0)
            let script = "\(Self.root)/Tests/EndToEndTests/OTLP/otlp-sdk.py"
            let sender = try ChildProcess(
                "/bin/sh",
                [
                    "-c", #"exec "$0" "$@" <"$GO""#, Self.sdkPython, script, deployment.collectorURL, "none", token,
                    encoding, agent.url, lines,
                ],
                environment: Program.environment(["GO": go]), output: log, errors: log)
            // Opened before the sender reads, so that it waits for a line.
            let gate = try #require(FileHandle(forUpdatingAtPath: go))
            var kills = 0
            // The SDK waits longer after each failure, so without a bound a slow machine makes no progress.
            while kills < 12, !Program.text(log).contains("sent\n") {
                // Long enough for some exports: an agent starts in about a second.
                let life = Duration.milliseconds(Int.random(in: 500...2_500, using: &dice))
                if await sender.ending(within: life) != nil { break }
                let running = try #require(deployment.agent)
                await running.killAndReap()
                try agent.start()
                kills += 1
            }
            #expect(kills > 1, "the sender was done too soon")
            try await deployment.until("the SDK has sent all", within: .seconds(240), while: deployment.agent) {
                Program.text(log).contains("sent\n")
            }
            try await deployment.waitUntilSent()
            try await deployment.stopAgent()
            let shown = try await Program.log.run([
                "show", "--json", "--application", "otlp", "--data", deployment.agentData,
            ])
            try Data(shown.output.utf8).write(to: URL(fileURLWithPath: lines))
            try gate.write(contentsOf: Data("\n".utf8))
            let ending = await sender.ending(within: .seconds(120))
            if ending == nil { await sender.killAndReap() }
            #expect(ending == .exited(0), Comment(rawValue: "\(kills) kills\n" + Program.text(log)))
            print("otlp kills of the agent: \(kills)\n\(Program.text(log))")
            try await deployment.stopCollector()
            let verify = try await Program.collector.run(["verify", "--data", deployment.collectorData])
            #expect(verify.succeeded, "\(verify)")
        }
    }
}
