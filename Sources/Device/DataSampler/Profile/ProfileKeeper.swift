import FoundationEssentials
import HTTPConnection
import Logging
import RecordQueue
import Synchronization
import Transmitter
import WireModel

/// Keeps the profile of this device: the last good one from disk, and newer ones from the collector when they are due.
///
/// The shell around `ProfileRefreshPolicy`. A profile is validated, stored on synced disk, and then applied. An invalid
/// profile is refused, and the last good one stays. Safe from any task.
actor ProfileKeeper {
    /// The result of one request, for the caller.
    enum Outcome: Equatable, Sendable {
        case applied(revision: UInt64)
        case unchanged(revision: UInt64)
        case refused(String)
        case failed(String)

        var isSuccess: Bool {
            switch self {
            case .applied, .unchanged: true
            case .refused, .failed: false
            }
        }
    }

    struct Report: Equatable, Sendable {
        /// 0 if there is none.
        var revision: UInt64 = 0
        /// Wall clock of the last good answer, in microseconds since 1970.
        var fetched: Int64?
        /// Why the last request brought none.
        var failure: String?
        /// Why the last received profile was refused.
        var refusal: String?
    }

    private let file: StateFile<StoredProfile>
    private let core: SamplerCore
    private let transmitter: Transmitter
    private let events: DeviceEvents
    private let roll: @Sendable () -> Double
    private let newest = Mutex<UInt64>(0)
    private var policy: ProfileRefreshPolicy
    private var stored: StoredProfile?
    private var waiting: [CheckedContinuation<Outcome, Never>] = []
    private var hasEnded = false
    /// The enrollment ends, so what still arrives is not kept.
    private var isErased = false
    private var isDisabled: Bool
    private(set) var report = Report()

    init(core: SamplerCore, transmitter: Transmitter, events: DeviceEvents, roll: @escaping @Sendable () -> Double) {
        file = StoredProfile.file(in: core.configuration.directory, seal: core.seal)
        stored = core.storedProfile?.stored
        isDisabled = core.settings.telemetryDisabled
        self.core = core
        self.transmitter = transmitter
        self.events = events
        self.roll = roll
        policy = ProfileRefreshPolicy(now: core.clock.now().timeSinceBoot)
        report.revision = stored?.revision ?? 0
        report.fetched = stored?.fetched
    }

    /// The last good profile of a directory. One that is damaged or no longer valid is quarantined and fetched again.
    static func load(
        _ file: StateFile<StoredProfile>, notices: NoticeBoard
    ) throws(DataSamplerError) -> (stored: StoredProfile, profile: WireProfile)? {
        let postSetAside = notices.postSetAside(StoredProfile.fileName)
        guard let stored = try file.loadOrKeepAsDamaged(damaged: postSetAside) else { return nil }
        do { return (stored, try stored.validProfile()) } catch {
            try file.file.keepAsDamaged()
            postSetAside(DataSamplerError(.storageDamaged, "\(file.file.path) contains no usable profile: \(error)"))
            return nil
        }
    }

    /// Fetches if it is due.
    /// - Returns: how long nothing is to be done, unless something wakes it.
    func round() async -> Duration {
        while !Task.isCancelled {
            guard !isLeaving else {
                finish(.failed("this device is being unenrolled"))
                return .seconds(86_400)
            }
            let now = now
            guard
                policy.noticed(newest: newest.withLock { $0 }, running: report.revision, now: now)
                    || policy.dueAt <= now
            else { return .microseconds(Int64(clamping: policy.dueAt - now)) }
            finish(await fetch())
        }
        return .zero
    }

    /// Nothing is fetched any more; whoever waits is informed.
    func end() {
        hasEnded = true
        finish(.failed("the data sampler has stopped"))
    }

    private var now: UInt64 { core.clock.now().timeSinceBoot }

    private var isLeaving: Bool { isErased || core.gate.isLeaving }

    /// The enrollment ends: erases the profile, and fetches and keeps none any more. May be repeated.
    ///
    /// - Parameter keepsProtection: keeps what still protects the last records of the device and how they are sent.
    func erase(keepsProtection: Bool) throws(DataSamplerError) {
        isErased = true
        let profile = keepsProtection ? stored.flatMap { try? $0.validProfile().protection } : nil
        if let profile {
            let new = StoredProfile(
                revision: profile.revision, etag: "", audience: "", fetched: stored?.fetched ?? 0,
                profile: profile.encoded)
            try file.save(new)
            stored = new
        } else {
            try file.file.remove()
            stored = nil
        }
        try file.file.removeLeftovers()
        report = Report(revision: profile?.revision ?? 0)
        events.post(.profileErased(profile))
        events.wake(.profile)
    }

    private func finish(_ outcome: Outcome) {
        for caller in waiting { caller.resume(returning: outcome) }
        waiting = []
    }

    /// An answer named the collector's newest revision. Safe from any thread; never blocks.
    nonisolated func noticed(newest revision: UInt64) {
        let isNews = newest.withLock { newest in
            defer { newest = revision }
            return newest != revision
        }
        if isNews { events.wake(.profile) }
    }

    /// Something outside changed, such as an enrollment: looks at once.
    /// - Parameter onlyAfterFailure: not where the last look brought a profile.
    func lookAgain(onlyAfterFailure: Bool) {
        guard !onlyAfterFailure || report.revision == 0 || report.failure != nil else { return }
        policy.demanded(now: now)
        events.wake(.profile)
    }

    /// Telemetry was disabled or enabled, which changes the interval.
    func switched(disabled: Bool) {
        guard disabled != isDisabled else { return }
        isDisabled = disabled
        policy.switched(disabled: disabled, now: now, roll: roll())
        events.wake(.profile)
    }

    /// Asks now. Callers share a request that is under way.
    func refresh() async -> Outcome {
        guard !hasEnded else { return .failed("the data sampler has stopped") }
        return await withCheckedContinuation { continuation in
            waiting.append(continuation)
            policy.demanded(now: now)
            events.wake(.profile)
        }
    }

    /// Device and organization now; empty where not enrolled.
    private var audience: String {
        guard let enrollment = try? core.identity.load() else { return "" }
        return "\(enrollment.collectorID)/\(enrollment.organization)/\(enrollment.deviceID)"
    }

    private func fetch() async -> Outcome {
        let audience = audience
        let etag = stored.flatMap { $0.audience == audience && !$0.etag.isEmpty ? $0.etag : nil }
        let answer = await transmitter.request(
            .get, WireNames.profilePath, headers: etag.map { [("If-None-Match", $0)] } ?? [])
        let (outcome, step) = await apply(answer, audience: audience)
        policy.finished(step, disabled: isDisabled, now: now, roll: roll())
        switch outcome {
        case .applied, .unchanged:
            report.failure = nil
            report.refusal = nil
            report.fetched = core.clock.now().wallTime
        case .refused(let why): report.refusal = why
        case .failed(let why):
            if report.failure != why { core.logger.warning("no profile", metadata: ["reason": "\(why)"]) }
            report.failure = why
            return outcome
        }
        // Nothing else asks while telemetry is disabled, and a wipe must arrive all the same.
        if isDisabled { await transmitter.askForNews() }
        return outcome
    }

    private func apply(_ answer: CollectorAnswer, audience: String) async -> (
        Outcome, ProfileRefreshPolicy.Outcome
    ) {
        switch answer {
        case .notModified: return (.unchanged(revision: report.revision), .current(revision: report.revision))
        case .success(let body, let etag): return await apply(body, etag: etag ?? "", audience: audience)
        case .retry(let after, let why), .failing(let after, let why), .full(let after, let why):
            return (.failed(why), .failed(after: after))
        case .notFound(let why), .conflict(let why, _), .tooLarge(let why), .refused(let why),
            .credentialRefused(let why), .forbidden(let why), .unreachable(let why), .incompatible(let why),
            .notEnrolled(let why):
            return (.failed(why), .failed(after: nil))
        case .empty: return (.failed("the collector answered without a profile"), .failed(after: nil))
        case .otherCollector(let other):
            return (.failed("another collector, \(other), answers at this address"), .failed(after: nil))
        }
    }

    /// Why the profile cannot be run; `nil` if it can.
    private static func objection(to profile: WireProfile) -> String? {
        do throws(WireError) { try profile.validate() } catch { return error.message }
        do throws(ConnectionSettingsError) {
            try ConnectionSettings.certificates(ofDER: profile.certificateAuthorities)
        } catch { return error.message }
        return nil
    }

    private func apply(_ body: Data, etag: String, audience: String) async -> (
        Outcome, ProfileRefreshPolicy.Outcome
    ) {
        let profile: WireProfile
        do {
            profile = try WireProfile.decode(body)
        } catch {
            return (.failed("the profile cannot be read: \(error.message)"), .failed(after: nil))
        }
        if let objection = Self.objection(to: profile) {
            let why = "profile revision \(profile.revision) is refused: \(objection)"
            if report.refusal != why {
                core.logger.error("profile refused, the last valid one stays in force", metadata: ["reason": "\(why)"])
                core.notices.post(.profileRefused, why, ["revision": "\(profile.revision)"])
            }
            return (.refused(why), .refused(revision: profile.revision))
        }
        guard !isLeaving else { return (.failed("this device is being unenrolled"), .failed(after: nil)) }
        // Before it is kept: a restart in between must not find its pins unchecked.
        if core.pins.arrived(profile.certificatePins, revision: profile.revision, key: transmitter.serverKey) {
            events.post(.pinsChanged)
        }
        // Before it is kept: what the first profile refuses must be dropped although a kill comes in between.
        guard await events.report(.profileArriving(profile)) else {
            return (.failed("the sampler stops"), .failed(after: nil))
        }
        guard !isErased else { return (.failed("this device is being unenrolled"), .failed(after: nil)) }
        let new = StoredProfile(
            revision: profile.revision, etag: etag, audience: audience, fetched: core.clock.now().wallTime,
            profile: body)
        do throws(DataSamplerError) { try file.save(new) } catch {
            // It is applied all the same: a full disk must not keep a stricter profile out. The next start fetches it
            // again.
            core.logger.error("profile not stored", metadata: ["reason": "\(error.message)"])
        }
        let isNews = stored?.profile != body
        stored = new
        report.revision = profile.revision
        guard isNews else { return (.unchanged(revision: profile.revision), .current(revision: profile.revision)) }
        await events.report(.profileArrived(profile))
        core.logger.info("profile applied", metadata: ["revision": "\(profile.revision)"])
        core.notices.post(
            .profileApplied, "profile revision \(profile.revision) is applied", ["revision": "\(profile.revision)"])
        return (.applied(revision: profile.revision), .current(revision: profile.revision))
    }
}

