import Encryption
import FoundationEssentials
import Intake
import Logging
import Privacy
import RecordQueue
import SampleModules
import Synchronization
import Transmitter
import WireModel

/// Everything that is open while this process holds the queue directory: queue, identity, and the making of records.
/// Safe from any thread.
///
/// Every record is made here: `RecordGate` says whether it may be, `PrivacyFilter` what of it is kept, and consent
/// where it waits. The core samples and sends nothing by itself. The running data sampler adds that; a command without
/// an agent uses the core alone.
final class SamplerCore: Sendable {
    private struct State {
        var settings: DeviceSettings
        var filter: PrivacyFilter
        var gate: RecordGate
        var facts: DeviceFacts
        var beacons: UInt64 = 0
        /// The content of the newest beacon; `nil`: none was made yet.
        var reported: WireBeacon?
        /// Usage that no event has reported yet, because no profile was at hand. Of more than
        /// ``unreportedUsageLimit`` the oldest go.
        var unreportedUsage: [(event: UsageEvent, at: RecordStamp)] = []
        /// `nil`: nobody has said.
        var doNotDisturb: Bool?
        /// `nil`: intervals are as they were set.
        var slowdown: WireSlowdown?
        /// How many replaced files of the queue were reported.
        var reportedReplacements = 0
        /// A profile has said what becomes of the events that waited for the first one.
        var areEarlyEventsDecided: Bool
        /// The queue's clock when it was asked, to be carried on by our own.
        var queueClock: QueueClock
    }

    /// The configuration as it was given; after a start without the keys as ``DataSamplerConfiguration/whileLocked()``.
    let configuration: DataSamplerConfiguration
    /// The program's changes at the time when the directory was opened.
    let runtime: RuntimeSettings
    let queue: RecordQueue
    let identity: IdentityStore
    let clock: any RecordClock
    let logger: Logger
    let notices: NoticeBoard
    /// The profile that was at hand when the directory was opened; `nil`: none.
    let storedProfile: (stored: StoredProfile, profile: WireProfile)?
    let analytics: AnalyticsLedger
    let beacons: BeaconMaker
    let conditions: any ConditionsSource
    let consent: ConsentKeeper
    let pins: PinKeeper
    let authorities: AuthorityKeeper
    let geofences: GeofenceKeeper
    let metrics: SelfMetrics
    /// Where the device is, for all who may know.
    let location: LocationService
    var keys: KeyRing { seal.keys }
    /// Seals and opens the state files.
    let seal: StateSeal
    private let state: Mutex<State>

    /// Acquires the directory's lock and opens the queue, waiting up to `environment.lockWait` for another process to
    /// let it go.
    static func open(
        _ configuration: DataSamplerConfiguration, environment: SamplerEnvironment,
        notices: NoticeBoard = NoticeBoard(), logger: Logger
    ) async throws(DataSamplerError) -> SamplerCore {
        let (queue, seal) = try await openQueueAndKeys(configuration, environment: environment, logger: logger)
        do {
            try seal.begin(others: try sealedCopies(queue))
            if seal.obstacle == nil { try EncryptionMark.keep(seal.isSealing, in: configuration.directory) }
            let configuration = seal.obstacle == nil ? configuration : configuration.whileLocked()
            let profile = try ProfileKeeper.load(
                StoredProfile.file(in: configuration.directory, seal: seal), notices: notices)
            let consentQueue = QueueForConsent(queue: queue)
            let consent = try ConsentKeeper(
                store: ConsentStore(directory: configuration.directory, queue: consentQueue), queue: consentQueue,
                initial: configuration.initialConsent, logger: logger
            ) { notice in
                logger.warning("consent", metadata: ["reason": "\(notice.message)"])
                notices.post(notice)
            }
            let pins = try PinKeeper(
                directory: configuration.directory, seal: seal, logger: logger,
                damaged: notices.postSetAside(PinKeeper.fileName))
            let authorities = try AuthorityKeeper(
                directory: configuration.directory, seal: seal, logger: logger,
                damaged: notices.postSetAside(AuthorityKeeper.fileName))
            let geofences = try GeofenceKeeper(
                directory: configuration.directory, fences: profile?.profile.geofences, seal: seal,
                logger: logger,
                damaged: notices.postSetAside(GeofenceStates.fileName))
            let runtime =
                try RuntimeSettings.file(in: configuration.directory)
                .loadOrKeepAsDamaged(damaged: notices.postSetAside(RuntimeSettings.fileName)) ?? RuntimeSettings()
            // What was decided before a crash is carried out before anything is recorded.
            try await consent.settle()
            let clock = QueueClock(time: try await queue.queueTime, stamp: environment.clock.now())
            let core = SamplerCore(
                configuration, runtime: runtime, queue: queue, seal: seal, queueClock: clock, consent: consent,
                pins: pins,
                authorities: authorities, geofences: geofences, profile: profile, environment: environment,
                notices: notices, logger: logger)
            let status = try await queue.status()
            core.countEarlyEvents(status)
            core.reportReplacedQueue(status)
            return core
        } catch {
            await queue.close()
            throw (error as? DataSamplerError) ?? DataSamplerError(.queue, "\(error)", cause: error)
        }
    }

