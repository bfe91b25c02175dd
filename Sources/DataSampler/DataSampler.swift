import Logging
import RecordQueue
import SampleModules
import ServiceLifecycle
import Synchronization
import Transmitter
import WireModel

/// Samples this device, records events and beacons, keeps them on disk, and sends them to a collector, each exactly once.
///
/// ```swift
/// let sampler = try DataSampler(configuration: DataSamplerConfiguration(
///     directory: "/var/lib/example/telemetry", collectorURL: "https://collector.example:8420", enrollmentToken: token))
/// try await sampler.start()
/// try await sampler.recordEvent(eventName: "door.opened", eventValue: .integer(1))
/// ```
///
/// One runs per process, and one process at a time holds a directory. All methods are safe from any task; events keep the order in which
/// their calls were made one after the other. What is on disk leaves it only when the collector has said that it stored it.
public final class DataSampler: Service {
    /// Version of this library, in beacons and in what the collector is told.
    public static let version = "1.0.0"

    /// What exists while it runs.
    struct Running: Sendable {
        let core: SamplerCore
        let loop: DeviceLoop
        let transmitter: Transmitter
        let connection: SamplerEnvironment.Connection
        /// Loop and transmitter, as children of one task.
        let work: Task<Void, Never>
    }

    private enum State {
        case idle
        case starting
        case running(Running)
        case stopping
    }

    let configuration: DataSamplerConfiguration
    private let environment: SamplerEnvironment
    private let logger: Logger
    private let state = Mutex(State.idle)

    /// Checks the configuration; touches neither disk nor network.
    ///
    /// - Parameter logger: takes what the data sampler says of itself; its level is set from the configuration's trace level.
    /// - Throws: `invalidConfiguration` naming the value and its range.
    public convenience init(
        configuration: DataSamplerConfiguration, logger: Logger = Logger(label: "ws1.sampler")
    ) throws(DataSamplerError) {
        try self.init(configuration: configuration, environment: SamplerEnvironment(), logger: logger)
    }

    init(configuration: DataSamplerConfiguration, environment: SamplerEnvironment, logger: Logger) throws(DataSamplerError) {
        try configuration.validate()
        self.configuration = configuration
        self.environment = environment
        self.logger = configuration.traceLevel.applied(to: logger)
    }

    // MARK: Life

    /// Opens the queue, waiting up to five seconds for its lock, and begins to sample and send.
    ///
    /// Without a collector in reach it starts all the same: what is recorded waits on disk.
    ///
    /// - Throws: `alreadyStarted` while this or another instance runs in this process; `queueInUse` while another process holds the
    ///   directory; `queue`, `queueFull`, `identity`, `invalidConfiguration` with the reason. After an error nothing is left running.
    public func start() async throws(DataSamplerError) {
        guard environment.slot.take() else {
            throw DataSamplerError(.alreadyStarted, "a data sampler runs in this process already: stop it first, or use it")
        }
        state.withLock { $0 = .starting }
        do {
            let running = try await makeRunning()
            state.withLock { $0 = .running(running) }
            logger.info(
                "started",
                metadata: ["directory": "\(configuration.directory)", "epoch": "\(running.core.queue.epoch)", "version": "\(Self.version)"])
        } catch {
            state.withLock { $0 = .idle }
            environment.slot.release()
            throw error
        }
    }

    /// Ends in order: no more samples, a last beacon where a schedule runs, up to five seconds to send what is due, queue closed.
    /// Everything not sent waits on disk for the next start. Harmless while it does not run.
    public func stop() async {
        let running = state.withLock { state -> Running? in
            guard case .running(let running) = state else { return nil }
            state = .stopping
            return running
        }
        guard let running else { return }
        if await running.loop.beacons.interval != nil {
            await running.loop.stopBeacons()
            // Its failure is logged where it happens; a stop goes on without it.
            _ = try? await running.loop.sendBeacon(.stop)
        }
        running.work.cancel()
        await running.work.value
        try? await running.core.queue.flush()
        let sent = await running.transmitter.drain(within: environment.drainTime)
        await running.core.close()
        await running.connection.shutdown()
        state.withLock { $0 = .idle }
        environment.slot.release()
        logger.info("stopped", metadata: ["sent": "\(sent ? "all that was due" : "not all; the rest waits on disk")"])
    }

    /// Starts, runs until the service group shuts down gracefully or the task is cancelled, and stops in order.
    public func run() async throws {
        try await start()
        // Cancellation ends the wait just as well: both mean to stop.
        try? await gracefulShutdown()
        // In a task of its own, because a cancelled one could not wait for the disk.
        await Task { await self.stop() }.value
    }

    private func makeRunning() async throws(DataSamplerError) -> Running {
        let transport = try configuration.transportConfiguration
        let core = try await SamplerCore.open(configuration, environment: environment, logger: logger)
        do {
            // A damaged identity is told at the start, not when the first transmit fails.
            _ = try core.identity.load()
            var modules: [SampleModuleName: any SampleModule] = [:]
            var intervals: [SampleModuleName: SampleInterval] = [:]
            for name in core.settings.modules {
                guard let module = makeModule(name, core: core) else { continue }
                modules[name] = module
                intervals[name] = try SampleInterval(
                    seconds: core.settings.sampleIntervals[name] ?? 0)
            }
            // Last of what can fail: a connection made would have to be shut down again.
            let connection = try environment.connect(transport)
            let transmitter = Transmitter(
                queue: core.queue, transport: connection.transport, enrollments: core.identity,
                configuration: Transmitter.Configuration(
                    settings: TransmitterSettings(
                        transmitInterval: core.settings.transmitInterval, eventHold: core.settings.eventHold,
                        expectedBeaconSeconds: Int(core.settings.beaconInterval ?? 0)),
                    agentVersion: "ws1-telemetry/\(Self.version)"),
                clock: environment.clock, sleeper: environment.sleeper, logger: logger)
            core.analytics.launched()
            await core.observeEvents()
            await core.recordLaunch()
            let loop = DeviceLoop(core: core, modules: modules, intervals: intervals, sleeper: environment.sleeper) {
                transmitter.transmitNow()
            }
            if let seconds = core.settings.beaconInterval { await loop.startBeacons(frequency: seconds, trigger: .start) }
            let sleeper = environment.sleeper
            let work = Task {
                await withTaskGroup { group in
                    group.addTask { await loop.run() }
                    group.addTask { await transmitter.run() }
                    group.addTask {
                        await core.beacons.compromise.run(sleeper: sleeper) { _ in await loop.tellChange() }
                    }
                }
            }
            return Running(core: core, loop: loop, transmitter: transmitter, connection: connection, work: work)
        } catch {
            await core.close()
            throw Self.startError(error)
        }
    }

    private func makeModule(_ name: SampleModuleName, core: SamplerCore) -> (any SampleModule)? {
        switch name {
        case .system: SystemModule(host: environment.host, logger: logger)
        case .analytics: AnalyticsModule(ledger: core.analytics)
        case .gps, .networkData, .callLog, .networkAdapter, .wlan2, .custom: nil
        }
    }

    private static func startError(_ error: any Error) -> DataSamplerError {
        (error as? DataSamplerError) ?? DataSamplerError(.invalidConfiguration, "\(error)", cause: error)
    }

    /// Throws `notRunning`.
    func running() throws(DataSamplerError) -> Running {
        let running = state.withLock { state -> Running? in
            if case .running(let running) = state { running } else { nil }
        }
        guard let running else { throw DataSamplerError(.notRunning, "the data sampler does not run: start it first") }
        return running
    }
}
