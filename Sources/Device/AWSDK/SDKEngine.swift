import DataSampler
import Dispatch
import Foundation
import LogStore
import Logging
import Synchronization

/// The one data sampler behind the names of this module, and what was last known of it.
///
/// The documented calls return at once, the data sampler's wait. So a call becomes a job, and jobs begin in the order
/// of the calls. A job that waits for the collector lets the next one begin. Delegate and completions are called on one
/// serial queue, so a callback that blocks holds up neither the jobs nor the data sampler.
final class SDKEngine: Sendable {
    typealias Job = @Sendable () async -> Void
    typealias MakeSampler =
        @Sendable (DataSamplerConfiguration, any DataSamplerDelegate) throws(DataSamplerError) -> DataSampler

    static let shared = SDKEngine { configuration, delegate throws(DataSamplerError) in
        try DataSampler(configuration: configuration, delegate: delegate)
    }

    /// Why the application should lock.
    enum Lock { case offline, blocked }

    private struct State {
        var configuration: DataSamplerConfiguration?
        weak var delegate: (any AWControllerDelegate)?
        var sampler: DataSampler?
        var check: Task<Void, Never>?
        /// The initial check has decided; it may not have reported yet.
        var hasEndedCheck = false
        /// The delegate was informed of a check without an error.
        var hasPassedCheck = false
        var hasOtherCollector = false
        var locks: Set<Lock> = []
        var facts = Facts()
        var refreshes = 0
    }

    /// The facts that the synchronous calls answer from.
    private struct Facts {
        var turn = 0
        var information: DeviceInformation?
        var profile: Profile?
        var device: String?
        /// The obstacle, as in `DataSamplerStatus.Collector.obstacle`.
        var obstacle: String?
    }

    /// How long a completion waits for the collector.
    let deliveryLimit: Duration
    let logs: SDKLogs
    let logger = Logger(label: "ws1.awsdk")
    private let makeSampler: MakeSampler
    private let checkLimit: Duration
    private let state = Mutex(State())
    private let callbacks = DispatchQueue(label: "ws1.awsdk.callbacks")
    private let jobs: AsyncStream<Job>.Continuation

    /// The greatest number of calls that have not begun; more are refused.
    private static let maximumJobs = 10_000

    init(
        checkLimit: Duration = .seconds(30), deliveryLimit: Duration = .seconds(60), makeSampler: @escaping MakeSampler
    ) {
        self.makeSampler = makeSampler
        self.checkLimit = checkLimit
        self.deliveryLimit = deliveryLimit
        logs = SDKLogs()
        let (stream, jobs) = AsyncStream.makeStream(of: Job.self, bufferingPolicy: .bufferingOldest(Self.maximumJobs))
        self.jobs = jobs
        Task { for await job in stream { await job() } }
    }

    deinit { jobs.finish() }

    var delegate: (any AWControllerDelegate)? {
        get { state.withLock { $0.delegate } }
        set { state.withLock { $0.delegate = newValue } }
    }

    var configuration: DataSamplerConfiguration? {
        get { state.withLock { $0.configuration } }
        set {
            // The log store is opened before the data sampler, with the same keys.
            let configuration = newValue?.withKeys(logger: Logger(label: "ws1.sampler"))
            state.withLock { $0.configuration = configuration }
            logs.configure(configuration)
        }
    }

    var profile: Profile? { state.withLock { $0.facts.profile } }
    /// `nil` before the first start.
    var information: DeviceInformation? { state.withLock { $0.facts.information } }
    /// The device's id; `nil` before it is enrolled.
    var device: String? { state.withLock { $0.facts.device } }

    // MARK: Life

    func start() {
        let configuration = configuration
        enqueue("start") { [self] in
            guard state.withLock({ $0.sampler }) == nil else { return }
            do {
                let sampler = try makeSampler(try complete(configuration), self)
                try await sampler.start()
                state.withLock { state in
                    state.sampler = sampler
                    state.check = Task {
                        await self.check(sampler)
                        await self.checkAssignment(sampler)
                    }
                }
            } catch {
                finishCheck(AWSDKError.error(for: error))
            }
        } refused: { [self] in
            finishCheck($0)
        }
    }

