import Foundation
import Synchronization
import TestKit

/// A real PostgreSQL 15 server on a free port of the loopback interface, with its data in a temporary folder.
///
/// It is started with fsync on, as the promises are about what a kill leaves. It ends with its last reference or with
/// the test's process, also if that crashes. All calls may come from any task; they block threads of their own.
package final class PostgresServer: Sendable {
    package let port: Int
    private let folder: String
    private let settings: [String: String]
    private let process = Mutex<PostgresProcess?>(nil)

    private var data: String { "\(folder)/data" }
    private var log: String { "\(folder)/log" }

    private static let sharedServer = SharedServer()

    /// The server of all tests of this process that do not break it.
    package static func shared() async throws -> PostgresServer { try await sharedServer.get() }

    /// - Parameters:
    ///   - settings: of postgresql.conf, beside the kit's.
    ///   - hostBasedAuthentication: lines for pg_hba.conf instead of "everyone on the loopback interface".
    ///   - certificate: serves TLS with it.
    package static func start(
        settings: [String: String] = [:], hostBasedAuthentication: String? = nil,
        certificate: PostgresCertificates? = nil
    ) async throws -> PostgresServer {
        try await BlockingCall.run {
            let server = try PostgresServer(settings: settings)
            try PostgresTemplate.copy(to: server.data)
            if let hostBasedAuthentication {
                try server.write(hostBasedAuthentication + "\n", to: "pg_hba.conf")
            }
            if let certificate {
                try server.write(certificate.serverCertificate, to: "server.crt")
                try server.write(certificate.serverKey, to: "server.key")
                try server.append("ssl = on\n", to: "postgresql.conf")
            }
            try server.startBlocking()
            return server
        }
    }

    private init(settings: [String: String]) throws {
        folder = "\(NSTemporaryDirectory())ws1-postgres-\(UUID().uuidString)"
        port = try FreePorts.one()
        self.settings = settings
        try PostgresPrograms.makeFolder(folder)
    }

    deinit {
        process.withLock { $0?.end() }
        try? FileManager.default.removeItem(atPath: folder)
    }

    /// libpq's connection string, without TLS.
    package func connectionString(database: String = "postgres", user: String = "postgres", port: Int? = nil) -> String
    {
        "host=127.0.0.1 port=\(port ?? self.port) user=\(user) dbname=\(database) sslmode=disable"
    }

    /// Runs SQL with psql, apart from the client under test.
    /// - Returns: the rows, columns divided by `|`.
    @discardableResult
    package func sql(_ text: String, database: String = "postgres") async throws -> [String] {
        try await BlockingCall.run { try self.sqlBlocking(text, database: database) }
    }

    /// Makes an empty database with a random name.
    package func makeDatabase() async throws -> PostgresTestDatabase {
        let name = "test_\(UUID().uuidString.replacing("-", with: "").lowercased())"
        try await sql("CREATE DATABASE \(name) TEMPLATE template0")
        return PostgresTestDatabase(server: self, name: name)
    }

    /// Kills all of its processes with SIGKILL, as a power cut would. It can be started again.
    package func kill() async {
        await BlockingCall.run { self.process.withLock { $0?.end(byKilling: true) } }
    }

    /// Starts it after ``kill()`` or ``stop()``.
    package func restart() async throws {
        try await BlockingCall.run {
            self.process.withLock { $0?.end() }
            try self.startBlocking()
        }
    }

    /// Ends it in order: sessions are notified and ended.
    package func stop() async throws {
        try await BlockingCall.run {
            _ = try PostgresPrograms.run(
                PostgresPrograms.command("pg_ctl", ["stop", "-D", self.data, "-m", "fast", "-w"]))
            self.process.withLock { $0?.end() }
        }
    }

    /// Stops all of its processes with SIGSTOP. Connections stay open, and nobody answers.
    package func freeze() async {
        await BlockingCall.run { self.signal(SIGSTOP) }
    }

    /// Stops the process that writes checkpoints; the others go on. Ends with ``thaw()``.
    package func freezeCheckpointer() async throws {
        try await BlockingCall.run {
            let children = self.process.withLock { $0?.children ?? [] }
            let checkpointer = children.first { child in
                (try? String(contentsOfFile: "/proc/\(child)/cmdline", encoding: .utf8))?.contains("checkpointer")
                    ?? false
            }
            guard let checkpointer else { throw PostgresTestFailure("the server has no checkpointer") }
            _ = Glibc.kill(checkpointer, SIGSTOP)
        }
    }

    package func thaw() async {
        await BlockingCall.run { self.signal(SIGCONT) }
    }

    /// Starts a standby that streams from this server.
    package func startStandby(settings: [String: String] = [:]) async throws -> PostgresServer {
        try await BlockingCall.run {
            let standby = try PostgresServer(settings: settings)
            _ = try PostgresPrograms.run(
                PostgresPrograms.command(
                    "pg_basebackup",
                    [
                        "-d", self.connectionString() + " application_name=standby", "-D", standby.data, "-R", "-X",
                        "stream", "-c", "fast", "--no-sync",
                    ]))
            try standby.startBlocking()
            return standby
        }
    }

    /// Makes a standby a primary, and returns when it is one.
    package func promote() async throws {
        try await sql("SELECT pg_promote()")
    }

    /// Changes a setting that a reload applies.
    package func change(_ setting: String, to value: String) async throws {
        try await sql("ALTER SYSTEM SET \(setting) = '\(value)'")
        try await sql("SELECT pg_reload_conf()")
        let deadline = ContinuousClock.now + .seconds(20)
        while try await sql("SHOW \(setting)") != [value] {
            guard ContinuousClock.now < deadline else {
                throw PostgresTestFailure("\(setting) does not become \(value)")
            }
        }
    }

    private func sqlBlocking(_ text: String, database: String) throws -> [String] {
        let output = try PostgresPrograms.run(
            PostgresPrograms.command(
                "psql",
                ["-XAtq", "-v", "ON_ERROR_STOP=1", "-d", connectionString(database: database), "-c", text]))
        return output.split(separator: "\n").map(String.init)
    }

    private func startBlocking() throws {
        var arguments = [
            "-D", data, "-h", "127.0.0.1", "-p", "\(port)", "-k", "", "-c", "max_connections=300", "-c",
            "shared_buffers=16MB", "-c", "fsync=on", "-c", "autovacuum=off", "-c", "log_min_messages=warning",
        ]
        for (name, value) in settings { arguments += ["-c", "\(name)=\(value)"] }
        let process = try PostgresProcess(
            PostgresPrograms.command("postgres", arguments), output: log, remove: folder)
        self.process.withLock { $0 = process }
        let deadline = ContinuousClock.now + .seconds(60)
        while true {
            // The last line of the file gives the state. A standby that can be read is "ready" too.
            let status = (try? String(contentsOfFile: "\(data)/postmaster.pid", encoding: .utf8)) ?? ""
            let lines = status.split(separator: "\n", omittingEmptySubsequences: false)
            if lines.first == "\(process.pid)", lines.count > 7, lines[7].hasPrefix("ready") { return }
            guard !process.hasEnded, ContinuousClock.now < deadline else {
                let text = (try? String(contentsOfFile: log, encoding: .utf8)) ?? ""
                throw PostgresTestFailure("the server did not start: \(text.suffix(2000))")
            }
            usleep(10_000)
        }
    }

    private func signal(_ number: Int32) {
        process.withLock { process in
            guard let process else { return }
            // The parent first, so that it makes no children meanwhile.
            _ = Glibc.kill(process.pid, number)
            for child in process.children { _ = Glibc.kill(child, number) }
        }
    }

    private func write(_ text: String, to name: String) throws {
        let path = "\(data)/\(name)"
        try Data(text.utf8).write(to: URL(fileURLWithPath: path))
        try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: path)
        try PostgresPrograms.giveAway(path)
    }

    private func append(_ text: String, to name: String) throws {
        try write(try String(contentsOfFile: "\(data)/\(name)", encoding: .utf8) + text, to: name)
    }
}

/// Starts the shared server once, also for tests that ask at the same time.
private actor SharedServer {
    private var start: Task<PostgresServer, any Error>?

    func get() async throws -> PostgresServer {
        let task = start ?? Task { try await PostgresServer.start() }
        start = task
        return try await task.value
    }
}
