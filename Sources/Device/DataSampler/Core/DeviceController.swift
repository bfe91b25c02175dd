import FoundationEssentials
import Logging
import RecordQueue
import SampleModules
import Synchronization
import Transmitter
import WireModel

/// Applies the settings in force: profile, explicit calls and circumstances meet here, and core, loop and transmitter
/// are told. It is also the transmitter's delegate, carries out commands, and watches what runs out.
actor DeviceController {
    /// What it steers; put together after it.
    struct Parts: Sendable {
        var loop: DeviceLoop
        var transmitter: Transmitter
        var profiles: ProfileKeeper
        var commands: CommandRunner
        var wipes: WipeKeeper
        var leaving: LeaveKeeper
        var logs: LogKeeper
        var logRequests: LogRequests
        var uploader: LogUploader
    }

    nonisolated let core: SamplerCore
    nonisolated let traces: TraceSwitch
    nonisolated let wake = AsyncEvent()
    let sleeper: any Clock<Duration>
    private var local: DataSamplerConfiguration
    private var profile: WireProfile?
    private var calls = DeviceSettings.Calls()
    /// What requests that capture logs ask for.
    private var captureLevel: LogLevel?
    private(set) var custom: [String: any CustomSampleModule]
    private var doNotDisturb = false
    private(set) var isSuspended = false
    /// Decisions on consent that are being taken over: until then the stricter of two holds.
    private var consentChanges = 0
    /// The budgets': intervals are so many times longer.
    private(set) var slowdown = 1.0
    let budgets: BudgetKeeper
    private var appliedBeacons: Double?
    private var isDisabled = false
    private(set) var parts: Parts?
    /// For those who cannot wait for this actor.
    nonisolated let transmitter = Mutex<Transmitter?>(nil)
    nonisolated let commands = Mutex<CommandRunner?>(nil)
    var offline: OfflineWatch
    let offlineFile: StateFile<OfflineWatch>

    init(
        core: SamplerCore, budgets: BudgetKeeper, custom: [String: any CustomSampleModule], traces: TraceSwitch,
        sleeper: any Clock<Duration>
    ) {
        self.core = core
        self.budgets = budgets
        self.custom = custom
        self.traces = traces
        self.sleeper = sleeper
        local = core.configuration
        profile = core.storedProfile?.profile
        isDisabled = core.settings.telemetryDisabled
        offlineFile = OfflineWatch.file(in: core.configuration.directory)
        // A damaged one only forgets since when nobody answered.
        offline = (try? offlineFile.load()) ?? OfflineWatch()
    }

    /// What the transmitter begins with, before it is told more.
    nonisolated static func initialSettings(_ core: SamplerCore) -> TransmitterSettings {
        transmitterSettings(
            core.settings, pins: core.pins.inForce(core.settings.pins), gate: core.gate,
            holds: core.holds(isSuspended: false, isDoNotDisturb: false, isDeciding: false), isSuspended: false,
            isDoNotDisturb: false, slowdown: 1)
    }

    /// Takes what it steers and sets it to work.
    func begin(_ parts: Parts) async {
        self.parts = parts
        transmitter.withLock { $0 = parts.transmitter }
        commands.withLock { $0 = parts.commands }
        slowdown = budgets.verdict.factor
        core.setSlowdown(budgets.verdict.wire)
        core.pins.listen { [wake] in wake.signal() }
        await apply(beacons: .start)
    }

    // MARK: What changes settings

    /// A good profile came and is not kept yet. The first one decides on the events that waited for it: what it refuses
    /// is dropped before, so that no kill in between lets it go.
    func profileArrives(_ profile: WireProfile) async {
        guard !core.settings.profileChecked else { return }
        let settings = DeviceSettings.resolve(local: local, profile: profile, calls: calls)
        guard !settings.analyticsEnabled else { return }
        core.apply(settings)
        await core.decideEarlyEvents()
    }

    func profileChanged(_ profile: WireProfile) async {
        self.profile = profile
        await apply()
    }

    /// The configuration was read again. What only a start reads of it stays as it was.
    func configurationChanged(_ configuration: DataSamplerConfiguration) async {
        local = configuration
        traces.configure(configuration.traceLevel)
        await apply()
    }

    /// - Parameter seconds: `nil`: no schedule.
    func scheduleBeacons(every seconds: Double?) async {
        calls.beacons = seconds.map { .every($0) } ?? .stopped
        // A second start replaces the schedule, also by the same one.
        if seconds != nil { appliedBeacons = nil }
        await apply(beacons: .start)
    }

    func changeTraceLevel(_ level: WireLogLevel?) async {
        guard level != calls.logLevel else { return }
        calls.logLevel = level
        changeTraces()
        await apply()
    }

    func changeCapture(_ level: LogLevel?) async {
        captureLevel = level
        changeTraces()
        await apply()
    }

    /// What is captured are the sampler's own messages too.
    private func changeTraces() {
        traces.change(to: calls.logLevel.flatMap(TraceLevel.init), least: (captureLevel?.wire).flatMap(TraceLevel.init))
    }

    func register(_ module: any CustomSampleModule) async {
        custom[module.name] = module
        await apply()
    }

    func unregister(_ name: String) async {
        custom[name] = nil
        await apply()
    }

    func setDoNotDisturb(_ isOn: Bool) async throws(DataSamplerError) {
        guard core.settings.doNotDisturbAllowed || !isOn else {
            throw DataSamplerError(
                .notAllowed, "do-not-disturb is not allowed by the profile: its doNotDisturbAllowed is off")
        }
        guard doNotDisturb != isOn else { return }
        doNotDisturb = isOn
        await apply()
        await tellChange()
    }

    /// Takes a decision of the person over. Events and samples are held meanwhile, so that none that is made under it is
    /// sent by the former one.
    func setConsent(_ consent: DataSamplerConsent) async throws(DataSamplerError) {
        consentChanges += 1
        await tellTransmitter()
        var failure: DataSamplerError?
        do throws(DataSamplerError) { try await core.consent.set(consent, wallTime: core.clock.now().wallTime) } catch {
            failure = error
        }
        consentChanges -= 1
        await apply()
        if let failure { throw failure }
        await tellChange()
    }

    func setSuspended(_ isOn: Bool) async {
        guard isSuspended != isOn else { return }
        isSuspended = isOn
        // What a resumed schedule begins with is told at once.
        await apply(beacons: .change)
    }

    func setSlowdown(_ verdict: BudgetVerdict) async {
        core.setSlowdown(verdict.wire)
        guard slowdown != verdict.factor else { return }
        slowdown = verdict.factor
        await apply()
    }

    /// Other certificate pins are in force, by what connections showed.
    func pinsChanged() async { await apply() }

    /// The gate of the core changed: wipe, leaving.
    func gateChanged() async { await apply(beacons: .change) }

    var isDoNotDisturb: Bool { doNotDisturb && core.settings.doNotDisturbAllowed }

    /// Tells the collector at once that something a beacon tells has changed; what stands in the way is logged there.
    func tellChange() async {
        guard let parts, !core.settings.telemetryDisabled else { return }
        await parts.loop.tellChange()
    }

    // MARK: Applying

    /// - Parameter beacons: why the first beacon of a schedule that begins now is sent.
    private func apply(beacons trigger: WireBeaconTrigger = .change) async {
        guard let parts else { return }
        let settings = DeviceSettings.resolve(local: local, profile: profile, calls: calls)
        core.apply(settings)
        core.setDoNotDisturb(settings.doNotDisturbAllowed ? doNotDisturb : nil)
        await core.recordUsage()
        let gate = core.gate
        let isStopped =
            isSuspended || gate.isWiping || gate.isLeaving || gate.isUnenrolled || settings.telemetryDisabled
        let plan = SamplePlan(
            settings: settings, custom: custom.mapValues(\.sampleInterval), slowdown: slowdown,
            isPaused: isStopped || isDoNotDisturb)
        await parts.loop.apply(plan, custom: custom)
        let beacons = isStopped ? nil : settings.beaconInterval
        if beacons != appliedBeacons {
            appliedBeacons = beacons
            if let beacons {
                await parts.loop.startBeacons(frequency: beacons, trigger: trigger)
            } else {
                await parts.loop.stopBeacons()
            }
        } else if !isStopped, !isDoNotDisturb, core.isBeaconOutdated {
            // The one at start tells what ran before there was a profile.
            await parts.loop.noteChange()
        }
        parts.logs.apply(
            settings.logging,
            level: LogCapture.level(
                settings.logging, command: calls.logLevel.flatMap { LogLevel($0) }, capture: captureLevel,
                isStopped: gate.isWiping || gate.isUnenrolled || settings.telemetryDisabled
                    || core.consent.consent == .denied))
        await core.decideEarlyEvents()
        await tellTransmitter()
        if settings.telemetryDisabled != isDisabled {
            isDisabled = settings.telemetryDisabled
            core.logger.warning("telemetry is switched", metadata: ["disabled": "\(isDisabled)"])
            core.notices.post(
                isDisabled
                    ? DataSamplerNotice(
                        .telemetryDisabled, "telemetry is switched off: nothing is sampled, recorded or sent")
                    : DataSamplerNotice(.telemetryEnabled, "telemetry is switched on again"))
            await parts.profiles.switched(disabled: isDisabled)
        }
        await tellPins()
        parts.commands.settingsChanged()
        parts.uploader.lookAgain()
        wake.signal()
    }

    /// What holds events and samples back now.
    var holds: StreamHolds {
        core.holds(isSuspended: isSuspended, isDoNotDisturb: isDoNotDisturb, isDeciding: consentChanges > 0)
    }

    func tellTransmitter() async {
        let settings = core.settings
        await parts?.transmitter.apply(
            Self.transmitterSettings(
                settings, pins: core.pins.inForce(settings.pins), gate: core.gate, holds: holds,
                isSuspended: isSuspended, isDoNotDisturb: isDoNotDisturb, slowdown: slowdown))
    }

    /// Says that the pins of the profile are not in force, or are again.
    private func tellPins() async {
        let changes = core.pins.takeChanges()
        for change in changes {
            let text = change.finding?.text
            let revision = ["revision": "\(change.revision)"]
            switch change.change {
            case .refused:
                core.notices.post(
                    DataSamplerNotice(.pinsRefused, text ?? "the certificate pins were refused", revision))
            case .fellBack:
                core.notices.post(DataSamplerNotice(.pinsFallenBack, text ?? "the certificate pins failed", revision))
            case .taken:
                core.notices.post(
                    DataSamplerNotice(.pinsTaken, "the certificate pins of the profile are in force", revision))
            }
            if let text {
                core.logger.error("certificate pins of the profile are not in force", metadata: ["reason": "\(text)"])
            }
        }
        if !changes.isEmpty { await tellChange() }
    }

    private static func transmitterSettings(
        _ settings: DeviceSettings, pins: [Data], gate: RecordGate, holds: StreamHolds, isSuspended: Bool,
        isDoNotDisturb: Bool, slowdown: Double
    ) -> TransmitterSettings {
        var result = TransmitterSettings(
            transmitInterval: settings.transmitInterval, eventHold: settings.eventHold,
            expectedBeaconSeconds: Int(settings.beaconInterval ?? 0))
        result.moduleIntervals = settings.moduleTransmitIntervals
        result.profileRevision = settings.profileRevision
        result.rules = settings.transmission
        result.pins = pins
        result.credentialLifetime = settings.credentialLifetime
        result.slowdown = slowdown
        result.logsOverWiFiOnly = settings.logging.wifiOnly
        result.areLogsPaused =
            settings.telemetryDisabled || isSuspended || isDoNotDisturb || gate.isUnenrolled || gate.isLeaving
            || gate.isWiping
        result.heldStreams = holds.reasons
        return result
    }
}

