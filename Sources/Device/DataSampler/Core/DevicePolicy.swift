import DeviceTunables
import FoundationEssentials
import RecordQueue
import SampleModules
import Transmitter
import WireModel

/// An action of the supervisor when something has happened.
enum DeviceAction: Sendable {
    /// Brings all parts in line with the plan.
    /// - Parameters:
    ///   - firstBeacon: why the first beacon of a schedule that begins now is sent.
    ///   - restartsBeacons: a schedule begins anew even if it is the one that runs.
    case follow(firstBeacon: WireBeaconTrigger, restartsBeacons: Bool)
    /// Makes a beacon at once, whether or not anything changed.
    case sendBeacon(WireBeaconTrigger)
    case notify(DataSamplerNotice)
    /// Keeps since when the collector is out of reach.
    case keepOffline(OfflineWatch)
    /// Another time may be due for the job.
    case wake(DeviceJob)
    /// The device is enrolled again: records may be made.
    case openGate
    /// Drops the events that waited for the first profile, which refuses them.
    case refuseEarlyEvents(DeviceSettings)
    /// Looks for a profile at once; `onlyAfterFailure`: not where the last look brought one.
    case fetchProfile(onlyAfterFailure: Bool)
    case recordUsage(UsageEvent)
    case applyNews(CollectorNews)
    case keepDoNotDisturb(DoNotDisturbState)
    /// Reports the waiting decision to the collector.
    case reportDoNotDisturb
    case followUpload(LogUpload)
    case recordCourse(Data, CommandCourse)

    static var follow: Self { .follow(firstBeacon: .change, restartsBeacons: false) }
}

/// Decides what follows from an event, and how every part is to be. Pure: no part is known here.
struct DevicePolicy: Sendable {
    /// The configuration that the program or the file gives.
    private var given: DataSamplerConfiguration
    private(set) var runtime: RuntimeSettings
    private var profile: WireProfile?
    private(set) var calls = DeviceSettings.Calls()
    /// The log level that a command and requests that capture logs ask for.
    private var logLevelWish: LogLevelWish?
    private var captures: [LogLevelWish] = []
    private(set) var custom: [String: any CustomSampleModule]
    private(set) var doNotDisturb: DoNotDisturbState
    private(set) var isSuspended = false
    /// A command was answered during the suspension: the answer is sent in spite of it.
    private var answersSuspended = false
    /// Decisions on consent that are being carried out.
    private var consentChanges = 0
    /// The budgets': intervals are so many times longer.
    private(set) var slowdown: Double
    private var offline: OfflineWatch
    /// When the last unlock was reported, since boot.
    private var lastUnlock: UInt64?
    /// Unlocks within this time are one.
    private static let unlockMicroseconds: UInt64 = 5_000_000
    private var network = NetworkWatch()

    init(
        local: DataSamplerConfiguration, runtime: RuntimeSettings = RuntimeSettings(), profile: WireProfile?,
        custom: [String: any CustomSampleModule] = [:],
        slowdown: Double = 1, offline: OfflineWatch = OfflineWatch(),
        doNotDisturb: DoNotDisturbState = DoNotDisturbState(), logLevel: LogLevelWish? = nil,
        captures: [LogLevelWish] = []
    ) {
        given = local
        self.runtime = runtime
        self.profile = profile
        self.custom = custom
        self.slowdown = slowdown
        self.offline = offline
        self.doNotDisturb = doNotDisturb
        self.captures = captures
        wish(logLevel)
    }

    private mutating func wish(_ level: LogLevelWish?) {
        logLevelWish = level
        calls.logLevel = level.flatMap { $0.concerns(local.applicationIdentifier) ? $0.level.wire : nil }
    }

    var local: DataSamplerConfiguration { runtime.applied(to: given) }

    var settings: DeviceSettings { DeviceSettings.resolve(local: local, profile: profile, calls: calls) }

    /// The least severe level that captures of this program's own lines request.
    var captureLevel: LogLevel? { captures.filter { $0.concerns(local.applicationIdentifier) }.map(\.level).max() }

    func isDoNotDisturb(_ settings: DeviceSettings) -> Bool { doNotDisturb.isOn && settings.doNotDisturbAllowed }

