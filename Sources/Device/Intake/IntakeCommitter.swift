import LogStore
import TelemetryBasics
import WireModel

/// Carries lines of one source into its log: reads a batch, stores it with its positions, and only then lets the source
/// go on. A batch that cannot be stored is read again, so a full disk delays lines and loses none.
///
/// It never stops whoever writes the source: files, the journal and the kernel's ring wait where they are, and what is
/// sent to sockets waits in bounded memory. Not `Sendable`: use it from one
/// thread at a time.
package final class IntakeCommitter {
    /// What is to be done next.
    package enum Step: Equatable, Sendable {
        /// There is more to read at once.
        case more
        /// Nothing is left for now.
        case idle
        /// Nothing could be stored. Try again after this time.
        case retry(milliseconds: Int64)
    }

    /// How a source fares.
    package struct Status: Equatable, Sendable {
        package var application: String
        /// Lines stored since the start.
        package var written = LogLevelCounts()
        /// Lines passed by since the start, because they are less severe than the level in force.
        package var filtered: UInt64 = 0
        /// Lines left out since the start, because they came faster than the limit.
        package var leftOut: UInt64 = 0
        package var lag = IntakeLag()
        /// Milliseconds since boot at which everything that was there had been stored; `nil`: not yet.
        package var caughtUp: Int64?
        /// Why nothing can be stored; `nil` if it can.
        package var failure: String?
    }

    /// Milliseconds until the first and the last further attempt.
    private static let firstRetry: Int64 = 100
    private static let lastRetry: Int64 = 30_000

    package private(set) var status: Status
    /// Lines that are less severe are passed by; `nil` passes all by. In force from the next step on.
    package var level: LogLevel?
    private let source: any IntakeSource
    private let openLog: () throws(LogStoreError) -> IntakeLog
    private let clock: IntakeClock
    private var log: IntakeLog?
    private var budget: BurstBudget
    private var pause = firstRetry

    /// - Parameters:
    ///   - configuration: of the store; its application identifier is that of the source.
    ///   - limit: `nil`: lines come as fast as they may.
    package convenience init(
        _ configuration: LogStore.Configuration, source: any IntakeSource, limit: BurstLimit? = nil,
        clock: IntakeClock = .system
    ) {
        self.init(
            configuration.applicationIdentifier, source: source, limit: limit, level: configuration.level, clock: clock
        ) { () throws(LogStoreError) in try IntakeLog(configuration) }
    }

    init(
        _ application: String, source: any IntakeSource, limit: BurstLimit?, level: LogLevel? = .information,
        clock: IntakeClock,
        log: @escaping () throws(LogStoreError) -> IntakeLog
    ) {
        status = Status(application: application)
        self.source = source
        self.level = level
        self.clock = clock
        openLog = log
        budget = BurstBudget(limit)
    }

    /// Reads and stores one batch. Waits for the disk.
    package func step() -> Step {
        do {
            let log = try openedLog()
            var batch = IntakeBatch(budget: budget, level: level, time: clock.wallMicroseconds())
            let hasMore = source.read(into: &batch)
            let leftOut = batch.leftOut.total
            let budget = batch.finish()
            log.level = level
            let outcome = try log.commit(batch.lines, batch.changes)
            self.budget = budget
            source.committed()
            status.written += outcome.written
            status.filtered += outcome.filtered
            status.leftOut += leftOut
            status.lag = source.lag
            status.failure = nil
            pause = Self.firstRetry
            if !hasMore { status.caughtUp = clock.bootMilliseconds() }
            return hasMore ? .more : .idle
        } catch {
            status.failure = error.message
            status.lag = source.lag
            if let log {
                // What is not certain is found out by opening it again.
                if ![.diskFull, .locked, .busy].contains(error.code) { self.log = nil }
                source.begin(at: log.positions)
            }
            defer { pause = min(2 * pause, Self.lastRetry) }
            return .retry(milliseconds: pause)
        }
    }

    private func openedLog() throws(LogStoreError) -> IntakeLog {
        if let log { return log }
        let log = try openLog()
        self.log = log
        source.begin(at: log.positions)
        return log
    }

    /// Ends the intake at a stop: what only the source's memory has is stored first, if it can be.
    package func finish() {
        if source.stop() {
            // What is in memory is bounded, and nothing comes any more.
            while step() == .more {}
        }
        source.end()
        close()
    }

    /// Ends the intake. Its segments are sealed, and what was not read yet waits in the source.
    package func close() {
        log?.close()
        log = nil
    }
}

/// The times that an intake asks for.
package struct IntakeClock: Sendable {
    package var wallMicroseconds: @Sendable () -> Int64
    package var bootMilliseconds: @Sendable () -> Int64
    /// Stands still while the machine sleeps, as the clock of the kernel's ring does.
    package var monotonicMicroseconds: @Sendable () -> Int64

    package init(
        wallMicroseconds: @escaping @Sendable () -> Int64, bootMilliseconds: @escaping @Sendable () -> Int64,
        monotonicMicroseconds: @escaping @Sendable () -> Int64 = { SystemClock.monotonicNanoseconds() / 1000 }
    ) {
        self.wallMicroseconds = wallMicroseconds
        self.bootMilliseconds = bootMilliseconds
        self.monotonicMicroseconds = monotonicMicroseconds
    }

    package static let system = IntakeClock(
        wallMicroseconds: { SystemClock.wallMicroseconds() }, bootMilliseconds: { SystemClock.bootMilliseconds() })
}
