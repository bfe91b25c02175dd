import Intake
import LogStore
import Logging
import Synchronization
import TelemetryBasics
import WireModel

/// Takes files, the journal, the kernel's ring, syslog and OTLP into the log store, as the configuration names them.
/// One thread reads all sources in turn; syslog and OTLP are received by threads of their own. Metrics of OTLP go into
/// the device's queue.
///
/// Nothing is read before the first plan. While nothing may be logged - consent is denied, do-not-disturb is on,
/// telemetry is off - lines are read and passed by, so that they do not come later. Safe from any thread.
final class IntakeKeeper: Sendable {
    /// What the plan in force says.
    struct Orders: Equatable, Sendable {
        /// `nil`: every line is passed by.
        var levels: LogLevels?
        var scrubbing: LogScrubbing
    }

    private struct State {
        var orders: Orders?
        /// Nothing is read, and no file of the store is open.
        var isHeld = false
        var isEnding = false
        /// The thread reads, or is about to.
        var isRunning = false
        /// Sources that were never read begin at the present ends of their files.
        var startsNow = false
        var reports: [DataSamplerStatus.Intake] = []
        /// Resumed when the thread has let go of everything.
        var waiting: [CheckedContinuation<Void, Never>] = []
    }

    private let state = Mutex(State())
    private let wake = WakeUp()
    private let settings: [String: IntakeSettings]
    private let store: @Sendable (String, IntakeSettings, Orders) -> LogStore.Configuration
    private let restMilliseconds: Int64
    private let clock: IntakeClock
    private let logger: Logger
    private let metrics: @Sendable (String, [OTLPMetricRecord]) async -> OTLPMetricOutcome

    /// - Parameters:
    ///   - settings: by the source's application.
    ///   - restMilliseconds: between two looks at sources that are read to their end.
    ///   - metrics: puts data points of OTLP into the device's queue, by the source's application.
    ///   - store: the store's configuration for a source.
    init(
        _ settings: [String: IntakeSettings], restMilliseconds: Int64 = 1_000, clock: IntakeClock = .system,
        logger: Logger,
        metrics: @escaping @Sendable (String, [OTLPMetricRecord]) async -> OTLPMetricOutcome = { _, _ in
            .refused("no queue is there")
        },
        store: @escaping @Sendable (String, IntakeSettings, Orders) -> LogStore.Configuration
    ) {
        self.settings = settings
        self.restMilliseconds = restMilliseconds
        self.clock = clock
        self.logger = logger
        self.metrics = metrics
        self.store = store
    }

    /// Follows a plan. The first one begins the work.
    func apply(_ orders: Orders) {
        guard !settings.isEmpty else { return }
        let isNew = state.withLock { state in
            defer { state.orders = orders }
            return state.orders != orders
        }
        if isNew { goOn() }
    }

    /// Everything of before a wipe stays out: sources that have no position begin at the present ends of their files.
    func startNow() { state.withLock { $0.startsNow = true } }

    /// Lets go of the store while `body` works in its directory.
    func held<Failure: Error>(while body: () async throws(Failure) -> Void) async throws(Failure) {
        await letGo { $0.isHeld = true }
        defer {
            state.withLock { $0.isHeld = false }
            goOn()
        }
        try await body()
    }

    /// Ends the work. What was not read yet waits in its files; what was received by syslog is stored.
    func close() async { await letGo { $0.isEnding = true } }

    /// How each source fares; `nil` if there is none.
    var reports: [DataSamplerStatus.Intake]? { settings.isEmpty ? nil : state.withLock { $0.reports } }

    private func letGo(_ order: (inout State) -> Void) async {
        state.withLock { order(&$0) }
        wake.wake()
        await withCheckedContinuation { continuation in
            let isRunning = state.withLock { state in
                if state.isRunning { state.waiting.append(continuation) }
                return state.isRunning
            }
            if !isRunning { continuation.resume() }
        }
    }

    private func goOn() {
        let mustStart = state.withLock { state in
            guard !state.isRunning, !state.isHeld, !state.isEnding, state.orders != nil else { return false }
            state.isRunning = true
            return true
        }
        guard mustStart else { return wake.wake() }
        guard !BackgroundThread.start("ws1-intake", { self.run() }) else { return }
        state.withLock { $0.isRunning = false }
        logger.error("nothing is taken in: there is no room for a thread. Raise the limit of processes (ulimit -u)")
    }

    // MARK: - The thread