    /// The keys are there before the queue, which seals with them.
    private static func openQueueAndKeys(
        _ configuration: DataSamplerConfiguration, environment: SamplerEnvironment, logger: Logger
    ) async throws(DataSamplerError) -> (RecordQueue, StateSeal) {
        let configuration = configuration.withKeys(clock: environment.clock, logger: logger)
        guard let keys = configuration.keys else { preconditionFailure("withKeys gives keys") }
        // After a wipe in this process.
        keys.renew()
        while true {
            let isSealing = EncryptionMark.isWanted(configuration, keys: keys)
            let queue = try await openQueue(
                configuration, keys: keys, isSealing: isSealing, environment: environment, logger: logger)
            // Whoever had the lock before may have decided this.
            if EncryptionMark.isWanted(configuration, keys: keys) == isSealing {
                return (
                    queue,
                    StateSeal(
                        directory: configuration.directory, keys: keys, isSealing: isSealing, logger: logger)
                )
            }
            await queue.close()
        }
    }

    /// The ids of the keys of state that the queue's copies name.
    private static func sealedCopies(_ queue: RecordQueue) throws(DataSamplerError) -> Set<UInt32> {
        let copy: Data?
        do throws(QueueError) { copy = try queue.copy(of: .identity) } catch { throw DataSamplerError(error) }
        return Set([copy.flatMap { try? Envelope.keyID(of: $0, purpose: .state) }].compactMap { $0 })
    }

    private static func openQueue(
        _ configuration: DataSamplerConfiguration, keys: KeyRing, isSealing: Bool, environment: SamplerEnvironment,
        logger: Logger
    ) async throws(DataSamplerError) -> RecordQueue {
        var settings = RecordQueue.Configuration()
        settings.lossWindow = .seconds(configuration.lossWindow)
        settings.keys = keys
        settings.isSealing = isSealing
        let step = Duration.milliseconds(100)
        var waited = Duration.zero
        while true {
            do {
                return try RecordQueue.open(
                    directory: configuration.directory, configuration: settings, clock: environment.clock,
                    logger: logger)
            } catch  where error.code == .inUse && waited < environment.lockWait && !Task.isCancelled {
                // A lock held by another process cannot be awaited without blocking a thread; a start asks for it a few
                // times.
                try? await environment.sleeper.sleep(for: step)
                waited += step
            } catch {
                throw DataSamplerError(error)
            }
        }
    }

