import Foundation
import Glibc
import TestKit
import Testing

/// Programs that nobody here wrote, and kills, against a collector as a process.
@Suite(.serialized, .timeLimit(.minutes(10)))
struct OTLPTests {
    private static let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent().appendingPathComponent(
        "../../.."
    ).standardizedFileURL.path
    private static let sdkPython = "\(root)/.build/otlp-clients/bin/python"

    static var isSDKInstalled: Bool { access(sdkPython, X_OK) == 0 }

    /// A collector with a token for OTLP and one of a person.
    private static func run(_ body: (Deployment, _ otlp: String, _ person: String) async throws -> Void) async throws {
        try await Deployment.run { deployment in
            try await deployment.startCollector()
            func token(_ arguments: [String]) async throws -> String {
                let outcome = try await Program.collector.run(
                    ["token", "create", "--data", deployment.collectorData] + arguments)
                guard outcome.succeeded else { throw EndToEndError("\(outcome)") }
                return outcome.output.trimmingCharacters(in: .whitespacesAndNewlines)
            }
            try await body(
                deployment, try await token(["--otlp", "--name", "tests"]),
                try await token(["--role", "viewer", "--name", "reader", "--organization", "default"]))
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

    @Test func `The collector passes every vector with our own answers`() async throws {
        try await Self.run { deployment, token, _ in
            let run = try await Self.run(
                "/usr/bin/env",
                ["python3", "\(Self.root)/Tools/otlp-vectors", deployment.collectorURL, "--token", token, "--strict"],
                in: deployment)
            #expect(run.ending == .exited(0), Comment(rawValue: run.text))
            #expect(run.text.contains("125 passed, 0 failed, 0 skipped"), Comment(rawValue: run.text))
        }
    }

    @Test(
        .enabled(if: OTLPTests.isSDKInstalled, "needs Tools/otlp-clients"), arguments: ["protobuf", "json"])
    func `What OpenTelemetry's SDK sends is stored as it sent it`(encoding: String) async throws {
        try await Self.run { deployment, token, person in
            let script = "\(Self.root)/Tests/EndToEndTests/OTLP/otlp-sdk.py"
            let run = try await Self.run(
                Self.sdkPython, [script, deployment.collectorURL, token, person, encoding], in: deployment)
            #expect(run.ending == .exited(0), Comment(rawValue: run.text))
            try await deployment.stopCollector()
            let verify = try await Program.collector.run(["verify", "--data", deployment.collectorData])
            #expect(verify.succeeded, "\(verify)")
        }
    }

    @Test func `A log record with a uid is stored once, whenever the collector is killed`() async throws {
        var dice = SeededGenerator.announced(for: "OTLPTests")
        try await Self.run { deployment, token, person in
            let log = "\(deployment.directory)/kills.log"
            let go = "\(deployment.directory)/go"
            #expect(mkfifo(go, 0o600) == 0)
            let script = "\(Self.root)/Tests/EndToEndTests/OTLP/otlp-kills.py"
            let sender = try ChildProcess(
                "/bin/sh",
                [
                    "-c", #"exec python3 "$0" "$@" <"$GO""#, script, deployment.collectorURL, token, person, "400",
                ],
                environment: Program.environment(["GO": go]), output: log, errors: log)
            // Opened before the sender reads, so that it waits for a line.
            let gate = try #require(FileHandle(forUpdatingAtPath: go))
            var kills = 0
            while !Program.text(log).contains("sent") {
                let life = Duration.milliseconds(Int.random(in: 30...600, using: &dice))
                if await sender.ending(within: life) != nil { break }
                let collector = try #require(deployment.collector)
                await collector.killAndReap()
                try await deployment.startCollector()
                kills += 1
            }
            #expect(kills > 5, "the sender was done too soon")
            try gate.write(contentsOf: Data("\n".utf8))
            let ending = await sender.ending(within: .seconds(120))
            if ending == nil { await sender.killAndReap() }
            #expect(ending == .exited(0), Comment(rawValue: "\(kills) kills\n" + Program.text(log)))
            print("otlp kills: \(kills)\n\(Program.text(log))")
            try await deployment.stopCollector()
            let verify = try await Program.collector.run(["verify", "--data", deployment.collectorData])
            #expect(verify.succeeded, "\(verify)")
        }
    }
}