    func stop(_ completion: SDKCompletion?) {
        perform(
            "stop", isOrdered: true,
            { [self] sampler in
                let check = state.withLock { $0.check }
                check?.cancel()
                await check?.value
                await sampler?.stop()
                await logs.close()
                for lock in [Lock.offline, .blocked] { change(lock, isLocked: false) }
                state.withLock { state in
                    state.facts = Facts(turn: state.refreshes, device: state.facts.device)
                    (state.sampler, state.check) = (nil, nil)
                    (state.hasEndedCheck, state.hasPassedCheck, state.hasOtherCollector) = (false, false, false)
                }
            }, then: Self.reported(completion))
    }

    /// Keeps the configuration for the next start, and applies it to the data sampler if one runs.
    func reconfigure(_ changed: DataSamplerConfiguration, _ completion: SDKCompletion?) {
        configuration = changed
        perform("configure", isOrdered: true, { try await $0?.reconfigure(changed) }, then: Self.reported(completion))
    }

    /// Erases what the data sampler keeps. One that does not run is started for it, and stopped afterwards.
    func destroyContainer(_ completion: SDKCompletion?) {
        let configuration = configuration
        perform(
            "destroyContainerData", isOrdered: true,
            { [self] sampler in
                guard let sampler else {
                    let sampler = try makeSampler(try complete(configuration), self)
                    try await sampler.start()
                    do { try await Self.wipe(sampler) } catch {
                        await sampler.stop()
                        throw error
                    }
                    await sampler.stop()
                    return await logs.close()
                }
                report { $0.controllerWillStartRefresh() }
                var failure: NSError?
                do { try await Self.wipe(sampler) } catch { failure = AWSDKError.error(for: error) }
                report { [failure] in $0.controllerDidFinishInitialCheck(error: failure) }
                if let failure { throw failure }
            }, then: Self.reported(completion))
    }

    private static func wipe(_ sampler: DataSampler) async throws {
        try await sampler.wipe(reason: "destroyContainerData")
    }

    /// - Throws: an error with the number of what is missing.
    private func complete(_ given: DataSamplerConfiguration?) throws -> DataSamplerConfiguration {
        guard var configuration = given else {
            throw AWSDKError.missingRequiredInformation.error(
                "there is no configuration: set AWController.clientInstance().configuration before start()")
        }
        guard !configuration.applicationIdentifier.isEmpty else {
            throw AWSDKError.applicationIdentityNotSet.error(
                "the configuration has no applicationIdentifier: set it, for instance to com.example.kiosk")
        }
        guard URL(string: configuration.collectorURL)?.host != nil else {
            throw AWSDKError.invalidServerDetails.error(
                "the configuration's collectorURL is neither http[s]://HOST[:PORT][/PREFIX] nor "
                    + "mqtts://BROKER[:PORT]/PREFIX: correct it")
        }
        configuration.logStore = try configuration.logStore ?? logs.open()
        return configuration
    }

    // MARK: The initial check

    private func check(_ sampler: DataSampler) async {
        let first = try? await sampler.firstProfile(within: checkLimit)
        await refresh(sampler)
        guard let first, !Task.isCancelled else {
            return finishCheck(AWSDKError.stopSDKRequested.error("the SDK was stopped before its initial check ended"))
        }
        let (facts, hasOtherCollector) = state.withLock { state in
            state.hasEndedCheck = true
            return (state.facts, state.hasOtherCollector)
        }
        let information = facts.information
        let failure: NSError? =
            if hasOtherCollector {
                otherCollector
            } else if information?.enrollment == .known(.unenrolled) {
                AWSDKError.deviceNotEnrolled.error(
                    "this device was unenrolled: give it another enrollment token to enroll it again")
            } else if let information, information.isSupported == .known(false) {
                AWSDKError.consoleVersionNotCompatible.error(
                    "the collector's version is \(information.collectorVersion), which this library does not speak")
            } else {
                switch first {
                case .atHand: objection
                case .refused(let why): AWSDKError.emptyProfiles.error(why)
                case .forbidden(let why): AWSDKError.enrollmentBlocked.error(why)
                case .notReached where facts.device == nil && configuration?.enrollmentToken == nil:
                    AWSDKError.deviceNotEnrolled.error("this device is not enrolled and has no enrollment token")
                case .notReached(let why):
                    switch facts.obstacle {
                    case "pin-mismatch": AWSDKError.failedToFetchPinningCertificate.error(why)
                    case "not-a-collector": AWSDKError.nonAirWatchConsole.error(why)
                    default: AWSDKError.serverIsNotReachableForRequiredSetup.error(why)
                    }
                }
            }
        finishCheck(failure)
    }

