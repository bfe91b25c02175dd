import Encryption
import Intake
import LogStore
import Logging
import RecordQueue
import SampleModules
import ServiceLifecycle
import Synchronization
import TelemetryBasics
import Transmitter
import WireModel

/// Samples this device, records events and beacons, stores them on disk, and sends each to a collector exactly once.
///
/// ```swift
/// let sampler = try DataSampler(configuration: DataSamplerConfiguration(
///     directory: "/var/lib/example/telemetry", collectorURL: "https://collector.example:8420",
///     enrollmentToken: token))
/// try await sampler.start()
/// try await sampler.recordEvent(eventName: "door.opened", eventValue: .integer(1))
/// ```
///
/// One data sampler runs per process, and one process at a time holds a directory. All methods are safe from any task.
/// Events keep the order of consecutive calls. A record leaves the disk only when the collector reported it as stored.
public final class DataSampler: Service {
    /// The version of this library, sent to the collector and in beacons.
    public static let version = "1.0.0"

    /// The parts that exist while the sampler runs.
    struct Running: Sendable {
        let supervisor: DeviceSupervisor
        let connection: SamplerEnvironment.Connection
        /// The parent task of everything that runs.
        let work: Task<Void, Never>
        /// Hears what happens, also while the last records are sent.
        let hearing: Task<Void, Never>

        var core: SamplerCore { supervisor.core }
        var parts: DeviceSupervisor.Parts { supervisor.parts }
        var events: DeviceEvents { supervisor.events }
        var delivery: DeliveryWatch { supervisor.parts.delivery }

        /// Informs the collector that something a beacon reports has changed; what stands in the way is logged there.
        func reportChange() async { if !core.settings.telemetryDisabled { await parts.loop.reportChange() } }
    }

    private enum State {
        case idle
        case starting
        case running(Running)
        case stopping
    }

    let configuration: DataSamplerConfiguration
    let notifier = NoticeBoard()
    let environment: SamplerEnvironment
    private let logger: Logger
    private let traces: TraceSwitch
    private let state = Mutex(State.idle)
    /// A stop and opening anew, one at a time.
    let life = AsyncMutex()
    private let isStopWanted = Mutex(false)
    let custom: Mutex<[String: any CustomSampleModule]>
    private weak let delegate: (any DataSamplerDelegate)?

    /// Checks the configuration. Uses neither disk nor network.
    ///
    /// - Parameters:
    ///   - delegate: receives what the data sampler notices, see ``notices``; held weakly. `nil` for none.
    ///   - logger: receives the data sampler's own messages, as the trace level in the configuration or a temporary
    ///     command allows.
    /// - Throws: `invalidConfiguration` with the value and its range.
    public convenience init(
        configuration: DataSamplerConfiguration, delegate: (any DataSamplerDelegate)? = nil,
        logger: Logger = Logger(label: "ws1.sampler")
    ) throws(DataSamplerError) {
        try self.init(
            configuration: configuration, environment: SamplerEnvironment(), delegate: delegate, logger: logger)
    }

    init(
        configuration: DataSamplerConfiguration, environment: SamplerEnvironment,
        delegate: (any DataSamplerDelegate)? = nil, logger: Logger
    ) throws(DataSamplerError) {
        try configuration.validate()
        self.environment = environment
        self.delegate = delegate
        traces = TraceSwitch(configuration.traceLevel)
        custom = Mutex(MetricSourceModule.modules(configuration.metricSources))
        self.logger = traces.logger(over: logger)
        // The same over all starts, so a passcode that was entered serves on.
        self.configuration = configuration.withKeys(clock: environment.clock, logger: self.logger)
    }

    /// Whether the device of a directory is enrolled, so a start needs no enrollment token.
    package static func isEnrolled(in directory: String) -> Bool { IdentityStore.isEnrolled(in: directory) }

    /// Notices from now on, as they happen. Each sequence buffers up to 64; beyond that the oldest are dropped. Safe
    /// from any thread. It may be requested before the start and outlives a stop.
    public var notices: AsyncStream<DataSamplerNotice> { notifier.listen() }

    // MARK: Life

    /// Opens the queue, waiting up to five seconds for its lock, and starts sampling and sending.
    ///
    /// A beacon is made at once, also without a schedule. It starts even if no collector is reachable; records then
    /// wait on disk. Events can be recorded once a profile is available, fetched now or by an earlier run.
    ///
    /// - Throws: `alreadyStarted` while this or another instance runs in this process; `queueInUse` while another
    ///   process holds the directory; `queue`, `queueFull`, `identity`, `storage`, `invalidConfiguration` with the
    ///   reason. After an error nothing runs.
    public func start() async throws(DataSamplerError) {
        guard environment.slot.acquire() else {
            throw DataSamplerError(
                .alreadyStarted, "a data sampler already runs in this process: stop it first, or use it")
        }
        state.withLock { $0 = .starting }
        isStopWanted.withLock { $0 = false }
        do {
            let running = try await makeRunning()
            state.withLock { $0 = .running(running) }
            logger.info(
                "started",
                metadata: [
                    "directory": "\(configuration.directory)", "epoch": "\(running.core.queue.epoch)",
                    "version": "\(Self.version)",
                ])
        } catch {
            state.withLock { $0 = .idle }
            environment.slot.release()
            throw error
        }
    }

