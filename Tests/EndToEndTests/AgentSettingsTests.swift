import AsyncHTTPClient
import Foundation
import Glibc
import NIOCore
import NIOHTTP1
import TestKit
import Testing

/// What changes in an agent's configuration between two starts, or while it runs, does not keep it from its work.
@Suite(.timeLimit(.minutes(5)))
struct AgentSettingsTests {
    @Test func `An enrolled agent starts without its token file`() async throws {
        try await Deployment.run { deployment in
            try await deployment.startCollector()
            try deployment.startAgent()
            try await deployment.waitUntilAgentAnswers()
            try await deployment.stopAgent()
            try FileManager.default.removeItem(atPath: deployment.collectorData + "/enrollment-token")
            try deployment.startAgent()
            try await deployment.waitUntilAgentAnswers()
            let outcome = try await deployment.record(event: "without.token", value: 1)
            #expect(outcome.succeeded, "\(outcome)")
            try await deployment.expectExactlyOnce(acknowledged: ["without.token"])
        }
    }

    @Test func `A hangup reads the configuration again and ends nothing`() async throws {
        try await Deployment.run { deployment in
            let file = deployment.directory + "/agent.json5"
            func write(_ text: String) throws { try Data(text.utf8).write(to: URL(fileURLWithPath: file)) }
            func log() -> String { Program.text(deployment.directory + "/agent.log") }
            try await deployment.startCollector()
            try write("{ analytics: true }")
            try deployment.startAgent(["--config", file])
            let agent = try #require(deployment.agent)
            // Before anybody listens for it, too.
            try await deployment.until("the agent holds signals back", while: agent) { agent.blocks(signal: SIGHUP) }
            agent.send(signal: SIGHUP)
            try await deployment.waitUntilAgentAnswers()
            try await deployment.until("the first reload", while: agent) { log().contains("configuration reloaded") }

            try write("{ analytics: false, lossWindow: 20 }")
            agent.send(signal: SIGHUP)
            try await deployment.until("the change is told", while: agent) {
                log().contains("changed=[\"analytics\"]") || log().contains("changed=\"['analytics']\"")
            }
            #expect(log().contains("loss-window"), "what waits for a restart is named")
            #expect(try await !deployment.record(event: "refused", value: 1).succeeded, "events are off at once")

            try write("{ analytics: perhaps")
            agent.send(signal: SIGHUP)
            try await deployment.until("the wrong file is told", while: agent) {
                log().contains("configuration not reloaded")
            }
            #expect(try await !deployment.record(event: "refused", value: 1).succeeded, "a wrong file changes nothing")

            try write("{ analytics: true }")
            agent.send(signal: SIGHUP)
            try await deployment.until("events are taken again", while: agent) {
                try await deployment.record(event: "taken", value: 1).succeeded
            }
            try await deployment.stopAgent()
        }
    }

    @Test func `What run refuses, validate refuses`() async throws {
        let settings = ["--data", "/nonexistent/agent", "--collector", "https://127.0.0.1:1"]
        for wrong in [
            ["--ca", "/nope"], ["--ca", "/dev/null"], ["--enrollment-token-file", "/nope"], ["--data", "/dev/null/x"],
        ] {
            let run = try await Program.agent.run(["run"] + settings + wrong)
            let validate = try await Program.agent.run(["validate"] + settings + wrong)
            #expect(run.ending == validate.ending && !run.succeeded, "\(wrong): \(run) \(validate)")
            #expect(run.errors == validate.errors && run.errors.contains(wrong[1]), "\(wrong): \(run) \(validate)")
        }
    }

    /// A fleet whose profile has wrong certificate pins goes on sending, and hears of the correction.
    @Test func `A profile with wrong pins does not cut an agent off`() async throws {
        try await Deployment.run { deployment in
            let directory = deployment.directory
            func write(_ name: String, _ text: String) throws -> String {
                try Data(text.utf8).write(to: URL(fileURLWithPath: "\(directory)/\(name)"))
                return "\(directory)/\(name)"
            }
            let authority = try write("authority.pem", ServerCertificates.authority)
            let certificate = try write("one.pem", ServerCertificates.one.certificate)
            let key = try write("one.key", ServerCertificates.one.key)

            // A collector that does not end TLS accepts any pins.
            try await deployment.startCollector()
            var request = HTTPClientRequest(url: "\(deployment.collectorURL)/api/v1/profiles/default")
            request.method = .PUT
            request.headers.add(name: "authorization", value: "Bearer \(deployment.token("administrator-token"))")
            request.headers.add(name: "content-type", value: "application/json")
            let wrong = Data(repeating: 7, count: 32).base64EncodedString()
            request.body = .bytes(
                ByteBuffer(string: #"{"analytics": {"enabled": true}, "certificatePins": ["\#(wrong)"]}"#))
            #expect(try await HTTPClient.shared.execute(request, timeout: .seconds(30)).status == .ok)
            try await deployment.stopCollector()

            let port = try FreePorts.one()
            let log = "\(directory)/tls.log"
            let collector = try ChildProcess(
                Program.collector.path,
                [
                    "serve", "--data", deployment.collectorData, "--listen", "127.0.0.1:\(port)", "--tls-certificate",
                    certificate,
                    "--tls-key", key,
                ], environment: Program.environment([:]), output: log, errors: log)
            let agent = try ChildProcess(
                Program.agent.path,
                [
                    "run", "--data", deployment.agentData, "--collector", "https://localhost:\(port)", "--ca",
                    authority,
                    "--enrollment-token-file", deployment.collectorData + "/enrollment-token", "--transmit-interval",
                    "1", "--event-hold",
                    "0",
                ], environment: Program.environment([:]), output: log, errors: log)
            var failure: (any Error)?
            do {
                try await deployment.until("the agent says that the pins are refused", while: agent) {
                    let outcome = try await Program.agent.run(["status", "--data", deployment.agentData])
                    return outcome.output.contains("the certificate pins of the profile are refused")
                }
                let outcome = try await deployment.record(event: "still.connected", value: 1)
                #expect(outcome.succeeded, "\(outcome)")
                try await deployment.waitUntilSent()
                // The finding stands from the profile's arrival on; the log reports it once the profile is applied.
                try await deployment.until("the log says it too", while: agent) {
                    Program.text(log).contains("certificate pins of the profile are not in force")
                }
            } catch { failure = error }
            for child in [agent, collector] { await child.killAndReap() }
            if let failure {
                print(Program.text(log).suffix(3000))
                throw failure
            }
        }
    }
}
