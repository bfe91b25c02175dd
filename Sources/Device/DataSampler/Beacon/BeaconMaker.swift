import Logging
import RecordQueue
import SampleModules
import Synchronization
import WireModel

/// Collects the contents of a beacon: findings, compliance, user, push token and the caller's figures. Safe
/// from any thread.
///
/// `SamplerCore.recordBeacon` calls `make`, queues the beacon durably, and calls `queued` with its number.
final class BeaconMaker: Sendable {
    /// A beacon, and the change of the push token that it contains.
    struct Made: Sendable {
        var beacon: WireBeacon
        var pushToken: PushTokenState.Pending?
        var queue: QueueStatus?
    }

    let pushTokens: PushTokenStore
    let compromise: CompromiseMonitor
    private let geofences: GeofenceKeeper
    private let application: String
    private let applicationVersion: String
    private let person = Mutex(Person())

    /// - Parameters:
    ///   - rules: those at the start.
    ///   - detectors: search signs of compromise by the rules.
    init(
        configuration: DataSamplerConfiguration, seal: StateSeal? = nil, rules: DetectionRules,
        geofences: GeofenceKeeper, clock: any RecordClock, notices: NoticeBoard, logger: Logger,
        detectors: @escaping @Sendable (DetectionRules) -> [any CompromiseDetector]
    ) {
        pushTokens = PushTokenStore(
            directory: configuration.directory, seal: seal, logger: logger,
            damaged: notices.postSetAside(PushTokenStore.fileName))
        compromise = CompromiseMonitor(rules: rules, clock: clock, logger: logger, detectors)
        self.geofences = geofences
        application = configuration.applicationIdentifier
        applicationVersion = configuration.applicationVersion
    }

    /// Who uses the device.
    private struct Person {
        /// The host's word; its `nil` is nobody. Without its word the session decides.
        var host: DeviceUser??
        var session: DeviceUser?

        var present: DeviceUser? { host ?? session }
    }

    /// Sets the user of the device; `nil` reports nobody, whoever has a session.
    /// - Returns: whether beacons report something else now.
    func setUser(_ user: DeviceUser?) -> Bool { changePerson { $0.host = .some(user) } }

    /// Sets who has the session, which counts until the host sets a user.
    /// - Returns: whether beacons report something else now.
    func setSessionUser(_ user: DeviceUser?) -> Bool { changePerson { $0.session = user } }

    private func changePerson(_ change: (inout Person) -> Void) -> Bool {
        person.withLock { person in
            let former = person.present
            change(&person)
            return person.present != former
        }
    }

    /// The present results of the compliance rules.
    func compliance(_ settings: DeviceSettings, facts: DeviceFacts.Reading) -> ComplianceReport {
        ComplianceRules.evaluate(
            settings.compliance, applicationVersion: applicationVersion,
            operatingSystemVersion: facts.identity?.operatingSystem.version ?? "", sides: geofences.sides)
    }

    /// Makes a beacon from the inputs, the settings, and what is known here.
    func make(_ inputs: BeaconInputs, _ settings: DeviceSettings) async -> Made {
        var inputs = inputs
        inputs.application = application
        inputs.applicationVersion = applicationVersion
        inputs.compromise = await compromise.report()
        inputs.compliance = compliance(settings, facts: inputs.facts)
        inputs.user = person.withLock { $0.present }
        inputs.profileRevision = settings.profileRevision
        inputs.telemetryDisabled = settings.telemetryDisabled
        inputs.modules = settings.modules.map(\.rawValue)
        if let queue = inputs.queue { pushTokens.observe(queue) }
        let pending = pushTokens.pending
        inputs.pushToken = pending?.token
        let beacon = BeaconComposer.beacon(inputs)
        return Made(beacon: beacon, pushToken: beacon.hasPushToken ? pending : nil, queue: inputs.queue)
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