    /// Stops in order: ends sampling, makes a last beacon if there is a schedule, sends for up to five seconds what is
    /// due, and closes the queue. Unsent records wait on disk for the next start. Does nothing if the sampler is not
    /// running.
    public func stop() async {
        isStopWanted.withLock { $0 = true }
        let isAlone = await life.enter()
        defer { if isAlone { life.leave() } }
        guard let running = stopping() else { return }
        let sent = await end(running, sending: true)
        // A passcode serves until the stop.
        running.core.keys.lock()
        state.withLock { $0 = .idle }
        environment.slot.release()
        logger.info("stopped", metadata: ["sent": "\(sent ? "all" : "not all; the rest waits on disk")"])
    }

    private func stopping() -> Running? {
        state.withLock { state in
            guard case .running(let running) = state else { return nil }
            state = .stopping
            return running
        }
    }

    /// - Parameter sending: whether what is due is sent before.
    /// - Returns: whether all was sent.
    private func end(_ running: Running, sending: Bool) async -> Bool {
        await running.parts.loop.endBeacons()
        running.work.cancel()
        await running.work.value
        running.parts.budgets.save()
        try? await running.core.queue.flush()
        let sent = sending ? await running.parts.transmitter.drain(within: environment.drainTime) : false
        running.events.finish()
        await running.hearing.value
        await running.core.close()
        await running.parts.logs.close()
        await running.connection.shutdown()
        return sent
    }

    /// After a start without the keys, which are at hand now: opens everything anew. So one path reads what is sealed.
    /// Records that waited in memory are written before. Goes on until that succeeds or somebody stops the sampler.
    ///
    /// - Parameter always: also after another start.
    func reopen(always: Bool = false) async {
        guard await life.enter() else { return }
        defer { life.leave() }
        guard let present = try? running(), always || present.core.isLocked, let former = stopping() else { return }
        _ = await end(former, sending: false)
        state.withLock { $0 = .starting }
        var attempts = 0
        while !isStopWanted.withLock({ $0 }) {
            do throws(DataSamplerError) {
                let running = try await makeRunning()
                state.withLock { $0 = .running(running) }
                return logger.notice("opened anew, with the keys that are at hand")
            } catch {
                logger.error("cannot go on with the keys yet", metadata: ["reason": "\(error.message)"])
            }
            try? await environment.sleeper.sleep(for: .seconds(min(60, 1 << min(attempts, 6))))
            attempts += 1
        }
        state.withLock { $0 = .idle }
        environment.slot.release()
    }

    /// Starts, runs until the service group shuts down gracefully or the task is cancelled, and stops in order.
    public func run() async throws {
        try await start()
        // Cancellation ends the wait too; both mean to stop.
        try? await gracefulShutdown()
        // In a task of its own, because a cancelled task could not wait for the disk.
        await Task { await self.stop() }.value
    }

    /// Applies another configuration for the same directory as far as it can change at run time: modules, intervals,
    /// switches, privacy, budgets, the offline time and the trace level. What only a start reads stays: directory,
    /// collector, token, files, proxy, loss window, the program's name and version, detectors, and the limits of logs.
    ///
    /// - Throws: `invalidConfiguration` if a value is not valid; then nothing has changed. `notRunning`.
    package func reconfigure(_ configuration: DataSamplerConfiguration) async throws(DataSamplerError) {
        try configuration.validate()
        let running = try running()
        await running.events.report(
            .configurationRead(running.core.isLocked ? configuration.whileLocked() : configuration))
    }

    // MARK: Putting together

    private func makeRunning() async throws(DataSamplerError) -> Running {
        let route = try configuration.collectorRoute
        // Listens before anything is opened, so that the delegate hears what a start notices.
        let heard = delegate == nil ? nil : notifier.listen()
        let core = try await SamplerCore.open(
            configuration, environment: environment, notices: notifier, logger: logger)
        do {
            // Reports a damaged identity at the start and not when the first transmission fails.
            if !core.isLocked { try core.honourUnenrollment() }
            core.keepCollector()
            // The last step that can fail, except for files, because a connection would have to be shut down again.
            let identity = core.identity
            var connection = try environment.connect(
                SamplerEnvironment.Destination(route: route) { (try? identity.load()).map { "\($0.deviceID)" } })
            let events = DeviceEvents()
            let trusting = AuthorityTransport(base: connection.transport, core: core, events: events)
            connection.transport = PinWatchingTransport(base: trusting, core: core, events: events)
            do {
                return try await compose(core, connection, events, heard)
            } catch {
                await connection.shutdown()
                throw error
            }
        } catch {
            await core.close()
            throw (error as? DataSamplerError) ?? DataSamplerError(.invalidConfiguration, "\(error)", cause: error)
        }
    }

