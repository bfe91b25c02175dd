import Logging
import PostgresTestKit
import Testing

@testable import PostgreSQL

@Suite(.timeLimit(.minutes(3))) struct LockTests {
    /// Waits until its task is cancelled.
    @Sendable static func untilCancelled() async {
        let (stream, continuation) = AsyncStream<Void>.makeStream()
        for await _ in stream {}
        continuation.finish()
    }

    @Test func `Only one holds a lock`() async throws {
        let fixture = try await Fixture()
        let other = try Fixture.client(fixture.test.connectionString)
        let inner = try await fixture.database.withAdvisoryLock(7) {
            let same = try await other.withAdvisoryLock(7) { 1 }
            #expect(same == nil)
            let sameClient = try await fixture.database.withAdvisoryLock(7) { 1 }
            #expect(sameClient == nil)
            return try await other.withAdvisoryLock(8) { 2 }
        }
        #expect(inner == 2)
        // It is free as soon as the call has returned.
        #expect(try await other.withAdvisoryLock(7) { 3 } == 3)
    }

    @Test func `A body that throws releases the lock`() async throws {
        struct Own: Error {}
        let fixture = try await Fixture()
        await #expect(throws: Own.self) {
            try await fixture.database.withAdvisoryLock(7) { throw Own() }
        }
        #expect(try await fixture.database.withAdvisoryLock(7) { 1 } == 1)
    }

    @Test func `A cancelled task releases the lock`() async throws {
        let fixture = try await Fixture()
        let entered = Collected<Int>()
        let task = Task {
            try await fixture.database.withAdvisoryLock(7) {
                entered.add(1)
                await Self.untilCancelled()
                return Task.isCancelled
            }
        }
        #expect(try await eventually { entered.values.count == 1 })
        task.cancel()
        #expect(try await task.value == true)
        #expect(try await fixture.database.withAdvisoryLock(7) { 1 } == 1)
    }

    @Test func `A lost connection cancels the body`() async throws {
        let fixture = try await Fixture()
        let entered = Collected<Int>()
        let cancelled = Collected<Bool>()
        let task = Task {
            try await fixture.database.withAdvisoryLock(7) {
                entered.add(1)
                await Self.untilCancelled()
                cancelled.add(Task.isCancelled)
            }
        }
        #expect(try await eventually { entered.values.count == 1 })
        try await fixture.test.sql(
            "SELECT pg_terminate_backend(pid) FROM pg_locks WHERE locktype = 'advisory' AND database = "
                + "(SELECT oid FROM pg_database WHERE datname = current_database())")
        #expect(try await failure { try await task.value }.code == .unavailable)
        #expect(cancelled.values == [true])
        #expect(try await fixture.database.withAdvisoryLock(7) { 1 } == 1)
    }

    @Test func `A network that swallows everything cancels the body`() async throws {
        let fixture = try await Fixture()
        let proxy = try PostgresProxy(to: fixture.server)
        let database = try Fixture.client(fixture.test.connectionString(port: proxy.port))
        let held = Collected<ContinuousClock.Instant>()
        let error = try await failure {
            try await database.withAdvisoryLock(7) {
                held.add(ContinuousClock.now)
                proxy.holdAll()
                await Self.untilCancelled()
            }
        }
        #expect(error.code == .unavailable)
        // Before the server can have noticed, after 25 s, and given the lock to another.
        #expect(ContinuousClock.now - held.values[0] < .seconds(22))
    }

    @Test func `A shutdown cancels the body`() async throws {
        let fixture = try await Fixture()
        let entered = Collected<Int>()
        let task = Task {
            try await fixture.database.withAdvisoryLock(7) {
                entered.add(1)
                await Self.untilCancelled()
            }
        }
        #expect(try await eventually { entered.values.count == 1 })
        await fixture.database.shutDown()
        #expect(try await failure { try await task.value }.code == .shutDown)
        #expect(try await failure { try await fixture.database.withAdvisoryLock(7) { 1 } }.code == .shutDown)
    }
}