    /// When the offline time that is allowed ends, by the queue's clock; `nil`: it does not.
    var offlineTimeEnds: Int64? { offline.dueAt(allowedSeconds: settings.offlineTimeAllowed) }

    /// Seconds without the collector, while they are more than is allowed.
    func offlineTimeExceeded(queueTime: Int64) -> Int64? {
        offline.exceeded(allowedSeconds: settings.offlineTimeAllowed, now: queueTime)
    }

    /// When the host is to be informed what the network allows, microseconds since boot; `nil`: it knows.
    var networkNoticeDue: UInt64? { network.dueAt }

    // MARK: Events

    /// - Parameter queueTime: of the queue's clock, microseconds.
    mutating func handle(_ event: DeviceEvent, now: RecordStamp, queueTime: Int64) -> [DeviceAction] {
        switch event {
        case .started: return [.follow(firstBeacon: .start, restartsBeacons: false)]
        case .profileArriving(let profile):
            let settings = DeviceSettings.resolve(local: local, profile: profile, calls: calls)
            guard !self.settings.profileChecked, settings.eventRefusal != nil else { return [] }
            return [.refuseEarlyEvents(settings)]
        case .profileArrived(let profile): self.profile = profile
        case .profileErased(let rest): (profile, runtime) = (rest, RuntimeSettings())
        case .configurationRead(let configuration): given = configuration
        case .settingsChanged(let settings): runtime = settings
        case .beaconScheduleAsked(every: let seconds):
            calls.beacons = seconds.map { .every($0) } ?? .stopped
            return [.follow(firstBeacon: .start, restartsBeacons: seconds != nil)]
        case .logLevelChanged(let wish):
            guard wish != logLevelWish else { return [] }
            self.wish(wish)
        case .capturesChanged(let captures): self.captures = captures
        case .customModulesChanged(let modules): custom = modules
        case .doNotDisturbSwitched(let isOn, let request):
            return changeDoNotDisturb { $0.decided(isOn, request: request, at: now.wallTime) }
        case .doNotDisturbAnswered(let answer, let request):
            return changeDoNotDisturb { state in
                switch (answer, request) {
                case (.success(let body, _), let request):
                    guard let said = try? WireDoNotDisturb.decode(body) else { return }
                    if let request { state.answered(said, to: request) } else { state.heard(said) }
                case (.conflict, let request?): state.refused(request)
                default: break
                }
            }
        case .suspended(let isOn):
            guard isSuspended != isOn else { return [] }
            (isSuspended, answersSuspended) = (isOn, false)
        case .commandAnswered:
            guard isSuspended, !answersSuspended else { return [] }
            answersSuspended = true
        case .budgetJudged(let verdict):
            slowdown = verdict.factor
            let notice = DataSamplerNotice(.slowdown, verdict.description, ["factor": "\(verdict.factor)"])
            return [.notify(notice), .follow]
        case .pinsChanged, .authoritiesChanged, .gateChanged: break
        case .consentChanging: consentChanges += 1
        case .consentChanged: consentChanges -= 1
        case .wipeEnded: return [.recordUsage(.sdkAction(SDKAction.wiped.rawValue, .succeeded)), .follow]
        case .verdictChanged: break
        case .sessionUserChanged(let isAnotherPerson):
            guard isAnotherPerson else { break }
            return [.notify(DataSamplerNotice(.userChanged, "another person has the session")), .follow]
        case .unlocked:
            if let lastUnlock, now.timeSinceBoot < lastUnlock + Self.unlockMicroseconds { return [] }
            lastUnlock = now.timeSinceBoot
            return [.sendBeacon(.unlock)]
        case .offlineTimeEnded:
            guard let seconds = offline.overdue(allowedSeconds: settings.offlineTimeAllowed, now: queueTime) else {
                return []
            }
            return [
                .keepOffline(offline),
                .notify(
                    DataSamplerNotice(
                        .offlineTimeExceeded,
                        "the collector was out of reach for \(seconds) s, longer than allowed",
                        ["seconds": "\(seconds)"])),
            ]
        case .networkSettled: return network.settled(now: now.timeSinceBoot).map { [.notify($0)] } ?? []
        case .transmitter(let event): return handle(event, now: now, queueTime: queueTime)
        case .uploadChanged(let upload):
            let outcome: UsageEvent.Outcome? =
                switch upload.phase {
                case .done: .succeeded
                case .failed: .failed
                default: nil
                }
            return [.followUpload(upload)]
                + (outcome.map { [.recordUsage(.sdkAction(SDKAction.logsSent.rawValue, $0))] } ?? [])
        case .commandWent(let command, let course): return [.recordCourse(command, course)]
        }
        return [.follow]
    }