    private init(
        _ configuration: DataSamplerConfiguration, runtime: RuntimeSettings, queue: RecordQueue, seal: StateSeal,
        queueClock: QueueClock, consent: ConsentKeeper, pins: PinKeeper,
        authorities: AuthorityKeeper, geofences: GeofenceKeeper,
        profile: (stored: StoredProfile, profile: WireProfile)?, environment: SamplerEnvironment,
        notices: NoticeBoard, logger: Logger
    ) {
        self.configuration = configuration
        self.runtime = runtime
        self.queue = queue
        self.logger = logger
        self.notices = notices
        clock = environment.clock
        metrics = environment.metrics()
        self.seal = seal
        let local = runtime.applied(to: configuration)
        var settings = DeviceSettings.resolve(local: local, profile: profile?.profile)
        conditions = environment.conditions(environment.host, logger)
        location = LocationService(
            source: configuration.effectiveLocationSource(clock: environment.clock), clock: environment.clock,
            sleeper: environment.sleeper, logger: logger)
        self.consent = consent
        self.pins = pins
        self.authorities = authorities
        self.geofences = geofences
        analytics = AnalyticsLedger(
            directory: configuration.directory, seal: seal, clock: environment.clock,
            isEnabled: settings.analyticsEnabled, logger: logger,
            damaged: notices.postSetAside(AnalyticsLedger.fileName))
        let (detectors, host) = (environment.detectors, environment.host)
        beacons = BeaconMaker(
            configuration: configuration, seal: seal, rules: settings.detection, geofences: geofences,
            clock: environment.clock, notices: notices, logger: logger
        ) { rules in detectors(configuration, rules, host) }
        let filter = PrivacyFilter(
            policy: settings.privacy, key: settings.privacyKey, positionGrid: settings.positionGrid)
        // The sampled module says what is odd about this machine; one voice is enough.
        var facts = DeviceFacts(host: environment.host, logger: TraceLevel.off.applied(to: logger))
        var request = WireEnrollRequest()
        let reading = facts.read(at: environment.clock.now())
        if let machine = reading.identity {
            request.deviceName = machine.hostName
            request.operatingSystem = machine.operatingSystem
        }
        request.agentVersion = DataSampler.version
        request.application = configuration.applicationIdentifier
        request.test = local.isTest
        identity = IdentityStore(
            directory: configuration.directory, machineHash: environment.machineHash,
            enrollmentToken: configuration.enrollmentToken, request: filter.filtered(request),
            signingRequest: configuration.clientSigningRequestFile.map { SigningRequestFile(path: $0) }, seal: seal,
            queue: queue
        ) { notice in
            logger.warning("identity", metadata: ["reason": "\(notice.message)"])
            notices.post(notice)
        }
        storedProfile = Self.withoutFormerTrust(profile, of: identity, pins, authorities)
        settings = DeviceSettings.resolve(local: local, profile: storedProfile?.profile)
        pins.apply(settings)
        authorities.apply(settings)
        var state = State(
            settings: settings, filter: filter, gate: RecordGate(), facts: facts,
            areEarlyEventsDecided: settings.profileChecked, queueClock: queueClock)
        state.gate.apply(settings)
        self.state = Mutex(state)
    }

    func close() async {
        analytics.stop()
        await queue.close()
    }

    // MARK: What holds now

    var settings: DeviceSettings { state.withLock { $0.settings } }
    var gate: RecordGate { state.withLock { $0.gate } }

    /// Applies other settings; records made from now on follow them.
    func apply(_ settings: DeviceSettings) {
        state.withLock { state in
            let former = state.settings
            if settings.privacy != former.privacy || settings.privacyKey != former.privacyKey
                || settings.positionGrid != former.positionGrid
            {
                state.filter = PrivacyFilter(
                    policy: settings.privacy, key: settings.privacyKey, positionGrid: settings.positionGrid)
            }
            state.settings = settings
            state.gate.apply(settings)
        }
        pins.apply(settings)
        authorities.apply(settings)
        analytics.setEnabled(settings.analyticsEnabled && !settings.telemetryDisabled)
    }

    /// Whether a beacon made now would say something else than the newest one, or there is none. Figures do not count.
    /// `false` while telemetry is disabled, because no beacon is made.
    func isBeaconOutdated() async -> Bool {
        let reported = state.withLock { $0.reported }
        return await presentBeacon().statements != reported && !settings.telemetryDisabled
    }

    /// The beacon that would be made now, without the figures.
    /// - Parameter withVerdicts: also during do-not-disturb, when beacons have none.
    func presentBeacon(withVerdicts: Bool = false) async -> WireBeacon {
        let organization = enrolledOrganization
        let (present, settings) = state.withLock { state in
            let facts = DeviceFacts.Reading(identity: state.facts.identity)
            var inputs = self.inputs(.change, at: clock.now(), facts: facts, organization, state)
            if withVerdicts { inputs.doNotDisturb = nil }
            return (inputs, state.settings)
        }
        return await beacons.make(present, settings).beacon
    }

    func changeGate(_ change: (inout RecordGate) -> Void) { state.withLock { change(&$0.gate) } }
    func setDoNotDisturb(_ isOn: Bool?) { state.withLock { $0.doNotDisturb = isOn } }

