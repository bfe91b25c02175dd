import Transmitter

/// Switches that the program changes while it runs, and that hold after a restart, too (intune:
/// `IntuneMAMSettings`). Each counts instead of the configuration's until it is changed or cleared, or the enrollment
/// ends. The profile stands above them as above the configuration: it can switch off, not on.
public struct RuntimeSettings: Equatable, Codable, Sendable {
    /// `nil` in each: the configuration's counts.
    public var telemetryDisabled: Bool?
    /// Whether events may be recorded.
    public var analyticsEnabled: Bool?
    /// Whether lines are written and sent.
    public var loggingEnabled: Bool?
    /// Whether what is recorded is test data.
    public var isTest: Bool?
    /// How much the sampler logs of itself.
    public var traceLevel: TraceLevel?

    /// Nothing is changed.
    public init() {}

    func applied(to given: DataSamplerConfiguration) -> DataSamplerConfiguration {
        var configuration = given
        if let telemetryDisabled { configuration.telemetryDisabled = telemetryDisabled }
        if let analyticsEnabled { configuration.analyticsEnabled = analyticsEnabled }
        if let loggingEnabled { configuration.loggingEnabled = loggingEnabled }
        if let isTest { configuration.isTest = isTest }
        if let traceLevel { configuration.traceLevel = traceLevel }
        return configuration
    }
}

/// `<data>/settings.json`. Missing while nothing is changed.
extension RuntimeSettings: KeptState {
    static let fileName = "settings.json"
}

extension DataSampler {
    /// The settings that were changed at run time.
    ///
    /// - Throws: `notRunning`.
    public func runtimeSettings() async throws(DataSamplerError) -> RuntimeSettings {
        await (try running()).supervisor.runtimeSettings
    }

    /// Changes settings at run time. They hold at once, and are on synced disk when this returns.
    ///
    /// - Throws: `storage`; then nothing has changed. `unenrolled`, because nothing is kept then. `notRunning`, also if
    ///   the task was cancelled before its turn.
    public func setRuntimeSettings(_ settings: RuntimeSettings) async throws(DataSamplerError) {
        let running = try running()
        guard await running.supervisor.settingsLock.enter() else {
            throw DataSamplerError(.notRunning, "the change of settings was cancelled")
        }
        defer { running.supervisor.settingsLock.leave() }
        let gate = running.core.gate
        guard !gate.isUnenrolled, !gate.isLeaving else {
            throw DataSamplerError(.unenrolled, "this device was or is being unenrolled: no settings are kept")
        }
        let file = RuntimeSettings.file(in: configuration.directory)
        if settings == RuntimeSettings() { try file.file.remove() } else { try file.save(settings) }
        await running.events.report(.settingsChanged(settings))
    }
}