/// What the collector says, handed to whom it concerns.
extension DeviceController: TransmitterDelegate {
    func received(_ news: CollectorNews) async {
        parts?.profiles.noticed(newest: news.newestProfileRevision)
        parts?.commands.received(news.commands, enrollment: news.enrollmentID, serverTime: news.serverTime)
    }

    func stateChanged(_ change: TransmitterChange) async {
        switch change {
        case .enrolled(let enrollment):
            core.notices.post(
                DataSamplerNotice(
                    .enrolled, "enrolled as device \(enrollment.deviceID) of organization \(enrollment.organization)",
                    ["device": "\(enrollment.deviceID)"]))
            core.changeGate { $0.isUnenrolled = false }
            await gateChanged()
            await parts?.profiles.lookAgain()
        case .reached:
            if offline.reached() { keepOffline() }
            core.notices.post(DataSamplerNotice(.reachable, "the collector answers"))
            await parts?.profiles.lookAgain()
        case .unreachable(let since, let why):
            let now = core.clock.now()
            let ago = now.timeSinceBoot >= since.timeSinceBoot ? now.timeSinceBoot - since.timeSinceBoot : 0
            if offline.unreachable(since: core.queueTime - Int64(clamping: ago)) { keepOffline() }
            core.notices.post(DataSamplerNotice(.unreachable, "the collector does not answer: \(why)"))
            wake.signal()
        case .forbidden(let why):
            core.notices.post(DataSamplerNotice(.forbidden, "the collector refuses this device: \(why)"))
        case .diverged(let divergence):
            core.notices.post(
                DataSamplerNotice(
                    .diverged, "the histories of device and collector have diverged: \(divergence.rawValue)"))
        case .cloned(let former):
            core.notices.post(
                DataSamplerNotice(
                    .newEpoch, "the directory is a copy of device \(former)'s: this machine is enrolled as a new device"
                ))
            await parts?.profiles.lookAgain()
        case .newEpoch(let epoch): core.notices.post(DataSamplerNotice(.newEpoch, "records go into epoch \(epoch)"))
        case .collectorRestored:
            // What it was restored to may have another profile under a lower revision.
            await parts?.profiles.demand()
        case .blocked: await tellChange()
        case .enrollmentAnswered(let succeeded, let duration):
            await core.noteUsage(.enrollmentCall(succeeded ? .succeeded : .failed, duration: duration))
        case .credentialRotated, .epochSettled, .unenrolled: break
        }
    }

