import AsyncHTTPClient
import Foundation
import Glibc
import NIOCore
import NIOHTTP1
import PostgresTestKit
import Synchronization
import TestKit
import Testing

/// A collector that forwards to another one, with kills of both.
@Suite(.serialized, .timeLimit(.minutes(10)))
struct ForwardTests {
    private static let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent().appendingPathComponent(
        "../../.."
    ).standardizedFileURL.path

    /// The collector at the end of a chain.
    private final class Receiver: Sendable {
        let data: String
        let port: Int
        private let log: String
        private let child = Mutex<ChildProcess?>(nil)

        var url: String { "http://127.0.0.1:\(port)" }
        var process: ChildProcess? { child.withLock { $0 } }

        init(in directory: String) throws {
            data = directory + "/receiver"
            log = directory + "/receiver.log"
            port = try FreePorts.one()
        }

        func start() async throws {
            let started = try ChildProcess(
                Program.collector.path, ["serve", "--data", data, "--listen", "127.0.0.1:\(port)"],
                environment: Program.environment([:]), output: log, errors: log)
            child.withLock { $0 = started }
            let isReady = try await eventually(within: .seconds(60)) {
                let request = HTTPClientRequest(url: self.url + "/readyz")
                return (try? await HTTPClient.shared.execute(request, timeout: .seconds(2)).status) == .ok
            }
            guard isReady else { throw EndToEndError("the receiver is not ready: \(Program.text(log))") }
        }

        /// - Parameter person: a token.
        func get(_ path: String, as person: String) async throws -> String {
            var request = HTTPClientRequest(url: url + path)
            request.headers.add(name: "authorization", value: "Bearer \(person)")
            let response = try await HTTPClient.shared.execute(request, timeout: .seconds(20))
            return String(buffer: try await response.body.collect(upTo: 4 << 20))
        }

        func token(_ arguments: [String]) async throws -> String {
            let outcome = try await Program.collector.run(["token", "create", "--data", data] + arguments)
            guard outcome.succeeded else { throw EndToEndError("\(outcome)") }
            return outcome.output.trimmingCharacters(in: .whitespacesAndNewlines)
        }
    }

    /// Two collectors, the first with an agent and `forward`.
    private static func chain(
        _ more: String = "", _ body: (Deployment, Receiver, _ person: String) async throws -> Void
    ) async throws {
        try await Deployment.run { deployment in
            let receiver = try Receiver(in: deployment.directory)
            do {
                try await receiver.start()
                let token = try await receiver.token(["--otlp", "--name", "chain"])
                let person = try await receiver.token(["--role", "viewer", "--name", "p", "--organization", "default"])
                try "Authorization: Bearer \(token)\n".write(
                    toFile: deployment.directory + "/headers", atomically: true, encoding: .utf8)
                try """
                forward:
                  next:
                    url: \(receiver.url)
                    headers: \(deployment.directory)/headers
                    backlog: true
                \(more)
                """.write(toFile: deployment.directory + "/collector.yaml", atomically: true, encoding: .utf8)
                try await startSender(deployment)
                try deployment.startAgent()
                try await deployment.waitUntilAgentAnswers()
                try await body(deployment, receiver, person)
                await receiver.process?.killAndReap()
            } catch {
                await receiver.process?.killAndReap()
                print("--- receiver", Program.text(deployment.directory + "/receiver.log").suffix(2000))
                throw error
            }
        }
    }

    private static func startSender(_ deployment: Deployment) async throws {
        try await deployment.startCollector(["--config", deployment.directory + "/collector.yaml"])
    }

    /// Waits until nothing is left to forward, then compares every record.
    /// - Parameter receiver: how forward-compare.py finds what came.
    private static func compare(_ deployment: Deployment, _ receiver: [String]) async throws {
        let token = ["WS1_TOKEN_FILE": deployment.collectorData + "/administrator-token"]
        let path = deployment.directory + "/export.ndjson"
        var last = ""
        try await deployment.until("every record came", within: .seconds(120)) {
            try? FileManager.default.removeItem(atPath: path)
            let export = try await Program.ctl.run(
                [
                    "export", "--collector", deployment.collectorURL, "--organization", "default", "--test",
                    "--metrics",
                    "--output", path,
                ], environment: token)
            guard export.succeeded else { throw EndToEndError("\(export)") }
            let log = "\(deployment.directory)/compare.log"
            try? FileManager.default.removeItem(atPath: log)
            let child = try ChildProcess(
                "/usr/bin/env",
                [
                    "python3", "\(root)/Tests/EndToEndTests/OTLP/forward-compare.py", path,
                ] + receiver, environment: Program.environment([:]), output: log, errors: log)
            let ending = await child.ending(within: .seconds(60))
            if ending == nil { await child.killAndReap() }
            last = Program.text(log)
            if last.contains("doubled: ") && !last.contains("doubled: 0 ") { throw EndToEndError(last) }
            if ending != .exited(0) { print(last) }
            return ending == .exited(0)
        }
        print(last)
    }

