import Logging
import RecordQueue
import SampleModules
import Synchronization
import WireModel

/// Collects the contents of a beacon: findings, compliance, user, push token, position and the caller's figures. Safe
/// from any thread.
///
/// `SamplerCore.recordBeacon` calls `make`, queues the beacon durably, and calls `queued` with its number.
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
        /// `nil` if the queue could not be asked.
        var queue: QueueStatus?
        var conditions = DeviceConditions()
        /// `nil` if nobody has said.
        var doNotDisturb: Bool?
        var consent = WireConsent.unspecified
        var slowdown: WireSlowdown?
        /// Names of the profile's settings that this device cannot apply.
        var profileFindings: [String] = []
    }

    /// A beacon, and the change of the push token that it contains.
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
    ///   - detectors: search signs of compromise.
    ///   - location: `nil` if nothing here knows the position.
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

    /// Sets the user of the device; `nil` reports nobody.
    /// - Returns: whether it changed.
    func setUser(_ user: DeviceUser?) -> Bool {
        person.withLock { person in
            defer { person = user }
            return person != user
        }
    }

    /// The present results of the compliance rules. Also used for `status` and by the host.
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
        // The privacy filter decides whether the position may be sent, as for every field.
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
    /// - Parameter epoch: the queue's epoch when it assigned the number.
    func queued(_ made: Made, number: UInt64, epoch: EpochID) {
        // Without figures, or if a new epoch began meanwhile, the number cannot be tracked. The next beacon contains
        // the token again.
        guard let pending = made.pushToken, let queue = made.queue, queue.epoch == epoch else { return }
        pushTokens.queued(pending, number: number, status: queue)
    }
}
