import AsyncHTTPClient
import ClickHouse
import ClickHouseTestKit
import Foundation
import Glibc
import LogArchiveTestKit
import NIOCore
import NIOHTTP1
import PostgresTestKit
import Synchronization
import TestKit
import WireModel

@testable import ObjectStorage

/// Two collectors as processes over real servers, with databases and a bucket of their own.
final class ClusterDeployment: Sendable {
    let directory: String
    let ports: [Int]
    let postgreSQL: PostgresTestDatabase
    private let clickHouse: ClickHouseServers
    private let database: String
    private let environment: [String: String]
    private let collectors: Mutex<[ChildProcess?]>

    var configuration: String { directory + "/collector.yaml" }
    private var agentData: String { directory + "/agent" }
    var enrollmentToken: String { directory + "/collector-0/enrollment-token" }

    /// Runs `body` with all tables made and no collector started. Ends and removes all of it afterwards.
    /// - Parameters:
    ///   - server: of PostgreSQL, if the test breaks it.
    ///   - connection: to its database, if not to the server alone.
    ///   - isMade: whether `cluster init` has run.
    static func run(
        postgreSQL server: PostgresServer? = nil, connection: ((PostgresTestDatabase) -> String)? = nil,
        isMade: Bool = true, _ body: (ClusterDeployment) async throws -> Void
    ) async throws {
        let deployment = try await ClusterDeployment(server, connection)
        let result: Result<Void, any Error>
        do {
            if isMade { try await deployment.succeed(["cluster", "init"]) }
            result = .success(try await body(deployment))
        } catch { result = .failure(error) }
        for place in deployment.ports.indices { await deployment.collector(place)?.killAndReap() }
        if case .failure = result {
            for place in deployment.ports.indices {
                print("--- collector \(place)", deployment.log(place).suffix(3000))
            }
        }
        for replica in deployment.clickHouse.client.replicas {
            try? await deployment.clickHouse.client.execute(
                "DROP DATABASE IF EXISTS \(deployment.database)", on: replica)
        }
        try? FileManager.default.removeItem(atPath: deployment.directory)
        try result.get()
    }

