import Logging
import PostgresTestKit
import Testing

@testable import PostgreSQL

@Suite(.timeLimit(.minutes(3))) struct PoolTests {
    private static let backend: @Sendable (PostgresSession) throws(PostgresError) -> Int = {
        session throws(PostgresError) in
        try session.query("SELECT pg_backend_pid()")[0].int(0)
    }

    @Test func `It opens no connection before the first use and then reuses it`() async throws {
        let fixture = try await Fixture()
        let sessions =
            "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'ws1collector' AND datname = '"
            + fixture.test.name + "'"
        #expect(try await fixture.test.sql(sessions) == ["0"])
        let first = try await fixture.database.transaction(Self.backend)
        for _ in 0..<5 { #expect(try await fixture.database.read(Self.backend) == first) }
        #expect(try await fixture.test.sql(sessions) == ["1"])
    }

    @Test func `It runs bodies on threads that may block`() async throws {
        let fixture = try await Fixture()
        let gate = Gate()
        // More than the cooperative pool has threads on a small machine; there they would wait for each other forever.
        await withTaskGroup(of: Void.self) { group in
            for _ in 0..<8 {
                group.addTask { _ = try? await fixture.database.read { _ throws(PostgresError) in gate.wait() } }
            }
            let allRun = try? await eventually { gate.arrivedCount == 8 }
            #expect(allRun == true)
            gate.open(for: 8)
        }
    }

    @Test func `It never opens more connections than allowed`() async throws {
        let fixture = try await Fixture { $0.maximumConnections = 3 }
        let backends = Collected<Int>()
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<40 {
                group.addTask { backends.add(try await fixture.database.transaction(Self.backend)) }
            }
            try await group.waitForAll()
        }
        #expect(backends.values.count == 40)
        #expect(Set(backends.values).count <= 3)
    }

    @Test func `It serves waiters in their order`() async throws {
        let fixture = try await Fixture { $0.maximumConnections = 1 }
        let gate = Gate()
        let order = Collected<Int>()
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { try await fixture.database.read { _ throws(PostgresError) in gate.wait() } }
            #expect(try await eventually { gate.arrivedCount == 1 })
            for number in 1...6 {
                // Callers that block a thread wait in the same line.
                if number == 3 {
                    group.addTask {
                        try await onThread {
                            try fixture.database.blockingRead(mapping: { $0 }) { _ throws(PostgresError) in
                                order.add(number)
                            }
                        }
                    }
                } else {
                    group.addTask {
                        try await fixture.database.read { _ throws(PostgresError) in order.add(number) }
                    }
                }
                #expect(try await eventually { fixture.database.pool.waitingCount == number })
            }
            gate.open()
            try await group.waitForAll()
        }
        #expect(order.values == [1, 2, 3, 4, 5, 6])
    }

    @Test func `A wait ends after its limit`() async throws {
        let fixture = try await Fixture {
            $0.maximumConnections = 1
            $0.acquireTimeoutSeconds = 1
        }
        let gate = Gate()
        async let holder: Void = fixture.database.read { _ throws(PostgresError) in gate.wait() }
        #expect(try await eventually { gate.arrivedCount == 1 })
        let start = ContinuousClock.now
        async let other = failure { try await fixture.database.read { _ throws(PostgresError) in } }
        let blocked = try await failure {
            try await onThread { try fixture.database.blockingRead(mapping: { $0 }) { _ throws(PostgresError) in } }
        }
        #expect(blocked.code == .unavailable)
        #expect(try await other.code == .unavailable)
        #expect(ContinuousClock.now - start >= .seconds(1))
        #expect(ContinuousClock.now - start < .seconds(10))
        gate.open()
        try await holder
        #expect(try await fixture.database.read(Self.backend) > 0)
    }

    @Test func `A cancelled task gives up its wait`() async throws {
        let fixture = try await Fixture { $0.maximumConnections = 1 }
        let gate = Gate()
        let ran = Collected<Int>()
        async let holder: Void = fixture.database.read { _ throws(PostgresError) in gate.wait() }
        #expect(try await eventually { gate.arrivedCount == 1 })
        let waiter = Task {
            try await fixture.database.read { _ throws(PostgresError) in ran.add(1) }
        }
        #expect(try await eventually { fixture.database.pool.waitingCount == 1 })
        waiter.cancel()
        let error = try await failure { try await waiter.value }
        #expect(error.code == .unavailable)
        // Not the limit of the wait.
        #expect(error.message.contains("cancelled"))
        #expect(fixture.database.pool.waitingCount == 0)
        gate.open()
        try await holder
        #expect(ran.values.isEmpty)
        #expect(try await fixture.database.read(Self.backend) > 0)
    }

    @Test func `A dead pooled connection is replaced before the body runs`() async throws {
        let fixture = try await Fixture { $0.maximumConnections = 1 }
        let proxy = try PostgresProxy(to: fixture.server)
        let database = try Fixture.client(fixture.test.connectionString(port: proxy.port)) { $0.maximumConnections = 1 }
        let runs = Collected<Int>()
        let body: @Sendable (PostgresSession) throws(PostgresError) -> Int = { session throws(PostgresError) in
            runs.add(1)
            return try Self.backend(session)
        }
        let first = try await database.transaction(body)
        proxy.cutAll()
        let second = try await database.transaction(body)
        #expect(second != first)
        try await fixture.server.sql("SELECT pg_terminate_backend(\(second))")
        let third = try await database.transaction(body)
        #expect(third != second)
        // BEGIN itself meets the loss.
        proxy.onStatement("BEGIN", .cutBefore)
        let fourth = try await database.transaction(body)
        #expect(fourth != third)
        #expect(proxy.faultCount == 1)
        #expect(runs.values.count == 4)
    }

    @Test func `A session in an unclear state is not reused`() async throws {
        let fixture = try await Fixture { $0.maximumConnections = 1 }
        let first = try await fixture.database.transaction(Self.backend)
        _ = try await failure {
            try await fixture.database.transaction { session throws(PostgresError) in
                try session.executeScript("COMMIT; BEGIN")
            }
        }
        _ = try await failure {
            try await fixture.database.transaction { session throws(PostgresError) in
                try session.executeScript("COMMIT")
            }
        }
        #expect(try await fixture.database.transaction(Self.backend) != first)
    }

    @Test func `A frozen server gives an error within the deadline`() async throws {
        let server = try await PostgresServer.start()
        let fixture = try await Fixture(server: server, script: "CREATE TABLE t (a int8)") { Fixture.impatient(&$0) }
        let database = fixture.database
        #expect(try await database.transaction(Self.backend) > 0)
        await server.freeze()
        // One meets it with a pooled connection, the others with new ones.
        let start = ContinuousClock.now
        let errors = Collected<PostgresError.Code>()
        await withTaskGroup(of: Void.self) { group in
            for _ in 0..<3 {
                group.addTask {
                    do throws(PostgresError) {
                        try await database.transaction { session throws(PostgresError) in
                            try session.execute("INSERT INTO t VALUES (1)")
                        }
                    } catch { errors.add(error.code) }
                }
            }
        }
        #expect(errors.values == [.unavailable, .unavailable, .unavailable])
        #expect(ContinuousClock.now - start < .seconds(15))
        await server.thaw()
        try await database.transaction { session throws(PostgresError) in
            try session.execute("INSERT INTO t VALUES (2)")
        }
        #expect(try await fixture.test.sql("SELECT a FROM t") == ["2"])
    }

    @Test func `A network that swallows everything gives an error within the deadline`() async throws {
        let fixture = try await Fixture()
        let proxy = try PostgresProxy(to: fixture.server)
        let database = try Fixture.client(fixture.test.connectionString(port: proxy.port)) { Fixture.impatient(&$0) }
        let start = ContinuousClock.now
        let error = try await failure {
            try await database.transaction { session throws(PostgresError) in
                try session.execute("SELECT 1")
                proxy.holdAll()
                try session.execute("SELECT 2")
            }
        }
        #expect(error.code == .unavailable)
        #expect(ContinuousClock.now - start < .seconds(15))
        proxy.letGo()
        proxy.cutAll()
        #expect(try await database.read(Self.backend) > 0)
    }

    @Test func `A shutdown ends waits and connections`() async throws {
        let fixture = try await Fixture { $0.maximumConnections = 1 }
        let gate = Gate()
        async let holder: Int = fixture.database.transaction { session throws(PostgresError) in
            gate.wait()
            return try Self.backend(session)
        }
        #expect(try await eventually { gate.arrivedCount == 1 })
        async let waiter = failure { try await fixture.database.read(Self.backend) }
        #expect(try await eventually { fixture.database.pool.waitingCount == 1 })
        async let end: Void = fixture.database.shutDown()
        #expect(try await waiter.code == .shutDown)
        // The running body may end well.
        gate.open()
        let pid = try await holder
        await end
        #expect(try await failure { try await fixture.database.read(Self.backend) }.code == .shutDown)
        #expect(
            try await eventually {
                try await fixture.test.sql("SELECT 1 FROM pg_stat_activity WHERE pid = \(pid)").isEmpty
            })
    }
}