    private mutating func handle(_ event: TransmitterEvent, now: RecordStamp, queueTime: Int64) -> [DeviceAction] {
        switch event {
        case .heard(let news):
            guard let said = news.doNotDisturb else { return [.applyNews(news)] }
            let followed = changeDoNotDisturb { $0.heard(said) }
            // The collector can be reached: what waits is reported now.
            let waits = followed.isEmpty && doNotDisturb.unreported != nil
            return [.applyNews(news)] + followed + (waits ? [.reportDoNotDisturb] : [])
        case .enrolled(let enrollment):
            let notice = DataSamplerNotice(
                .enrolled, "enrolled as device \(enrollment.deviceID) of organization \(enrollment.organization)",
                ["device": "\(enrollment.deviceID)"])
            return [.notify(notice), .openGate, .follow, .fetchProfile(onlyAfterFailure: true)]
        case .reached:
            return (offline.reached() ? [.keepOffline(offline)] : []) + [
                .notify(DataSamplerNotice(.reachable, "the collector answers")), .fetchProfile(onlyAfterFailure: true),
            ]
        case .unreachable(let since, let why):
            let ago = now.timeSinceBoot >= since.timeSinceBoot ? now.timeSinceBoot - since.timeSinceBoot : 0
            let isNews = offline.unreachable(since: queueTime - Int64(clamping: ago))
            return (isNews ? [.keepOffline(offline)] : []) + [
                .notify(DataSamplerNotice(.unreachable, "the collector does not answer: \(why)"))
            ]
        case .gatesChanged(let closed):
            network.saw(closed, now: now.timeSinceBoot)
            return [.wake(.networkNotice)]
        case .forbidden(let why):
            return [.notify(DataSamplerNotice(.forbidden, "the collector refuses this device: \(why)"))]
        case .diverged(let divergence):
            return [
                .notify(
                    DataSamplerNotice(
                        .diverged, "the histories of device and collector have diverged: \(divergence.rawValue)"))
            ]
        case .cloned(let former):
            let notice = DataSamplerNotice(
                .newEpoch, "the directory is a copy of device \(former)'s: this machine is enrolled as a new device")
            return [.notify(notice), .fetchProfile(onlyAfterFailure: true)]
        case .newEpoch(let epoch):
            return [.notify(DataSamplerNotice(.newEpoch, "records go into epoch \(epoch)"))]
        case .collectorRestored:
            // What it was restored to may have another profile under a lower revision.
            return [.fetchProfile(onlyAfterFailure: false)]
        case .blocked: return [.sendBeacon(.change)]
        case .enrollmentAnswered(let succeeded, let duration):
            return [.recordUsage(.enrollmentCall(succeeded ? .succeeded : .failed, duration: duration))]
        case .credentialRotated, .epochSettled, .unenrolled: return []
        }
    }

    private mutating func changeDoNotDisturb(_ change: (inout DoNotDisturbState) -> Void) -> [DeviceAction] {
        let former = doNotDisturb
        change(&doNotDisturb)
        guard doNotDisturb != former else { return [] }
        return [.keepDoNotDisturb(doNotDisturb)] + (doNotDisturb.isOn == former.isOn ? [] : [.follow])
            + (doNotDisturb.unreported == nil ? [] : [.reportDoNotDisturb])
    }

    // MARK: The plan

