import AsyncHTTPClient
import Foundation
import Glibc
import NIOCore
import NIOHTTP1
import Synchronization
import TestKit
import Testing

/// A collector and an agent as processes, with their data in a directory of their own that goes when the test ends.
///
/// Not thread-safe but for `record(event:)` and the queries, which only start programs of their own.
final class Deployment: Sendable {
    private struct Running {
        var collector: ChildProcess?
        var agent: ChildProcess?
    }

    let directory: String
    let collectorPort: Int
    private let running = Mutex(Running())

    let agentData: String
    let collectorData: String
    var collectorURL: String { "http://127.0.0.1:\(collectorPort)" }
    var collector: ChildProcess? { running.withLock { $0.collector } }
    var agent: ChildProcess? { running.withLock { $0.agent } }

    /// Runs `body` with a new deployment and ends and removes all of it afterwards; on failure the programs' logs are
    /// printed.
    ///
    /// - Parameters:
    ///   - agentData, collectorData: where the two keep their data, if not in the deployment's own directory.
    static func run(agentData: String? = nil, collectorData: String? = nil, _ body: (Deployment) async throws -> Void)
        async throws
    {
        let deployment = try Deployment(agentData: agentData, collectorData: collectorData)
        var failure: (any Error)?
        do { try await body(deployment) } catch { failure = error }
        await deployment.agent?.killAndReap()
        await deployment.collector?.killAndReap()
        if let failure {
            for name in ["collector.log", "agent.log"] {
                print(
                    "--- the end of \(name)", Program.text("\(deployment.directory)/\(name)").suffix(3000),
                    separator: "\n")
            }
            try? FileManager.default.removeItem(atPath: deployment.directory)
            throw failure
        }
        try FileManager.default.removeItem(atPath: deployment.directory)
    }

