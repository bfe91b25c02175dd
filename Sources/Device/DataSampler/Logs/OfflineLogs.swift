import LogStore
import Transmitter
import WireModel

/// The log store of a data directory in which no data sampler runs, for a command that logs and goes. Takes no lock of the queue: a store is
/// written by several programs. What holds is what a data sampler that starts now would hold: level and scrub rules of the last good profile.
package struct OfflineLogs {
    private let visitor: LogVisitor

    /// - Throws: `storageDamaged` where the profile cannot be read, so that nobody knows what must not be written; `storage`.
    package init(_ configuration: DataSamplerConfiguration) throws(DataSamplerError) {
        let settings = DeviceSettings.resolve(local: configuration, profile: try Self.profile(configuration.directory))
        var store = LogStore.Configuration(configuration, applicationName: "ws1agent", applicationVersion: "")
        let isStopped = try Self.isStopped(configuration)
        store.level = LogCapture.level(
            settings.logging, command: nil, capture: nil, isStopped: settings.telemetryDisabled || isStopped)
        store.scrubbing = LogScrubbing(values: settings.logging.scrubValues, patterns: settings.logging.scrubPatterns)
        do { visitor = try LogVisitor(store) } catch { throw DataSamplerError(.storage, error.message, cause: error) }
    }

    /// Writes lines; they are with the kernel when this returns, or what became of them is said.
    package func deliver(_ entries: [LogEntry]) -> LogDelivery { visitor.deliver(entries) }

    private static func profile(_ directory: String) throws(DataSamplerError) -> WireProfile? {
        let file = StoredProfile.file(in: directory)
        guard let stored = try file.load() else { return nil }
        do {
            let profile = try WireProfile.decode(stored.profile)
            try profile.validate()
            return profile
        } catch {
            throw DataSamplerError(.storageDamaged, "\(file.file.path) holds no profile to run: start the agent, which fetches another")
        }
    }

    /// Wiping, unenrolled, or consent is denied. A note of a wipe that is there and cannot be read counts.
    private static func isStopped(_ configuration: DataSamplerConfiguration) throws(DataSamplerError) -> Bool {
        let directory = configuration.directory
        do { if try WipeNote.file(in: directory).load() != nil { return true } } catch { return true }
        if try ConsentStore(directory: directory).decided() ?? configuration.initialConsent == .denied { return true }
        let identity = IdentityStore(
            directory: directory, machineHash: nil, enrollmentToken: configuration.enrollmentToken, request: WireEnrollRequest())
        do {
            if case .unenrolled = try identity.state() { return try identity.enrollmentToken() == nil }
        } catch {
            throw (error as? DataSamplerError) ?? DataSamplerError(.identity, "\(error)", cause: error)
        }
        return false
    }
}
