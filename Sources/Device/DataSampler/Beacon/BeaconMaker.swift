import Logging
import RecordQueue
import SampleModules
import Synchronization
import WireModel

/// Gathers what a beacon tells: findings, compliance, user, push token, position and the caller's figures. Safe from
/// any thread.
///
/// `SamplerCore.recordBeacon` calls `make`, queues the beacon durably, then calls `queued` with its number.
final class BeaconMaker: Sendable {
    /// What the rest of the library knows when a beacon is made.
    struct Moment: Sendable {
        var trigger: WireBeaconTrigger
        var nextBeaconSeconds: UInt32
        var sequence: UInt64
        var stamp: RecordStamp
        var facts: DeviceFacts.Reading
        var standing: EnrollmentStanding
        var settings: DeviceSettings
        /// `nil` where the queue could not say.
        var queue: QueueStatus?
        var conditions = DeviceConditions()
        /// `nil`: nobody has said.
        var doNotDisturb: Bool?
        var consent = WireConsent.unspecified
        var slowdown: WireSlowdown?
        /// What of the profile is not done, by name.
        var profileFindings: [String] = []
    }

    /// A beacon, and which change of the push token it holds.
    struct Made: Sendable {
        var beacon: WireBeacon
        var pushToken: PushTokenState.Pending?
        var queue: QueueStatus?
    }

    let pushTokens: PushTokenStore
    let compromise: CompromiseMonitor
    private let location: (any LocationSource)?
    private let application: String
    private let applicationVersion: String
    private let person = Mutex<DeviceUser?>(nil)

    /// - Parameters:
    ///   - detectors: asked for signs of compromise.
    ///   - location: `nil`: nothing here knows where the device is.
    init(
        configuration: DataSamplerConfiguration, detectors: [any CompromiseDetector],
        location: (any LocationSource)? = nil,
        clock: any RecordClock, logger: Logger
    ) {
        pushTokens = PushTokenStore(directory: configuration.directory, logger: logger)
        compromise = CompromiseMonitor(detectors: detectors, clock: clock, logger: logger)
        self.location = location
        application = configuration.applicationIdentifier
        applicationVersion = configuration.applicationVersion
    }

    /// Who uses the device; `nil`: nobody is told.
    /// - Returns: whether that is another than before.
    func setUser(_ user: DeviceUser?) -> Bool {
        person.withLock { person in
            defer { person = user }
            return person != user
        }
    }

    /// What the compliance rules say now; also for `status` and the host.
    func compliance(_ settings: DeviceSettings, facts: DeviceFacts.Reading) -> ComplianceReport {
        ComplianceRules.evaluate(
            settings.compliance, applicationVersion: applicationVersion,
            operatingSystemVersion: facts.identity?.operatingSystem.version ?? "")
    }

    func make(_ moment: Moment) async -> Made {
        let settings = moment.settings
        var inputs = BeaconInputs(trigger: moment.trigger, sequence: moment.sequence, stamp: moment.stamp)
        inputs.nextBeaconSeconds = moment.nextBeaconSeconds
        inputs.application = application
        inputs.applicationVersion = applicationVersion
        inputs.facts = moment.facts
        inputs.standing = moment.standing
        inputs.compromise = await compromise.report()
        inputs.compliance = compliance(settings, facts: moment.facts)
        inputs.user = person.withLock { $0 }
        inputs.doNotDisturb = moment.doNotDisturb
        // Whether the position may be told the privacy filter decides, as for every other field.
        inputs.location = location?.location()
        inputs.conditions = moment.conditions
        inputs.queue = moment.queue
        inputs.profileRevision = settings.profileRevision
        inputs.profileFindings = moment.profileFindings
        inputs.consent = moment.consent
        inputs.slowdown = moment.slowdown
        inputs.telemetryDisabled = settings.telemetryDisabled
        inputs.modules = settings.modules.map(\.rawValue)
        if let queue = moment.queue { pushTokens.observe(queue) }
        let pending = pushTokens.pending
        inputs.pushToken = pending?.token
        let beacon = BeaconComposer.beacon(inputs)
        return Made(beacon: beacon, pushToken: beacon.hasPushToken ? pending : nil, queue: moment.queue)
    }

    /// The beacon is on synced disk.
    /// - Parameter epoch: of the queue, when it gave the number.
    func queued(_ made: Made, number: UInt64, epoch: EpochID) {
        // Without figures, or in an epoch begun meanwhile, the number cannot be followed: the next beacon holds the
        // token again.
        guard let pending = made.pushToken, let queue = made.queue, queue.epoch == epoch else { return }
        pushTokens.queued(pending, number: number, status: queue)
    }
}