    private func compose(
        _ core: SamplerCore, _ connection: SamplerEnvironment.Connection, _ events: DeviceEvents,
        _ heard: AsyncStream<DataSamplerNotice>?
    ) async throws(DataSamplerError) -> Running {
        let environment = environment
        let logger = logger
        let budgets = try BudgetKeeper(
            directory: configuration.directory, now: environment.clock.now(), logger: logger,
            damaged: notifier.postSetAside(BudgetKeeper.name))
        let custom = custom.withLock { $0 }
        let doNotDisturb =
            try DoNotDisturbState.file(in: configuration.directory)
            .loadOrKeepAsDamaged(damaged: notifier.postSetAside(DoNotDisturbState.fileName)) ?? DoNotDisturbState()
        // What it begins with, before it learns more.
        let plan = DevicePolicy(
            local: core.configuration, runtime: core.runtime, profile: core.storedProfile?.profile,
            doNotDisturb: doNotDisturb
        ).plan(gate: core.gate, isConsentDenied: false, awaits: core.awaitedDecisions, pins: core.pins.inForce)
        let transmitter = Transmitter(
            queue: core.queue, transport: connection.transport, enrollments: core.identity,
            settings: plan.transmission, agentVersion: "ws1-telemetry/\(Self.version)",
            conditions: core.conditions, events: EventSink { events.post(.transmitter($0)) }, clock: environment.clock,
            sleeper: environment.sleeper, roll: environment.roll, logger: logger)
        let loop = DeviceLoop(
            core: core, transmitter: transmitter, sleeper: environment.sleeper,
            changeDelay: environment.beaconChangeDelay
        ) { name in
            Self.makeModule(name, core: core, host: environment.host, logger: logger)
        }
        let ledgerFile = CommandLedger.file(in: configuration.directory, seal: core.seal)
        let ledger =
            try ledgerFile.loadOrKeepAsDamaged(damaged: notifier.postSetAside(CommandLedger.fileName))
            ?? CommandLedger()
        let logs = try LogKeeper(configuration, logger: logger) { source, records in
            let module = IntakeSettings.metricModule(of: source)
            let outcome = await core.record(records, module: module, of: source)
            if outcome == .stored { transmitter.recorded(module: module) }
            return outcome
        }
        let (logRequests, uploader) = try logCarriers(core, transmitter, events, logs)
        let messages = MessageDelivery(
            receive: configuration.receiveMessage, notices: notifier, events: events, sleeper: environment.sleeper,
            logger: logger)
        let profiles = ProfileKeeper(core: core, transmitter: transmitter, events: events, roll: environment.roll)
        let delivery = DeliveryWatch(core: core, transmitter: transmitter, sleeper: environment.sleeper)
        let leaving = LeaveKeeper(
            core: core, transmitter: transmitter, events: events, sleeper: environment.sleeper
        ) { () async throws(DataSamplerError) in
            messages.erase()
            await logRequests.cancelAll()
            await uploader.cancelAll()
            try await profiles.erase(keepsProtection: false)
        }
        let wipes = WipeKeeper(
            core: core, events: events, sleeper: environment.sleeper,
            announce: {
                guard (try? core.identity.load()) != nil else { return }
                // A wipe does not depend on it: the collector may be out of reach.
                _ = try? await delivery.statusRecord(within: .seconds(10)) { () async throws(DataSamplerError) in
                    try await loop.sendChange()
                }
            },
            leave: { (deadline) async throws(DataSamplerError) in try await leaving.begin(by: deadline) },
            countLogSegments: { await logs.segmentCount() },
            eraseParts: { (endsEnrollment) async throws(DataSamplerError) in
                messages.erase()
                await uploader.cancelAll()
                try await logs.erase()
                if endsEnrollment { try await profiles.erase(keepsProtection: true) }
            })
        let commands = CommandRunner(
            save: { (ledger) throws(DataSamplerError) in try ledgerFile.save(ledger) }, ledger: ledger, core: core,
            actions: DeviceActions(
                core: core, events: events, loop: loop, transmitter: transmitter, profiles: profiles, wipes: wipes,
                logRequests: logRequests, messages: messages, traces: traces), events: events, logger: logger)
        try await leaving.resume()
        if Paths.exists("\(configuration.directory)/\(WipeNote.fileName)") { logs.takeInFromNow() }
        try await wipes.resume { command in ledger.machine.isOwed(command) }
        core.analytics.launched()
        await core.observeEvents()
        let supervisor = DeviceSupervisor(
            core: core, events: events,
            parts: DeviceSupervisor.Parts(
                loop: loop, transmitter: transmitter, delivery: delivery, profiles: profiles, commands: commands,
                wipes: wipes, leaving: leaving, logs: logs, logRequests: logRequests, messages: messages,
                uploader: uploader, budgets: budgets, traces: traces,
                logind: configuration.followsLogind
                    ? LogindWatch(address: environment.systemBus, core: core, loop: loop, events: events) : nil),
            custom: custom, doNotDisturb: doNotDisturb,
            // Before the first line is accepted, so that a capture misses none after a restart.
            logLevel: ledger.machine.logLevel, captures: await logRequests.running)
        let hearing = Task { await supervisor.handleEvents() }
        await events.report(.started)
        let work = Task {
            await withTaskGroup { group in
                group.addTask { await supervisor.run(clock: environment.clock, sleeper: environment.sleeper) }
                group.addTask { await self.notifyDelegate(heard) }
                if let news = connection.news {
                    group.addTask { for await _ in news { commands.rang() } }
                }
                if core.isLocked { group.addTask { await self.waitForKeys(core) } }
            }
        }
        return Running(supervisor: supervisor, connection: connection, work: work, hearing: hearing)
    }