    private func run() {
        var sources: [Source] = []
        let watch = DirectoryWatch()
        while let (orders, startsNow) = state.withLock({ state in
            state.isHeld || state.isEnding ? nil : state.orders.map { ($0, state.startsNow) }
        }) {
            if sources.isEmpty || sources[0].scrubbing != orders.scrubbing {
                // Scrub rules come first, so no line is written unscrubbed.
                for source in sources { source.committer.close() }
                // What is read stays open: a socket gives nothing twice.
                let former = Dictionary(
                    uniqueKeysWithValues: sources.map { ($0.committer.status.application, $0.source) })
                sources = settings.sorted { $0.key < $1.key }.map { name, settings in
                    let store = store(name, settings, orders)
                    return makeSource(
                        settings, orders, store,
                        former[name] ?? makeSource(name, settings, store, startsNow: startsNow, watch))
                }
            }
            var pause = restMilliseconds
            for source in sources { pause = min(pause, step(source, orders)) }
            let reports = sources.map { report($0.committer.status) }
            state.withLock { $0.reports = reports }
            if pause > 0 { _ = wake.wait(milliseconds: pause) }
        }
        for source in sources { source.committer.finish() }
        let waiting = state.withLock { state in
            state.isRunning = false
            defer { state.waiting = [] }
            return state.waiting
        }
        for continuation in waiting { continuation.resume() }
        // Orders may have come while it ended.
        goOn()
    }

    /// A source, and what the thread knows of it.
    private final class Source {
        let committer: IntakeCommitter
        let source: any IntakeSource
        let scrubbing: LogScrubbing
        /// Milliseconds since boot before which it is not tried again.
        var notBefore = Int64.min
        var reportedFailure: String?

        init(_ committer: IntakeCommitter, _ source: any IntakeSource, scrubbing: LogScrubbing) {
            self.committer = committer
            self.source = source
            self.scrubbing = scrubbing
        }
    }

    private func makeSource(
        _ settings: IntakeSettings, _ orders: Orders, _ store: LogStore.Configuration, _ source: any IntakeSource
    ) -> Source {
        let limit = settings.linesPerSecond.map { BurstLimit(linesPerSecond: $0, burst: settings.burst) }
        return Source(
            IntakeCommitter(store, source: source, limit: limit, clock: clock), source, scrubbing: orders.scrubbing)
    }

    private func makeSource(
        _ name: String, _ settings: IntakeSettings, _ store: LogStore.Configuration, startsNow: Bool,
        _ watch: DirectoryWatch
    ) -> any IntakeSource {
        switch settings.kind {
        case .files:
            var configuration = FileIntake.Configuration(settings, startsNow: startsNow)
            configuration.searchMilliseconds = restMilliseconds
            configuration.storeDirectory = store.directory
            return FileIntake(
                configuration, clock: clock, watch: watch,
                isInterrupted: { self.state.withLock { $0.isHeld || $0.isEnding } })
        case .journal:
            var configuration = JournalIntake.Configuration(settings, startsNow: startsNow)
            // Shorter than a rest, so that no turn comes a moment too early.
            configuration.lookMilliseconds = restMilliseconds / 2
            return JournalIntake(configuration, clock: clock, watch: watch)
        case .kernel:
            return KernelIntake(KernelIntake.Configuration(settings, startsNow: startsNow), clock: clock)
        case .syslog:
            return SyslogIntake(SyslogIntake.Configuration(settings), clock: clock) { [wake] in wake.wake() }
        case .otlp:
            return OTLPIntake(
                OTLPIntake.Configuration(settings), clock: clock, arrives: { [wake] in wake.wake() },
                sink: { [metrics] records in await metrics(name, records) })
        }
    }

    /// - Returns: milliseconds until the source is to be read again.
    private func step(_ source: Source, _ orders: Orders) -> Int64 {
        let now = clock.bootMilliseconds()
        guard now >= source.notBefore else { return source.notBefore - now }
        let committer = source.committer
        committer.level = orders.levels?.level(of: committer.status.application)
        let step = committer.step()
        let failure = committer.status.failure
        if failure != source.reportedFailure {
            source.reportedFailure = failure
            let metadata: Logger.Metadata = ["application": "\(committer.status.application)"]
            if let failure {
                logger.warning("lines wait to be taken in: \(failure)", metadata: metadata)
            } else {
                logger.notice("lines are taken in again", metadata: metadata)
            }
        }
        switch step {
        case .more: return 0
        case .idle: return restMilliseconds
        case .retry(let milliseconds):
            source.notBefore = now + milliseconds
            return milliseconds
        }
    }

    private func report(_ status: IntakeCommitter.Status) -> DataSamplerStatus.Intake {
        DataSamplerStatus.Intake(
            application: status.application,
            kind: (settings[status.application]?.kind ?? .files).rawValue, parts: status.lag.parts,
            behindBytes: status.lag.bytes,
            caughtUp: status.caughtUp.map {
                clock.wallMicroseconds() - (clock.bootMilliseconds() - $0) * 1000
            },
            stored: status.written.total, passedBy: status.filtered, leftOut: status.leftOut,
            failure: status.failure, problems: status.lag.problems, dataPoints: status.lag.dataPoints)
    }
}
