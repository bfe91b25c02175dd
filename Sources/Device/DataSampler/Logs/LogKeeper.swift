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
    private let isOwn: Bool
    private let logger: Logger
    private let rules: Mutex<(scrubbing: LogScrubbing, own: LogScrubbing)>

    /// - Throws: `storage` if the store cannot be opened.
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

    /// - Parameter level: `nil` writes nothing.
    func apply(_ settings: DeviceSettings.Logging, level: LogLevel?) {
        // Scrub rules first, so no line is written unscrubbed.
        let isScrubbing = scrub(settings)
        let level = isScrubbing ? level : nil
        if store.level != level { store.level = level }
    }

    /// - Returns: `false` if the rules cannot be applied.
    private func scrub(_ settings: DeviceSettings.Logging) -> Bool {
        rules.withLock { rules in
            // The program's own rules stay, because privacy is only ever tightened.
            let scrubbing = LogScrubbing(
                values: rules.own.values + settings.scrubValues.filter { !rules.own.values.contains($0) },
                patterns: rules.own.patterns + settings.scrubPatterns.filter { !rules.own.patterns.contains($0) })
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

    func erase() async throws(DataSamplerError) {
        let store = store
        do throws(LogStoreError) { try await BlockingWork.run { () throws(LogStoreError) in try store.erase() } } catch
        {
            throw DataSamplerError(.storage, error.message, cause: error)
        }
    }

    func close() async { if isOwn { await store.close() } else { store.flush() } }
}

/// Decides the level that is written now. Pure.
enum LogCapture {
    /// - Parameters:
    ///   - command: a temporary level from a command.
    ///   - capture: the level that captures request. It never lowers what is written anyway.
    ///   - isStopped: telemetry is disabled, a wipe is under way, consent is denied, or the device was unenrolled.
    /// - Returns: `nil` if nothing is written.
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