    /// Intervals are so many times longer; 1: no budget asks for it.
    var slowdown: Double { state.withLock { $0.slowdown }.map { Double($0.factor) / 100 } ?? 1 }

    /// Sets the slowdown that beacons report; `nil`: intervals are as they were set.
    func setSlowdown(_ slowdown: WireSlowdown?) { state.withLock { $0.slowdown = slowdown } }

    /// - Returns: whether there are more than were reported.
    func claimReplacements(_ count: Int) -> Bool {
        state.withLock { state in
            defer { state.reportedReplacements = count }
            return count > state.reportedReplacements
        }
    }

    /// The queue's clock, microseconds: what deadlines are counted on, whatever somebody does to the wall clock.
    var queueTime: Int64 {
        let now = clock.now()
        return state.withLock { state in
            state.queueClock = state.queueClock.advanced(to: now)
            return state.queueClock.time
        }
    }

    // MARK: Making records

    /// - Parameters:
    ///   - application: bundle id of the program whose event it is; `nil` for this one.
    ///   - stamp: when it was; `nil`: now.
    /// - Returns: the event's number in its stream; `nil` for an ordinary one, which gets it later.
    func record(
        _ event: AnalyticsEvent, of application: String? = nil, durability: Durability, at stamp: RecordStamp? = nil
    ) async throws(DataSamplerError) -> UInt64? {
        var message = event.message
        if message.sessionID.isEmpty { message.sessionID = analytics.sessionID.data }
        let number = try await make(
            .event, .event, .event, of: application, at: stamp ?? clock.now(), body: message.encoded,
            durability: durability)
        analytics.eventRecorded()
        return number
    }

    /// The library itself was used: reported as an event as soon as the gate for events is open.
    func recordUsage(_ event: UsageEvent) async {
        let stamp = clock.now()
        state.withLock { state in
            state.unreportedUsage.append((event, stamp))
            if state.unreportedUsage.count > Self.unreportedUsageLimit { state.unreportedUsage.removeFirst() }
        }
        await recordUsage()
    }

    /// Reports the launch of this run and what else was recorded as events, once, with the time each had; while the
    /// gate for events is shut they stay to be reported later.
    func recordUsage() async {
        if case .refuse = gate.decide(.event) { return }
        let launch = analytics.drainUnreportedLaunch().map { (event: UsageEvent.launch(by: managementType), at: $0) }
        let recorded = state.withLock { state in
            defer { state.unreportedUsage = [] }
            return state.unreportedUsage
        }
        for usage in [launch].compactMap({ $0 }) + recorded {
            do throws(DataSamplerError) {
                _ = try await record(AnalyticsEvent(usage.event), durability: .ordinary, at: usage.at)
            } catch {
                logger.warning(
                    "usage not recorded as an event",
                    metadata: ["code": "\(error.code)", "reason": "\(error.message)"])
            }
        }
    }

    private static let unreportedUsageLimit = 16
    /// The greatest length of the bundle id of another program, as for log lines.
    private static let maximumApplicationBytes = 200

    private var managementType: String {
        "\(DeviceInformation.managementType(.init(Self.standing(enrolledOrganization, .start, gate).managed)))"
    }

    /// Lets the analytics ledger see what has become of the events.
    func observeEvents() async {
        // Without figures the next sample reports the rest; a queue that cannot answer shows elsewhere.
        guard let status = try? await queue.status(holds: [.event: settings.eventHold]) else { return }
        analytics.observe(status)
    }

    func record(_ sample: Sample, at stamp: RecordStamp) async throws(DataSamplerError) {
        _ = try await make(
            .sample, .sample, sample.kind, module: sample.module, at: stamp, body: sample.body, durability: .ordinary)
    }

    /// A sample that the application hands over.
    /// - Parameter application: as for events.
    /// - Returns: as for events.
    @discardableResult
    func record(
        _ sample: CustomSample, of application: String? = nil, durability: Durability
    ) async throws(DataSamplerError) -> UInt64? {
        let settings = settings
        guard settings.modules.contains(.custom), !settings.disabledCustomModules.contains(sample.module) else {
            queue.countDropped(.disabled, of: .sample)
            throw DataSamplerError(
                .moduleDisabled,
                """
                custom module '\(sample.module)' is not sampled: the modules of profile or configuration do not \
                include it
                """
            )
        }
        return try await make(
            .sample, .sample, .sampleCustom, module: sample.module, of: application, at: clock.now(),
            body: sample.body, durability: durability)
    }

