import RecordQueue
import SampleModules
import Transmitter
import WipeCertificates
import WireModel

extension DataSampler {
    // MARK: Pausing

    /// Stops sampling, scheduled beacons and sending until ``resume()``, for an application that goes to the
    /// background. Records made meanwhile wait on disk. Where a command of the collector is carried out meanwhile, its
    /// result is sent, with the status records that wait. Idempotent.
    ///
    /// - Throws: `notRunning`.
    public func suspend() async throws(DataSamplerError) { await (try running()).events.report(.suspended(true)) }

    /// Continues after ``suspend()``. Modules are due at once, and a beacon is sent if there is a schedule. Idempotent.
    ///
    /// - Throws: `notRunning`.
    public func resume() async throws(DataSamplerError) { await (try running()).events.report(.suspended(false)) }

    /// Reports that the device was unlocked. A beacon is sent (ws1).
    ///
    /// - Throws: as ``sendBeacon()``.
    public func unlocked() async throws(DataSamplerError) { _ = try await unlockedNumbered() }

    /// - Returns: the beacon's number in the status stream.
    package func unlockedNumbered() async throws(DataSamplerError) -> UInt64 {
        try await (try running()).parts.loop.sendBeacon(.unlock)
    }

    // MARK: Consent

    /// Records the decision of the person whose device it is; the file holds for every later start.
    ///
    /// Granted: what waited is sent, in order. Denied: what waited is dropped and counted, nothing more is recorded. A
    /// beacon informs the collector at once.
    ///
    /// - Throws: `storage` where it could not be put on disk: then nothing changed. `queue`, `queueFull` where records
    ///   could not be dropped yet: then the decision stands, and dropping goes on by itself. `notRunning`.
    public func setConsent(_ consent: DataSamplerConsent) async throws(DataSamplerError) {
        let running = try running()
        // Events and samples are held meanwhile, so that none that is made under it is sent by the former one.
        await running.events.report(.consentChanging)
        let result: Result<Void, DataSamplerError>
        do throws(DataSamplerError) {
            try await running.core.consent.set(consent, wallTime: running.core.clock.now().wallTime)
            result = .success(())
        } catch {
            result = .failure(error)
        }
        await running.events.report(.consentChanged)
        try result.get()
        await running.reportChange()
    }

    /// The present consent.
    ///
    /// - Throws: `notRunning`.
    public func consent() throws(DataSamplerError) -> DataSamplerConsent { try running().core.consent.consent }

    // MARK: Profile

    /// The profile that the collector assigned to this device; `nil` if none is available yet.
    ///
    /// - Throws: `notRunning`.
    public func profile() async throws(DataSamplerError) -> DataSamplerProfile? {
        let running = try running()
        let report = await running.parts.profiles.report
        return DataSamplerProfile(running.core.settings, fetched: report.fetched)
    }

    /// Asks the collector now for a new profile, and applies it.
    ///
    /// - Returns: whether another profile was applied.
    /// - Throws: `collector` if it could not be asked, `profileRefused` if the received profile is not valid,
    ///   `notRunning`.
    @discardableResult public func reloadProfile() async throws(DataSamplerError) -> Bool {
        let running = try running()
        switch await running.core.asked(.profileReloaded, didSucceed: \.isSuccess, running.parts.profiles.refresh) {
        case .applied: return true
        case .unchanged: return false
        case .refused(let why): throw DataSamplerError(.profileRefused, why)
        case .failed(let why): throw DataSamplerError(.collector, "the profile could not be fetched: \(why)")
        }
    }

    // MARK: Custom samples

    /// Records a sample of the application outside of any schedule.
    ///
    /// - Parameters:
    ///   - module: as ``CustomSampleModule/name``.
    ///   - measurements: 1 to 512; together up to 240 KiB.
    ///   - durability: as for events.
    /// - Throws: `invalidModule` with the limit; `moduleDisabled`, `telemetryDisabled`, `consentDenied`, `wipePending`,
    ///   `unenrolled` (each counted as dropped); `notRunning`, `queueFull`, `queue`.
    public func recordSample(
        module: String, measurements: [SampleMeasurement], durability: Durability = .ordinary
    ) async throws(DataSamplerError) {
        _ = try await record(module: module, measurements, durability: durability)
    }

    /// - Parameter application: bundle id of the program whose sample it is, up to 200 bytes; `nil` for this one.
    /// - Returns: the number of a durable sample.
    package func record(
        module: String, _ measurements: [SampleMeasurement], of application: String? = nil, durability: Durability
    ) async throws(DataSamplerError) -> UInt64? {
        let sample = try CustomSample(module: module, measurements: measurements)
        let running = try running()
        let number = try await running.core.record(sample, of: application, durability: durability)
        running.parts.transmitter.recorded(module: sample.module)
        return number
    }