    func keepOffline() {
        do { try offlineFile.save(offline) } catch {
            core.logger.warning(
                "the offline time cannot be kept over a restart", metadata: ["reason": "\(error.message)"])
        }
    }
}

/// What commands do.
extension DeviceController: CommandActions {
    func sendBeacon() async throws(DataSamplerError) { _ = try await parts?.loop.sendBeacon(.command) }

    func deviceInformation() async -> WireDeviceInformation {
        let settings = core.settings
        var information = WireDeviceInformation()
        if let identity = core.machineIdentity() { information.identity = identity }
        information.modules = settings.modules.map(\.rawValue) + custom.keys.sorted()
        information.attributes = [
            "library.version": DataSampler.version, "profile.revision": "\(settings.profileRevision)",
            "queue.epoch": "\(core.queue.epoch)",
            "trace.level": traces.level.rawValue, "analytics.enabled": "\(settings.analyticsEnabled)",
            "sample.interval": "\(settings.sampleIntervals.values.min() ?? 0)",
            "transmit.interval": "\(settings.transmitInterval)",
            "event.hold": "\(settings.eventHold)", "application": core.configuration.applicationIdentifier,
            "application.version": core.configuration.applicationVersion,
        ]
        for (name, reason) in settings.unavailable { information.attributes["module.\(name)"] = reason }
        return information
    }

