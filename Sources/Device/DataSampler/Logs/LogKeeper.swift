import Intake
import LogStore
import Logging
import Synchronization
import WireModel

/// Applies the settings in force to the device's log store: its level and its scrub rules.
///
/// A program may provide its own store, opened before everything else. Otherwise one is opened in `<directory>/logs`
/// and closed at the end. Safe from any thread.
final class LogKeeper: Sendable {
    let store: LogStore
    private let intakes: IntakeKeeper
    private let isOwn: Bool
    private let logger: Logger
    private let rules: Mutex<(scrubbing: LogScrubbing, own: LogScrubbing)>
    private let levels = Mutex<LogLevels?>(nil)
    private let applicationIdentifier: String

    /// - Parameter metrics: puts data points of OTLP into the device's queue, by the source's application.
    /// - Throws: `storage` if the store cannot be opened.
    init(
        _ configuration: DataSamplerConfiguration, logger: Logger,
        metrics: @escaping @Sendable (String, [OTLPMetricRecord]) async -> OTLPMetricOutcome
    ) throws(DataSamplerError) {
        self.logger = logger
        applicationIdentifier = configuration.applicationIdentifier
        var own = configuration.logScrubbing
        if let given = configuration.logStore {
            store = given
            isOwn = false
            own = given.ownScrubbing.adding(own)
        } else {
            let settings = LogStore.Configuration(
                configuration,
                applicationName: configuration.applicationIdentifier.isEmpty
                    ? "ws1agent" : configuration.applicationIdentifier,
                applicationVersion: configuration.applicationVersion)
            do { store = try LogStore(settings) } catch { throw DataSamplerError(error) }
            isOwn = true
        }
        intakes = IntakeKeeper(configuration.intakes, logger: logger, metrics: metrics) { name, source, orders in
            LogStore.Configuration(configuration, intake: source, of: name, scrubbing: orders.scrubbing)
        }
        // A store that the program opened may have fewer rules; the first plan adds those of the configuration.
        rules = Mutex((store.ownScrubbing, own))
    }

    /// The keys of encryption may be at hand now.
    func keysAvailable() { store.keysAvailable() }

    func apply(_ settings: DeviceSettings.Logging, levels: LogLevels) {
        // Scrub rules first, so no line is written unscrubbed.
        let isScrubbing = scrub(settings)
        let level = isScrubbing ? levels.level(of: applicationIdentifier) : nil
        self.levels.withLock { $0 = isScrubbing ? levels : nil }
        if store.level != level { store.level = level }
        intakes.apply(
            IntakeKeeper.Orders(
                levels: isScrubbing ? levels : nil, scrubbing: rules.withLock { $0.scrubbing }))
    }

    /// How the intakes fare; `nil` if there is none.
    var intakeReports: [DataSamplerStatus.Intake]? { intakes.reports }

    /// A wipe is under way: what the machine wrote before it is not taken in afterwards.
    func takeInFromNow() { intakes.startNow() }

    /// Writes lines on the caller's thread and reports what became of each. Waits for the disk.
    /// - Parameter application: bundle id of the program that wrote them; empty for this one.
    func deliver(_ entries: [LogEntry], of application: String) throws(LogStoreError) -> LogDelivery {
        guard !application.isEmpty, application != applicationIdentifier else { return store.deliver(entries) }
        // Before the first plan, and while nothing can be scrubbed, the store's own level holds.
        let levels = levels.withLock { $0 }
        let level = if let levels { levels.level(of: application) } else { store.level }
        return try store.deliver(entries, of: application, level: level)
    }

    /// - Returns: `false` if the rules cannot be applied.
    private func scrub(_ settings: DeviceSettings.Logging) -> Bool {
        rules.withLock { rules in
            // The program's own rules stay, because privacy is only ever tightened.
            let scrubbing = rules.own.adding(settings.scrubbing)
            guard scrubbing != rules.scrubbing else { return true }
            do throws(LogStoreError) { try store.setScrubbing(scrubbing) } catch {
                // The profile was validated, so only too many rules together can lead here.
                logger.error(
                    "logs are off, because the scrub rules cannot be applied", metadata: ["reason": "\(error.message)"])
                return false
            }
            rules.scrubbing = scrubbing
            return true
        }
    }

    /// Log segments on disk, of all programs that write into the store.
    func segmentCount() async -> Int {
        let store = store
        return (try? await BlockingWork.run { () throws(LogStoreError) in store.status.segments }) ?? 0
    }

    func erase() async throws(DataSamplerError) {
        let store = store
        intakes.startNow()
        try await intakes.held { () async throws(DataSamplerError) in
            do throws(LogStoreError) {
                try await BlockingWork.run { () throws(LogStoreError) in try store.erase() }
            } catch {
                throw DataSamplerError(error)
            }
        }
    }

    func close() async {
        await intakes.close()
        if isOwn { await store.close() } else { store.flush() }
    }
}

/// A level that a command or a request asks for.
struct LogLevelWish: Equatable, Sendable {
    var level: LogLevel
    /// Bundle id; empty for all programs.
    var application = ""

    func concerns(_ application: String) -> Bool { self.application.isEmpty || self.application == application }
}

/// Decides the level at which each program's lines are written now. Pure.
struct LogLevels: Equatable, Sendable {
    /// The profile's and the configuration's.
    var settings: DeviceSettings.Logging
    /// A temporary level from a command.
    var command: LogLevelWish?
    /// The levels that captures request. They never lower what is written anyway.
    var captures: [LogLevelWish] = []
    /// Telemetry is disabled, a wipe is under way, consent is denied, do-not-disturb is on, or the device was
    /// unenrolled.
    var isStopped: Bool

    /// - Parameter application: bundle id.
    /// - Returns: `nil` if nothing is written.
    func level(of application: String) -> LogLevel? {
        guard settings.enabled, !isStopped else { return nil }
        let commanded = command.flatMap { $0.concerns(application) ? $0.level : nil }
        let level = commanded ?? LogLevel(settings.level) ?? .information
        return captures.filter { $0.concerns(application) }.map(\.level).reduce(level, max)
    }
}

extension LogStore.Configuration {
    /// A source's part of that store.
    init(
        _ configuration: DataSamplerConfiguration, intake: IntakeSettings, of name: String, scrubbing: LogScrubbing
    ) {
        self.init(configuration, applicationName: name, applicationVersion: "")
        applicationIdentifier = name
        maximumBytes = intake.bytes
        maximumAge = .seconds(intake.days * 86_400)
        self.scrubbing = scrubbing
    }

    /// The store of a data sampler's directory.
    package init(_ configuration: DataSamplerConfiguration, applicationName: String, applicationVersion: String) {
        self.init(
            directory: "\(configuration.directory)/\(DataSampler.logDirectoryName)", applicationName: applicationName)
        self.applicationVersion = applicationVersion
        applicationIdentifier = configuration.applicationIdentifier
        flushInterval = .seconds(configuration.lossWindow)
        level = configuration.loggingEnabled ? .information : nil
        maximumBytes = configuration.logRetention.bytes
        maximumAge = .seconds(configuration.logRetention.days * 86_400)
        ringBytes = configuration.logRetention.verboseRingBytes
        scrubbing = configuration.logScrubbing
        keys = configuration.keys
        isEncrypting = configuration.keys.map { EncryptionMark.isWanted(configuration, keys: $0) } ?? false
    }
}
