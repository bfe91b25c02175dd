import RecordQueue
import SampleModules
import Transmitter
import WireModel

extension DataSampler {
    // MARK: Pausing

    /// Ends sampling, the beacon schedule and sending until ``resume()``, for an application that goes to the background. What is recorded
    /// meanwhile waits on disk. Idempotent.
    ///
    /// - Throws: `notRunning`.
    public func suspend() async throws(DataSamplerError) { await (try running()).controller.setSuspended(true) }

    /// Goes on after ``suspend()``: modules are due at once, a beacon is sent where a schedule runs. Idempotent.
    ///
    /// - Throws: `notRunning`.
    public func resume() async throws(DataSamplerError) { await (try running()).controller.setSuspended(false) }

    /// Do-not-disturb: samples, events and logs pause; beacons go on with device, enrollment and this state only. Events that are recorded
    /// meanwhile wait on disk. It ends with the program, or when the profile no longer allows it.
    ///
    /// - Throws: `notAllowed` where the profile does not allow it, `notRunning`.
    public func setDoNotDisturb(_ isOn: Bool) async throws(DataSamplerError) {
        try await (try running()).controller.setDoNotDisturb(isOn)
    }

    /// The device was unlocked: a beacon is sent (ws1).
    ///
    /// - Throws: as ``sendBeacon()``.
    public func unlocked() async throws(DataSamplerError) { _ = try await unlockedNumbered() }

    /// - Returns: the beacon's number in the status stream.
    package func unlockedNumbered() async throws(DataSamplerError) -> UInt64 {
        try await (try running()).parts.loop.sendBeacon(.unlock)
    }

    // MARK: Consent

    /// What the person whose device it is has said; kept on disk, where it holds for every later start.
    ///
    /// Granted: what waited apart goes into its streams, in order. Denied: what waited is deleted and counted, nothing more is recorded.
    /// The collector is told by a beacon at once.
    ///
    /// - Throws: `storage` where it could not be put on disk: then nothing changed, though a denial may hold from the
    ///   next start on. `queue`, `queueFull` where records could not be moved yet: then the decision stands, and moving
    ///   goes on by itself. `notRunning`.
    public func setConsent(_ consent: DataSamplerConsent) async throws(DataSamplerError) {
        let running = try running()
        try await running.core.consent.set(consent, wallTime: running.core.clock.now().wallTime)
        await running.controller.tellChange()
    }

    /// What holds now.
    ///
    /// - Throws: `notRunning`.
    public func consent() throws(DataSamplerError) -> DataSamplerConsent { try running().core.consent.consent }

    // MARK: Profile

    /// What the collector has this device run; `nil`: no profile is at hand yet.
    ///
    /// - Throws: `notRunning`.
    public func profile() async throws(DataSamplerError) -> DataSamplerProfile? {
        let running = try running()
        let report = await running.parts.profiles.report
        let settings = running.core.settings
        guard settings.profileChecked else { return nil }
        return DataSamplerProfile(
            revision: settings.profileRevision, fetched: report.fetched, customPayload: settings.customPayload,
            isAnalyticsEnabled: settings.analyticsEnabled, isTelemetryDisabled: settings.telemetryDisabled,
            isDoNotDisturbAllowed: settings.doNotDisturbAllowed, modules: settings.modules.map(\.rawValue))
    }

    /// Looks now whether the collector has another profile, and applies it.
    ///
    /// - Returns: whether another one was applied.
    /// - Throws: `collector` where it could not be asked, `profileRefused` where what came is no profile to run, `notRunning`.
    @discardableResult public func reloadProfile() async throws(DataSamplerError) -> Bool {
        switch await (try running()).parts.profiles.refresh() {
        case .applied: return true
        case .unchanged: return false
        case .refused(let why): throw DataSamplerError(.profileRefused, why)
        case .failed(let why): throw DataSamplerError(.collector, "the profile could not be fetched: \(why)")
        }
    }

    // MARK: Custom samples

    /// Records a sample of the application's own, outside of any schedule.
    ///
    /// - Parameters:
    ///   - module: as ``CustomSampleModule/name``.
    ///   - measurements: 1 to 512; together up to 240 KiB.
    ///   - durability: as for events.
    /// - Throws: `invalidModule` naming the bound, `moduleDisabled`, `telemetryDisabled`, `consentDenied`, `wipePending`, `unenrolled` (each
    ///   counted as dropped), `notRunning`, `queueFull`, `queue`.
    public func recordSample(
        module: String, measurements: [SampleMeasurement], durability: Durability = .ordinary
    ) async throws(DataSamplerError) {
        let sample = try CustomSample(module: module, measurements: measurements)
        let running = try running()
        try await running.core.record(sample, durability: durability)
        running.parts.transmitter.recorded(module: sample.module)
    }

    // MARK: Leaving

    /// Erases what this device keeps: what waits is counted as wiped and never sent, records made from now on go into a new epoch. Identity and
    /// profile stay. Done on return; where the program ends before, the next start goes on.
    ///
    /// - Parameter reason: in words, for the log; no data of a person.
    /// - Throws: `storage`, `queue`, `queueFull`, `notRunning`. After an error a wipe that has begun goes on by itself.
    public func wipe(reason: String = "") async throws(DataSamplerError) {
        let controller = try running().controller
        try await controller.erase(command: nil, reason: reason)
        try await controller.wipeWasReported()
    }

    /// Ends this device's enrollment: a last beacon is sent, what else waits is counted as unenrolled, the collector is told, and nothing is
    /// recorded or sent any more, also after a restart. Another enrollment token than the one in use now enrolls it again.
    ///
    /// - Returns: whether that is over; `false`: the collector could not be told within ten seconds, and it goes on by itself, also after a
    ///   restart.
    /// - Throws: `notAllowed` where the device is not enrolled, `storage`, `notRunning`.
    public func unenroll() async throws(DataSamplerError) -> Bool { try await (try running()).controller.unenroll() }
}

/// What the collector has a device run.
public struct DataSamplerProfile: Codable, Equatable, Sendable {
    /// Counts the organization's changes.
    public let revision: UInt64
    /// When the collector last said so, microseconds since 1970 by this device's clock; `nil`: by an earlier run, unknown when.
    public let fetched: Int64?
    /// Raw text for the application (ws1); `nil`: none.
    public let customPayload: String?
    /// Whether events are recorded, local settings taken in.
    public let isAnalyticsEnabled: Bool
    /// Whether everything is switched off, local settings taken in.
    public let isTelemetryDisabled: Bool
    /// Whether ``DataSampler/setDoNotDisturb(_:)`` is allowed.
    public let isDoNotDisturbAllowed: Bool
    /// What is sampled, by name, local settings taken in.
    public let modules: [String]
}