    // MARK: Leaving

    /// Clears the data that this device keeps. Waiting records are counted as wiped and never sent, and new records go
    /// into a new epoch. Identity and profile stay. The wipe is complete on return. If the program ends before, the
    /// next start continues it.
    ///
    /// - Parameter reason: text for the log, without personal data.
    /// - Throws: `storage`, `queue`, `queueFull`, `notRunning`. After an error, a wipe that has begun continues by
    ///   itself.
    public func wipe(reason: String = "") async throws(DataSamplerError) { _ = try await wipeCertified(reason: reason) }

    /// As ``wipe(reason:)``.
    ///
    /// - Returns: the signed certificate, or why there is none. Nobody keeps it.
    package func wipeCertified(reason: String) async throws(DataSamplerError) -> WipeCertificateFile {
        let wipes = try running().parts.wipes
        try await wipes.wipe(command: nil, reason: reason)
        return try await Self.certified(wipes)
    }

    /// Ends a wipe that was asked for here.
    private static func certified(_ wipes: WipeKeeper) async throws(DataSamplerError) -> WipeCertificateFile {
        // The end may erase the key that signs.
        let evidence = await wipes.evidence(of: nil)
        try await wipes.wasReported()
        return WipeCertificateFile(
            document: evidence?.certificate,
            remark: evidence.map(\.remark) ?? "no certificate: a command of the collector wipes this device too")
    }

    /// Gets this device new credentials without unenrolling it, for instance because somebody may have copied the
    /// present ones. It enrolls again as the same device, with the enrollment token. Records and profile stay; commands
    /// of the former enrollment end. The former credentials are worth nothing once the new ones were used.
    ///
    /// - Throws: `notAllowed` if the device is not enrolled or has no enrollment token; `collector` if the collector
    ///   could not be asked or refused; `notRunning`. After an error the present credentials stay.
    public func resetCredentials() async throws(DataSamplerError) {
        let running = try running()
        guard running.core.identity.configuredToken != nil else {
            throw DataSamplerError(
                .notAllowed, "there is no enrollment token to get new credentials with. \(Transmitter.tokenRemedy)")
        }
        switch await running.parts.transmitter.resetCredentials() {
        case .empty: running.parts.transmitter.tryNow()
        case .notEnrolled: throw DataSamplerError(.notAllowed, "this device is not enrolled: it has no credentials")
        case .unreachable(let why), .refused(let why):
            throw DataSamplerError(.collector, "no new credentials, the present ones stay in use: \(why)")
        case let answer:
            throw DataSamplerError(.collector, "no new credentials, the present ones stay in use: \(answer)")
        }
    }

    /// Ends this device's enrollment. A last beacon is sent, other waiting records are counted as unenrolled, and the
    /// collector is informed. Nothing is recorded or sent any more, also after a restart. Profile and credential are
    /// erased; logs stay on disk. A different enrollment token enrolls the device again.
    ///
    /// - Parameters:
    ///   - withWipe: first erases everything as ``wipe(reason:)`` does, and the profile. The credential stays until the
    ///     collector has the last beacon, for 24 hours at most.
    ///   - reason: of the wipe; text for the log, without personal data.
    /// - Returns: whether it is complete. `false` means that the collector could not be informed within ten seconds; it
    ///   continues by itself, also after a restart.
    /// - Throws: `notAllowed` if the device is not enrolled, `wipePending` without `withWipe` while a wipe is carried
    ///   out, `storage`, `queue`, `queueFull`, `notRunning`. After an error, what has begun continues by itself.
    public func unenroll(withWipe: Bool = false, reason: String = "") async throws(DataSamplerError) -> Bool {
        if withWipe { return try await unenrollCertified(reason: reason).isComplete }
        let parts = try enrolledParts()
        // Its result could not be recorded any more, and it would never end.
        guard await parts.wipes.pending == nil else {
            throw DataSamplerError(.wipePending, "a wipe is being carried out: try again when it is done")
        }
        try await parts.leaving.begin()
        return await parts.leaving.finish(within: .seconds(10))
    }

    /// As ``unenroll(withWipe:reason:)`` with a wipe.
    ///
    /// - Returns: also the signed certificate of the wipe, or why there is none. Nobody keeps it.
    package func unenrollCertified(
        reason: String
    ) async throws(DataSamplerError) -> (isComplete: Bool, certificate: WipeCertificateFile) {
        let (leaving, wipes) = try enrolledParts()
        try await wipes.wipe(command: nil, reason: reason, endsEnrollment: true)
        let certificate = try await Self.certified(wipes)
        return (await leaving.finish(within: .seconds(10)), certificate)
    }

