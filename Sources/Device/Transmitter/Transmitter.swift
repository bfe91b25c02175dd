import DeviceTunables
import FoundationEssentials
import Logging
import RecordQueue
import Synchronization
import WireModel

/// Sends what waits in the queue to the collector: status first, one part per stream and request, until nothing is due.
///
/// It is the shell around `TransmitterStateMachine` and `GatePolicy`. It reads the queue, speaks to the collector
/// through a `Transport`, passes answers to the queue, and waits. One exchange runs at a time. A record leaves the
/// queue only by an acknowledgement that the queue itself has checked. Cancelling `run` at any point leaves the disk
/// consistent: an answer that was not applied costs one repetition.
package actor Transmitter {
    let queue: RecordQueue
    let transport: any Transport
    let enrollments: any EnrollmentStore
    let clock: any RecordClock
    let roll: @Sendable () -> Double
    let logger: Logger
    let agentVersion: String
    nonisolated let published = Mutex(TransmitterStatus())
    private let sleeper: any Clock<Duration>
    private let conditions: any ConditionsSource
    let events: EventSink<TransmitterEvent>
    let timer: TransmitTimer
    let mutex = AsyncMutex()

    private(set) var settings: TransmitterSettings
    var machine: TransmitterStateMachine
    var gate = GatePolicy()
    /// The streams that were open at the last check of the gates.
    private var openStreams: Set<StreamName> = []
    private var closedStreams: [StreamName: TransmissionGate.Reason] = [:]
    private var reportedGates: [StreamName: TransmissionGate.Reason] = [:]
    /// Whether the last attempt that tested the proxy failed because of it.
    private var isProxyFailing = false
    /// The conditions during the present exchange.
    var conditionsNow = DeviceConditions()
    private var isEnding = false
    var enrollment: Enrollment?
    /// A grant that is not on disk yet. Requesting another would leave a device at the collector that never reports.
    var granted: Grant?
    var certificate = ClientCertificateStateMachine()
    var credentialRenewal = CredentialRenewal()
    /// Since when nobody answers.
    var unreachableSince: RecordStamp?
    var wasReached = false
    var isForbidden = false
    /// The credential before the last rotation is in use, because the newer one was refused.
    var hasFallenBack = false
    /// The queue may have found diverged histories, in this run or an earlier one.
    var mayHaveDiverged = true
    var closes = CloseRounds()
    private var announcedBlocked: Set<StreamName> = []
    private var reportedFailures = ReportedFailures()

    /// - Parameters:
    ///   - settings: in force until the first `apply`.
    ///   - partBytes: the most bytes of records in one part.
    ///   - agentVersion: sent to the collector as `User-Agent`.
    ///   - conditions: what the gates are decided by.
    ///   - events: hears what the collector says.
    ///   - sleeper: what waits are measured with. It has to count suspend, as ContinuousClock does: on Linux its sleeps
    ///     are timers of CLOCK_BOOTTIME, so that a pass overdue after a resume is made at once. Tests inject their own.
    ///   - roll: random numbers, 0 up to 1, for the jitter.
    package init(
        queue: RecordQueue, transport: any Transport, enrollments: any EnrollmentStore, settings: TransmitterSettings,
        partBytes: Int = WireLimits.partBytes, agentVersion: String,
        conditions: any ConditionsSource = UnknownConditions(), events: EventSink<TransmitterEvent> = .none,
        clock: any RecordClock = SystemRecordClock(), sleeper: any Clock<Duration> = ContinuousClock(),
        roll: @escaping @Sendable () -> Double = { Double.random(in: 0..<1) }, logger: Logger
    ) {
        self.queue = queue
        self.transport = transport
        self.enrollments = enrollments
        self.conditions = conditions
        self.events = events
        self.clock = clock
        self.sleeper = sleeper
        self.roll = roll
        self.logger = logger
        self.agentVersion = agentVersion
        self.settings = settings
        machine = TransmitterStateMachine(partBytes: partBytes)
        timer = TransmitTimer(settings: settings, clock: clock, sleeper: sleeper)
        if !settings.pins.isEmpty { transport.pin(to: settings.pins) }
    }

    /// A snapshot; safe from any thread.
    nonisolated package var status: TransmitterStatus { published.withLock { $0 } }

    /// Requests a pass over all streams now, because a status record was queued or a person asked. Does not shorten a
    /// backoff. Safe from any thread; never blocks.
    nonisolated package func transmitNow() { timer.transmitNow() }

    /// A person requests an attempt now. As `transmitNow`, but it also ends a hold, for instance because the collector
    /// rejects this device. A backoff stays, since nobody answers sooner because a person asks. Safe from any thread;
    /// never blocks.
    nonisolated package func tryNow() {
        timer.transmitNow()
        timer.end(.hold)
    }

    /// A sample module's record was queued. Needed only to keep transmit intervals of single modules. Cheap, safe from
    /// any thread. Wakes the loop only if the module's interval ends before the next pass.
    nonisolated package func recorded(module: String) { timer.recorded(module: module) }

    /// Replaces all settings. They apply from the next request on. Gates and intervals are evaluated at once.
    package func apply(_ settings: TransmitterSettings) async {
        let pins = self.settings.pins
        self.settings = settings
        if settings.pins != pins { transport.pin(to: settings.pins) }
        timer.apply(settings)
    }

    /// The key that the collector showed on the last connection; `nil`: none was made, or there is no TLS.
    nonisolated package var serverKey: Data? { transport.serverKey }

    /// The reason that keeps this stream from being sent now; `nil` if there is none. Reads the network's state.
    package func gate(of stream: StreamName) -> TransmissionGate.Reason? { gates().closed[stream] }

    // MARK: The loop

    /// Sends at the transmit interval and on demand until its task is cancelled. Call it once.
    package func run() async {
        while !Task.isCancelled {
            switch await pass(isUrgent: timer.drainUrgency()) {
            case .finished: await timer.wait(atMost: nil, willWait: publishNext)
            case .waiting(let duration): await timer.wait(atMost: duration, willWait: publishNext)
            case .paused(let duration):
                publishNext(duration)
                await timer.pause(for: duration, status.state == .holding ? .hold : .backoff)
            }
        }
        published.withLock { $0.state = .stopped }
    }

    /// Makes one more pass at an orderly stop, after `run` has returned.
    /// - Returns: whether nothing that is due waits.
    package func drain(within duration: Duration) async -> Bool {
        let sleeper = sleeper
        return await withTaskGroup(of: Bool?.self) { group in
            group.addTask { await self.lastPass() == .finished }
            group.addTask {
                try? await sleeper.sleep(for: duration)
                return nil
            }
            let first = await group.next() ?? nil
            group.cancelAll()
            return first ?? false
        }
    }

    /// A program that ends does not wait for a busy machine to calm down, because it may not run again soon.
    private func lastPass() async -> PassResult {
        isEnding = true
        return await pass()
    }

    package enum PassResult: Equatable, Sendable {
        /// Nothing that is due waits.
        case finished
        /// Records wait that may not be sent yet. Check again after this time, or when woken.
        case waiting(Duration)
        /// The pass stopped early. Wait this long, whoever asks.
        case paused(Duration)
    }

    /// Sends until nothing is due or something prevents it.
    /// - Parameter isUrgent: send all streams. Otherwise samples are included only if the schedule says so.
    package func pass(isUrgent: Bool = true) async -> PassResult {
        closes.passBegan()
        let takesSamples = timer.passBegan(isUrgent: isUrgent)
        let streams = takesSamples ? Set(StreamName.allCases) : [.status, .event]
        var result: PassResult?
        while result == nil, !Task.isCancelled {
            guard await mutex.enter() else { break }
            let step = await step(streams)
            mutex.leave()
            if case .over(let over) = step { result = over }
        }
        if takesSamples, leavesSamples(result) { timer.passWasCut() }
        return result ?? .paused(.zero)
    }

    /// Whether samples of this pass may still be waiting.
    private func leavesSamples(_ result: PassResult?) -> Bool {
        switch result {
        case .finished, .waiting: !openStreams.contains(.sample) || machine.holdsBack(.sample)
        case .paused, nil: true
        }
    }

    enum Step {
        case goOn
        case over(PassResult)
    }

    /// Everything up to one batch, and the consequences of its answer.
    private func step(_ streams: Set<StreamName>) async -> Step {
        do throws(QueueError) {
            let decision = gates()
            guard !decision.open.isEmpty else {
                published.withLock { $0.state = .gated }
                return .over(decision.isLookedAtAgain ? .waiting(Tunables.Transmission.gateLook) : .finished)
            }
            guard let enrollment else { return try await perform(await enrollIfNeeded()) }
            if !settings.isLeaving {
                if await renewCertificateIfDue() { return .goOn }
                if await renewCredentialIfDue() { return .goOn }
            }
            if let action = try await settleEpochs(enrollment) { return try await perform(action) }
            let now = clock.now().timeSinceBoot
            let open = streams.intersection(decision.open)
            for planned in machine.plan(at: now).requests {
                // Settings may have changed while they were read: what was recorded under do-not-disturb, or before the
                // person has decided, is not among them then.
                let parts = try await nextParts(planned, of: open).filter {
                    settings.heldStreams[$0.stream] == nil
                }
                if parts.isEmpty {
                    machine.foundNothing(in: planned.map(\.stream))
                    continue
                }
                let (action, pace) = try await exchange(parts, enrollment)
                announceBlocked()
                if pace > .zero, action == .goOn { return .over(.paused(pace)) }
                return try await perform(action)
            }
            return .over(nothingDue(decision, now: now))
        } catch {
            failed("the queue: \(error.message)", .backingOff)
            return .over(.paused(machine.localPause(roll: roll())))
        }
    }

    private func perform(_ action: TransmitterStateMachine.Action) async throws(QueueError) -> Step {
        switch action {
        case .goOn: return .goOn
        case .enrollAgain: return try await perform(await enrollAgain())
        case .quarantine(let stream, let why):
            let gap = try await queue.drop(oldest: 1, of: stream, reason: .quarantined, keepAside: true)
            logger.warning(
                """
                a record alone was refused while others passed, and is quarantined; `ws1agent queue retry` sends it \
                again
                """,
                metadata: ["stream": "\(stream)", "number": "\(gap?.last ?? 0)", "reason": "\(why)"])
            return .goOn
        case .retry(let duration, let why):
            failed(why, .backingOff)
            return .over(.paused(duration))
        case .hold(let why, let lookAgain):
            failed(why, .holding)
            return .over(.paused(lookAgain))
        }
    }

    private func gates() -> GatePolicy.Decision {
        let decision = gate.decide(
            rules: settings.rules, held: settings.heldStreams, conditions: lookAtConditions(),
            now: clock.now().timeSinceBoot)
        openStreams = decision.open
        let reasons = Dictionary(uniqueKeysWithValues: decision.closed.map { ("\($0.key)", "\($0.value)") })
        published.withLock { if $0.gates != reasons { $0.gates = reasons } }
        if decision.closed.values.contains(.offline) { unreachable("offline: no way out of this machine") }
        if !decision.isTrial {
            closedStreams = decision.closed
            reportGates()
        }
        return decision
    }

    /// An attempt showed whether the proxy works. Where there is no way out, the proxy is not to blame.
    func proxy(isFailing: Bool) {
        isProxyFailing = isFailing && conditionsNow.network != .offline
        reportGates()
    }

    private func reportGates() {
        var closed = closedStreams
        if isProxyFailing { for stream in StreamName.allCases where closed[stream] == nil { closed[stream] = .proxy } }
        guard closed != reportedGates else { return }
        reportedGates = closed
        events.post(.gatesChanged(closed))
    }

    func lookAtConditions() -> DeviceConditions {
        conditionsNow = conditions.current()
        if isEnding { conditionsNow.stalled = nil }
        return conditionsNow
    }

    private func nothingDue(_ decision: GatePolicy.Decision, now: UInt64) -> PassResult {
        let probe = machine.nextProbe(after: now)
        if probe == nil { reportedFailures.sentAll() }
        published.withLock {
            $0.state = probe == nil ? .idle : .backingOff
            $0.reason = probe?.why
        }
        var waits = decision.isLookedAtAgain ? [Tunables.Transmission.gateLook] : []
        for due in [probe?.at, closes.next].compactMap({ $0 }) {
            waits.append(.microseconds(Int64(clamping: due > now ? due - now : 0)))
        }
        return waits.min().map { .waiting($0) } ?? .finished
    }

    private func nextParts(_ planned: [TransmitPlan.Part], of streams: Set<StreamName>) async throws(QueueError)
        -> [BatchPart]
    {
        var parts: [BatchPart] = []
        for planned in planned where streams.contains(planned.stream) {
            let hold = planned.stream == .event ? settings.eventHold : .zero
            if let part = try await queue.nextPart(
                of: planned.stream, maximumBytes: planned.maximumBytes, maximumRecords: planned.maximumRecords,
                hold: hold)
            {
                parts.append(part)
            }
        }
        return parts
    }
}

