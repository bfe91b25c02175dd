import RecordQueue
import SampleModules
import Transmitter
import WireModel

extension DataSampler {
    // MARK: Pausing

    /// Ends sampling, the beacon schedule and sending until ``resume()``, for an application that goes to the
    /// background. What is recorded meanwhile waits on disk. Idempotent.
    ///
    /// - Throws: `notRunning`.
    public func suspend() async throws(DataSamplerError) { await (try running()).controller.setSuspended(true) }

    /// Goes on after ``suspend()``: modules are due at once, a beacon is sent where a schedule runs. Idempotent.
    ///
    /// - Throws: `notRunning`.
    public func resume() async throws(DataSamplerError) { await (try running()).controller.setSuspended(false) }

    /// Do-not-disturb: samples, events and logs pause; beacons go on with device, enrollment and this state only.
    /// Events that are recorded meanwhile wait on disk. It ends with the program, or when the profile no longer allows
    /// it.
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
    /// Granted: what waited apart goes into its streams, in order. Denied: what waited is deleted and counted, nothing
    /// more is recorded. The collector is told by a beacon at once.
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
    /// - Throws: `collector` where it could not be asked, `profileRefused` where what came is no profile to run,
    ///   `notRunning`.
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
    /// - Throws: `invalidModule` naming the bound, `moduleDisabled`, `telemetryDisabled`, `consentDenied`,
    ///   `wipePending`, `unenrolled` (each counted as dropped), `notRunning`, `queueFull`, `queue`.
    public func recordSample(
        module: String, measurements: [SampleMeasurement], durability: Durability = .ordinary
    ) async throws(DataSamplerError) {
        let sample = try CustomSample(module: module, measurements: measurements)
        let running = try running()
        try await running.core.record(sample, durability: durability)
        running.parts.transmitter.recorded(module: sample.module)
    }

    // MARK: Leaving

    /// Erases what this device keeps: what waits is counted as wiped and never sent, records made from now on go into a
    /// new epoch. Identity and profile stay. Done on return; where the program ends before, the next start goes on.
    ///
    /// - Parameter reason: in words, for the log; no data of a person.
    /// - Throws: `storage`, `queue`, `queueFull`, `notRunning`. After an error a wipe that has begun goes on by itself.
    public func wipe(reason: String = "") async throws(DataSamplerError) {
        let controller = try running().controller
        try await controller.erase(command: nil, reason: reason)
        try await controller.wipeWasReported()
    }

    /// Ends this device's enrollment: a last beacon is sent, what else waits is counted as unenrolled, the collector is
    /// told, and nothing is recorded or sent any more, also after a restart. Another enrollment token than the one in
    /// use now enrolls it again.
    ///
    /// - Returns: whether that is over; `false`: the collector could not be told within ten seconds, and it goes on by
    ///   itself, also after a restart.
    /// - Throws: `notAllowed` where the device is not enrolled, `storage`, `notRunning`.
    public func unenroll() async throws(DataSamplerError) -> Bool { try await (try running()).controller.unenroll() }
}

/// What the collector has a device run.
public struct DataSamplerProfile: Codable, Equatable, Sendable {
    /// Counts the organization's changes.
    public let revision: UInt64
    /// When the collector last said so, microseconds since 1970 by this device's clock; `nil`: by an earlier run,
    /// unknown when.
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

extension DataSampler {
    /// Waits until a profile is at hand, for a bounded time. A device that has never reached its collector has none,
    /// and takes no events until then; every other one has the profile of its last run, and this returns at once.
    ///
    /// The sampler runs on whatever the outcome is: it samples, keeps what it records, and asks the collector again by
    /// itself.
    ///
    /// - Parameter limit: how long at most.
    /// - Returns: ``FirstProfile/atHand(revision:)``, or why there is none yet. What a person has to mend ends the wait
    ///   before the limit.
    /// - Throws: `notRunning`.
    public func firstProfile(within limit: Duration = .seconds(30)) async throws(DataSamplerError) -> FirstProfile {
        // Listened to before the look, so that nothing falls between the two.
        let notices = notifier.listen()
        if let profile = try await profile() { return .atHand(revision: profile.revision) }
        // Said once, and perhaps before somebody listened.
        if let refusal = await (try running()).parts.profiles.report.refusal { return .refused(refusal) }
        let clock = environment.sleeper
        let ended = await withTaskGroup(of: FirstProfile?.self) { group in
            group.addTask {
                for await notice in notices {
                    switch notice.kind {
                    case .profileApplied:
                        return .atHand(revision: notice.details["revision"].flatMap { UInt64($0) } ?? 0)
                    case .profileRefused: return .refused(notice.message)
                    case .forbidden: return .forbidden(notice.message)
                    default: continue
                    }
                }
                return nil
            }
            group.addTask {
                try? await clock.sleep(for: limit)
                return nil
            }
            let first = await group.next() ?? nil
            group.cancelAll()
            return first
        }
        if let ended { return ended }
        if let profile = try await profile() { return .atHand(revision: profile.revision) }
        let status = try await status()
        return .notReached(
            status.profile.failure ?? status.collector.lastFailureReason
                ?? "the collector \(configuration.collectorURL) has not answered within \(limit)")
    }
}

/// How a wait for a device's first profile ended, see ``DataSampler/firstProfile(within:)``.
public enum FirstProfile: Equatable, Sendable {
    /// A profile is applied, fetched now or by an earlier run: events are taken where it allows analytics.
    case atHand(revision: UInt64)
    /// What the collector sent is no profile to run. The text says why; somebody has to mend it at the collector.
    case refused(String)
    /// The collector refuses this device. The text says why; somebody has to act at the collector.
    case forbidden(String)
    /// The time is over, or the task was cancelled. The text says what the last attempt met.
    case notReached(String)
}

extension DataSampler {
    /// Says the device's push token. A change goes to the collector at once and stays in every beacon until one that
    /// holds it is acknowledged, also after a restart; an unchanged token is not sent (ws1). `nil` clears the one the
    /// collector has.
    ///
    /// On synced disk when this returns; while the beacon cannot be sent it waits like every other.
    ///
    /// - Parameter token: 1 to 4,096 bytes, or `nil`.
    /// - Throws: `invalidConfiguration` for a token out of bounds, `storage`, `notRunning`, and what ``sendBeacon()``
    ///   throws; the token is then kept and told by the next beacon.
    public func setPushToken(_ token: String?) async throws(DataSamplerError) {
        let running = try running()
        guard try running.core.beacons.pushTokens.set(token) else { return }
        try await running.parts.loop.sendChange()
    }