    /// Queues data points of OTLP. The caller has asked whether the module is sampled.
    /// - Parameter source: stands for the application where no service is named, or its name may not be told.
    func record(
        _ record: OTLPMetricRecord, module: String, of source: String, durability: Durability
    ) async throws(DataSamplerError) {
        let tells = state.withLock { $0.filter.policy[.custom] == .send }
        let hasName = tells && (1...Self.maximumApplicationBytes).contains(record.service.utf8.count)
        _ = try await make(
            .sample, .sample, .otlpMetrics, module: module, of: hasName ? record.service : source, at: clock.now(),
            body: record.body, context: record.context, durability: durability)
    }

    /// Makes a beacon of the present and returns its number once it is on synced disk.
    /// - Parameter reportsOff: it is the one that goes although telemetry is switched off, to report that.
    func recordBeacon(
        _ trigger: WireBeaconTrigger, nextBeaconSeconds: UInt32, reportsOff: Bool = false
    ) async throws(DataSamplerError) -> UInt64 {
        // A beacon without queue figures says more than none: a queue that cannot count will show when the beacon is
        // queued.
        let status = try? await queue.status()
        // Nobody is asked unless beacons may carry the location.
        let location = await beaconLocation
        let stamp = clock.now()
        let organization = enrolledOrganization
        let (inputs, settings) = state.withLock { state in
            state.beacons += 1
            let facts = state.facts.read(at: stamp).adding(metrics.selfFigures())
            var inputs = self.inputs(trigger, at: stamp, facts: facts, organization, state)
            inputs.nextBeaconSeconds = nextBeaconSeconds
            inputs.conditions = conditions.current()
            inputs.queue = status
            inputs.location = location
            return (inputs, state.settings)
        }
        let made = await beacons.make(inputs, settings)
        // A durable record has a number.
        let number =
            try await make(
                trigger == .unenroll || reportsOff ? .lastBeacon : .beacon, .status, .beacon, at: stamp,
                body: made.beacon.encoded,
                durability: .durable)
            ?? 0
        beacons.queued(made, number: number, epoch: queue.epoch)
        state.withLock { $0.reported = made.beacon.statements }
        return number
    }

    /// The position for a beacon; `nil` if there is no fresh fix, or beacons may not carry it.
    private var beaconLocation: WireLocation? {
        get async {
            guard case .fix(let fix)? = await location.current(for: .beacons) else { return nil }
            return WireLocation(fix)
        }
    }

    /// The organization of the enrollment; `nil` also for an identity that cannot be read, whose reason `status` gives.
    private var enrolledOrganization: String? { (try? identity.load())?.organization }

    /// The inputs of a beacon, without the figures.
    private func inputs(
        _ trigger: WireBeaconTrigger, at stamp: RecordStamp, facts: DeviceFacts.Reading, _ organization: String?,
        _ state: State
    ) -> BeaconInputs {
        BeaconInputs(
            trigger: trigger, sequence: state.beacons, stamp: stamp, facts: facts,
            standing: Self.standing(organization, trigger, state.gate), doNotDisturb: state.doNotDisturb,
            profileFindings: profileFindings(state.settings).map(\.name),
            consent: consent.consent.wire, slowdown: state.slowdown, encryption: encryption.wire)
    }

    private static func standing(_ organization: String?, _ trigger: WireBeaconTrigger, _ gate: RecordGate)
        -> EnrollmentStanding
    {
        guard let organization else { return gate.isUnenrolled ? .unenrolled(organization: "") : .unknown }
        if trigger == .unenroll { return .unenrolled(organization: organization) }
        return gate.isWiping ? .wipePending(organization: organization) : .enrolled(organization: organization)
    }

    /// Reports what became of a command.
    func record(_ result: WireCommandResult, durability: Durability) async throws(DataSamplerError) {
        _ = try await make(
            .result, .status, .commandResult, at: clock.now(), body: result.encoded, durability: durability)
    }

    /// The identity of this machine, as beacons report it.
    func machineIdentity() -> WireSystemIdentity? {
        let stamp = clock.now()
        return state.withLock { $0.facts.read(at: stamp).identity }
    }

