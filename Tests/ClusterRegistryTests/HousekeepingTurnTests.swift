import ClusterRegistry
import Foundation
import PostgreSQL
import PostgresTestKit
import RecordStore
import Registry
import Synchronization
import Testing

/// One collector at a time does the housekeeping.
@Suite(.timeLimit(.minutes(5))) struct HousekeepingTurnTests {
    /// What the collectors of a test have done.
    private final class Diary: Sendable {
        private let state = Mutex<(running: Set<String>, terms: [Int64], together: Bool)>(([], [], false))

        var running: Set<String> { state.withLock { $0.running } }
        var terms: [Int64] { state.withLock { $0.terms } }
        /// Whether two ever worked at the same time.
        var wereTogether: Bool { state.withLock { $0.together } }

        /// Works until the task is cancelled.
        @Sendable func work(_ name: String) async {
            let term = HousekeepingTerm.current ?? 0
            state.withLock { state in
                state.running.insert(name)
                state.terms.append(term)
                state.together = state.together || state.running.count > 1
            }
            for await _ in AsyncStream<Never>.makeStream().stream {}
            state.withLock { _ = $0.running.remove(name) }
        }
    }

    private static func registry(_ database: PostgresTestDatabase, port: Int? = nil) async throws -> PostgresRegistry {
        var configuration = PostgresConfiguration(
            connectionString: port.map(database.connectionString) ?? database.connectionString)
        configuration.statementTimeoutSeconds = 2
        configuration.answerMarginSeconds = 1
        configuration.connectTimeoutSeconds = 2
        let registry = PostgresRegistry(
            try PostgresDatabase(configuration, logger: quietLogger), name: database.name)
        try await registry.prepare(logger: quietLogger)
        return registry
    }

    private static func turn(
        _ registry: PostgresRegistry, _ name: String, duration: Duration = .seconds(3),
        clock: any StoreClock = SystemStoreClock()
    ) throws -> HousekeepingTurn {
        try HousekeepingTurn(
            registry, name: name, duration: duration, interval: .milliseconds(200), clock: clock, logger: quietLogger)
    }

    private final class WrongClock: StoreClock {
        let secondsAhead = Mutex<Int64>(0)
        func now() -> Int64 { SystemStoreClock().now() + secondsAhead.withLock { $0 } * 1_000_000 }
    }

    @Test func `An orderly end passes the turn on at once`() async throws {
        let registry = try await Self.registry(try await PostgresServer.shared().makeDatabase())
        let diary = Diary()
        let (first, second) = (
            try Self.turn(registry, "first", duration: .seconds(600)),
            try Self.turn(registry, "second", duration: .seconds(600))
        )
        let one = Task { await first.run { await diary.work("first") } }
        #expect(try await eventually { diary.running == ["first"] })
        let two = Task { await second.run { await diary.work("second") } }
        #expect(try await Self.turn(registry, "third").once { 1 } == nil)
        #expect(diary.running == ["first"])
        one.cancel()
        await one.value
        #expect(try await eventually { diary.running == ["second"] })
        two.cancel()
        await two.value
        #expect(diary.terms == [1, 2] && !diary.wereTogether)
        await registry.database.shutDown()
    }

    /// A collector whose connections say nothing any more stops its work before another one begins.
    @Test func `A collector that cannot renew its turn stops`() async throws {
        let server = try await PostgresServer.shared()
        let database = try await server.makeDatabase()
        let proxy = try PostgresProxy(to: server)
        let (near, far) = (try await Self.registry(database), try await Self.registry(database, port: proxy.port))
        let diary = Diary()
        let frozen = try Self.turn(far, "frozen")
        let one = Task { await frozen.run { await diary.work("frozen") } }
        #expect(try await eventually { diary.running == ["frozen"] })
        proxy.holdAll()
        let next = try Self.turn(near, "next")
        let two = Task { await next.run { await diary.work("next") } }
        #expect(try await eventually(within: .seconds(30)) { diary.running.contains("next") })
        #expect(try await eventually(within: .seconds(30)) { diary.running == ["next"] })
        proxy.letGo()
        #expect(try await Self.turn(far, "third").once { 1 } == nil)
        #expect(diary.running == ["next"] && diary.terms == [1, 2])
        one.cancel()
        two.cancel()
        _ = await (one.value, two.value)
        await far.database.shutDown()
        await near.database.shutDown()
    }

    @Test func `What an earlier turn began is not committed in a later one`() async throws {
        let registry = try await Self.registry(try await PostgresServer.shared().makeDatabase())
        let session = try registry.openWriting()
        func insert(_ name: String, in term: Int64?) throws {
            try HousekeepingTerm.$current.withValue(term) {
                try session.transaction { () throws(StoreError) in
                    try session.run("INSERT INTO organization (name, created) VALUES (?, 1)", name)
                }
            }
        }
        let first = try Self.turn(registry, "first", duration: .milliseconds(1))
        let term = try #require(try await first.once { HousekeepingTerm.current } ?? nil)
        try insert("in-turn", in: term)
        let second = try Self.turn(registry, "second", duration: .seconds(600))
        let later = try #require(try await second.once { HousekeepingTerm.current } ?? nil)
        #expect(later == term + 1)
        let error = #expect(throws: StoreError.self) { try insert("late", in: term) }
        #expect(error == StoreError.turnIsOver)
        try insert("now", in: later)
        try insert("of a request", in: nil)
        #expect(
            try session.rows("SELECT name FROM organization ORDER BY name") { $0.string(0) } == [
                "in-turn", "now", "of a request",
            ])
        await registry.database.shutDown()
    }

    @Test func `A collector whose clock is wrong has no turn`() async throws {
        let registry = try await Self.registry(try await PostgresServer.shared().makeDatabase())
        let clock = WrongClock()
        for (seconds, words) in [(Int64(90), " s ahead of "), (-3600, " s behind ")] {
            clock.secondsAhead.withLock { $0 = seconds }
            let error = await #expect(throws: StoreError.self) {
                try await Self.turn(registry, "a command", clock: clock).once { 1 }
            }
            #expect(error?.code == .conflict && error?.message.contains(words) == true)
        }
        clock.secondsAhead.withLock { $0 = 0 }
        let diary = Diary()
        let collector = try Self.turn(registry, "collector", duration: .seconds(600), clock: clock)
        let work = Task { await collector.run { await diary.work("collector") } }
        #expect(try await eventually { diary.running == ["collector"] })
        clock.secondsAhead.withLock { $0 = 86_400 }
        #expect(try await eventually { diary.running.isEmpty })
        #expect(try await eventually { try await Self.turn(registry, "another").once { 1 } == 1 })
        work.cancel()
        await work.value
        await registry.database.shutDown()
    }

    @Test func `A command finds the turn taken`() async throws {
        let registry = try await Self.registry(try await PostgresServer.shared().makeDatabase())
        let collector = try Self.turn(registry, "collector", duration: .seconds(600))
        let diary = Diary()
        let work = Task { await collector.run { await diary.work("collector") } }
        #expect(try await eventually { diary.running == ["collector"] })
        let command = try Self.turn(registry, "command")
        #expect(try await command.once { 1 } == nil)
        work.cancel()
        await work.value
        let later = try Self.turn(registry, "command")
        #expect(try await later.once { 1 } == 1)
        await registry.database.shutDown()
    }

    // MARK: Collectors

    @Test func `Collectors count each other until they have ended`() async throws {
        let database = try await PostgresServer.shared().makeDatabase()
        let registry = try await Self.registry(database)
        let all = (0..<3).map { number in
            CollectorPresence(registry, name: "\(number)", interval: .milliseconds(50), logger: quietLogger)
        }
        #expect(all.map(\.count) == [1, 1, 1])
        // One that was killed a while ago.
        _ = try await database.sql("INSERT INTO collector VALUES ('dead', 'dead', 0)")
        let runs = all.map { presence in Task { await presence.run() } }
        #expect(try await eventually { all.map(\.count) == [3, 3, 3] })
        runs[2].cancel()
        await runs[2].value
        #expect(try await eventually { all.prefix(2).map(\.count) == [2, 2] })
        #expect(try await database.sql("SELECT name FROM collector ORDER BY 1") == ["0", "1"])
        for run in runs { run.cancel() }
        for run in runs { await run.value }
        #expect(try await database.sql("SELECT name FROM collector").isEmpty)
        await registry.database.shutDown()
    }

    // MARK: A new incarnation

    @Test func `A new incarnation ends what was asked for, and every follower`() async throws {
        let cluster = try await TestCluster.start(on: .shared())
        let device = try await cluster.enroll()
        _ = try await cluster.first.service.issueBeacon(to: device.deviceID)
        try await cluster.settle()
        let former = cluster.first.service.incarnationID
        let registry = cluster.first.registry
        try await registry.database.transaction(mapping: { StoreError(.io, "\($0)") }) { session throws(StoreError) in
            try registry.beginIncarnation(in: session, at: 1)
        }
        #expect(try await cluster.database.sql("SELECT count(*) FROM command WHERE state = 6") == ["1"])
        let error = await #expect(throws: StoreError.self) { try await cluster.second.follower.read() }
        #expect(error?.code == .shuttingDown)
        await #expect(throws: StoreError.self) { try await cluster.second.follower.run(every: .seconds(3600)) }
        let (next, _) = try MetadataService.open(
            registry: registry, directory: cluster.first.service.directoryPath + "-next", clock: SystemTime(),
            logger: quietLogger)
        #expect(next.incarnationID != former && next.collectorID == cluster.first.service.collectorID)
        await next.close()
        await cluster.stop()
    }
}