    private func enrolledParts() throws(DataSamplerError) -> (leaving: LeaveKeeper, wipes: WipeKeeper) {
        let running = try running()
        guard (try? running.core.identity.load()) != nil else {
            throw DataSamplerError(.notAllowed, "this device is not enrolled: there is nothing to end")
        }
        return (running.parts.leaving, running.parts.wipes)
    }
}

/// The profile that the collector assigned to a device.
public struct DataSamplerProfile: Codable, Equatable, Sendable {
    /// The number of the organization's change.
    public let revision: UInt64
    /// When the collector last confirmed it, in microseconds since 1970 by this device's clock; `nil` if an earlier run
    /// fetched it at an unknown time.
    public let fetched: Int64?
    /// Text for the application, passed on unchanged (ws1); `nil` for none.
    public let customPayload: String?
    /// Whether events are recorded, including local settings.
    public let isAnalyticsEnabled: Bool
    /// Whether telemetry is disabled, including local settings.
    public let isTelemetryDisabled: Bool
    /// Whether ``DataSampler/setDoNotDisturb(_:)`` is allowed.
    public let isDoNotDisturbAllowed: Bool
    /// Names of the sampled modules, including local settings.
    public let modules: [String]

    /// `nil` if no profile is at hand.
    init?(_ settings: DeviceSettings, fetched: Int64?) {
        guard settings.profileChecked else { return nil }
        revision = settings.profileRevision
        self.fetched = fetched
        customPayload = settings.customPayload
        isAnalyticsEnabled = settings.analyticsEnabled
        isTelemetryDisabled = settings.telemetryDisabled
        isDoNotDisturbAllowed = settings.doNotDisturbAllowed
        modules = settings.modules.map(\.rawValue)
    }
}