    private init(agentData: String?, collectorData: String?) throws {
        directory =
            FileManager.default.temporaryDirectory.appendingPathComponent("ws1-end-to-end-\(UUID().uuidString)").path
        try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: false)
        self.agentData = agentData ?? directory + "/agent"
        self.collectorData = collectorData ?? directory + "/collector"
        collectorPort = try FreePorts.one()
    }

    // MARK: - Processes

    /// Starts the collector and returns when it is ready.
    /// - Parameter wrapper: what runs it, with the collector's path and arguments after its own.
    func startCollector(_ extra: [String] = [], under wrapper: [String] = []) async throws {
        let command =
            wrapper + [
                Program.collector.path, "serve", "--data", collectorData, "--listen", "127.0.0.1:\(collectorPort)",
            ] + extra
        let child = try start(command, log: "collector.log")
        running.withLock { $0.collector = child }
        try await until("the collector is ready", while: child) {
            await self.isReady()
        }
    }

    /// - Parameter address: of a proxy in front of the collector.
    func isReady(at address: String? = nil) async -> Bool {
        var request = HTTPClientRequest(url: (address ?? collectorURL) + "/readyz")
        request.headers.add(name: "connection", value: "close")
        return (try? await HTTPClient.shared.execute(request, timeout: .seconds(2)).status) == .ok
    }

    /// Starts the agent; it reports to the collector, or to `port` where something else stands between the two.
    /// - Parameter environment: besides what this process has.
    func startAgent(_ extra: [String] = [], port: Int? = nil, environment: [String: String] = [:]) throws {
        try startAgent(
            arguments: [
                "--collector", "http://127.0.0.1:\(port ?? collectorPort)",
                "--enrollment-token-file", collectorData + "/enrollment-token",
                "--sample-interval", "1", "--transmit-interval", "1", "--event-hold", "0",
            ] + extra, environment: environment)
    }

    /// Starts the agent with these arguments and its data directory.
    func startAgent(
        arguments: [String], under wrapper: [String] = [], environment: [String: String] = [:]
    ) throws {
        let child = try start(
            wrapper + [Program.agent.path, "run", "--data", agentData] + arguments, environment: environment,
            log: "agent.log")
        running.withLock { $0.agent = child }
    }

    /// Returns when the agent runs and knows its profile: before, events are not accepted.
    func waitUntilAgentAnswers() async throws {
        struct Status: Decodable {
            struct Profile: Decodable { var revision: UInt64 }
            var running: Bool
            var profile: Profile
        }
        try await until("the agent has a profile", while: agent) {
            let outcome = try await Program.agent.run(["status", "--json", "--data", self.agentData])
            guard let status = try? JSONDecoder().decode(Status.self, from: Data(outcome.output.utf8)) else {
                return false
            }
            return status.running && status.profile.revision > 0
        }
    }

    /// Asks the agent to stop: it sends what waits and ends.
    func stopAgent() async throws {
        try await stop(running.withLock { $0.agent.take() }, "agent")
    }

    func stopCollector() async throws {
        try await stop(running.withLock { $0.collector.take() }, "collector")
    }

    /// Kills the agent, now and then the collector, each after a life of at most 0.4 s, and starts it anew at once.
    /// - Parameter startAgent: starts the agent as it was started before.
    func kill(
        times: Int, using dice: inout SeededGenerator,
        startAgent: (Deployment) throws -> Void = { try $0.startAgent() }
    ) async throws {
        for round in 1...times {
            let life = Duration.milliseconds(Int.random(in: 0...400, using: &dice))
            let isCollector = Int.random(in: 0..<4, using: &dice) == 0
            guard let victim = isCollector ? collector : agent else { throw EndToEndError("nothing to kill") }
            if let ending = await victim.ending(within: life) {
                throw EndToEndError("round \(round): ended with \(ending) by itself")
            }
            await victim.killAndReap()
            if isCollector { try await startCollector() } else { try startAgent(self) }
        }
    }

    private func stop(_ child: ChildProcess?, _ name: String) async throws {
        guard let child else { return }
        child.send(signal: SIGTERM)
        guard let ending = await child.ending(within: .seconds(60)) else {
            await child.killAndReap()
            throw EndToEndError("the \(name) did not end within 60 s of SIGTERM")
        }
        guard ending == .exited(0) else { throw EndToEndError("the \(name) ended with \(ending) on SIGTERM") }
    }

    private func start(_ command: [String], environment: [String: String] = [:], log: String) throws -> ChildProcess {
        let path = "\(directory)/\(log)"
        return try ChildProcess(
            command[0], Array(command.dropFirst()), environment: Program.environment(environment), output: path,
            errors: path)
    }

    // MARK: - Use

    /// Gives the agent an event, as a person would; `.exited(0)` means that it is on disk.
    func record(event name: String, value: Int, limit: Duration = .seconds(60)) async throws -> Program.Outcome {
        try await Program.agent.run(
            ["event", name, String(value), "--type", "integer", "--data", agentData], limit: limit)
    }

    /// Gives the agent events `prefix.1` to `prefix.count`, which it must accept; their names.
    func record(events count: Int, prefix: String) async throws -> Set<String> {
        var names: Set<String> = []
        for number in 1...count {
            let name = "\(prefix).\(number)"
            let outcome = try await record(event: name, value: number)
            guard outcome.succeeded else { throw EndToEndError("event \(name): \(outcome)") }
            names.insert(name)
        }
        return names
    }

    /// Looks again and again until `condition` holds; between two looks `child`, if any, may end, which is a failure.
    func until(
        _ what: String, within limit: Duration = .seconds(60), while child: ChildProcess? = nil,
        _ condition: () async throws -> Bool
    ) async throws {
        let deadline = ContinuousClock.now + limit
        while try await !condition() {
            guard ContinuousClock.now < deadline else { throw EndToEndError("not within \(limit): \(what)") }
            if let child, let ending = await child.ending(within: .milliseconds(20)) {
                throw EndToEndError("ended with \(ending) before \(what)")
            }
        }
    }
}