    private static func makeModule(
        _ name: SampleModuleName, core: SamplerCore, host: any HostSource, logger: Logger
    ) -> (any SampleModule)? {
        switch name {
        case .system: SystemModule(host: host, logger: logger, program: core.metrics)
        case .analytics: AnalyticsModule(ledger: core.analytics)
        case .networkData:
            NetworkDataModule(host: host, logger: logger) { core.conditions.current().roaming }
        case .networkAdapter: NetworkAdapterModule(host: host, logger: logger)
        case .wlan2: WLANModule(host: host, logger: logger)
        case .gps, .callLog, .custom: nil
        }
    }

    private func notifyDelegate(_ heard: AsyncStream<DataSamplerNotice>?) async {
        guard let heard else { return }
        for await notice in heard { await delegate?.dataSampler(self, noticed: notice) }
    }

    // MARK: Custom modules

    /// Registers a module of the application. It is sampled from now on and after every start. A module with the same
    /// name is replaced.
    ///
    /// - Throws: `invalidModule` if its name or interval is out of range, or if 64 are registered.
    public func register(_ module: some CustomSampleModule) async throws(DataSamplerError) {
        if let objection = CustomModuleName.objection(to: module.name) {
            throw DataSamplerError(.invalidModule, objection)
        }
        if let interval = module.sampleInterval, !SecondsRange.interval.contains(interval) {
            throw DataSamplerError(
                .invalidModule,
                "the sample interval of '\(module.name)' is \(interval): it must be \(SecondsRange.interval)")
        }
        let modules = custom.withLock { custom -> [String: any CustomSampleModule]? in
            guard custom.count < Self.maximumCustomModules || custom[module.name] != nil else { return nil }
            custom[module.name] = module
            return custom
        }
        guard let modules else {
            throw DataSamplerError(
                .invalidModule, "\(Self.maximumCustomModules) custom modules are registered already: unregister one")
        }
        await (try? running())?.events.report(.customModulesChanged(modules))
    }

    /// Stops sampling a custom module. Does nothing if no module has the name.
    public func unregister(module name: String) async {
        let modules = custom.withLock { custom in
            custom[name] = nil
            return custom
        }
        await (try? running())?.events.report(.customModulesChanged(modules))
    }

    private static let maximumCustomModules = 64

    /// Throws `notRunning`.
    func running() throws(DataSamplerError) -> Running {
        let running = state.withLock { state -> Running? in
            if case .running(let running) = state { running } else { nil }
        }
        guard let running else { throw DataSamplerError(.notRunning, "the data sampler does not run: start it first") }
        return running
    }
}

extension DataSampler {
    /// The state of the sampler, and what it stores, as of now.
    ///
    /// - Throws: `notRunning`, `queue`.
    public func status() async throws(DataSamplerError) -> DataSamplerStatus {
        let running = try running()
        var status = try await running.core.status(await running.supervisor.report())
        let sources = custom.withLock { $0.values.compactMap { ($0 as? MetricSourceModule)?.status } }
        if !sources.isEmpty { status.metricSources = sources.sorted { $0.module < $1.module } }
        return status
    }

    /// Where every record is that is on disk. Those in memory, within the loss window, are not counted yet.
    ///
    /// - Throws: `notRunning`, `queue`.
    public func balance() async throws(DataSamplerError) -> DataSamplerBalance {
        try await (try running()).core.balance()
    }
}
