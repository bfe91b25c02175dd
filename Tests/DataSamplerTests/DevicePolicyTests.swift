import FoundationEssentials
import RecordQueue
import StoreTestKit
import Testing
import Transmitter
import WireModel

@testable import DataSampler

@Suite(.timeLimit(.minutes(10))) struct DevicePolicyTests {
    private static let stamp = RecordStamp(wallTime: 0, bootID: nil, timeSinceBoot: 100_000_000)

    private func policy(_ change: (inout DataSamplerConfiguration) -> Void = { _ in }) -> DevicePolicy {
        var configuration = SamplerBench.configuration("/nonexistent")
        configuration.sampleModules = .system
        configuration.beaconInterval = 900
        change(&configuration)
        return DevicePolicy(local: configuration, profile: .analyticsOn)
    }

    private func plan(
        _ policy: DevicePolicy, isConsentDenied: Bool = false, awaits: AwaitedDecisions = [],
        _ change: (inout RecordGate) -> Void = { _ in }
    ) -> DevicePlan {
        var gate = RecordGate()
        change(&gate)
        return policy.plan(gate: gate, isConsentDenied: isConsentDenied, awaits: awaits) { $0 }
    }

    private func handle(_ policy: inout DevicePolicy, _ event: DeviceEvent, queueTime: Int64 = 0) -> [DeviceAction] {
        policy.handle(event, now: Self.stamp, queueTime: queueTime)
    }

    @Test func `Suspended, nothing is sampled, reported or sent until it is resumed`() {
        var policy = policy()
        #expect(plan(policy).samples.intervals.count == 1 && plan(policy).beaconInterval == 900)
        #expect(handle(&policy, .suspended(true)).count == 1)
        #expect(handle(&policy, .suspended(true)).isEmpty, "said twice it is said once")
        let suspended = plan(policy)
        #expect(suspended.samples.intervals.isEmpty && suspended.beaconInterval == nil)
        #expect(suspended.transmission.heldStreams.count == StreamName.allCases.count)
        _ = handle(&policy, .suspended(false))
        #expect(plan(policy).transmission.heldStreams.isEmpty && plan(policy).beaconInterval == 900)
    }

    @Test func `Once a command was answered during a suspension, status goes until the next one`() {
        var policy = policy()
        #expect(handle(&policy, .commandAnswered).isEmpty, "nothing is suspended")
        _ = handle(&policy, .suspended(true))
        #expect(handle(&policy, .commandAnswered).count == 1 && handle(&policy, .commandAnswered).isEmpty)
        #expect(plan(policy).transmission.heldStreams == [.event: .paused, .sample: .paused])
        #expect(plan(policy).transmission.logHold == .paused)
        _ = handle(&policy, .suspended(false))
        _ = handle(&policy, .suspended(true))
        #expect(plan(policy).transmission.heldStreams.count == StreamName.allCases.count)
    }

    @Test func `The location is wanted by those who may have it, and by nobody where it must not be read`() {
        var profile = WireProfile.analyticsOn
        profile.sampling.modulesGiven = true
        profile.sampling.modules = ["gps"]
        profile.beaconSeconds = 900
        profile.doNotDisturbAllowed = true
        func policy(_ action: WirePrivacyAction, geofences: Int = 0, doNotDisturb: Bool = false) -> DevicePolicy {
            var profile = profile
            profile.privacy["position"] = action
            profile.geofences = Array(repeating: WireGeofence(), count: geofences)
            var configuration = SamplerBench.configuration("/nonexistent")
            configuration.gpsd = "127.0.0.1:2947"
            var state = DoNotDisturbState()
            if doNotDisturb { state.decided(true, request: Data(repeating: 1, count: 16), at: 1) }
            return DevicePolicy(local: configuration, profile: profile, doNotDisturb: state)
        }
        #expect(plan(policy(.send)).location == LocationDemand(needs: [.samples, .beacons]))
        #expect(plan(policy(.coarsen)).location == LocationDemand(needs: [.samples, .beacons]))
        #expect(plan(policy(.drop)).location == LocationDemand())
        #expect(
            plan(policy(.drop, geofences: 1)).location
                == LocationDemand(needs: [.geofences], watchInterval: .seconds(10)))
        #expect(plan(policy(.send, geofences: 1, doNotDisturb: true)).location == LocationDemand())
        #expect(plan(policy(.send, geofences: 1), isConsentDenied: true).location == LocationDemand())
        #expect(plan(policy(.send, geofences: 1), awaits: .consent).location == LocationDemand())
        #expect(plan(policy(.send, geofences: 1)) { $0.isWiping = true }.location == LocationDemand())
        var changing = policy(.send, geofences: 1)
        _ = handle(&changing, .consentChanging)
        #expect(plan(changing).location == LocationDemand())
        _ = handle(&changing, .consentChanged)
        _ = handle(&changing, .suspended(true))
        #expect(plan(changing).location == LocationDemand())
        profile.telemetryDisabled = true
        #expect(plan(policy(.send, geofences: 1)).location == LocationDemand())
    }

    @Test func `Unlocks within five seconds are one`() {
        var policy = policy()
        func unlock(atSeconds seconds: UInt64) -> Int {
            let now = RecordStamp(wallTime: 0, bootID: nil, timeSinceBoot: seconds * 1_000_000)
            return policy.handle(.unlocked, now: now, queueTime: 0).count
        }
        let beacons = [100, 102, 108, 113].map(unlock)
        #expect(beacons == [1, 0, 1, 1])
    }

    @Test func `A collector that answers, does not answer or refuses the device is a notice each`() {
        var policy = policy()
        func notices(_ event: TransmitterEvent) -> [DataSamplerNotice.Kind] {
            policy.handle(.transmitter(event), now: Self.stamp, queueTime: 0).compactMap {
                if case .notify(let notice) = $0 { notice.kind } else { nil }
            }
        }
        #expect(notices(.reached) == [.reachable])
        #expect(notices(.unreachable(since: Self.stamp, why: "gone")) == [.unreachable])
        #expect(notices(.forbidden("revoked")) == [.forbidden])
    }

    @Test func `Another person at the screen is a notice, the first one and nobody are none`() {
        var policy = policy()
        let now = RecordStamp(wallTime: 0, bootID: nil, timeSinceBoot: 0)
        func notices(_ isAnotherPerson: Bool) -> [DataSamplerNotice.Kind] {
            policy.handle(.sessionUserChanged(isAnotherPerson: isAnotherPerson), now: now, queueTime: 0).compactMap {
                if case .notify(let notice) = $0 { notice.kind } else { nil }
            }
        }
        #expect(notices(true) == [.userChanged])
        #expect(notices(false).isEmpty)
    }

    @Test func `A device that leaves sends its status and no more; a wiped one sends, and no logs`() {
        let leaving = plan(policy()) { $0.isLeaving = true }
        #expect(
            leaving.transmission.heldStreams == [.event: .paused, .sample: .paused]
                && leaving.transmission.logHold == .paused)
        #expect(leaving.beaconInterval == nil && leaving.samples.intervals.isEmpty)
        #expect(
            leaving.logLevels.level(of: "") == nil && leaving.transmission.isLeaving
                && !plan(policy()).transmission.isLeaving)
        let wiping = plan(policy()) { $0.isWiping = true }
        #expect(wiping.transmission.heldStreams.isEmpty && wiping.transmission.logHold == .paused)
        #expect(wiping.logLevels.level(of: "") == nil, "no line is written while the store is erased")
    }

    @Test func `Logs are not sent without logging or consent`() {
        #expect(plan(policy()).transmission.logHold == nil)
        #expect(plan(policy { $0.loggingEnabled = false }).transmission.logHold == .logging)
        #expect(plan(policy(), isConsentDenied: true).transmission.logHold == .consent)
        #expect(plan(policy()) { $0.isUnenrolled = true }.transmission.logHold == .paused)
    }

    @Test func `When the enrollment ends, the profile's settings end too`() {
        var policy = policy()
        #expect(policy.settings.profileChecked)
        #expect(handle(&policy, .profileErased(nil)).count == 1)
        #expect(!policy.settings.profileChecked && policy.settings.profileRevision == 0)
    }

    @Test func `While a decision on consent is carried out the stricter of two holds`() {
        var policy = policy()
        #expect(handle(&policy, .consentChanging).count == 1)
        #expect(plan(policy).transmission.heldStreams == [.event: .consent, .sample: .consent])
        _ = handle(&policy, .consentChanging)
        _ = handle(&policy, .consentChanged)
        #expect(!plan(policy).transmission.heldStreams.isEmpty, "another one is under way")
        _ = handle(&policy, .consentChanged)
        #expect(plan(policy).transmission.heldStreams.isEmpty)
        #expect(plan(policy, awaits: .firstProfile).transmission.heldStreams == [.event: .firstProfile])
    }

    @Test func `Only a first profile that refuses events drops those that waited for it`() {
        var refusing = WireProfile.analyticsOn
        refusing.analytics.enabled = false
        var unchecked = DevicePolicy(local: SamplerBench.configuration("/nonexistent"), profile: nil)
        #expect(handle(&unchecked, .profileArriving(.analyticsOn)).isEmpty)
        guard case .refuseEarlyEvents(let settings)? = handle(&unchecked, .profileArriving(refusing)).first else {
            return #expect(Bool(false), "they are kept")
        }
        #expect(settings.profileChecked && !settings.analyticsEnabled)
        var checked = policy()
        #expect(handle(&checked, .profileArriving(refusing)).isEmpty)
    }

    @Test func `Without consent no log line is written`() {
        #expect(plan(policy()).logLevels.level(of: "") != nil)
        #expect(plan(policy(), isConsentDenied: true).logLevels.level(of: "") == nil)
    }

    @Test(arguments: [true, false])
    func `Under do-not-disturb no log line is written or sent, if the profile allows it`(_ isAllowed: Bool) {
        var policy = policy()
        var profile = WireProfile.analyticsOn
        profile.doNotDisturbAllowed = isAllowed
        _ = handle(&policy, .profileArrived(profile))
        _ = handle(&policy, .capturesChanged([LogLevelWish(level: .verbose)]))
        #expect(plan(policy).logLevels.level(of: "") == .verbose && plan(policy).transmission.logHold == nil)
        _ = handle(&policy, .doNotDisturbSwitched(true, request: Data(repeating: 1, count: 16)))
        #expect((plan(policy).logLevels.level(of: "") == nil) == isAllowed)
        #expect(plan(policy).transmission.logHold == (isAllowed ? .doNotDisturb : nil))
    }

    @Test func `A capture widens the level of the logs, and its end returns it`() {
        var policy = policy()
        let before = plan(policy).logLevels.level(of: "")
        _ = handle(&policy, .capturesChanged([LogLevelWish(level: .verbose)]))
        #expect(plan(policy).logLevels.level(of: "") == .verbose && policy.captureLevel == .verbose)
        _ = handle(&policy, .capturesChanged([]))
        #expect(plan(policy).logLevels.level(of: "") == before && policy.captureLevel == nil)
    }

    @Test func `A level for one application leaves the others alone`() {
        var policy = policy { $0.applicationIdentifier = "own" }
        func level(_ application: String) -> LogLevel? { plan(policy).logLevels.level(of: application) }
        _ = handle(&policy, .logLevelChanged(LogLevelWish(level: .error, application: "other")))
        #expect(level("other") == .error && level("own") == .information && level("third") == .information)
        #expect(policy.settings.logging.level != .error)
        _ = handle(&policy, .capturesChanged([LogLevelWish(level: .verbose, application: "third")]))
        #expect(level("other") == .error && level("own") == .information && level("third") == .verbose)
        #expect(policy.captureLevel == nil)
        _ = handle(&policy, .logLevelChanged(LogLevelWish(level: .warning, application: "own")))
        #expect(level("other") == .information && level("own") == .warning && level("third") == .verbose)
        #expect(policy.settings.logging.level == .warning)
        _ = handle(&policy, .logLevelChanged(LogLevelWish(level: .error)))
        #expect(level("other") == .error && level("own") == .error && level("third") == .verbose)
        _ = handle(&policy, .logLevelChanged(nil))
        #expect(level("other") == .information && level("own") == .information)
    }

    @Test func `The end of the offline time is reported once, and counted from when the collector went away`() {
        var policy = policy { $0.offlineTimeAllowed = 3600 }
        #expect(policy.offlineTimeEnds == nil)
        // Half a minute before it is said.
        let away = RecordStamp(wallTime: 0, bootID: nil, timeSinceBoot: 70_000_000)
        let actions = handle(&policy, .transmitter(.unreachable(since: away, why: "gone")), queueTime: 30_000_000)
        guard case .keepOffline(let kept)? = actions.first else { return #expect(Bool(false), "it is not kept") }
        #expect(kept.since == 0 && policy.offlineTimeEnds == 3_600_000_000)
        #expect(handle(&policy, .offlineTimeEnded, queueTime: 3_599_000_000).isEmpty, "the clock is not there yet")
        #expect(handle(&policy, .offlineTimeEnded, queueTime: 3_600_000_000).count == 2)
        #expect(handle(&policy, .offlineTimeEnded, queueTime: 9_000_000_000).isEmpty)
        #expect(policy.offlineTimeExceeded(queueTime: 3_599_000_000) == nil)
        #expect(policy.offlineTimeExceeded(queueTime: 9_000_000_000) == 9_000, "status tells it as long as it lasts")
        _ = handle(&policy, .transmitter(.reached))
        #expect(policy.offlineTimeEnds == nil && policy.offlineTimeExceeded(queueTime: 9_000_000_000) == nil)
    }

    @Test func `A closed gate is reported once it has lasted`() {
        var policy = policy()
        #expect(handle(&policy, .transmitter(.gatesChanged([.sample: .metered]))).count == 1)
        #expect(policy.networkNoticeDue == 110_000_000)
        #expect(handle(&policy, .networkSettled).isEmpty, "not yet")
        let later = RecordStamp(wallTime: 0, bootID: nil, timeSinceBoot: 110_000_000)
        guard case .notify(let notice)? = policy.handle(.networkSettled, now: later, queueTime: 0).first else {
            return #expect(Bool(false), "it is not told")
        }
        #expect(notice.kind == .networkStopped && notice.closedGate == .metered)
        #expect(policy.networkNoticeDue == nil)
    }

    @Test func `An event is handled when report returns, in the order of the reports, and none hangs after the end`()
        async
    {
        let events = DeviceEvents()
        let hearing = Task {
            var heard: [Bool] = []
            for await entry in events.entries {
                if case .suspended(let isOn) = entry.event { heard.append(isOn) }
                entry.handled?.resume(returning: true)
            }
            return heard
        }
        events.post(.suspended(true))
        await events.report(.suspended(false))
        events.post(.suspended(true))
        events.finish()
        await events.report(.suspended(false))
        #expect(await hearing.value == [true, false, true], "what came before the end is heard, and nothing after it")
    }
}