// MARK: - What status and events report

extension Transmitter {
    private func announceBlocked() {
        let blocked = machine.blocked
        let shown = Dictionary(uniqueKeysWithValues: blocked.map { ("\($0.key)", $0.value) })
        published.withLock { if $0.blocked != shown { $0.blocked = shown } }
        // A single refusal may have any cause.
        let lasting = blocked.filter { $0.value.refusals > 1 }
        for (stream, blocked) in lasting where !announcedBlocked.contains(stream) {
            events.post(.blocked(stream, why: blocked.why))
        }
        announcedBlocked = Set(lasting.keys)
    }

    func failed(_ why: String, _ state: TransmitterStatus.State) {
        // A stop cancelled the request. Nothing failed.
        guard !Task.isCancelled else { return }
        let now = clock.now()
        let former = published.withLock { status in
            let former = status.reason
            status.state = state
            status.reason = why
            status.lastFailure = now.wallTime
            status.lastFailureReason = why
            return former
        }
        let isNews = reportedFailures.report(why, after: former, now: now.timeSinceBoot)
        if isNews { logger.warning("cannot send", metadata: ["state": "\(state.rawValue)", "reason": "\(why)"]) }
    }

    nonisolated private func publishNext(_ duration: Duration) {
        let next = clock.now().wallTime &+ Int64(clamping: duration.wholeMicroseconds)
        published.withLock { $0.nextAttempt = next }
    }
}
