import ClickHouse
import Glibc
import Logging
import Synchronization
import TestKit

/// Real ClickHouse servers on loopback, with a real ZooKeeper where there are several.
///
/// Everything is in a temporary folder. The servers end with the test process, however that ends. Replicated tables use
/// `ReplicatedMergeTree('/clickhouse/tables/NAME', '{replica}')`.
///
/// Thread-safe.
package final class ClickHouseServers: Sendable {
    /// The HTTP ports of the replicas.
    package let ports: [Int]
    /// The HTTPS ports. The certificate is `ServerCertificates.one`.
    package let securePorts: [Int]
    /// Reaches each replica, for what a test prepares and checks.
    package let client: ClickHouseClient

    /// The password of the user `guarded`. The user `default` has none.
    package static let guardedPassword = "with 'quotes' and \"spaces\""

    private struct Server {
        let command: [String]
        let log: String
        /// `nil`: killed.
        var process: pid_t?
    }

    private struct State {
        var replicas: [Server]
        var zooKeeper: Server?
    }

    private let shell: ServerShell
    private let state: Mutex<State>

    /// How long a test waits for servers at most. They need about a second on a machine with nothing else to do.
    private static let patience = Duration.seconds(60)
    private static let program = "/usr/sbin/clickhouse-server"

    private init(
        shell: ServerShell, state: consuming Mutex<State>, ports: [ServerFiles.Ports], client: ClickHouseClient
    ) {
        self.shell = shell
        self.state = state
        self.ports = ports.map(\.http)
        securePorts = ports.map(\.https)
        self.client = client
    }

    // MARK: Start and end

    /// A cluster of three replicas for the whole test process. Tests that use it must not break it, and give their
    /// tables names of their own.
    package static func shared() async throws -> ClickHouseServers { try await sharedTask.value }

    private static let sharedTask = Task { try await start() }

    /// Runs servers while `body` runs, for tests that break them.
    ///
    /// - Parameters:
    ///   - replicas: with 1 there is no ZooKeeper.
    ///   - sessionTimeoutMilliseconds: how long ZooKeeper counts a silent replica as alive.
    package static func running<Result>(
        replicas: Int = 3, sessionTimeoutMilliseconds: Int = 5000, _ body: (ClickHouseServers) async throws -> Result
    ) async throws -> Result {
        let servers = try await start(replicas: replicas, sessionTimeoutMilliseconds: sessionTimeoutMilliseconds)
        do {
            let result = try await body(servers)
            await servers.stop()
            return result
        } catch {
            await servers.stop()
            throw error
        }
    }

    /// Starts servers and waits until they answer. End them with `stop()`.
    package static func start(
        replicas: Int = 3, sessionTimeoutMilliseconds: Int = 5000
    ) async throws -> ClickHouseServers {
        guard access(program, X_OK) == 0 else {
            throw ServerFailure("ClickHouse is missing (Tools/test installs it): apt-get install clickhouse-server")
        }
        var lastError: any Error = ServerFailure("ClickHouse does not start")
        // Another program may bind a port before its server does.
        for _ in 0..<3 {
            let shell = try ServerShell()
            do {
                return try await start(shell, replicas, sessionTimeoutMilliseconds)
            } catch {
                await shell.end()
                lastError = error
            }
        }
        throw lastError
    }

    private static func start(_ shell: ServerShell, _ replicas: Int, _ sessionTimeoutMilliseconds: Int) async throws
        -> ClickHouseServers
    {
        let numbers = try FreePorts.reserve(4 * replicas + 1)
        let ports = (0..<replicas).map {
            ServerFiles.Ports(
                http: numbers[4 * $0], https: numbers[4 * $0 + 1], native: numbers[4 * $0 + 2],
                interserver: numbers[4 * $0 + 3])
        }
        let zooKeeperPort = replicas > 1 ? numbers[4 * replicas] : nil
        let files = ServerFiles(
            folder: shell.folder, zooKeeperPort: zooKeeperPort,
            sessionTimeoutMilliseconds: sessionTimeoutMilliseconds)
        let zooKeeper = try zooKeeperPort.map {
            Server(command: ZooKeeperProgram.command(try files.writeZooKeeper(port: $0)), log: "zookeeper.log")
        }
        let servers = try ports.enumerated().map { index, ports in
            Server(
                command: [program, "--config-file=\(try files.writeReplica(index, ports))"],
                log: "replica\(index).log")
        }
        let client = try ClickHouseClient(
            ClickHouseConfiguration(urls: ports.map { "http://127.0.0.1:\($0.http)" }),
            logger: Logger(label: "clickhouse", factory: { _ in SwiftLogNoOpLogHandler() }))
        let result = ClickHouseServers(
            shell: shell, state: Mutex(State(replicas: servers, zooKeeper: zooKeeper)), ports: ports, client: client)
        do {
            if zooKeeper != nil { try await result.launchZooKeeper() }
            for index in servers.indices { try await result.launch(index) }
            for index in servers.indices { try await result.waitUntilAnswers(index) }
            if zooKeeper != nil { try await result.waitForZooKeeper() }
            return result
        } catch {
            await client.shutDown()
            throw error
        }
    }

    /// Kills all servers and removes their files.
    package func stop() async {
        await client.shutDown()
        await shell.end()
    }

    // MARK: For clients

    /// The URLs of the replicas, in their order.
    package var urls: [String] { ports.map { "http://127.0.0.1:\($0)" } }

    package func replica(_ index: Int) -> ClickHouseReplica { client.replicas[index] }

    /// Creates a replicated table on all replicas, and waits until each knows that all accept inserts.
    /// - Parameter definition: what follows the engine, such as `PARTITION BY day ORDER BY key`.
    package func createTable(_ name: String, _ columns: String, _ definition: String = "ORDER BY tuple()") async throws
    {
        for replica in client.replicas {
            try await client.execute(
                "CREATE TABLE \(ClickHouseSQL.table(name)) (\(columns)) ENGINE = ReplicatedMergeTree("
                    + "\(ClickHouseSQL.quoted("/clickhouse/tables/\(name)")), '{replica}') \(definition)", on: replica)
        }
        for index in ports.indices { try await waitForReplicas(of: name, active: ports.count, on: index) }
    }

    /// The only number that a query gives on one replica.
    package func number(_ sql: String, on index: Int = 0) async throws -> UInt64 {
        var rows = try await client.query("SELECT toUInt64((\(sql)))", on: replica(index))
        guard rows.next() else { throw ServerFailure("\(sql) gave no row") }
        return try rows.uint64()
    }

    /// Waits until a replica accepts inserts into a table and knows that so many replicas are alive.
    package func waitForReplicas(of table: String, active: Int, on index: Int = 0) async throws {
        try await wait("\(active) active replicas of \(table)") {
            try await number(
                "SELECT sum(active_replicas = \(active) AND NOT is_readonly) FROM system.replicas WHERE table = "
                    + ClickHouseSQL.quoted(table), on: index) == 1
        }
    }

    /// Waits until something holds. An error counts as not yet.
    package func wait(_ what: String, until holds: () async throws -> Bool) async throws {
        let end = ContinuousClock.now + Self.patience
        var lastError: (any Error)?
        while ContinuousClock.now < end {
            do {
                if try await holds() { return }
            } catch {
                lastError = error
            }
            try await Task.sleep(for: .milliseconds(20))
        }
        throw ServerFailure("waited \(Self.patience) for \(what)\(lastError.map { ": \($0)" } ?? "")")
    }

    // MARK: Faults

    /// SIGKILL. Returns when the server is gone.
    package func kill(_ index: Int) async throws {
        guard let process = state.withLock({ $0.replicas[index].process }) else { return }
        try await shell.kill(process)
        state.withLock { $0.replicas[index].process = nil }
    }

    /// SIGSTOP: the server keeps its connections, and the kernel accepts more for it, but nothing answers.
    package func freeze(_ index: Int) async throws { try await shell.freeze(try process(index)) }
    package func thaw(_ index: Int) async throws { try await shell.send(SIGCONT, to: try process(index)) }

    /// Kills the server if it runs, starts it with its data, and waits until it answers. Its tables may refuse inserts
    /// until it has a session with ZooKeeper.
    package func restart(_ index: Int) async throws {
        try await kill(index)
        try await launch(index)
        try await waitUntilAnswers(index)
    }

    package func killZooKeeper() async throws {
        guard let process = state.withLock({ $0.zooKeeper?.process }) else { return }
        try await shell.kill(process)
        state.withLock { $0.zooKeeper?.process = nil }
    }

    package func freezeZooKeeper() async throws { try await shell.freeze(try zooKeeperProcess()) }
    package func thawZooKeeper() async throws { try await shell.send(SIGCONT, to: try zooKeeperProcess()) }

    /// Kills ZooKeeper if it runs, and starts it with its data.
    package func restartZooKeeper() async throws {
        try await killZooKeeper()
        try await launchZooKeeper()
        try await waitForZooKeeper()
    }

    private func process(_ index: Int) throws -> pid_t {
        guard let process = state.withLock({ $0.replicas[index].process }) else {
            throw ServerFailure("replica \(index) does not run")
        }
        return process
    }

    private func zooKeeperProcess() throws -> pid_t {
        guard let process = state.withLock({ $0.zooKeeper?.process }) else {
            throw ServerFailure("ZooKeeper does not run")
        }
        return process
    }

    // MARK: Processes

    private func launch(_ index: Int) async throws {
        let server = state.withLock { $0.replicas[index] }
        let process = try await shell.start(server.command, output: server.log)
        state.withLock { $0.replicas[index].process = process }
    }

    private func launchZooKeeper() async throws {
        guard let server = state.withLock({ $0.zooKeeper }) else { throw ServerFailure("there is no ZooKeeper") }
        let process = try await shell.start(server.command, output: server.log)
        state.withLock { $0.zooKeeper?.process = process }
    }

    /// Throws at once if the process has ended.
    private func waitUntilAnswers(_ index: Int) async throws {
        let end = ContinuousClock.now + Self.patience
        while ContinuousClock.now < end {
            if (try? await client.query("SELECT 1", on: replica(index))) != nil { return }
            guard let process = state.withLock({ $0.replicas[index].process }), try await shell.isRunning(process)
            else { throw ServerFailure("ClickHouse ended at its start: \(shell.tail("replica\(index).log"))") }
            try await Task.sleep(for: .milliseconds(20))
        }
        throw ServerFailure("ClickHouse does not answer: \(shell.tail("replica\(index).log"))")
    }

    private func waitForZooKeeper() async throws {
        let running = state.withLock { state in
            state.replicas.indices.filter { state.replicas[$0].process != nil }
        }
        for index in running {
            try await wait("ZooKeeper: \(shell.tail("zookeeper.log"))") {
                try await number("SELECT count() FROM system.zookeeper WHERE path = '/'", on: index) > 0
            }
        }
    }
}