    private func make(
        _ content: RecordGate.Content, _ stream: StreamName, _ kind: WireRecordKind, module: String = "",
        of application: String? = nil, at stamp: RecordStamp, body: Data, context: Data = Data(),
        durability: Durability
    ) async throws(DataSamplerError) -> UInt64? {
        if let application, application.utf8.count > Self.maximumApplicationBytes {
            throw DataSamplerError(
                .invalidArgument,
                "the bundle id has \(application.utf8.count) bytes: it may have at most \(Self.maximumApplicationBytes)"
            )
        }
        func admit() -> (RecordGate.Decision, PrivacyFilter, isTest: Bool, isEarly: Bool) {
            state.withLock {
                ($0.gate.admit(content, bytes: body.count), $0.filter, $0.settings.test, !$0.settings.profileChecked)
            }
        }
        var (decision, filter, isTest, isEarly) = admit()
        if case .refuse(.profileNotChecked, _, _) = decision {
            // What was counted may have been dropped since, or refused by the person.
            do throws(QueueError) {
                try await queue.flush()
                countEarlyEvents(try await queue.status())
            } catch {
                throw DataSamplerError(error)
            }
            (decision, filter, isTest, isEarly) = admit()
        }
        if case .refuse(let code, let why, let counted) = decision {
            if let counted { queue.countDropped(counted, of: stream) }
            throw DataSamplerError(code, why)
        }
        let number = try await consent.admit(to: stream) { () throws(DataSamplerError) in
            metrics.recordMade(stream)
            let isReduced =
                stream == .status && (consent.consent != .granted || (kind == .beacon && gate.isTelemetryDisabled))
            let (body, context) =
                kind == .otlpMetrics
                ? filter.filtered(body, context)
                : (filter.filtered(isReduced ? StatusReduction.reduced(body, kind: kind) : body, kind: kind), Data())
            let record = NewRecord(
                stream: stream, kind: kind, module: module, stamp: stamp,
                application: application ?? configuration.applicationIdentifier, test: isTest, context: context,
                body: body)
            do throws(QueueError) {
                var number: UInt64?
                switch durability {
                case .durable: number = try await queue.enqueueDurably(record)
                case .ordinary: try queue.enqueue(record)
                }
                metrics.recordEnqueued(stream)
                return number
            } catch {
                throw DataSamplerError(error)
            }
        }
        if content == .event, isEarly, let refusal = gate.eventRefusal {
            // The first profile came while the event was on its way, and what it refuses may have been dropped before
            // the event was there.
            state.withLock { $0.areEarlyEventsDecided = false }
            await decideEarlyEvents()
            throw DataSamplerError(refusal.code, refusal.message)
        }
        return number
    }

    // MARK: Before the first profile

    var awaitedDecisions: AwaitedDecisions {
        var result: AwaitedDecisions = consent.holdsBack ? .consent : []
        if state.withLock({ !$0.areEarlyEventsDecided }) { result.insert(.firstProfile) }
        return result
    }

    /// Counts the events that wait, as the queue has them.
    private func countEarlyEvents(_ status: QueueStatus) {
        let events = status.streams[.event]
        changeGate { $0.earlyEvents = EarlyEvents(records: events?.waiting ?? 0, bytes: events?.waitingBytes ?? 0) }
    }

    /// Once a profile is at hand: lets the events go that waited for the first one or, where it lets none be recorded,
    /// drops and counts them. To be called now and then after a failure; costs a lock where there is nothing to do.
    func decideEarlyEvents() async {
        let (isDue, refusal) = state.withLock {
            ($0.settings.profileChecked && !$0.areEarlyEventsDecided, $0.settings.eventRefusal)
        }
        guard isDue else { return }
        if refusal != nil {
            do { try await queue.dropWaiting(of: [.event], reason: .disabled) } catch {
                logger.warning(
                    "events that the first profile refuses could not be dropped yet; retrying",
                    metadata: ["error": "\(error)"])
                return
            }
        }
        state.withLock { $0.areEarlyEventsDecided = true }
    }

    /// The usage of this process since it started, for the budgets.
    func cost() -> WireSelfCost? {
        let stamp = clock.now()
        return state.withLock { $0.facts.read(at: stamp).cost }
    }
}
