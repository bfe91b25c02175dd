import Foundation
import Logging
import PostgresTestKit
import Testing

@testable import PostgreSQL

@Suite(.timeLimit(.minutes(3))) struct ConnectionTests {
    private static let version: @Sendable (PostgresSession) throws(PostgresError) -> Int = {
        session throws(PostgresError) in
        try session.query("SELECT current_setting('server_version_num')::int8")[0].int(0)
    }

    @Test func `A missing library names Debian's package`() async throws {
        let error = try await failure {
            try PostgresDatabase(
                PostgresConfiguration(connectionString: "host=127.0.0.1", library: "libpq-missing.so.5"),
                logger: Logger(label: "test"))
        }
        #expect(error.code == .configuration)
        #expect(error.message.contains("libpq5"))
        // A library that is there, and is not libpq.
        let other = try await failure {
            try PostgresDatabase(
                PostgresConfiguration(connectionString: "host=127.0.0.1", library: "libm.so.6"),
                logger: Logger(label: "test"))
        }
        #expect(other.code == .configuration)
        #expect(other.message.contains("libpq5"))
    }

    @Test func `A wrong configuration is refused before any connection`() async throws {
        for string in ["nonsense", "host=x passwort=top-secret", "postgresql://u:top-secret@h:5432/d?unknown=1"] {
            let error = try await failure { try Fixture.client(string) }
            #expect(error.code == .configuration, "\(string)")
            #expect(!"\(error)".contains("top-secret"))
        }
        let limits = try await failure { try Fixture.client("host=x") { $0.maximumConnections = 0 } }
        #expect(limits.code == .configuration)
        #expect(limits.message.contains("maximumConnections"))
    }

    @Test func `The password is in no description`() throws {
        let configuration = PostgresConfiguration(connectionString: "postgresql://u:top-secret@127.0.0.1:5432/d")
        let database = try PostgresDatabase(configuration, logger: Logger(label: "test"))
        var dumped = ""
        dump(configuration, to: &dumped)
        for text in [
            "\(configuration)", String(reflecting: configuration), dumped, "\(database.configuration)",
            String(describing: Optional(configuration)),
        ] {
            #expect(!text.contains("top-secret"))
        }
    }

    @Test func `It sets limits and the name of each session`() async throws {
        let server = try await PostgresServer.shared()
        let test = try await server.makeDatabase()
        let database = try Fixture.client(test.connectionString + " options='-c work_mem=5MB'") {
            $0.statementTimeoutSeconds = 17
            $0.lockTimeoutSeconds = 7
            $0.idleInTransactionTimeoutSeconds = 41
            $0.applicationName = "named here"
        }
        try await database.read { session throws(PostgresError) in
            for (name, value) in [
                ("statement_timeout", "17s"), ("lock_timeout", "7s"), ("idle_in_transaction_session_timeout", "41s"),
                ("application_name", "named here"), ("work_mem", "5MB"), ("client_encoding", "UTF8"),
                ("transaction_isolation", "repeatable read"), ("transaction_read_only", "on"),
                ("tcp_keepalives_idle", "10"),
            ] {
                #expect(try session.query("SELECT current_setting($1)", name)[0].string(0) == value)
            }
        }
        try await database.transaction { session throws(PostgresError) in
            #expect(try session.query("SHOW transaction_isolation")[0].string(0) == "read committed")
        }
    }

    @Test func `A silent body loses its transaction`() async throws {
        let fixture = try await Fixture(script: "CREATE TABLE t (a int8)") { $0.idleInTransactionTimeoutSeconds = 1 }
        let error = try await failure {
            try await fixture.database.transaction { session throws(PostgresError) in
                try session.execute("INSERT INTO t VALUES (1)")
                session.waitForLoss()
            }
        }
        #expect(error.code == .unavailable)
        #expect(try await fixture.count("t") == 0)
    }

    @Test func `The check refuses a server before its use`() async throws {
        let server = try await PostgresServer.shared()
        let test = try await server.makeDatabase()
        let checks = Collected<Int>()
        let database = try Fixture.client(
            test.connectionString,
            check: { session throws(PostgresError) in
                checks.add(try session.query("SELECT pg_backend_pid()")[0].int(0))
                guard checks.values.count > 1 else { throw PostgresError(.unexpectedServer, "another server") }
            })
        let bodies = Collected<Int>()
        let error = try await failure { try await database.transaction { _ throws(PostgresError) in bodies.add(1) } }
        #expect(error.code == .unexpectedServer)
        #expect(bodies.values.isEmpty)
        // The refused connection is closed; the next one is checked again, and then used without another check.
        let pid = try await database.read { session throws(PostgresError) in
            try session.query("SELECT pg_backend_pid()")[0].int(0)
        }
        _ = try await database.read(Self.version)
        #expect(checks.values.count == 2)
        #expect(checks.values.last == pid)
        #expect(
            try await eventually {
                try await test.sql("SELECT 1 FROM pg_stat_activity WHERE pid = \(checks.values[0])").isEmpty
            })
    }

    @Test func `It tries each host of a list`() async throws {
        let server = try await PostgresServer.shared()
        let silent = try SilentPort()
        let database = try Fixture.client(
            "host=127.0.0.1,127.0.0.1,127.0.0.1 port=1,\(silent.port),\(server.port) user=postgres dbname=postgres "
                + "sslmode=disable"
        ) { $0.connectTimeoutSeconds = 1 }
        #expect(try await database.read(Self.version) >= 150_000)
    }

    @Test func `A port where nobody answers is unavailable`() async throws {
        let silent = try SilentPort()
        let start = ContinuousClock.now
        let database = try Fixture.client("host=127.0.0.1 port=\(silent.port) sslmode=disable") {
            $0.connectTimeoutSeconds = 1
        }
        #expect(try await failure { try await database.read(Self.version) }.code == .unavailable)
        #expect(ContinuousClock.now - start < .seconds(6))
        let refused = try Fixture.client("host=127.0.0.1 port=1 sslmode=disable")
        #expect(try await failure { try await refused.read(Self.version) }.code == .unavailable)
    }

    @Test func `It knows passwords from the string and from files`() async throws {
        let server = try await PostgresServer.start(
            hostBasedAuthentication: """
                host all postgres 127.0.0.1/32 trust
                host all all 127.0.0.1/32 scram-sha-256
                """)
        try await server.sql("CREATE ROLE device LOGIN PASSWORD 'top-secret'")
        let string = server.connectionString(user: "device")
        let folder = FileManager.default.temporaryDirectory.appending(path: "ws1-postgres-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: false)
        defer { try? FileManager.default.removeItem(at: folder) }
        func file(_ name: String, _ text: String) throws -> String {
            let path = folder.appending(path: name).path
            try Data(text.utf8).write(to: URL(fileURLWithPath: path))
            try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: path)
            return path
        }
        let passwordFile = try file("password", "\u{FEFF}top-secret\r\n")
        let passFile = try file("pass", "127.0.0.1:*:*:device:top-secret\n")
        let good = [
            try Fixture.client(string + " password=top-secret"), try Fixture.client(string + " passfile=\(passFile)"),
            try Fixture.client(string + " password=old") { $0.passwordFile = passwordFile },
        ]
        for database in good { #expect(try await database.read(Self.version) >= 150_000) }
        let bad = [
            try Fixture.client(string + " password=wrong-secret"), try Fixture.client(string),
            try Fixture.client(string) { $0.passwordFile = "/nonexistent/password" },
        ]
        for database in bad {
            let error = try await failure { try await database.read(Self.version) }
            #expect(error.code == .configuration)
            #expect(!"\(error)".contains("secret"))
        }
    }

    @Test func `It verifies the server's certificate`() async throws {
        let certificates = try await PostgresCertificates.make()
        let other = try await PostgresCertificates.make()
        let server = try await PostgresServer.start(certificate: certificates)
        func string(_ host: String, _ authority: PostgresCertificates) -> String {
            "host=\(host) port=\(server.port) user=postgres dbname=postgres sslmode=verify-full sslrootcert="
                + authority.authorityPath
        }
        let database = try Fixture.client(string("localhost", certificates))
        #expect(
            try await database.read { session throws(PostgresError) in
                try session.query("SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()")[0].bool(0)
            })
        let large = String(repeating: "x", count: 5_000_000)
        #expect(
            try await database.read { session throws(PostgresError) in
                try session.query("SELECT $1", large)[0].string(0) == large
            })
        for refused in [string("localhost", other), string("127.0.0.1", certificates)] {
            let error = try await failure { try await Fixture.client(refused).read(Self.version) }
            #expect(error.code == .configuration, "\(error)")
        }
        // A server without TLS.
        let plain = try await PostgresServer.shared()
        let error = try await failure {
            try await Fixture.client("host=127.0.0.1 port=\(plain.port) user=postgres sslmode=require").read(
                Self.version)
        }
        #expect(error.code == .configuration)
    }

    @Test func `A promoted server that is read-only is unexpected`() async throws {
        let fixture = try await Fixture(script: "CREATE TABLE t (a int8)")
        try await fixture.server.sql("ALTER DATABASE \(fixture.test.name) SET default_transaction_read_only = on")
        let error = try await failure {
            try await fixture.database.transaction { session throws(PostgresError) in
                try session.execute("INSERT INTO t VALUES (1)")
            }
        }
        #expect(error.code == .unexpectedServer)
    }
}