    func reloadProfile() async -> ProfileKeeper.Outcome {
        await parts?.profiles.refresh() ?? .failed("the data sampler has not started yet")
    }

    func changeLogLevel(_ level: WireLogLevel?) async { await changeTraceLevel(level) }

    func requestLogs(command: Data, _ request: WireRequestLogs) async throws(DataSamplerError) {
        guard let parts else { throw DeviceLoop.stopped }
        try await parts.logRequests.begin(command: command, request)
    }

    /// An upload of logs came further: tells whoever asked for them.
    func uploadChanged(_ upload: LogUpload) async { await parts?.logRequests.changed(upload) }

    func cancelLogs(command: Data) async { await parts?.logRequests.cancel(command: command) }

    func wipe(command: Data, reason: String) async throws(DataSamplerError) {
        try await erase(command: command, reason: reason)
    }

    /// - Parameter command: `nil`: asked for here.
    func erase(command: Data?, reason: String) async throws(DataSamplerError) {
        guard let parts else { throw DeviceLoop.stopped }
        try await parts.wipes.begin(command: command, reason: reason)
        await gateChanged()
        try await parts.wipes.erase()
    }

    func wipeUnderWay() async -> Data? { await parts?.wipes.pending?.command }

    func wipeWasReported() async throws(DataSamplerError) {
        guard let parts else { return }
        try await parts.wipes.finish()
        guard await parts.wipes.pending == nil else { return }
        await gateChanged()
        await tellChange()
    }

    nonisolated func transmitNow() { transmitter.withLock { $0 }?.transmitNow() }
}
