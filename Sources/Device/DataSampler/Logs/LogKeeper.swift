import LogStore
import Logging
import Synchronization
import WireModel

/// The device's log store under the settings in force: who opened it, down to which level it writes, what it scrubs.
///
/// A program may hand over a store of its own, which it opened before everything else; otherwise one is opened in
/// `<directory>/logs`, and closed at the end. Safe from any thread.
final class LogKeeper: Sendable {
    let store: LogStore
    private let isOwn: Bool
    private let logger: Logger
    private let rules: Mutex<(scrubbing: LogScrubbing, own: LogScrubbing)>

    /// - Throws: `storage` where the store cannot be opened.
    init(_ configuration: DataSamplerConfiguration, logger: Logger) throws(DataSamplerError) {
        self.logger = logger
        var own = LogScrubbing()
        if let given = configuration.logStore {
            store = given
            isOwn = false
            own = given.ownScrubbing
        } else {
            let settings = LogStore.Configuration(
                configuration,
                applicationName: configuration.applicationIdentifier.isEmpty
                    ? "ws1agent" : configuration.applicationIdentifier,
                applicationVersion: configuration.applicationVersion)
            do { store = try LogStore(settings) } catch {
                throw DataSamplerError(.storage, error.message, cause: error)
            }
            isOwn = true
        }
        rules = Mutex((own, own))
    }

    /// - Parameter level: `nil`: nothing is written.
    func apply(_ settings: DeviceSettings.Logging, level: LogLevel?) {
        // First what is scrubbed: no line is written that should have been.
        let isScrubbing = scrub(settings)
        let level = isScrubbing ? level : nil
        if store.level != level { store.level = level }
    }

    /// - Returns: `false` where what should be scrubbed cannot be.
    private func scrub(_ settings: DeviceSettings.Logging) -> Bool {
        rules.withLock { rules in
            // What the program scrubs by itself stays: privacy is only ever tightened.
            let scrubbing = LogScrubbing(
                values: rules.own.values + settings.scrubValues.filter { !rules.own.values.contains($0) },
                patterns: rules.own.patterns + settings.scrubPatterns.filter { !rules.own.patterns.contains($0) })
            guard scrubbing != rules.scrubbing else { return true }
            do throws(LogStoreError) { try store.setScrubbing(scrubbing) } catch {
                // The profile was validated: only too many of both together come here.
                logger.error(
                    "logs are off: the scrub rules cannot be applied", metadata: ["reason": "\(error.message)"])
                return false
            }
            rules.scrubbing = scrubbing
            return true
        }
    }

    /// Erases all that is kept.
    func erase() async throws(DataSamplerError) {
        let store = store
        do throws(LogStoreError) { try await BlockingWork.run { () throws(LogStoreError) in try store.erase() } } catch
        {
            throw DataSamplerError(.storage, error.message, cause: error)
        }
    }

    func close() async { if isOwn { await store.close() } else { store.flush() } }
}

/// Down to which level lines are written now. Pure.
enum LogCapture {
    /// - Parameters:
    ///   - command: a change of the level by command, for a while.
    ///   - capture: what requests that capture ask for: never less than is written anyway.
    ///   - isStopped: telemetry is disabled, a wipe is under way, consent is denied, or the device was unenrolled.
    /// - Returns: `nil`: nothing is written.
    static func level(_ settings: DeviceSettings.Logging, command: LogLevel?, capture: LogLevel?, isStopped: Bool)
        -> LogLevel?
    {
        guard settings.enabled, !isStopped else { return nil }
        let level = command ?? LogLevel(settings.level) ?? .information
        return max(level, capture ?? .error)
    }
}

extension LogStore.Configuration {
    /// The store of a data sampler's directory.
    package init(_ configuration: DataSamplerConfiguration, applicationName: String, applicationVersion: String) {
        self.init(
            directory: "\(configuration.directory)/\(DataSampler.logDirectoryName)", applicationName: applicationName)
        self.applicationVersion = applicationVersion
        flushInterval = .seconds(configuration.lossWindow)
        level = configuration.loggingEnabled ? .information : nil
        maximumBytes = configuration.logRetention.bytes
        maximumAge = .seconds(configuration.logRetention.days * 86_400)
        ringBytes = configuration.logRetention.verboseRingBytes
    }
}
