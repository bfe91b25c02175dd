import FoundationEssentials
import Logging
import RecordQueue
import Synchronization
import Transmitter
import WireModel

/// Everything that is open while this process holds the queue directory: queue, identity, and the making of records.
///
/// Samples nothing and sends nothing by itself; the running data sampler adds that, and a command that finds no agent running uses just this.
/// Safe from any thread.
final class SamplerCore: Sendable {
    private struct Making {
        var facts: DeviceFacts
        var beacons: UInt64 = 0
    }

    let configuration: DataSamplerConfiguration
    let queue: RecordQueue
    let identity: IdentityStore
    let clock: any RecordClock
    let logger: Logger
    let analytics: AnalyticsLedger
    let beacons: BeaconMaker
    private let making: Mutex<Making>
    private let applied: Mutex<DeviceSettings>

    /// The settings in force.
    var settings: DeviceSettings { applied.withLock { $0 } }

    /// Takes the directory's lock and opens the queue, waiting up to `environment.lockWait` for another process to let it go.
    static func open(
        _ configuration: DataSamplerConfiguration, environment: SamplerEnvironment, logger: Logger
    ) async throws(DataSamplerError) -> SamplerCore {
        var settings = RecordQueue.Configuration()
        settings.lossWindow = .seconds(configuration.lossWindow)
        let step = Duration.milliseconds(100)
        var waited = Duration.zero
        while true {
            do {
                let queue = try RecordQueue.open(
                    directory: configuration.directory, configuration: settings, clock: environment.clock, logger: logger)
                return SamplerCore(configuration, queue: queue, environment: environment, logger: logger)
            } catch  where error.code == .inUse && waited < environment.lockWait && !Task.isCancelled {
                // A lock held by another process cannot be awaited without blocking a thread; a start asks for it a few times.
                try? await environment.sleeper.sleep(for: step)
                waited += step
            } catch {
                throw DataSamplerError(error)
            }
        }
    }

    private init(_ configuration: DataSamplerConfiguration, queue: RecordQueue, environment: SamplerEnvironment, logger: Logger) {
        self.configuration = configuration
        self.queue = queue
        let settings = DeviceSettings.resolve(local: configuration, profile: nil)
        applied = Mutex(settings)
        self.logger = logger
        clock = environment.clock
        analytics = AnalyticsLedger(
            directory: configuration.directory, clock: environment.clock, isEnabled: settings.analyticsEnabled, logger: logger)
        beacons = BeaconMaker(
            configuration: configuration, detectors: environment.detectors(configuration, environment.host), clock: environment.clock,
            logger: logger)
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
        request.test = configuration.isTest
        identity = IdentityStore(
            directory: configuration.directory, machineHash: environment.machineHash,
            enrollmentToken: configuration.enrollmentToken, request: request)
        making = Mutex(Making(facts: facts))
    }

    /// - Parameter stamp: when it was; `nil`: now.
    /// - Returns: the event's number in its stream; `nil` for an ordinary one, which gets it later.
    func record(
        _ event: AnalyticsEvent, durability: Durability, at stamp: RecordStamp? = nil
    ) async throws(DataSamplerError) -> UInt64? {
        guard settings.analyticsEnabled else {
            throw DataSamplerError(.analyticsDisabled, "analytics is not enabled: the event was not recorded")
        }
        var message = event.message
        if message.sessionID.isEmpty { message.sessionID = analytics.sessionID.data }
        let record = record(.event, .event, at: stamp ?? clock.now(), body: message.encoded)
        let number: UInt64?
        do {
            switch durability {
            case .durable: number = try await queue.enqueueDurably(record)
            case .ordinary:
                try queue.enqueue(record)
                number = nil
            }
        } catch {
            throw DataSamplerError(error)
        }
        analytics.eventRecorded()
        return number
    }

    /// Makes a beacon of the present and returns its number once it is on synced disk.
    func recordBeacon(_ trigger: WireBeaconTrigger, nextBeaconSeconds: UInt32) async throws(DataSamplerError) -> UInt64 {
        // A beacon without queue figures tells more than none: a queue that cannot count will show when the beacon is queued.
        let status = try? await queue.status()
        let stamp = clock.now()
        let (facts, sequence) = making.withLock { making in
            making.beacons += 1
            return (making.facts.read(at: stamp), making.beacons)
        }
        // Of an identity that cannot be read nothing is known here; `status` says why.
        let enrollment = try? identity.load()
        let made = await beacons.make(
            .init(
                trigger: trigger, nextBeaconSeconds: nextBeaconSeconds, sequence: sequence, stamp: stamp, facts: facts,
                standing: enrollment.map { .enrolled(organization: $0.organization) } ?? .unknown, settings: settings, queue: status))
        let number: UInt64
        do {
            number = try await queue.enqueueDurably(record(.status, .beacon, at: stamp, body: made.beacon.encoded))
        } catch {
            throw DataSamplerError(error)
        }
        beacons.queued(made, number: number, epoch: queue.epoch)
        return number
    }

    func record(_ stream: StreamName, _ kind: WireRecordKind, module: String = "", at stamp: RecordStamp, body: Data) -> NewRecord {
        NewRecord(
            stream: stream, kind: kind, module: module, stamp: stamp, application: configuration.applicationIdentifier,
            test: settings.test, body: body)
    }

    /// Tells the launch of this run as an event, once, with the time it had; where the gate for events is shut it stays to be told later.
    func recordLaunch() async {
        guard settings.analyticsEnabled, let launch = analytics.takeUntoldLaunch() else { return }
        do throws(DataSamplerError) {
            _ = try await record(AnalyticsEvent(.launch), durability: .ordinary, at: launch)
        } catch {
            logger.warning("the launch was not recorded as an event", metadata: ["code": "\(error.code)", "reason": "\(error.message)"])
        }
    }

    /// Lets the analytics ledger see what has become of the events.
    func observeEvents() async {
        // Without figures the next sample tells the rest; a queue that cannot answer shows elsewhere.
        guard let status = try? await queue.status(holds: [.event: settings.eventHold]) else { return }
        analytics.observe(status)
    }

    func close() async {
        analytics.stop()
        await queue.close()
    }
}