    /// Why the check does not pass although there is a profile.
    private var objection: NSError? {
        let isBlocked = state.withLock {
            $0.locks.contains(.blocked) && $0.facts.information?.isCompromised == .known(true)
        }
        guard isBlocked else { return nil }
        return AWSDKError.deviceIsCompromised.error(
            "detectors found signs of compromise on this device, and the profile blocks such a device")
    }

    /// Asks whether the application is assigned to this device, once a profile is at hand. Nothing waits for it: a
    /// device without a network would begin late.
    private func checkAssignment(_ sampler: DataSampler) async {
        let application = configuration?.applicationIdentifier ?? ""
        guard state.withLock({ $0.hasPassedCheck }), !Task.isCancelled,
            let assignment = try? await sampler.fetchApplicationAssignmentStatus(),
            assignment.status(of: application) == .notAssigned, !Task.isCancelled
        else { return }
        let error = AWSDKError.applicationNotAssigned.error(
            "\(application) is not among the applications that are assigned to this device")
        report { $0.controllerDidFinishInitialCheck(error: error) }
    }

    private var otherCollector: NSError {
        AWSDKError.enrollmentInfoNotMatched.error(
            "this device is enrolled at another collector than \(configuration?.collectorURL ?? ""): point the "
                + "configuration back, or unenroll the device")
    }

    /// Once a check has passed, nothing more is reported: a profile may arrive while a failure is on its way.
    private func finishCheck(_ failure: NSError?) {
        let isNews = state.withLock { state in
            defer { if failure == nil { state.hasPassedCheck = true } }
            return !state.hasPassedCheck
        }
        if isNews { report { $0.controllerDidFinishInitialCheck(error: failure) } }
    }

    /// Asks the data sampler what it knows, and informs the delegate of what has changed.
    func refresh(_ sampler: DataSampler) async {
        let turn = state.withLock { state in
            state.refreshes += 1
            return state.refreshes
        }
        guard let information = try? await sampler.deviceInformation() else { return }
        let profile = (try? await sampler.profile()).map { Profile($0) }
        let status = try? await sampler.status()
        state.withLock { state in
            // What was asked later was reported already.
            guard turn > state.facts.turn else { return }
            let former = state.facts
            state.facts = Facts(
                turn: turn, information: information, profile: profile, device: status?.enrollment.device,
                obstacle: status?.collector.obstacle)
            // Under the lock: the reports of another refresh come after this, as does the end of the initial check.
            if let profile, profile != former.profile { report { $0.controllerDidReceive(profiles: [profile]) } }
            let enrollment = EnrollmentStatus(information.enrollment)
            if enrollment != EnrollmentStatus(former.information?.enrollment) {
                report { $0.controllerDidReceive(enrollmentStatus: enrollment) }
            }
        }
    }

    /// The data sampler that may encrypt: none before the initial check has passed.
    var unlocked: DataSampler? { state.withLock { $0.hasPassedCheck ? $0.sampler : nil } }

    // MARK: Calls

    /// Calls the data sampler, after the calls made before have begun. Fails if it does not run.
    ///
    /// - Parameters:
    ///   - isOrdered: the next call begins only when this one has ended.
    ///   - then: `nil`: a failure is logged.
    func call<Value: Sendable>(
        _ name: String, isOrdered: Bool = false, _ body: @escaping @Sendable (DataSampler) async throws -> Value,
        then: (@Sendable (Result<Value, NSError>) -> Void)?
    ) {
        perform(name, isOrdered: isOrdered, { try await body(try Self.running($0)) }, then: then)
    }

    func call<Value: Sendable>(
        _ name: String, isOrdered: Bool = false, _ body: @escaping @Sendable (DataSampler) async throws -> Value,
        then: SDKCompletion?
    ) {
        call(name, isOrdered: isOrdered, body, then: Self.reported(then))
    }

    /// - Parameter body: gets the data sampler that runs; `nil` if none does.
    private func perform<Value: Sendable>(
        _ name: String, isOrdered: Bool, _ body: @escaping @Sendable (DataSampler?) async throws -> Value,
        then: (@Sendable (Result<Value, NSError>) -> Void)?
    ) {
        let run: Job = { [self] in
            let result: Result<Value, NSError>
            do { result = .success(try await body(state.withLock { $0.sampler })) } catch {
                result = .failure(AWSDKError.error(for: error))
            }
            if then == nil, case .failure(let error) = result { log(name, error) }
            callbacks.async { then?(result) }
        }
        enqueue(name) {
            if isOrdered { await run() } else { Task { await run() } }
        } refused: { [self] error in
            callbacks.async { then?(.failure(error)) }
        }
    }

