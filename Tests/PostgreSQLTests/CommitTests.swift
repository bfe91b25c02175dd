import Logging
import PostgresTestKit
import Testing

@testable import PostgreSQL

/// What is known of a transaction's end.
@Suite(.timeLimit(.minutes(3))) struct CommitTests {
    private static let table = "CREATE TABLE t (a int8)"

    private func insert(_ database: PostgresDatabase, _ number: Int = 1) async throws {
        try await database.transaction { session throws(PostgresError) in
            try session.execute("INSERT INTO t VALUES ($1)", number)
        }
    }

    /// A client of the fixture's database through a proxy.
    private func client(
        _ fixture: Fixture, _ proxy: PostgresProxy,
        change: (inout PostgresConfiguration) -> Void = { Fixture.impatient(&$0) }
    ) throws -> PostgresDatabase {
        try Fixture.client(fixture.test.connectionString(port: proxy.port), change: change)
    }

    @Test func `It returns after a known commit`() async throws {
        let fixture = try await Fixture(script: Self.table)
        try await insert(fixture.database)
        #expect(try await fixture.count("t") == 1)
        let blocking = try fixture.database.blockingTransaction(mapping: { $0 }) { session throws(PostgresError) in
            try session.execute("INSERT INTO t VALUES (2)")
        }
        #expect(blocking == 1)
        #expect(try await fixture.count("t") == 2)
    }

    @Test func `It does not commit a body that fails`() async throws {
        struct Own: Error, Equatable {
            var cause: PostgresError.Code?
        }
        let fixture = try await Fixture(script: Self.table)
        let pid: @Sendable (PostgresSession) throws(PostgresError) -> Int = { session throws(PostgresError) in
            try session.query("SELECT pg_backend_pid()")[0].int(0)
        }
        let before = try await fixture.database.read(pid)
        await #expect(throws: Own(cause: nil)) {
            try await fixture.database.transaction(mapping: { Own(cause: $0.code) }) { session throws(Own) in
                do throws(PostgresError) { try session.execute("INSERT INTO t VALUES (1)") } catch {
                    throw Own(cause: error.code)
                }
                throw Own(cause: nil)
            }
        }
        #expect(try await fixture.count("t") == 0)
        // The connection is idle again, not in the failed transaction, and need not be closed.
        #expect(try await fixture.database.read(pid) == before)
        try await insert(fixture.database)
        #expect(try await fixture.count("t") == 1)
    }

    @Test func `It does not commit a body that hides an error`() async throws {
        let fixture = try await Fixture(script: Self.table + "; CREATE UNIQUE INDEX ON t (a)")
        let error = try await failure {
            try await fixture.database.transaction { session throws(PostgresError) in
                try session.execute("INSERT INTO t VALUES (1)")
                _ = try? session.execute("INSERT INTO t VALUES (1)")
            }
        }
        #expect(error.code == .constraint)
        #expect(try await fixture.count("t") == 0)
    }

    @Test func `It says that a deferred constraint committed nothing`() async throws {
        let fixture = try await Fixture(
            script: Self.table + "; ALTER TABLE t ADD CONSTRAINT one UNIQUE (a) DEFERRABLE INITIALLY DEFERRED")
        let error = try await failure {
            try await fixture.database.transaction { session throws(PostgresError) in
                try session.execute("INSERT INTO t VALUES (1)")
                try session.execute("INSERT INTO t VALUES (1)")
            }
        }
        #expect(error.code == .constraint)
        #expect(try await fixture.count("t") == 0)
    }

    @Test(arguments: ["COMMIT", "ROLLBACK", "COMMIT; BEGIN", "ROLLBACK; BEGIN"])
    func `It does not guess after a body ended the transaction by itself`(statement: String) async throws {
        let fixture = try await Fixture(script: Self.table)
        let error = try await failure {
            try await fixture.database.transaction { session throws(PostgresError) in
                try session.execute("INSERT INTO t VALUES (1)")
                _ = try? session.executeScript(statement)
            }
        }
        #expect(error.code == .outcomeUnknown)
    }

    @Test func `It knows that nothing is committed if the connection ends before commit`() async throws {
        let fixture = try await Fixture(script: Self.table)
        let proxy = try PostgresProxy(to: fixture.server)
        let database = try client(fixture, proxy)
        let error = try await failure {
            try await database.transaction { session throws(PostgresError) in
                try session.execute("INSERT INTO t VALUES (1)")
                proxy.cutAll()
                // The body returns well. The loss is seen before COMMIT is sent.
                session.waitForLoss()
            }
        }
        #expect(error.code == .unavailable)
        #expect(try await fixture.count("t") == 0)
        try await insert(database)
        #expect(try await fixture.count("t") == 1)
    }

    @Test func `It does not know the end if the connection ends with commit on its way`() async throws {
        let fixture = try await Fixture(script: Self.table)
        let proxy = try PostgresProxy(to: fixture.server)
        let database = try client(fixture, proxy)
        proxy.onStatement("COMMIT", .cutBefore)
        let error = try await failure { try await insert(database) }
        #expect(error.code == .outcomeUnknown)
        #expect(proxy.faultCount == 1)
        #expect(try await fixture.count("t") == 0)
    }

    @Test(arguments: [PostgresProxy.Fault.cutAfterAnswer, .holdAnswer])
    func `It does not know the end if the answer to commit is lost`(fault: PostgresProxy.Fault) async throws {
        let fixture = try await Fixture(script: Self.table)
        let proxy = try PostgresProxy(to: fixture.server)
        let database = try client(fixture, proxy)
        proxy.onStatement("COMMIT", fault)
        let bodies = Collected<Int>()
        let error = try await failure {
            try await database.transaction { session throws(PostgresError) in
                bodies.add(1)
                try session.execute("INSERT INTO t VALUES (1)")
            }
        }
        #expect(error.code == .outcomeUnknown)
        // Nor did it wait for the answer for ever.
        // It was committed in truth, and the body did not run again.
        #expect(try await fixture.count("t") == 1)
        #expect(bodies.values.count == 1)
        try await insert(database)
    }

    @Test func `A read survives a lost answer to its commit`() async throws {
        let fixture = try await Fixture(script: Self.table + "; INSERT INTO t VALUES (5)")
        let proxy = try PostgresProxy(to: fixture.server)
        let database = try client(fixture, proxy)
        proxy.onStatement("COMMIT", .cutBefore)
        let read: @Sendable (PostgresSession) throws(PostgresError) -> Int = { session throws(PostgresError) in
            try session.query("SELECT a FROM t")[0].int(0)
        }
        #expect(try await database.read(read) == 5)
        #expect(proxy.faultCount == 1)
        #expect(try await database.read(read) == 5)
    }

    @Test func `A read sees one snapshot`() async throws {
        let fixture = try await Fixture(script: Self.table)
        let database = fixture.database
        try await database.read { session throws(PostgresError) in
            #expect(try session.query("SELECT * FROM t").isEmpty)
            try database.blockingTransaction(mapping: { $0 }) { other throws(PostgresError) in
                try other.execute("INSERT INTO t VALUES (1)")
            }
            #expect(try session.query("SELECT * FROM t").isEmpty)
        }
    }

    @Test func `It does not trust a commit that no standby has`() async throws {
        let server = try await PostgresServer.start()
        let fixture = try await Fixture(server: server, script: Self.table)
        let impatient = try Fixture.client(fixture.test.connectionString) { Fixture.impatient(&$0) }
        try await server.change("synchronous_standby_names", to: "nobody")
        async let cancelled = failure { try await insert(fixture.database) }
        // An administrator ends the wait.
        #expect(
            try await eventually {
                try await fixture.test.sql(
                    "SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE wait_event = 'SyncRep'") == ["t"]
            })
        let error = try await cancelled
        #expect(error.code == .outcomeUnknown)
        #expect(error.message.contains("warning"))
        // The warning came after the commit on this server.
        #expect(try await fixture.count("t") == 1)
        // Nobody ends the wait, and the statement timeout does not apply to it.
        #expect(try await failure { try await insert(impatient, 2) }.code == .outcomeUnknown)
    }

    @Test func `A kill in the middle commits nothing`() async throws {
        let server = try await PostgresServer.start()
        let fixture = try await Fixture(server: server, script: Self.table)
        let database = fixture.database
        let gate = Gate()
        async let failed = failure {
            try await database.transaction { session throws(PostgresError) in
                try session.execute("INSERT INTO t VALUES (1)")
                gate.wait()
                try session.execute("INSERT INTO t VALUES (2)")
            }
        }
        #expect(try await eventually { gate.arrivedCount == 1 })
        await server.kill()
        gate.open()
        #expect(try await failed.code == .unavailable)
        #expect(try await failure { try await insert(database) }.code == .unavailable)
        try await server.restart()
        #expect(try await fixture.count("t") == 0)
        try await insert(database)
        #expect(try await fixture.count("t") == 1)
    }

    /// Each round kills the server while several tasks commit. Afterwards each number is where its answer said.
    @Test(arguments: [10, 25, 60])
    func `Answers hold after a kill at any moment`(commitsBeforeKill: Int) async throws {
        let server = try await PostgresServer.start()
        let fixture = try await Fixture(server: server, script: Self.table) { $0.connectTimeoutSeconds = 2 }
        let database = fixture.database
        let committed = Collected<Int>()
        let refused = Collected<Int>()
        let unknown = Collected<Int>()
        await withTaskGroup(of: Void.self) { group in
            for worker in 0..<6 {
                group.addTask {
                    for number in (worker * 100_000)... {
                        do throws(PostgresError) {
                            try await database.transaction { session throws(PostgresError) in
                                try session.execute("INSERT INTO t VALUES ($1)", number)
                            }
                            committed.add(number)
                        } catch {
                            (error.code == .outcomeUnknown ? unknown : refused).add(number)
                            return
                        }
                    }
                }
            }
            _ = try? await eventually { committed.values.count >= commitsBeforeKill }
            await server.kill()
        }
        try await server.restart()
        let stored = Set(try await fixture.test.sql("SELECT a FROM t").compactMap { Int($0) })
        #expect(committed.values.count >= commitsBeforeKill)
        #expect(stored.isSuperset(of: committed.values))
        #expect(stored.isDisjoint(with: refused.values))
        #expect(refused.values.count + unknown.values.count == 6)
        #expect(stored.subtracting(committed.values).subtracting(unknown.values).isEmpty)
    }
}

extension PostgresSession {
    /// Blocks until the end of the connection can be read from the socket, without recording it.
    func waitForLoss() {
        _ = connection.waitForSocket(1 /* POLLIN */, until: .now + .seconds(10))
    }
}