    @Test func `Every record that one collector has is at the next one, however often either is killed`() async throws {
        var dice = SeededGenerator.announced(for: "ForwardTests")
        try await Self.chain { deployment, receiver, person in
            var names: Set<String> = []
            var kills = (sender: 0, receiver: 0)
            for round in 0..<24 {
                names.formUnion(try await deployment.record(events: 4, prefix: "round.\(round)"))
                let life = Duration.milliseconds(Int.random(in: 0...1500, using: &dice))
                if Bool.random(using: &dice) {
                    let victim = try #require(deployment.collector)
                    _ = await victim.ending(within: life)
                    await victim.killAndReap()
                    try await Self.startSender(deployment)
                    kills.sender += 1
                } else {
                    let victim = try #require(receiver.process)
                    _ = await victim.ending(within: life)
                    await victim.killAndReap()
                    try await receiver.start()
                    kills.receiver += 1
                }
            }
            try await deployment.stopAgent()
            print("kills: \(kills)")
            try await Self.compare(deployment, [receiver.url, person])
            let text = try String(contentsOfFile: deployment.directory + "/export.ndjson", encoding: .utf8)
            for name in names { #expect(text.contains("\"\(name)\""), "\(name)") }
            try await deployment.stopCollector()
            await receiver.process?.killAndReap()
            for data in [deployment.collectorData, receiver.data] {
                let verify = try await Program.collector.run(["verify", "--data", data])
                #expect(verify.succeeded, "\(verify)")
            }
        }
    }

    static var isSDKInstalled: Bool { access("\(root)/.build/otlp-clients/bin/python", X_OK) == 0 }

    @Test(.enabled(if: ForwardTests.isSDKInstalled, "needs Tools/otlp-clients"))
    func `A receiver that nobody here wrote gets each value of each record, though it refuses and breaks`() async throws
    {
        var dice = SeededGenerator.announced(for: "ForwardTests.receiver")
        let seed = Int.random(in: 0..<1_000_000, using: &dice)
        try await Deployment.run { deployment in
            let (port, file, log) = (
                try FreePorts.one(), deployment.directory + "/received.ndjson", deployment.directory + "/receiver.log"
            )
            let gate = deployment.directory + "/gate"
            #expect(mkfifo(gate, 0o600) == 0)
            let receiver = try ChildProcess(
                "/bin/sh",
                [
                    "-c", #"exec "$0" "$@" <"$GATE""#, "\(Self.root)/.build/otlp-clients/bin/python",
                    "\(Self.root)/Tests/EndToEndTests/OTLP/forward-receiver.py", "\(port)", file, "\(seed)",
                ], environment: Program.environment(["GATE": gate]), output: log, errors: log)
            let end = try #require(FileHandle(forUpdatingAtPath: gate))
            do {
                try await deployment.until("the receiver is ready", while: receiver) {
                    Program.text(log).contains("ready")
                }
                try "X-Token: secret\n".write(
                    toFile: deployment.directory + "/headers", atomically: true, encoding: .utf8)
                try """
                forward:
                  python:
                    url: http://127.0.0.1:\(port)
                    headers: \(deployment.directory)/headers
                    backlog: true
                """.write(toFile: deployment.directory + "/collector.yaml", atomically: true, encoding: .utf8)
                try await Self.startSender(deployment)
                try deployment.startAgent()
                try await deployment.waitUntilAgentAnswers()
                for round in 0..<12 {
                    _ = try await deployment.record(events: 3, prefix: "round.\(round)")
                    if round % 4 == 3 {
                        let victim = try #require(deployment.collector)
                        _ = await victim.ending(within: .milliseconds(Int.random(in: 0...800, using: &dice)))
                        await victim.killAndReap()
                        try await Self.startSender(deployment)
                    }
                }
                try await deployment.stopAgent()
                try await Self.compare(deployment, [file])
                try end.close()
                #expect(await receiver.ending(within: .seconds(30)) == .exited(0))
                print(Program.text(log))
                #expect(!Program.text(log).contains("AssertionError"), Comment(rawValue: Program.text(log)))
                try await deployment.stopCollector()
            } catch {
                await receiver.killAndReap()
                print("--- receiver", Program.text(log).suffix(2000))
                throw error
            }
        }
    }

    @Test func `A reload sends to another endpoint, and the collector's own metrics go out`() async throws {
        try await Self.chain("    own: 5\n    kinds: [events]") { deployment, receiver, person in
            let names = try await deployment.record(events: 3, prefix: "first")
            func get(_ path: String) async throws -> String { try await receiver.get(path, as: person) }
            try await deployment.until("the events came") {
                let events = try await get("/api/v1/events?kind=otlp-log&limit=100")
                return names.allSatisfy { events.contains("\"\($0)\"") }
            }
            try await deployment.until("the collector's own metrics came") {
                try await get("/api/v1/devices?state=otlp&limit=100").contains("\"ws1collector\"")
            }
            // A wrong token holds the records, and one that is put right lets them go, without a reload.
            let headers = deployment.directory + "/headers"
            let right = try String(contentsOfFile: headers, encoding: .utf8)
            try "Authorization: Bearer wrong-token-of-nobody\n".write(
                toFile: headers, atomically: true, encoding: .utf8)
            let held = try await deployment.record(events: 3, prefix: "held")
            try await deployment.until("it is logged") {
                Program.text(deployment.directory + "/collector.log").contains("status 401")
            }
            try right.write(toFile: headers, atomically: true, encoding: .utf8)
            try await deployment.until("the held events came") {
                let events = try await get("/api/v1/events?kind=otlp-log&limit=100")
                return held.allSatisfy { events.contains("\"\($0)\"") }
            }
            let log = Program.text(deployment.directory + "/collector.log")
            #expect(!log.contains("wrong-token-of-nobody"))
            // Without endpoints nothing is sent any more, and the collector goes on.
            try "forward: {}\n".write(
                toFile: deployment.directory + "/collector.yaml", atomically: true, encoding: .utf8)
            try #require(deployment.collector).send(signal: SIGHUP)
            try await deployment.until("it is reloaded") {
                Program.text(deployment.directory + "/collector.log").contains("configuration reloaded")
            }
            try await deployment.stopCollector()
        }
    }

    @Test func `In a cluster one collector forwards, and another one goes on when it dies`() async throws {
        try await ClusterDeployment.run { cluster in
            let receiver = try Receiver(in: cluster.directory)
            do {
                try await receiver.start()
                let token = try await receiver.token(["--otlp", "--name", "chain"])
                let person = try await receiver.token(["--role", "viewer", "--name", "p", "--organization", "default"])
                try "Authorization: Bearer \(token)\n".write(
                    toFile: cluster.directory + "/headers", atomically: true, encoding: .utf8)
                let own = try String(contentsOfFile: cluster.configuration, encoding: .utf8)
                try """
                \(own)
                forward:
                  next: {url: '\(receiver.url)', headers: \(cluster.directory)/headers, kinds: [events], backlog: true}
                """.write(toFile: cluster.configuration, atomically: true, encoding: .utf8)
                try await cluster.start(0)
                try await cluster.start(1)
                var names: [String] = []
                func came() async throws -> String {
                    try await receiver.get("/api/v1/events?kind=otlp-log&limit=200", as: person)
                }
                /// A record is forwarded a minute after it came, and a turn is taken over within a minute.
                func recordAndWait(_ prefix: String) async throws {
                    for number in 0..<4 {
                        names.append("\(prefix).\(number)")
                        try await cluster.record("\(prefix).\(number)")
                    }
                    try await cluster.until("the events \(prefix) came", within: .seconds(200)) {
                        let text = try await came()
                        return names.allSatisfy { text.contains("\"\($0)\"") }
                    }
                }
                try await FaultyProxy.run(upstreamPorts: cluster.ports) { proxy in
                    let agent = try cluster.startAgent(port: proxy.port)
                    do {
                        try await recordAndWait("both")
                        let metrics = try await cluster.send(.GET, "/metrics", to: 0)
                        let isFirst = String(decoding: metrics.body, as: UTF8.self).contains("\nws1_housekeeping 1\n")
                        let forwarding = isFirst ? 0 : 1
                        let counts = String(decoding: metrics.body, as: UTF8.self).contains("ws1_forward_records_total")
                        #expect(counts == isFirst)
                        await cluster.kill(forwarding)
                        try await recordAndWait("one")
                        try await cluster.start(forwarding)
                        try await recordAndWait("again")
                        try await cluster.stop(agent: agent)
                    } catch {
                        await agent.killAndReap()
                        throw error
                    }
                }
                // An item has its name twice: in front, and in the record.
                let answer = try JSONSerialization.jsonObject(with: Data(try await came().utf8)) as? [String: Any]
                let list = try #require(answer?["items"] as? [Any])
                let items = list.map { "\($0)" }
                for name in names { #expect(items.count { $0.contains(name) } == 1, "\(name) once") }
                await receiver.process?.killAndReap()
            } catch {
                await receiver.process?.killAndReap()
                throw error
            }
        }
    }
}
