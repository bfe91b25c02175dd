import Foundation
import MosquittoTestKit
import NIOHTTP1
import TestKit
import Testing

/// Devices behind a real Mosquitto, with the real programs on both sides.
@Suite(.serialized, .timeLimit(.minutes(10)))
struct BrokerTests {
    private struct Device: Decodable {
        struct Connection: Decodable {
            var name: String
            var state: String
        }
        var brokerConnection: Connection?
    }

    private struct Status: Decodable {
        struct Profile: Decodable { var revision: UInt64 }
        var profile: Profile
        var doNotDisturb: Bool
    }

    private static func status(_ deployment: Deployment) async throws -> Status? {
        let outcome = try await Program.agent.run(["status", "--json", "--data", deployment.agentData])
        return try? JSONDecoder().decode(Status.self, from: Data(outcome.output.utf8))
    }

    /// The state of the device's connection to the broker, as the collector knows it.
    private static func connection(_ device: String, _ deployment: Deployment) async throws -> String? {
        try JSONDecoder().decode(Device.self, from: try await deployment.request("/devices/\(device)"))
            .brokerConnection?.state
    }

    @Test func `A device enrolls, sends and hears of everything through the broker alone`() async throws {
        try await BrokerScene.play { scene in
            let deployment = scene.deployment
            try scene.startAgent()
            try await deployment.waitUntilAgentAnswers()
            let device = try await deployment.deviceID()
            try await deployment.until("the collector knows the device's connection", while: deployment.agent) {
                try await Self.connection(device, deployment) == "connected"
            }
            let revision = try #require(try await Self.status(deployment)).profile.revision
            let names = try await deployment.record(events: 20, prefix: "broker")
            _ = try await deployment.request("/profiles/default", .PUT, body: #"{"doNotDisturbAllowed": true}"#)
            try await deployment.until("the device has the new profile", while: deployment.agent) {
                try await Self.status(deployment)?.profile.revision ?? 0 > revision
            }
            let here = try await Program.agent.run(["dnd", "on", "--data", deployment.agentData])
            #expect(here.succeeded, "\(here)")
            #expect(try await Self.status(deployment)?.doNotDisturb == true)
            _ = try await deployment.request("/devices/\(device)/do-not-disturb", .PUT, body: #"{"on": false}"#)
            try await deployment.until("the person's decision has come", while: deployment.agent) {
                try await Self.status(deployment)?.doNotDisturb == false
            }
            try await deployment.expectExactlyOnce(acknowledged: names)
        }
    }

    /// The device asks for nothing by itself for an hour, so only the broker can bring the message.
    @Test func `A message reaches a connected device within a second`() async throws {
        try await BrokerScene.play { scene in
            let deployment = scene.deployment
            let hook = try BrokerScene.Hook(deployment)
            try scene.startAgent(hook.arguments, isQuiet: true, environment: hook.environment)
            try await deployment.waitUntilAgentAnswers()
            let device = try await deployment.deviceID()
            try await deployment.until("the collector knows the device's connection", while: deployment.agent) {
                try await Self.connection(device, deployment) == "connected"
            }
            var fastest = Duration.seconds(3600)
            for number in 1...5 {
                let began = ContinuousClock.now
                let command = try await deployment.issue(
                    #"{"kind": "message", "arguments": {"text": "number \#(number)"}}"#, to: device)
                // Much longer than a second, because the machine may be busy; much shorter than the next question.
                try await deployment.until("the message is there", within: .seconds(20), while: deployment.agent) {
                    hook.has(command.id)
                }
                fastest = min(fastest, ContinuousClock.now - began)
                #expect(try await deployment.end(of: command, device: device).state == "done")
            }
            #expect(fastest < .seconds(1))
            #expect(try await scene.metric(#"ws1_mqtt_news_total{fate="published"}"#) >= 5)
        }
    }

    @Test func `Logs above the broker's largest packet arrive in parts, each line once`() async throws {
        try await BrokerScene.play {
            $0.lines = ["max_packet_size 20000"]
        } _: { scene in
            let deployment = scene.deployment
            try scene.startAgent()
            try await deployment.waitUntilAgentAnswers()
            let device = try await deployment.deviceID()
            // Random, so that it stays large when it is compressed.
            var dice = SeededGenerator.announced(for: "BrokerTests")
            let lines = (1...3000).map { number in
                let noise = (0..<12).map { _ in String(dice.next(), radix: 36) }.joined()
                return "line \(number). \(noise)"
            }
            let input = deployment.directory + "/lines"
            try Data((lines.joined(separator: "\n") + "\n").utf8).write(to: URL(filePath: input))
            let logged = try await Program.agent.run(
                ["log", "warning", "--category", "large", "--data", deployment.agentData],
                under: ["/bin/sh", "-c", "exec \"$@\" < '\(input)'", "sh"])
            #expect(logged.succeeded, "\(logged)")
            let command = try await deployment.issue(
                #"{"kind": "request-logs", "arguments": {"type": "application", "categories": ["large"]}}"#,
                to: device)
            let ended = try await deployment.end(of: command, device: device)
            #expect(ended.state == "done", "\(ended)")
            let stored = try await deployment.logLines("device=\(device)&category=large")
            let numbers = stored.compactMap { line in
                line.firstMatch(of: /line ([0-9]+)\./).flatMap { Int($0.output.1) }
            }
            #expect(numbers.sorted() == Array(1...3000))
            // 200 kB and more in parts of 5 kB.
            #expect(try await scene.metric(#"ws1_mqtt_messages_total{kind="part"}"#) > 20)
        }
    }

    @Test func `Kills of broker, agent and collector lose and double nothing`() async throws {
        var dice = SeededGenerator.announced(for: "BrokerTests")
        try await BrokerScene.play { scene in
            let deployment = scene.deployment
            try scene.startAgent()
            try await deployment.waitUntilAgentAnswers()
            var names: Set<String> = []
            for round in 1...5 {
                // The broker dies at most twice in a row for one client: a third time looks like a takeover.
                for victim in [0, 1, 2].shuffled(using: &dice) {
                    names.formUnion(try await deployment.record(events: 3, prefix: "kill.\(round).\(victim)"))
                    let agent = try #require(deployment.agent)
                    let collector = try #require(deployment.collector)
                    let life = Duration.milliseconds(Int.random(in: 0...1200, using: &dice))
                    #expect(await (victim == 1 ? collector : agent).ending(within: life) == nil, "ended by itself")
                    switch victim {
                    case 0:
                        await scene.broker.kill()
                        names.formUnion(try await deployment.record(events: 2, prefix: "away.\(round)"))
                        try await scene.broker.restart()
                    case 1:
                        await collector.killAndReap()
                        try await scene.startCollector()
                    default:
                        await agent.killAndReap()
                        try scene.startAgent()
                        try await deployment.waitUntilAgentAnswers()
                    }
                }
            }
            #expect(names.count == 55)
            // A request that died with its collector is known to be lost only when its time is over.
            try await deployment.waitUntilSent(within: .seconds(300))
            try await deployment.expectExactlyOnce(acknowledged: names)
        }
    }

    /// Two devices with one name at the broker throw each other out. The one that lost waits, and says why.
    @Test func `Two devices with one name at the broker say so, and lose nothing`() async throws {
        try await BrokerScene.play { scene in
            let deployment = scene.deployment
            try scene.startAgent()
            try await deployment.waitUntilAgentAnswers()
            let log = deployment.directory + "/second.log"
            let second = try ChildProcess(
                Program.agent.path,
                [
                    "run", "--data", deployment.directory + "/second", "--collector", scene.address,
                    "--enrollment-token-file", deployment.collectorData + "/enrollment-token",
                    "--sample-interval", "1", "--transmit-interval", "1",
                ] + (try BrokerScene.credentials("kiosk", scene.broker)),
                environment: Program.environment([:]), output: log, errors: log)
            do {
                try await deployment.until("one of them says why", within: .seconds(120), while: second) {
                    let first = Program.text(deployment.directory + "/agent.log")
                    return [first, Program.text(log)].contains { $0.contains("same client id") }
                }
            } catch {
                await second.killAndReap()
                throw error
            }
            await second.killAndReap()
            let names = try await deployment.record(events: 5, prefix: "takeover")
            // Where the first one lost, it waits up to two minutes.
            try await deployment.until("the first one has sent", within: .seconds(240), while: deployment.agent) {
                let stored = try await deployment.storedEvents()
                return names.allSatisfy { stored[$0] == 1 }
            }
        }
    }

    @Test func `A simulated fleet with all faults loses and doubles nothing behind a broker`() async throws {
        try await BrokerScene.play {
            ($0.users, $0.acl) = (nil, nil)
        } _: { scene in
            let deployment = scene.deployment
            struct Token: Decodable { var token: String }
            let token = try JSONDecoder().decode(
                Token.self,
                from: try await deployment.request(
                    "/tokens", .POST,
                    body: #"{"kind": "enrollment", "organization": "default", "unlimited": true}"#))
            let file = deployment.directory + "/fleet-token"
            try Data(token.token.utf8).write(to: URL(filePath: file))
            let outcome = try await Program.simulator.run(
                [
                    "--collector", deployment.collectorURL, "--broker", scene.address, "--enrollment-token-file", file,
                    "--token-file", "\(deployment.collectorData)/administrator-token", "--devices", "20",
                    "--seconds", "120", "--speed", "0", "--json",
                ], limit: .seconds(400))
            #expect(outcome.succeeded, "\(outcome)")
            #expect(try await scene.metric(#"ws1_mqtt_answers_total{fate="published"}"#) > 100)
        }
    }

    @Test func `An enrollment file pins the broker's key`() async throws {
        try await BrokerScene.play {
            $0.certificate = ServerCertificates.one
        } _: { scene in
            let (deployment, broker) = (scene.deployment, scene.broker)
            let file = deployment.directory + "/enrollment.json"
            let made = try await Program.collector.run([
                "enrollment-file", "--data", deployment.collectorData, "--address", scene.address,
                "--broker-certificate", try broker.file("one.pem", ServerCertificates.one.certificate), "--ca",
                try #require(scene.authority), "--output", file,
            ])
            #expect(made.succeeded && made.output.contains("2 pins"), "\(made)")
            let arguments = ["--enrollment", file, "--transmit-interval", "1", "--event-hold", "0"]
            let agent = { () throws in
                try deployment.startAgent(arguments: arguments + BrokerScene.credentials("kiosk", broker))
            }
            try agent()
            try await deployment.waitUntilAgentAnswers()
            _ = try await deployment.record(events: 3, prefix: "pinned")
            try await deployment.waitUntilSent()
            try await deployment.stopAgent()

            // The same name and authority, another key.
            await broker.kill()
            _ = try broker.file("server.crt", ServerCertificates.two.certificate)
            _ = try broker.file("server.key", ServerCertificates.two.key)
            try await broker.restart()
            try agent()
            try await deployment.until("the agent refuses the key", while: deployment.agent) {
                let status = try await Program.agent.run(["status", "--data", deployment.agentData])
                return status.output.contains("none of those pinned")
            }
        }
    }
}