extension WireProfile {
    /// The part of the profile that stays in force until an enrollment that a wipe ends is over: certificate pins and
    /// authorities, privacy, transmission rules and switches. Without the key, privacy drops what it would hash.
    var protection: WireProfile {
        var kept = WireProfile()
        kept.revision = revision
        kept.privacy = privacy
        kept.transmission = transmission
        kept.certificatePins = certificatePins
        kept.certificateAuthorities = certificateAuthorities
        if hasOfflineTimeAllowedSeconds { kept.offlineTimeAllowedSeconds = offlineTimeAllowedSeconds }
        if hasTelemetryDisabled { kept.telemetryDisabled = telemetryDisabled }
        if hasTest { kept.test = test }
        return kept
    }
}

/// `<data>/profile.json`: the last good profile, and for whom it was fetched.
struct StoredProfile: KeptState, Equatable {
    static let fileName = "profile.json"

    /// The revision for people. The profile contains the same number.
    var revision: UInt64
    /// The value for `If-None-Match`; empty if the collector gave none.
    var etag: String
    /// The device and organization that received it. Another enrollment must not ask whether it has changed.
    var audience: String
    /// Wall clock, microseconds since 1970.
    var fetched: Int64
    /// The serialized `Profile`.
    var profile: Data

    /// The profile after another check, because another version of this program may have stored it.
    func validProfile() throws -> WireProfile {
        let profile = try WireProfile.decode(profile)
        try profile.validate()
        return profile
    }
}
