import CollectorTunables
import Logging
import PostgreSQL
import RecordStore
import TelemetryBasics

/// Lets one collector of a cluster at a time do what is to be done once: retention, purges, notices, silent devices.
///
/// ```
/// housekeeping   term   holder        until
///                7      collector-a   12:00:40     renewed every 10 s while collector-a works
/// ```
///
/// A collector acquires the turn when the present one has run out: it raises `term` and puts its own name there. It
/// renews the turn every ``interval``, and stops the work if it cannot for ``duration`` by its own clock. One that dies
/// or freezes is replaced within ``duration`` and ``interval``. One that wakes up later still has its old term, and no
/// transaction with it is committed (`HousekeepingTerm`).
///
/// What is to be removed or reported depends on the time. So a collector whose clock differs from PostgreSQL's by more
/// than ``toleranceSeconds`` acquires no turn, and gives back the one that it has.
///
/// Like a follower it has a connection and a queue of its own.
package actor HousekeepingTurn {
    /// How far the clocks of PostgreSQL and of a collector that does the housekeeping may be apart.
    static let toleranceSeconds: Int64 = 60
    private static let statementTimeoutSeconds = 5

    private let database: PostgresDatabase
    private let name: String
    private let duration: Duration
    private let interval: Duration
    private let clock: any StoreClock
    private let logger: Logger
    /// When it was logged last that no turn can be acquired; `nil` while one can.
    private var complaint: ContinuousClock.Instant?
    private nonisolated let executor = BlockingExecutor(label: "ws1.collector.housekeeping")

    package nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }

    /// Opens no connection yet. The owner runs it, or closes it.
    /// - Parameters:
    ///   - name: of this collector, for people.
    ///   - duration, interval: other than a cluster's only in tests.
    package init(
        _ registry: PostgresRegistry, name: String, duration: Duration = Tunables.Cluster.turnDuration,
        interval: Duration = Tunables.Cluster.turnInterval, clock: any StoreClock = SystemStoreClock(), logger: Logger
    ) throws(StoreError) {
        do throws(PostgresError) {
            database = try registry.database.sibling(
                maximumConnections: 1, statementTimeoutSeconds: Self.statementTimeoutSeconds)
        } catch { throw StoreError(error) }
        self.name = name
        self.duration = duration
        self.interval = interval
        self.clock = clock
        self.logger = logger
    }

    /// Does the work whenever it is this collector's turn, until the task is cancelled. It then gives the turn back and
    /// closes the connections, so it runs once.
    /// - Parameter work: begins anew with each turn, and ends when its task is cancelled. What it kept in memory of an
    ///   earlier turn may be out of date.
    package nonisolated func run(_ work: @escaping @Sendable () async -> Void) async {
        while !Task.isCancelled {
            if let term = await acquireLogging() {
                logger.info("this collector does the housekeeping", metadata: ["term": "\(term)"])
                await withTaskGroup(of: Void.self) { group in
                    group.addTask { await HousekeepingTerm.$current.withValue(term) { await work() } }
                    group.addTask { await self.keep(term) }
                    // Whichever ends first ends the other.
                    await group.next()
                    group.cancelAll()
                }
                await giveBack(term)
            }
            try? await Task.sleep(for: interval)
        }
        await database.shutDown()
    }

    /// Does a piece of work in a turn of its own, for a command beside the collectors. Then closes the connections.
    /// - Returns: `nil`, with nothing done, while a collector has the turn.
    /// - Throws: `.conflict` if the clock is wrong; errors of the registry and of the work.
    package nonisolated func once<Value: Sendable>(
        _ work: @escaping @Sendable () async throws -> Value
    ) async throws -> Value? {
        let result: Result<Value, any Error>?
        do {
            if let term = try await acquire() {
                result = await withTaskGroup(of: Result<Value, any Error>?.self) { group in
                    group.addTask {
                        do {
                            return .success(try await HousekeepingTerm.$current.withValue(term) { try await work() })
                        } catch { return .failure(error) }
                    }
                    group.addTask {
                        await self.keep(term)
                        return nil
                    }
                    var result: Result<Value, any Error>?
                    while result == nil, let next = await group.next() { result = next }
                    group.cancelAll()
                    return result
                }
                await giveBack(term)
            } else {
                result = nil
            }
        } catch { result = .failure(error) }
        await database.shutDown()
        return try result?.get()
    }

    /// Renews the turn until it is lost.
    private nonisolated func keep(_ term: Int64) async {
        var end = ContinuousClock.now + duration
        while true {
            do { try await Task.sleep(for: interval) } catch { return }
            let begin = ContinuousClock.now
            do throws(StoreError) {
                guard try await renew(term) else {
                    logger.warning("another collector has taken over the housekeeping")
                    return
                }
                end = begin + duration
            } catch {
                guard ContinuousClock.now < end, error.code != .conflict else {
                    logger.warning(
                        "the turn at housekeeping could not be renewed", metadata: ["store.error": "\(error)"])
                    return
                }
            }
        }
    }

    private func acquireLogging() -> Int64? {
        do throws(StoreError) {
            let term = try acquire()
            complaint = nil
            return term
        } catch {
            let isDue = complaint.map { ContinuousClock.now - $0 > .seconds(3600) } ?? true
            if isDue { complaint = .now }
            logger.log(
                level: !isDue ? .debug : error.code == .conflict ? .error : .warning, "no turn at housekeeping",
                metadata: ["store.error": "\(error)"])
            return nil
        }
    }

    /// - Returns: the new term; `nil` while another collector has the turn.
    private func acquire() throws(StoreError) -> Int64? {
        try transactionInTime { session throws(PostgresError) in
            try session.query(
                """
                UPDATE housekeeping SET term = term + 1, holder = $1, until = \(ServerClock.now) + $2
                WHERE until < \(ServerClock.now) RETURNING term
                """, name, microseconds
            ).first?.int64(0)
        }
    }

    private func renew(_ term: Int64) throws(StoreError) -> Bool {
        try transactionInTime { session throws(PostgresError) in
            try session.execute(
                "UPDATE housekeeping SET until = \(ServerClock.now) + $2 WHERE term = $1", term, microseconds) == 1
        }
    }

    /// - Throws: `.conflict`, with nothing done, if this machine's clock is wrong.
    private func transactionInTime<Value>(
        _ body: (PostgresSession) throws(PostgresError) -> Value
    ) throws(StoreError) -> Value {
        var secondsAhead: Int64 = 0
        let value = try transaction { session throws(PostgresError) -> Value? in
            secondsAhead = (clock.now() - (try session.query("SELECT \(ServerClock.now)")[0].int64(0))) / 1_000_000
            return abs(secondsAhead) <= Self.toleranceSeconds ? try body(session) : nil
        }
        guard let value else {
            throw StoreError(
                .conflict,
                "this machine's clock is \(abs(secondsAhead)) s \(secondsAhead > 0 ? "ahead of" : "behind") that of "
                    + "PostgreSQL, so it does no housekeeping. Set the clocks right.")
        }
        return value
    }

    private func giveBack(_ term: Int64) {
        do throws(StoreError) {
            try transaction { session throws(PostgresError) in
                _ = try session.execute("UPDATE housekeeping SET until = 0 WHERE term = $1", term)
            }
        } catch { logger.debug("the turn at housekeeping runs out by itself", metadata: ["store.error": "\(error)"]) }
    }

    private func transaction<Value>(
        _ body: (PostgresSession) throws(PostgresError) -> Value
    ) throws(StoreError) -> Value {
        do throws(PostgresError) {
            return try database.blockingTransaction(mapping: { $0 }) { session throws(PostgresError) in
                try body(session)
            }
        } catch { throw StoreError(error) }
    }

    private var microseconds: Int64 {
        let (seconds, attoseconds) = duration.components
        return seconds * 1_000_000 + attoseconds / 1_000_000_000_000
    }
}