extension DataSampler {
    /// Waits for a profile for a bounded time. A device that never reached its collector has none and accepts no events
    /// until then. Every other device has the profile of its last run, and this returns at once.
    ///
    /// The sampler keeps running whatever the result: it samples, stores records, and asks the collector again by
    /// itself.
    ///
    /// - Parameter limit: the longest wait.
    /// - Returns: ``FirstProfile/atHand(revision:)``, or why there is none yet. If a person must act, the wait ends
    ///   early.
    /// - Throws: `notRunning`.
    public func firstProfile(within limit: Duration = .seconds(30)) async throws(DataSamplerError) -> FirstProfile {
        // Listens before it looks, so nothing is missed in between.
        let notices = notifier.listen()
        if let profile = try await profile() { return .atHand(revision: profile.revision) }
        // It is reported once, perhaps before anybody listened.
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
                // A clock cannot add the longest durations to its time.
                try? await clock.sleep(for: min(limit, .seconds(1 << 32)))
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

/// The result of waiting for a device's first profile, see ``DataSampler/firstProfile(within:)``.
public enum FirstProfile: Equatable, Sendable {
    /// A profile is applied, fetched now or by an earlier run. Events are accepted if it allows analytics.
    case atHand(revision: UInt64)
    /// The received profile is not valid. The text says why; somebody must correct it at the collector.
    case refused(String)
    /// The collector rejects this device. The text says why; somebody must act at the collector.
    case forbidden(String)
    /// The time is over, or the task was cancelled. The text gives the result of the last attempt.
    case notReached(String)
}

extension DataSampler {
    /// Sets the device's push token. A change is sent at once, and every beacon contains it until one of them is
    /// acknowledged, also after a restart. An unchanged token is not sent (ws1). `nil` clears the collector's token.
    ///
    /// The token is on synced disk when this returns. If the beacon cannot be sent, it waits like any other.
    ///
    /// - Parameter token: 1 to 4,096 bytes, or `nil`.
    /// - Throws: `invalidConfiguration` for a token of another length, `storage`, `notRunning`, and what
    ///   ``sendBeacon()`` throws; the token is then stored, and the next beacon contains it.
    public func setPushToken(_ token: String?) async throws(DataSamplerError) {
        let running = try running()
        guard try running.core.beacons.pushTokens.set(token) else { return }
        try await running.parts.loop.sendChange()
    }

    /// Like ``setPushToken(_:)``, and returns once the collector has the token.
    ///
    /// - Parameters:
    ///   - token: 1 to 4,096 bytes, or `nil`.
    ///   - limit: the longest wait.
    /// - Throws: what ``setPushToken(_:)`` throws; `notDelivered` with a ``DeliveryFailure`` as its cause. The token is
    ///   then stored, and every beacon contains it until one is acknowledged.
    public func setPushToken(_ token: String?, deliveredWithin limit: Duration) async throws(DataSamplerError) {
        let running = try running()
        let tokens = running.core.beacons.pushTokens
        try await setPushToken(token)
        guard let pending = tokens.pending else { return }
        try await running.delivery.wait(limit, for: "the push token", stream: .status) {
            () async throws(DataSamplerError) in
            tokens.observe(try await running.delivery.queueStatus())
            guard tokens.pending?.change != pending.change else { return false }
            guard tokens.isKnown(token) else {
                throw DeliveryWatch.refused("the push token", "it was changed or erased meanwhile")
            }
            return true
        }
    }

    /// Sets the user of the device for beacons; `nil` reports nobody. It is kept in memory only, so set it after each
    /// start. A change is sent at once.
    ///
    /// The privacy class `user` decides what is sent of each field.
    /// - Throws: `notRunning`, and what ``sendBeacon()`` throws.
    public func setUser(_ user: DeviceUser?) async throws(DataSamplerError) {
        let running = try running()
        guard running.core.beacons.setUser(user) else { return }
        try await running.parts.loop.sendChange()
    }

    /// Searches signs of compromise now, rather than within ten minutes. If a verdict changed, a beacon reports it at
    /// once.
    ///
    /// - Returns: the verdict of all detectors together, and each detector's finding by name.
    /// - Throws: `notRunning`.
    public func refreshDeviceCompromisedStatus() async throws(DataSamplerError) -> DeviceCompromisedStatus {
        let running = try running()
        let (report, isOther) = await running.core.beacons.compromise.examine(telling: running.events)
        if isOther { await running.parts.loop.reportChange() }
        return DeviceCompromisedStatus(report)
    }
}

/// Whether the device is compromised, and why.
public struct DeviceCompromisedStatus: Equatable, Sendable {
    /// `yes` if one sign was found. `no` only if everything that exists could be examined.
    public let verdict: CompromiseFinding.Verdict
    /// Each detector's finding by name. A detector without anything to examine is missing.
    public let findings: [String: CompromiseFinding]

    init(_ report: CompromiseReport) {
        verdict = report.verdict
        findings = Dictionary(report.findings.map { ($0.detector, $0.finding) }) { first, _ in first }
    }
}

extension DataSampler {
    /// Searches signs of compromise and sends the device's status now. Returns when the beacon is on synced disk. It is
    /// sent at once if the collector is reachable, otherwise as soon as it is. A collector that rejected this device is
    /// asked again at once.
    ///
    /// One beacon is made at a time. A call during that time shares its result, unless the contents changed meanwhile.
    ///
    /// - Throws: `notRunning`, `telemetryDisabled`, `wipePending`, `unenrolled`, `queueFull`, `queue`.
    public func sendBeacon() async throws(DataSamplerError) { _ = try await sendBeaconNumbered() }

    /// Like ``sendBeacon()``, and returns once the collector has stored the beacon.
    ///
    /// - Parameter limit: the longest wait.
    /// - Throws: what ``sendBeacon()`` throws; `notDelivered` with a ``DeliveryFailure`` as its cause.
    public func sendBeacon(deliveredWithin limit: Duration) async throws(DataSamplerError) {
        _ = try await sendBeaconNumbered(deliveredWithin: limit)
    }

    /// Starts sending beacons on a schedule. The first is sent at once. A second call replaces the schedule.
    ///
    /// - Parameter transmitFrequency: seconds between two beacons. Less than 60 or not finite becomes 60 (ws1); more
    ///   than 86,400 becomes 86,400.
    /// - Throws: `notRunning`.
    public func startSendingDeviceStatusBeacon(transmitFrequency: Double = 60) async throws(DataSamplerError) {
        await (try running()).events.report(.beaconScheduleAsked(every: transmitFrequency))
    }

    /// Ends the schedule. Idempotent; does nothing while the sampler is stopped.
    public func stopSendingDeviceStatusBeacon() async {
        await (try? running())?.events.report(.beaconScheduleAsked(every: nil))
    }

    /// - Returns: the beacon's number in the status stream.
    package func sendBeaconNumbered() async throws(DataSamplerError) -> UInt64 {
        let running = try running()
        let parts = running.parts
        await running.core.beacons.compromise.examine(telling: running.events)
        let number = try await running.core.asked(.beaconForced) { () async throws(DataSamplerError) in
            try await parts.loop.sendBeacon(.demand)
        }
        // The caller asks now, perhaps because the reason for a hold is gone.
        parts.transmitter.tryNow()
        return number
    }

    /// - Returns: the number in the status stream of the beacon that the collector has stored.
    package func sendBeaconNumbered(deliveredWithin limit: Duration) async throws(DataSamplerError) -> UInt64 {
        try await (try running()).delivery.statusRecord(within: limit) { () async throws(DataSamplerError) in
            try await sendBeaconNumbered()
        }
    }
}