    /// How every part is to be.
    ///
    /// - Parameters:
    ///   - gate: what may be recorded.
    ///   - awaits: what events and samples wait for.
    ///   - pins: those in force.
    func plan(
        gate: RecordGate, isConsentDenied: Bool, awaits: AwaitedDecisions, pins: ([Data]) -> [Data]
    ) -> DevicePlan {
        let settings = settings
        let isDisabled = settings.telemetryDisabled
        let isDoNotDisturb = isDoNotDisturb(settings)
        let isStopped = isSuspended || gate.isWiping || gate.isLeaving || gate.isUnenrolled || isDisabled
        // Who has not decided has not agreed.
        let mayLocate =
            !isStopped && !isDoNotDisturb && !isConsentDenied && !awaits.contains(.consent) && consentChanges == 0
        return DevicePlan(
            settings: settings,
            samples: SamplePlan(
                settings: settings, custom: custom.mapValues(\.sampleInterval), slowdown: slowdown,
                isPaused: isStopped || isDoNotDisturb),
            beaconInterval: isStopped ? nil : settings.beaconInterval,
            location: mayLocate ? location(settings) : LocationDemand(),
            isStopped: isStopped,
            doNotDisturb: settings.doNotDisturbAllowed ? doNotDisturb.isOn : nil,
            logLevels: LogLevels(
                settings: DeviceSettings.resolve(local: local, profile: profile).logging, command: logLevelWish,
                captures: captures,
                isStopped: gate.isWiping || gate.isLeaving || gate.isUnenrolled || isDisabled || isConsentDenied
                    || isDoNotDisturb),
            transmission: transmission(
                settings, gate: gate, isConsentDenied: isConsentDenied, awaits: awaits, pins: pins(settings.pins)))
    }

    /// Who wants the location where nothing forbids to read it.
    private func location(_ settings: DeviceSettings) -> LocationDemand {
        var demand = LocationDemand()
        demand.needs = settings.locationNeeds
        if demand.needs.contains(.geofences) {
            demand.watchInterval = Tunables.Location.geofenceInterval * slowdown
        }
        return demand
    }

    private func transmission(
        _ settings: DeviceSettings, gate: RecordGate, isConsentDenied: Bool, awaits: AwaitedDecisions, pins: [Data]
    ) -> TransmitterSettings {
        let isDoNotDisturb = isDoNotDisturb(settings)
        let isOff = settings.telemetryDisabled
        var result = TransmitterSettings(
            transmitInterval: settings.transmitInterval, eventHold: settings.eventHold,
            expectedBeaconSeconds: isOff ? 0 : Int(settings.beaconInterval ?? 0))
        result.moduleIntervals = settings.moduleTransmitIntervals
        result.profileRevision = settings.profileRevision
        result.rules = settings.transmission
        result.pins = pins
        result.credentialLifetime = settings.credentialLifetime
        result.slowdown = slowdown
        result.isLeaving = gate.isLeaving
        result.logsOverWiFiOnly = settings.logging.wifiOnly
        let quiet: TransmissionGate.Reason? = isDoNotDisturb ? .doNotDisturb : gate.isLeaving ? .paused : nil
        result.logHold =
            isOff || isSuspended || gate.isUnenrolled || gate.isWiping
            ? .paused : quiet ?? (isConsentDenied ? .consent : settings.logging.enabled ? nil : .logging)
        var awaits = awaits
        if consentChanges > 0 { awaits.insert(.consent) }
        result.heldStreams =
            StreamHolds(
                isPaused: gate.isUnenrolled || (isSuspended && !answersSuspended),
                isOff: isOff || isSuspended, quiet: quiet, awaits: awaits
            ).reasons
        return result
    }
}

/// How every part of a device is to be; see `DevicePolicy.plan`.
struct DevicePlan: Sendable {
    var settings: DeviceSettings
    var samples: SamplePlan
    /// Seconds; `nil`: no schedule.
    var beaconInterval: Double?
    /// Empty while the location must not be read.
    var location: LocationDemand
    /// Nothing is sampled, and no beacon is made.
    var isStopped: Bool
    /// The state of do-not-disturb that beacons report; `nil`: the profile does not allow it.
    var doNotDisturb: Bool?
    /// Down to which log lines are written.
    var logLevels: LogLevels
    var transmission: TransmitterSettings
}

extension DeviceSettings {
    /// Who wants the location where nothing forbids to read it.
    var locationNeeds: Set<LocationDemand.Need> {
        var needs: Set<LocationDemand.Need> = []
        if modules.contains(.gps) { needs.insert(.samples) }
        if sendsPosition, beaconInterval != nil { needs.insert(.beacons) }
        if !geofences.isEmpty { needs.insert(.geofences) }
        return needs
    }
}
