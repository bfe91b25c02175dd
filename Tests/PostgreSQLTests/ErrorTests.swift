import Logging
import PostgresTestKit
import Testing

@testable import PostgreSQL

@Suite(.timeLimit(.minutes(3))) struct ErrorTests {
    @Test(arguments: [
        ("40001", PostgresError.Code.conflict), ("40P01", .conflict), ("55P03", .conflict), ("23505", .constraint),
        ("23503", .constraint), ("57014", .unavailable), ("57P01", .unavailable), ("57P02", .unavailable),
        ("53300", .unavailable), ("53100", .unavailable), ("08006", .unavailable), ("25P03", .unavailable),
        ("42601", .statement), ("22012", .statement), ("25P02", .statement), ("25006", .unexpectedServer),
        ("28000", .configuration),
    ])
    func `It decides by the server's state`(state: String, code: PostgresError.Code) {
        #expect(PostgresError.Code(sqlState: state, readOnly: false) == code)
    }

    @Test(
        arguments: [
            ("FATAL:  57P03: the database system is starting up", PostgresError.Code.unavailable, "57P03"),
            ("FATAL:  53300: sorry, too many clients already", .unavailable, "53300"),
            ("FATAL:  28P01: password authentication failed for user \"u\"", .configuration, "28P01"),
            ("FATAL:  3D000: database \"d\" does not exist\nLOCATION:  InitPostgres", .configuration, "3D000"),
            ("Connection refused\n\tIs the server running on that host?", .unavailable, nil),
            ("server closed the connection unexpectedly", .unavailable, nil),
            ("SSL error: certificate verify failed", .configuration, nil),
            ("server does not support SSL, but SSL was required", .configuration, nil),
            ("SSL SYSCALL error: EOF detected", .unavailable, nil),
            ("could not translate host name \"x\" to address: Temporary failure", .unavailable, nil),
        ] as [(String, PostgresError.Code, String?)])
    func `It decides by the message of a failed attempt`(text: String, code: PostgresError.Code, state: String?) {
        let error = PostgresError(
            connectMessage: "connection to server at \"127.0.0.1\", port 1 failed: \(text)\n", needsPassword: false)
        #expect(error.code == code)
        #expect(error.sqlState == state)
        #expect(!error.message.contains("LOCATION"))
    }

    @Test func `It reports a constraint by name and hides the value`() async throws {
        let fixture = try await Fixture(
            script: "CREATE TABLE t (a text CONSTRAINT one_a UNIQUE CHECK (a <> 'bad'), b text NOT NULL)")
        let insert: @Sendable (String?, String?) async throws -> Int = { a, b in
            try await fixture.database.transaction { session throws(PostgresError) in
                try session.execute("INSERT INTO t VALUES ($1, $2)", a, b)
            }
        }
        _ = try await insert("secret-person", "x")
        let unique = try await failure { try await insert("secret-person", "x") }
        #expect(unique.code == .constraint)
        #expect(unique.sqlState == "23505")
        #expect(unique.constraint == "one_a")
        #expect(!"\(unique)".contains("secret-person"))
        #expect(try await failure { try await insert("bad", "x") }.code == .constraint)
        #expect(try await failure { try await insert("c", nil) }.code == .constraint)
        #expect(try await fixture.count("t") == 1)
    }

    @Test func `It reports a defect as a statement error`() async throws {
        let fixture = try await Fixture()
        for sql in ["SELEC 1", "SELECT missing", "SELECT 1/0", "SELECT 1; SELECT 2", "COPY (SELECT 1) TO STDOUT"] {
            let error = try await failure {
                try await fixture.database.transaction { session throws(PostgresError) in try session.execute(sql) }
            }
            #expect(error.code == .statement, "\(sql)")
        }
        let read = try await failure {
            try await fixture.database.read { session throws(PostgresError) in
                try session.execute("CREATE TABLE t (a int)")
            }
        }
        #expect(read.code == .statement)
        #expect(read.sqlState == "25006")
        // The pool has survived all of that.
        #expect(
            try await fixture.database.read { session throws(PostgresError) in try session.query("SELECT 1").count }
                == 1)
    }

    @Test func `It gives up a statement and a lock in time`() async throws {
        let fixture = try await Fixture(script: "CREATE TABLE t (a int8); INSERT INTO t VALUES (1)") {
            $0.statementTimeoutSeconds = 2
            $0.lockTimeoutSeconds = 1
        }
        let slow = try await failure {
            try await fixture.database.read { session throws(PostgresError) in
                try session.execute("SELECT pg_sleep(60)")
            }
        }
        #expect(slow.code == .unavailable)
        #expect(slow.sqlState == "57014")
        let gate = Gate()
        async let holder: Int = fixture.database.transaction { session throws(PostgresError) in
            try session.execute("UPDATE t SET a = 2")
            gate.wait()
            return 0
        }
        #expect(try await eventually { gate.arrivedCount == 1 })
        let locked = try await failure {
            try await fixture.database.transaction { session throws(PostgresError) in
                try session.execute("UPDATE t SET a = 3")
            }
        }
        gate.open()
        _ = try await holder
        #expect(locked.code == .conflict)
        #expect(locked.sqlState == "55P03")
    }

    @Test func `It calls deadlocks and serialization failures conflicts`() async throws {
        let fixture = try await Fixture(script: "CREATE TABLE t (k int8, a int8); INSERT INTO t VALUES (1, 0), (2, 0)")
        let database = fixture.database
        let serialization = try await failure {
            try await database.transaction { session throws(PostgresError) in
                try session.executeScript("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
                try session.execute("SELECT * FROM t")
                try database.blockingTransaction(mapping: { $0 }) { other throws(PostgresError) in
                    try other.execute("UPDATE t SET a = 1 WHERE k = 1")
                }
                try session.execute("UPDATE t SET a = 2 WHERE k = 1")
            }
        }
        #expect(serialization.code == .conflict)
        #expect(serialization.sqlState == "40001")

        let codes = Collected<String?>()
        let gates = [Gate(), Gate()]
        await withTaskGroup(of: Void.self) { group in
            for first in 0...1 {
                group.addTask {
                    do throws(PostgresError) {
                        try await database.transaction { session throws(PostgresError) in
                            try session.execute("UPDATE t SET a = 3 WHERE k = $1", first + 1)
                            gates[1 - first].open()
                            gates[first].wait()
                            try session.execute("UPDATE t SET a = 3 WHERE k = $1", 2 - first)
                        }
                    } catch { codes.add(error.sqlState) }
                }
            }
        }
        #expect(codes.values == ["40P01"])
    }

    @Test func `It calls too many connections unavailable, and a missing database a configuration error`() async throws
    {
        let fixture = try await Fixture()
        let role = "role_\(fixture.test.name)"
        try await fixture.server.sql("CREATE ROLE \(role) LOGIN")
        try await fixture.server.sql("ALTER DATABASE \(fixture.test.name) CONNECTION LIMIT 0")
        let full = try Fixture.client(fixture.server.connectionString(database: fixture.test.name, user: role))
        let tooMany = try await failure { try await full.read { _ throws(PostgresError) in } }
        #expect(tooMany.code == .unavailable)
        #expect(tooMany.sqlState == "53300")
        let missing = try Fixture.client(fixture.server.connectionString(database: "nowhere"))
        let error = try await failure { try await missing.read { _ throws(PostgresError) in } }
        #expect(error.code == .configuration)
        #expect(error.sqlState == "3D000")
    }

    @Test func `It refuses a session outside of its body`() async throws {
        let fixture = try await Fixture()
        nonisolated(unsafe) var kept: PostgresSession?
        try fixture.database.blockingRead(mapping: { $0 }) { session throws(PostgresError) in kept = session }
        let session = try #require(kept)
        let error = try await failure { try session.query("SELECT 1").count }
        #expect(error.code == .statement)
        #expect(error.message.contains("outside"))
    }
}
