import Foundation
import TestKit
import Testing

/// One file brings a device to its collector and to no other.
@Suite(.timeLimit(.minutes(5)))
struct EnrollmentFileTests {
    /// A collector that serves TLS with one of two keys, beside a deployment whose data it uses.
    private struct Scene {
        let deployment: Deployment
        let port: Int
        var directory: String { deployment.directory }
        var file: String { directory + "/enrollment.json" }
        var log: String { directory + "/enrollment.log" }

        init(_ deployment: Deployment) throws {
            self.deployment = deployment
            port = try FreePorts.one()
            for (name, text) in [
                ("authority.pem", ServerCertificates.authority), ("one.pem", ServerCertificates.one.certificate),
                ("one.key", ServerCertificates.one.key), ("two.pem", ServerCertificates.two.certificate),
                ("two.key", ServerCertificates.two.key),
            ] { try Data(text.utf8).write(to: URL(fileURLWithPath: "\(directory)/\(name)")) }
        }

        func collector(_ name: String, data: String) throws -> ChildProcess {
            try ChildProcess(
                Program.collector.path,
                [
                    "serve", "--data", data, "--listen", "127.0.0.1:\(port)",
                    "--tls-certificate", "\(directory)/\(name).pem", "--tls-key", "\(directory)/\(name).key",
                ], environment: Program.environment([:]), output: log, errors: log)
        }

        func writeFile() async throws { _ = try await enrollmentFile("--output", file) }

        /// What the command prints.
        func enrollmentFile(_ form: String...) async throws -> String {
            let outcome = try await Program.collector.run(
                [
                    "enrollment-file", "--data", deployment.collectorData, "--address", "https://localhost:\(port)",
                    "--tls-certificate", "\(directory)/one.pem",
                ] + form)
            guard outcome.succeeded else { throw EndToEndError("\(outcome)") }
            return outcome.output
        }

        /// - Parameter enrollment: a path or a URL.
        func agent(_ enrollment: String? = nil) throws -> ChildProcess {
            try ChildProcess(
                Program.agent.path,
                [
                    "run", "--data", deployment.agentData, "--enrollment", enrollment ?? file, "--ca",
                    "\(directory)/authority.pem",
                    "--transmit-interval", "1", "--event-hold", "0",
                ], environment: Program.environment([:]), output: log, errors: log)
        }

        func status() async throws -> String {
            try await Program.agent.run(["status", "--data", deployment.agentData]).output
        }

        /// Ends both afterwards, and shows the log of a failure.
        func play(_ collector: ChildProcess, _ agent: ChildProcess, _ body: () async throws -> Void) async throws {
            var failure: (any Error)?
            do { try await body() } catch { failure = error }
            for child in [agent, collector] { await child.killAndReap() }
            guard let failure else { return }
            print(Program.text(log).suffix(3000))
            throw failure
        }
    }

    @Test func `A device enrolls with it and starts without it later`() async throws {
        try await Deployment.run { deployment in
            let scene = try Scene(deployment)
            try await deployment.startCollector()
            try await deployment.stopCollector()
            try await scene.writeFile()
            try await scene.play(try scene.collector("one", data: deployment.collectorData), try scene.agent()) {
                try await deployment.waitUntilAgentAnswers()
                let outcome = try await deployment.record(event: "enrolled.by.file", value: 1)
                #expect(outcome.succeeded, "\(outcome)")
                try await deployment.waitUntilSent()
                #expect(try await scene.status().contains("https://localhost:\(scene.port)"))
            }
            try FileManager.default.removeItem(atPath: scene.file)
            try await scene.play(try scene.collector("one", data: deployment.collectorData), try scene.agent()) {
                try await deployment.waitUntilAgentAnswers()
                let outcome = try await deployment.record(event: "without.file", value: 1)
                #expect(outcome.succeeded, "\(outcome)")
                try await deployment.waitUntilSent()
                let profile = try await Program.agent.run(["profile", "--data", deployment.agentData])
                #expect(profile.output.contains("2 keys"), "the pins hold on: \(profile)")
            }
        }
    }

    /// The agent is killed all along: while it enrolls, and again and again after it.
    @Test func `A device that is killed again and again enrolls once by URL`() async throws {
        try await Deployment.run { deployment in
            let scene = try Scene(deployment)
            try await deployment.startCollector()
            try await deployment.stopCollector()
            let url = try await scene.enrollmentFile("--print-url").trimmingCharacters(in: .whitespacesAndNewlines)
            #expect(url.hasPrefix("https://localhost:\(scene.port)#pin="))
            let collector = try scene.collector("one", data: deployment.collectorData)
            for milliseconds in [50, 150, 300, 600, 1_200] {
                let killed = try scene.agent(url)
                #expect(await killed.ending(within: .milliseconds(milliseconds)) == nil, "ended by itself")
                await killed.killAndReap()
            }
            try await scene.play(collector, try scene.agent(url)) {
                try await deployment.waitUntilAgentAnswers()
                let outcome = try await deployment.record(event: "enrolled.by.url", value: 1)
                #expect(outcome.succeeded, "\(outcome)")
                try await deployment.waitUntilSent()
            }
            let tokens = try await Program.collector.run(["token", "list", "--data", deployment.collectorData])
            #expect(tokens.output.contains("1/1 "), "one device used the token once: \(tokens)")
            #expect(!Program.text(scene.log).contains("token="), "a log shows no enrollment URL")
        }
    }

    /// The other collector is trusted by the same authority, and would accept the token.
    @Test func `A collector with another key is refused before the token leaves the device`() async throws {
        try await Deployment.run { deployment in
            let scene = try Scene(deployment)
            try await deployment.startCollector()
            try await deployment.stopCollector()
            try await scene.writeFile()
            try await scene.play(try scene.collector("two", data: deployment.collectorData), try scene.agent()) {
                try await deployment.until("the agent refuses the key") {
                    try await scene.status().contains("is none of those pinned")
                }
                #expect(try await scene.status().contains("not enrolled"))
                let tokens = try await Program.collector.run(["token", "list", "--data", deployment.collectorData])
                #expect(tokens.output.contains("0/1 "), "the token was not used: \(tokens)")
            }
        }
    }

    @Test func `A wrong file says what to do`() async throws {
        try await Deployment.run { deployment in
            let file = deployment.directory + "/wrong.json"
            func run() async throws -> Program.Outcome {
                try await Program.agent.run(["run", "--data", deployment.agentData, "--enrollment", file])
            }
            let expired = """
                {"version": 1, "collector": "http://127.0.0.1:1", "token": "token", "expires": "2020-01-01T00:00:00Z"}
                """
            let cases: [(String?, String)] = [
                (nil, "does not exist"), ("{\"version\": 1, \"coll", "cut off"), ("{}", "version is missing"),
                (expired, "expired at 2020-01-01T00:00:00.000000Z"),
            ]
            let cut = try await Program.agent.run([
                "run", "--data", deployment.agentData, "--enrollment", "https://localhost:1#pin=AQ&token=hidden",
            ])
            #expect(cut.ending == .exited(64) && cut.errors.contains("version is missing"), "\(cut)")
            #expect(!cut.errors.contains("hidden"), "\(cut)")
            for (content, words) in cases {
                if let content { try Data(content.utf8).write(to: URL(fileURLWithPath: file)) }
                let outcome = try await run()
                #expect(outcome.ending == .exited(64), "\(outcome)")
                #expect(
                    outcome.errors.contains(words) && outcome.errors.contains("ws1collector enrollment-file"),
                    "\(outcome)")
            }
        }
    }
}