    /// Says who uses the device, for beacons; `nil`: nobody is told. Kept in memory only: say it after each start. A
    /// change goes at once.
    ///
    /// What is sent of each field the privacy class `user` says.
    /// - Throws: `notRunning`, and what ``sendBeacon()`` throws.
    public func setUser(_ user: DeviceUser?) async throws(DataSamplerError) {
        let running = try running()
        guard running.core.beacons.setUser(user) else { return }
        try await running.parts.loop.sendChange()
    }

    /// Looks now for signs of compromise, instead of within ten minutes; a beacon tells them at once where a verdict
    /// has changed.
    ///
    /// - Returns: the verdict of all detectors together, and what each has seen, by its name.
    /// - Throws: `notRunning`.
    public func refreshDeviceCompromisedStatus() async throws(DataSamplerError) -> DeviceCompromisedStatus {
        let running = try running()
        let former = await running.core.beacons.compromise.report()
        let report = await running.core.beacons.compromise.refresh()
        if report.differs(from: former) { await running.parts.loop.tellChange() }
        return DeviceCompromisedStatus(report)
    }
}

/// Whether the device is compromised, and why.
public struct DeviceCompromisedStatus: Equatable, Sendable {
    /// `yes` where one sign was seen; `no` only where all that there was to look at could be looked at.
    public let verdict: CompromiseFinding.Verdict
    /// What each detector has seen, by its name; one that had nothing to look at is not in it.
    public let findings: [String: CompromiseFinding]

    init(_ report: CompromiseReport) {
        verdict = report.verdict
        findings = Dictionary(report.findings.map { ($0.detector, $0.finding) }) { first, _ in first }
    }
}

extension DataSampler {
    /// Sends the device's status now. Returns once the beacon is on synced disk; it goes to the collector at once where
    /// that can be reached, and as soon as it can be otherwise. A collector that has refused this device is asked again
    /// at once.
    ///
    /// One beacon is made at a time: a call that comes meanwhile shares its outcome, unless something the beacon tells
    /// has changed since.
    ///
    /// - Throws: `notRunning`, `telemetryDisabled`, `wipePending`, `unenrolled`, `queueFull`, `queue`.
    public func sendBeacon() async throws(DataSamplerError) { _ = try await sendBeaconNumbered() }

    /// Starts to send beacons on a schedule; the first goes at once. A second start replaces the schedule.
    ///
    /// - Parameter transmitFrequency: seconds between two; less than 60 or not finite is 60 (ws1), more than 86,400 is
    ///   86,400.
    /// - Throws: `notRunning`.
    public func startSendingDeviceStatusBeacon(transmitFrequency: Double = 60) async throws(DataSamplerError) {
        await (try running()).controller.scheduleBeacons(every: transmitFrequency)
    }

    /// Ends the schedule. Idempotent, and harmless while nothing runs.
    public func stopSendingDeviceStatusBeacon() async {
        await (try? running())?.controller.scheduleBeacons(every: nil)
    }

    /// - Returns: the beacon's number in the status stream.
    package func sendBeaconNumbered() async throws(DataSamplerError) -> UInt64 {
        let parts = try running().parts
        let number = try await parts.loop.sendBeacon(.demand)
        // Somebody asks now, perhaps because what sending was on hold for is over.
        parts.transmitter.tryNow()
        return number
    }
}