    private init(_ server: PostgresServer?, _ connection: ((PostgresTestDatabase) -> String)?) async throws {
        directory = FileManager.default.temporaryDirectory.appendingPathComponent("ws1-cluster-\(UUID())").path
        try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: false)
        ports = [try FreePorts.one(), try FreePorts.one()]
        clickHouse = try await ClickHouseServers.shared()
        let postgres = if let server { server } else { try await PostgresServer.shared() }
        postgreSQL = try await postgres.makeDatabase()
        database = postgreSQL.name
        let moto = try await MotoServer.shared()
        let bucket = "bucket-\(UUID().uuidString.lowercased())"
        try await Self.makeBucket(bucket, moto)
        environment = ["AWS_ACCESS_KEY_ID": moto.accessKeyID, "AWS_SECRET_ACCESS_KEY": moto.secretAccessKey]
        collectors = Mutex(ports.map { _ in nil })
        let yaml = """
            store: cluster
            data: \(directory)/collector-0
            clickhouse-urls: [\(clickHouse.urls.joined(separator: ", "))]
            clickhouse-database: \(database)
            postgresql: "\(connection?(postgreSQL) ?? postgreSQL.connectionString)"
            bucket-endpoint: \(moto.endpoint)
            bucket: \(bucket)
            """
        try yaml.write(toFile: directory + "/collector.yaml", atomically: true, encoding: .utf8)
    }

    private static func makeBucket(_ name: String, _ server: MotoServer) async throws {
        let storage = try ObjectStorage(
            try ObjectStorageConfiguration(
                endpoint: server.endpoint, region: "us-east-1", bucket: name,
                credentials: .given(
                    try ObjectStorageCredentials(
                        accessKeyID: server.accessKeyID, secretAccessKey: server.secretAccessKey))))
        do { _ = try await storage.requests.send(.init(.put, key: nil, subject: "creating a bucket")) } catch {
            await storage.shutDown()
            throw error
        }
        await storage.shutDown()
    }

    // MARK: - Processes

    func collector(_ place: Int) -> ChildProcess? { collectors.withLock { $0[place] } }

    func log(_ place: Int) -> String { Program.text("\(directory)/collector-\(place).log") }

    /// Returns when the collector is ready.
    /// - Parameters:
    ///   - extra: more arguments.
    ///   - failpoint: where the collector kills itself, as `WS1_TEST_FAILPOINT` has it.
    func start(_ place: Int, _ extra: [String] = [], failpoint: String? = nil) async throws {
        let path = "\(directory)/collector-\(place).log"
        let child = try ChildProcess(
            Program.collector.path,
            [
                "serve", "--config", configuration, "--data", "\(directory)/collector-\(place)", "--listen",
                "127.0.0.1:\(ports[place])",
            ] + extra,
            environment: Program.environment(
                environment.merging(failpoint.map { ["WS1_TEST_FAILPOINT": $0] } ?? [:]) { first, _ in first }),
            output: path, errors: path)
        collectors.withLock { $0[place] = child }
        try await until("collector \(place) is ready") { await self.isReady(place) }
    }

    /// Starts a collector that is not of the cluster, on the data directory and the port of the first one. Returns when
    /// it is ready.
    /// - Parameter days: by which its clock is behind.
    func startAlone(daysAgo days: Int = 0) async throws {
        let path = "\(directory)/alone.log"
        var variables: [String: String] = [:]
        if days != 0 {
            // libfaketime changes the environment of the first program that loads it. A program of ours would not find
            // its arguments then. `env` is the first. The loader replaces $LIB.
            variables = ["LD_PRELOAD": "/usr/$LIB/faketime/libfaketimeMT.so.1", "FAKETIME": "-\(days)d"]
        }
        let child = try ChildProcess(
            "/usr/bin/env",
            [
                Program.collector.path, "serve", "--data", "\(directory)/collector-0", "--listen",
                "127.0.0.1:\(ports[0])",
            ],
            environment: Program.environment(variables), output: path, errors: path)
        collectors.withLock { $0[0] = child }
        try await until("the collector is ready") { await self.isReady(0) }
    }

    func kill(_ place: Int) async { await collector(place)?.killAndReap() }

    /// Ends a collector in order.
    func stop(_ place: Int) async throws {
        guard let child = collectors.withLock({ $0[place].take() }) else { return }
        child.send(signal: SIGTERM)
        let ending = await child.ending(within: .seconds(60))
        guard ending == .exited(0) else {
            throw EndToEndError("collector \(place) ended with \(ending.debugDescription)")
        }
    }

    /// A command of ws1collector with the cluster's configuration.
    /// - Parameter failpoint: where the command kills itself.
    func run(_ arguments: [String], failpoint: String? = nil) async throws -> Program.Outcome {
        try await Program.collector.run(
            arguments + ["--config", configuration],
            environment: environment.merging(failpoint.map { ["WS1_TEST_FAILPOINT": $0] } ?? [:]) { first, _ in first })
    }

    @discardableResult
    func succeed(_ arguments: [String]) async throws -> String {
        let outcome = try await run(arguments)
        guard outcome.succeeded else { throw EndToEndError("\(arguments): \(outcome)") }
        return outcome.output
    }

    /// Starts an agent that reports to a port each second.
    func startAgent(port: Int) throws -> ChildProcess { try startAgent(["--collector", "http://127.0.0.1:\(port)"]) }

    /// - Parameter collector: the arguments that name it.
    func startAgent(_ collector: [String]) throws -> ChildProcess {
        try ChildProcess(
            Program.agent.path,
            [
                "run", "--data", agentData, "--enrollment-token-file",
                enrollmentToken, "--sample-interval", "1", "--transmit-interval", "1", "--event-hold", "0",
            ] + collector, environment: Program.environment([:]), output: directory + "/agent.log",
            errors: directory + "/agent.log")
    }

    /// Gives the agent an event, which is on its disk then.
    func record(_ name: String) async throws {
        try await until("the agent takes an event") {
            try await Program.agent.run(["event", name, "1", "--type", "integer", "--data", self.agentData]).succeeded
        }
    }

    /// Ends the agent, which first sends what waits.
    func stop(agent: ChildProcess) async throws {
        agent.send(signal: SIGTERM)
        guard await agent.ending(within: .seconds(60)) == .exited(0) else {
            throw EndToEndError("the agent did not end: \(Program.text(directory + "/agent.log"))")
        }
    }

    /// How many rows the table for people has of an event.
    func peopleRows(named name: String) async throws -> UInt64 {
        try await clickHouse.number("SELECT count() FROM \(database).event FINAL WHERE name = '\(name)'")
    }

    /// How many rows a table of ClickHouse has.
    func rows(of table: String) async throws -> UInt64 {
        try await clickHouse.number("SELECT count() FROM \(database).\(table)")
    }

    // MARK: - Requests

    func isReady(_ place: Int) async -> Bool {
        (try? await send(.GET, "/readyz", to: place).status) == .ok
    }

    struct Answer {
        var status: HTTPResponseStatus
        var headers: HTTPHeaders
        var body: Data
    }

    /// - Parameter token: of the administrator, unless it is given.
    func send(
        _ method: HTTPMethod, _ path: String, to place: Int, token: String? = nil, body: String? = nil
    ) async throws -> Answer {
        var request = HTTPClientRequest(url: "http://127.0.0.1:\(ports[place])\(path)")
        request.method = method
        let administrator = Program.text(directory + "/collector-0/administrator-token")
        request.headers.add(
            name: "authorization", value: "Bearer \((token ?? administrator).trimmingCharacters(in: .newlines))")
        request.headers.add(name: "connection", value: "close")
        if let body {
            request.headers.add(name: "content-type", value: "application/json")
            request.body = .bytes(ByteBuffer(string: body))
        }
        let response = try await HTTPClient.shared.execute(request, timeout: .seconds(30))
        let bytes = try await response.body.collect(upTo: 16 << 20)
        return Answer(status: response.status, headers: response.headers, body: Data(bytes.readableBytesView))
    }

    /// Looks again and again until `condition` holds.
    func until(
        _ what: String, within limit: Duration = .seconds(60), _ condition: () async throws -> Bool
    ) async throws {
        guard try await eventually(within: limit, condition) else {
            throw EndToEndError("not within \(limit): \(what)")
        }
    }
}
