import FoundationEssentials
import Transmitter
import WireModel

/// An event that a part of a device or a caller reports to the supervisor.
enum DeviceEvent: Sendable {
    /// Everything is put together, and nothing runs yet.
    case started
    /// The collector gave a profile; it is valid and not kept yet.
    case profileArriving(WireProfile)
    /// The collector gave another profile; it is valid and kept.
    case profileArrived(WireProfile)
    /// The enrollment ends, and with it the profile and the settings changed at run time; what is given stays in force
    /// until then.
    case profileErased(WireProfile?)
    /// The program changed settings that are kept.
    case settingsChanged(RuntimeSettings)
    /// The configuration was read again. What only a start reads of it stays as it was.
    case configurationRead(DataSamplerConfiguration)
    /// The program asked for a schedule of beacons; `nil`: for none.
    case beaconScheduleAsked(every: Double?)
    /// A command changed the log level, or its time is over (`nil`).
    case logLevelChanged(LogLevelWish?)
    /// Captures of logs ask for other levels.
    case capturesChanged([LogLevelWish])
    /// Other custom modules are registered.
    case customModulesChanged([String: any CustomSampleModule])
    /// Decided on this device.
    /// - Parameter request: the id under which the decision is reported to the collector.
    case doNotDisturbSwitched(Bool, request: Data)
    /// The collector answered a request for do-not-disturb.
    /// - Parameter request: what was reported to it under this id; `nil`: it was asked.
    case doNotDisturbAnswered(CollectorAnswer, request: Data?)
    case suspended(Bool)
    /// The final result of a command is in the queue.
    case commandAnswered
    case budgetJudged(BudgetVerdict)
    /// Connections showed that other certificate pins are in force.
    case pinsChanged
    /// Connections showed whether the profile's certificate authorities suffice.
    case authoritiesChanged
    /// Leaving or wiping began or came further, or what waited for a decision was dropped: something else may be
    /// recorded or sent.
    case gateChanged
    /// A decision of the person is being carried out: the stricter of two holds until `consentChanged`.
    case consentChanging
    /// It is carried out, or it failed.
    case consentChanged
    case wipeEnded
    /// A detector of compromise has another verdict.
    case verdictChanged
    /// logind reported that a screen was unlocked. It may report one unlock twice.
    case unlocked
    /// Beacons report another user of the session at the machine's screen, or none.
    /// - Parameter isAnotherPerson: since the start another person had the session.
    case sessionUserChanged(isAnotherPerson: Bool)
    /// The clock reached the end of the offline time that is allowed.
    case offlineTimeEnded
    /// The gates' new state may have lasted long enough to be reported.
    case networkSettled
    case transmitter(TransmitterEvent)
    case uploadChanged(LogUpload)
    /// A command that continues by itself came further: a request for logs, or a message.
    case commandWent(Data, CommandCourse)
}

/// Work that is done again and again on a device. Each job says after a round how long nothing is to be done.
enum DeviceJob: CaseIterable, Sendable {
    case profile
    case commands
    case logRequests
    case uploads
    case unenrollment
    case compromise
    case offlineTime
    case doNotDisturb
    case networkNotice
    case figures
}

/// The way from the parts to the supervisor: a bounded queue of events, and the wheel of jobs. Safe from any thread.
///
/// Whoever reports from where it cannot wait posts: transmitter and uploads do, at the pace of the network.
final class DeviceEvents: Sendable {
    struct Entry: Sendable {
        var event: DeviceEvent
        var handled: CheckedContinuation<Bool, Never>?
    }

    /// A handful wait at a time. An event beyond this is left out.
    private static let maximumWaiting = 1024

    let jobs = DeadlineWheel<DeviceJob>()
    /// The entries, for the supervisor alone.
    let entries: AsyncStream<Entry>
    private let continuation: AsyncStream<Entry>.Continuation

    init() { (entries, continuation) = AsyncStream.makeStream(bufferingPolicy: .bufferingOldest(Self.maximumWaiting)) }

    /// Returns once the event is handled: the device follows it. Not to be called by what the supervisor waits for.
    ///
    /// - Returns: `false` where nobody handles it, because the sampler stops.
    @discardableResult func report(_ event: DeviceEvent) async -> Bool {
        await withCheckedContinuation { handled in
            if case .enqueued = continuation.yield(Entry(event: event, handled: handled)) { return }
            handled.resume(returning: false)
        }
    }

    func post(_ event: DeviceEvent) { continuation.yield(Entry(event: event)) }

    /// Has a job done at once.
    func wake(_ job: DeviceJob) { jobs.wake(job) }

    /// Closes the queue: events that wait are still handled; later ones are not.
    func finish() { continuation.finish() }
}