    private static func reported<Value: Sendable>(
        _ completion: SDKCompletion?
    ) -> (@Sendable (Result<Value, NSError>) -> Void)? {
        guard let completion else { return nil }
        return { result in
            switch result {
            case .success: completion(true, nil)
            case .failure(let error): completion(false, error)
            }
        }
    }

    /// Waits for the data sampler on the caller's thread.
    @available(*, noasync) func wait<Value: Sendable>(
        _ name: String, _ body: @escaping @Sendable (DataSampler) async throws -> Value
    ) -> Value? {
        let answer = Answer<Value>()
        let done = DispatchSemaphore(value: 0)
        enqueue(name) { [self] in
            Task { [self] in
                do {
                    let value = try await body(try Self.running(state.withLock { $0.sampler }))
                    answer.value.withLock { $0 = value }
                } catch {
                    log(name, AWSDKError.error(for: error))
                }
                done.signal()
            }
        } refused: { _ in
            done.signal()
        }
        done.wait()
        return answer.value.withLock { $0 }
    }

    /// The result that a task found for the thread that waits for it.
    private final class Answer<Value: Sendable>: Sendable {
        let value = Mutex<Value?>(nil)
    }

    func report(_ body: @escaping @Sendable (any AWControllerDelegate) -> Void) {
        callbacks.async { [self] in if let delegate { body(delegate) } }
    }

    private static func running(_ sampler: DataSampler?) throws -> DataSampler {
        guard let sampler else {
            throw AWSDKError.missingRequiredInformation.error("the SDK does not run: call AWController.start() first")
        }
        return sampler
    }

    private func enqueue(_ name: String, _ job: @escaping Job, refused: (NSError) -> Void) {
        if case .enqueued = jobs.yield(job) { return }
        let error = AWSDKError.internalError.error(
            "\(name) was not carried out: \(Self.maximumJobs) calls wait already. Call less often")
        log(name, error)
        refused(error)
    }

    private func log(_ call: String, _ error: NSError) {
        logger.warning("a call failed", metadata: ["call": "\(call)", "reason": "\(error.localizedDescription)"])
    }
}

extension SDKEngine: DataSamplerDelegate {
    func dataSampler(_ sampler: DataSampler, noticed notice: DataSamplerNotice) async {
        await refresh(sampler)
        // A check that still lasts ends by itself.
        let hasEndedCheck = state.withLock { state in
            if notice.kind == .collectorChanged { state.hasOtherCollector = true }
            return state.hasEndedCheck
        }
        switch notice.kind {
        case .profileApplied: if hasEndedCheck { finishCheck(objection) }
        case .collectorChanged:
            if hasEndedCheck {
                let error = otherCollector
                report { $0.controllerDidFinishInitialCheck(error: error) }
            }
        case .wiped: report { $0.controllerDidWipeCurrentUserData() }
        case .userChanged: report { $0.controllerDidDetectUserChange() }
        case .networkStopped:
            if let gate = notice.closedGate {
                report { $0.applicationShouldStopNetworkActivity(reason: NetworkActivityStatus(gate)) }
            }
        case .networkResumed: report { $0.applicationCanResumeNetworkActivity() }
        case .offlineTimeExceeded: change(.offline, isLocked: true)
        case .reachable: change(.offline, isLocked: false)
        case .blocked:
            change(.blocked, isLocked: true)
            // A check that ends from now on finds the lock itself.
            if state.withLock({ $0.hasEndedCheck }), let objection {
                report { $0.controllerDidFinishInitialCheck(error: objection) }
            }
        case .unblocked:
            change(.blocked, isLocked: false)
            if hasEndedCheck, state.withLock({ $0.facts.profile != nil }) { finishCheck(nil) }
        default: break
        }
    }

    private func change(_ lock: Lock, isLocked: Bool) {
        let reported = state.withLock { state -> Bool? in
            let wasLocked = !state.locks.isEmpty
            if isLocked { state.locks.insert(lock) } else { state.locks.remove(lock) }
            return wasLocked == !state.locks.isEmpty ? nil : !wasLocked
        }
        switch reported {
        case true?: report { $0.controllerDidLockDataAccess() }
        case false?: report { $0.controllerDidUnlockDataAccess() }
        case nil: break
        }
    }
}
