import FoundationEssentials
import Gzip
import Logging
import RecordQueue
import SwiftProtobuf
import Synchronization
import WireModel

/// Carries what waits in the queue to the collector: one part per stream and request, status first, until nothing is due.
///
/// The shell around `TransmitterStateMachine`: it reads the queue, speaks to the collector through a `Transport`, hands answers to the queue, and
/// waits. A record leaves the queue only by an acknowledgement that the queue itself has checked. Cancelling `run` at any point leaves
/// everything on disk consistent: an answer not applied costs one repeat.
package actor Transmitter {
    package struct Configuration: Sendable {
        /// Time between two passes when nothing is urgent.
        package var transmitInterval: Duration
        /// Events are not sent before they are this old by the queue's clock.
        package var eventHold: Duration
        /// The beacon schedule the collector derives *reporting*, *late* and *silent* from; 0 = none.
        package var expectedBeaconSeconds: Int
        /// Raw bytes of records in one part.
        package var partBytes: Int
        /// Said to the collector as `User-Agent`.
        package var agentVersion: String

        package init(
            transmitInterval: Duration = .seconds(300), eventHold: Duration = .seconds(7200), expectedBeaconSeconds: Int = 0,
            partBytes: Int = WireLimits.partBytes, agentVersion: String
        ) {
            self.transmitInterval = transmitInterval
            self.eventHold = eventHold
            self.expectedBeaconSeconds = expectedBeaconSeconds
            self.partBytes = partBytes
            self.agentVersion = agentVersion
        }
    }

    /// One record may be set aside in this time, so that neither a poison record blocks the rest nor an outage empties the queue.
    private static let setAsideSeconds = 3600.0

    private let queue: RecordQueue
    private let transport: any Transport
    private let enrollments: any EnrollmentStore
    private let configuration: Configuration
    private let clock: any RecordClock
    private let sleeper: any Clock<Duration>
    private let roll: @Sendable () -> Double
    private let logger: Logger
    private let wake = WakeSignal()
    private let published = Mutex(TransmitterStatus())
    private var machine: TransmitterStateMachine
    private var enrollment: Enrollment?
    /// Granted, but not on disk yet. Asking for another would leave a device at the collector that never reports.
    private var granted: Enrollment?

    /// - Parameters:
    ///   - sleeper: what waits are measured with; tests inject their own.
    ///   - roll: random numbers, 0 up to 1, for the jitter.
    package init(
        queue: RecordQueue, transport: any Transport, enrollments: any EnrollmentStore, configuration: Configuration,
        clock: any RecordClock = SystemRecordClock(), sleeper: any Clock<Duration> = ContinuousClock(),
        roll: @escaping @Sendable () -> Double = { Double.random(in: 0..<1) }, logger: Logger
    ) {
        self.queue = queue
        self.transport = transport
        self.enrollments = enrollments
        self.configuration = configuration
        self.clock = clock
        self.sleeper = sleeper
        self.roll = roll
        self.logger = logger
        machine = TransmitterStateMachine(partBytes: configuration.partBytes)
    }

    /// A snapshot; safe from any thread.
    nonisolated package var status: TransmitterStatus { published.withLock { $0 } }

    /// Asks for a pass now instead of at the next interval: a status record was enqueued, a person asked. Does not shorten a backoff.
    /// Safe from any thread, never blocks.
    nonisolated package func transmitNow() { wake.signal() }

    /// Sends on the transmit interval and on demand until its task is cancelled. Call once.
    package func run() async {
        while !Task.isCancelled {
            switch await pass() {
            case .finished:
                publishNext(configuration.transmitInterval)
                await wake.wait(for: configuration.transmitInterval, clock: sleeper)
            case .paused(let duration):
                publishNext(duration)
                try? await sleeper.sleep(for: duration)
            }
        }
        published.withLock { $0.state = .stopped }
    }

    /// One more pass at an orderly stop, after `run` has returned.
    /// - Returns: whether nothing that is due waits any more.
    package func drain(within duration: Duration) async -> Bool {
        let sleeper = sleeper
        return await withTaskGroup(of: Bool?.self) { group in
            group.addTask { await self.pass() == .finished }
            group.addTask {
                try? await sleeper.sleep(for: duration)
                return nil
            }
            let first = await group.next() ?? nil
            group.cancelAll()
            return first ?? false
        }
    }

    package enum PassResult: Equatable, Sendable {
        /// Nothing that is due waits.
        case finished
        /// Stopped before that; wait this long.
        case paused(Duration)
    }

    /// Sends until nothing is due, or until something is in the way.
    package func pass() async -> PassResult {
        machine.intervalBegan()
        var acting: TransmitterStateMachine.Action = .goOn
        while !Task.isCancelled {
            do throws(QueueError) {
                switch acting {
                case .goOn: break
                case .enrollAgain:
                    acting = await enroll(previous: enrollment)
                    continue
                case .setAside(let stream, let why):
                    logger.warning("a record alone was refused and is set aside", metadata: ["stream": "\(stream)", "reason": "\(why)"])
                    _ = try await queue.drop(oldest: 1, of: stream, reason: .quarantined, keepAside: true)
                    acting = .goOn
                case .retry(let duration, let why):
                    failed(why, .backingOff)
                    return .paused(duration)
                case .hold(let why, let lookAgain):
                    failed(why, .holding)
                    return .paused(lookAgain)
                }
                guard let enrollment = await enrolled(else: &acting) else { continue }
                let parts = try await nextParts()
                guard !parts.isEmpty else {
                    if machine.foundNothing() { continue }
                    published.withLock {
                        $0.state = .idle
                        $0.reason = nil
                    }
                    return .finished
                }
                let (action, pace) = try await exchange(parts, enrollment)
                acting = action
                if pace > .zero, acting == .goOn { return .paused(pace) }
            } catch {
                acting = .retry(after: TransmitterStateMachine.lookAgain, "the queue: \(error.message)")
            }
        }
        return .paused(.zero)
    }

    private func nextParts() async throws(QueueError) -> [BatchPart] {
        var parts: [BatchPart] = []
        for planned in machine.plan.parts {
            let hold = planned.stream == .event ? configuration.eventHold : .zero
            if let part = try await queue.nextPart(
                of: planned.stream, maximumBytes: planned.maximumBytes, maximumRecords: planned.maximumRecords, hold: hold)
            {
                parts.append(part)
            }
        }
        return parts
    }
}

// MARK: - Batches

extension Transmitter {
    /// Sends the parts and takes the answer in. The second value is the pace the collector asks for.
    private func exchange(
        _ parts: [BatchPart], _ enrollment: Enrollment
    ) async throws(QueueError) -> (TransmitterStateMachine.Action, Duration) {
        published.withLock { $0.state = .sending }
        var request = WireBatchRequest()
        request.parts = parts.map(\.wire)
        request.expectedBeaconSeconds = UInt32(clamping: configuration.expectedBeaconSeconds)
        let sent = parts.map { TransmitterStateMachine.Sent(stream: $0.stream, records: $0.records.count) }
        let verdict: TransmitterStateMachine.Verdict
        var pace = Duration.zero
        switch await post(WireNames.batchesPath, request.encoded, bearer: enrollment.credential, expected: enrollment.collectorID) {
        case .success(let body):
            do {
                let answer = try WireBatchAnswer.decode(body)
                pace = .milliseconds(Int(answer.retryAfterMilliseconds))
                verdict = .decided(try await apply(answer, to: parts))
                published.withLock {
                    $0.lastSuccess = clock.now().wallTime
                    $0.newestProfileRevision = answer.profileRevision
                }
            } catch let error as WireError {
                verdict = .retry(after: nil, "the answer cannot be read: \(error.message)")
            } catch let error as QueueError {
                throw error
            } catch {
                verdict = .retry(after: nil, "\(error)")
            }
        case .tooLarge(let why): verdict = .tooLarge(why)
        case .refused(let why): verdict = .refused(why)
        case .retry(let after, let why): verdict = .retry(after: after, why)
        case .credentialRefused(let why): verdict = .credentialRefused(why)
        case .forbidden(let why): verdict = .forbidden(why)
        case .unreachable(let why): verdict = .retry(after: nil, why)
        case .incompatible(let why): verdict = .incompatible(why)
        case .otherCollector(let other):
            verdict = .otherCollector("the queue belongs to collector \(enrollment.collectorID), but \(other) answers at this address")
        }
        let maySetAside = try await queue.secondsSinceQuarantine.map { $0 >= Self.setAsideSeconds } ?? true
        return (machine.settled(sent, verdict, maySetAside: maySetAside, roll: roll()), pace)
    }

    /// Hands each part's answer to the queue, which decides. Answers for what was not sent are ignored.
    private func apply(
        _ answer: WireBatchAnswer, to parts: [BatchPart]
    ) async throws(QueueError) -> [StreamName: TransmitterStateMachine.PartVerdict] {
        var verdicts: [StreamName: TransmitterStateMachine.PartVerdict] = [:]
        for wire in answer.parts {
            guard let answered = readable(wire),
                let part = parts.first(where: { $0.stream == answered.stream && $0.epoch == answered.epoch })
            else { continue }
            let decision = try await queue.apply(answered)
            switch decision {
            case .remove:
                verdicts[part.stream] = .progressed
                published.withLock {
                    $0.acknowledged["\(part.stream)", default: 0] += acknowledgedRecords(of: part, upTo: answered.mark.number)
                }
            case .parted(let parting):
                logger.error(
                    "the histories of device and collector have parted; this epoch is not sent any more",
                    metadata: ["stream": "\(part.stream)", "epoch": "\(part.epoch)", "parting": "\(parting.rawValue)"])
                verdicts[part.stream] = .parted("histories parted (\(parting.rawValue)) in stream \(part.stream) of epoch \(part.epoch)")
            case .old, .insideGap:
                switch answered.outcome {
                case .damaged, .tooLarge: verdicts[part.stream] = .refused("\(answered.outcome): \(answered.detail)")
                case .unavailable: verdicts[part.stream] = .unavailable("the collector could not store it now: \(answered.detail)")
                case .stored, .already, .identityConflict, .closed, .unknown: verdicts[part.stream] = .unchanged
                }
            }
        }
        return verdicts
    }

    private func readable(_ wire: WirePartAnswer) -> PartAnswer? {
        do { return try PartAnswer(wire) } catch {
            logger.warning("a part's answer cannot be read", metadata: ["error": "\(error)"])
            return nil
        }
    }

    /// Records of the part, gaps not counted, that the mark covers.
    private func acknowledgedRecords(of part: BatchPart, upTo mark: UInt64) -> UInt64 {
        let covered = min(mark, part.last)
        guard covered >= part.first else { return 0 }
        let inGaps = part.gaps.reduce(UInt64(0)) { sum, gap in gap.first > covered ? sum : sum + min(gap.last, covered) - gap.first + 1 }
        return covered - part.first + 1 - inGaps
    }
}

// MARK: - Enrollment

extension Transmitter {
    /// The enrollment to send under; `nil` after setting what has to be done first.
    private func enrolled(else acting: inout TransmitterStateMachine.Action) async -> Enrollment? {
        if let enrollment { return enrollment }
        do {
            guard let stored = try enrollments.load() else {
                acting = await enroll(previous: nil)
                return nil
            }
            acting = await adopt(stored)
        } catch {
            acting = machine.enrollmentRefused("the identity cannot be read: \(error)")
        }
        return acting == .goOn ? enrollment : nil
    }

    private func enroll(previous: Enrollment?) async -> TransmitterStateMachine.Action {
        if let granted { return await keep(granted) }
        guard let token = enrollments.enrollmentToken else {
            return machine.enrollmentRefused(
                previous == nil ? "not enrolled, and no enrollment token given" : "the credential is refused, and no enrollment token given"
            )
        }
        let body = enrollments.enrollRequest(previous: previous).encoded
        switch await post(WireNames.enrollPath, body, bearer: token, expected: previous?.collectorID) {
        case .success(let body):
            do {
                let answer = try WireEnrollAnswer.decode(body)
                let enrollment = Enrollment(
                    deviceID: try Identifier.required(answer.deviceID, "enroll.device_id"), credential: answer.credential,
                    organization: answer.organization, collectorID: try Identifier.required(answer.collectorID, "enroll.collector_id"),
                    incarnationID: try Identifier.required(answer.incarnationID, "enroll.incarnation_id"))
                granted = enrollment
                return await keep(enrollment)
            } catch {
                return machine.enrollmentFailed(after: nil, "enrolling: \(error)", roll: roll())
            }
        case .credentialRefused(let why), .forbidden(let why), .refused(let why), .incompatible(let why):
            return machine.enrollmentRefused("enrolling was refused: \(why)")
        case .otherCollector(let other): return machine.enrollmentRefused("another collector, \(other), answers at this address")
        case .retry(let after, let why): return machine.enrollmentFailed(after: after, "enrolling: \(why)", roll: roll())
        case .tooLarge(let why), .unreachable(let why): return machine.enrollmentFailed(after: nil, "enrolling: \(why)", roll: roll())
        }
    }

    private func keep(_ enrollment: Enrollment) async -> TransmitterStateMachine.Action {
        do { try enrollments.save(enrollment) } catch {
            return machine.enrollmentFailed(after: nil, "the enrollment cannot be kept: \(error)", roll: roll())
        }
        granted = nil
        logger.info("enrolled", metadata: ["device": "\(enrollment.deviceID)", "organization": "\(enrollment.organization)"])
        return await adopt(enrollment)
    }

    /// Binds the queue to the enrollment; a queue bound elsewhere is not sent.
    private func adopt(_ enrollment: Enrollment) async -> TransmitterStateMachine.Action {
        let binding = QueueBinding(
            collector: enrollment.collectorID, organization: enrollment.organization, device: enrollment.deviceID)
        do {
            switch try await queue.bind(to: binding) {
            case .bound, .same: break
            case .other(let other):
                return machine.enrollmentRefused(
                    "the queue holds records of device \(other.device) for organization \(other.organization) at collector \(other.collector)"
                )
            }
        } catch {
            return .retry(after: TransmitterStateMachine.lookAgain, "the queue: \(error.message)")
        }
        self.enrollment = enrollment
        published.withLock {
            $0.device = "\(enrollment.deviceID)"
            $0.organization = enrollment.organization
        }
        return .goOn
    }
}

// MARK: - Requests and status

extension Transmitter {
    private func post(_ path: String, _ body: Data, bearer: String, expected: CollectorID?) async -> CollectorAnswer {
        let compressed: Data
        do { compressed = try GzipCodec.compress(body) } catch { return .retry(after: nil, "compressing failed: \(error)") }
        let request = TransportRequest(
            method: .post, path: path,
            headers: [
                ("Authorization", "Bearer \(bearer)"), ("Content-Type", WireNames.protobuf), ("Content-Encoding", "gzip"),
                ("Accept", "\(WireNames.protobuf), \(WireNames.problem)"), ("User-Agent", configuration.agentVersion),
            ], body: compressed)
        published.withLock {
            $0.requests += 1
            $0.sentBytes += UInt64(compressed.count)
        }
        do {
            return CollectorAnswer.classify(try await transport.send(request), expected: expected)
        } catch {
            return .unreachable(error.message)
        }
    }

    private func failed(_ why: String, _ state: TransmitterStatus.State) {
        let now = clock.now().wallTime
        let isNews = published.withLock { status in
            let isNews = status.reason != why
            status.state = state
            status.reason = why
            status.lastFailure = now
            status.lastFailureReason = why
            return isNews
        }
        if isNews { logger.warning("cannot send", metadata: ["state": "\(state.rawValue)", "reason": "\(why)"]) }
    }

    private func publishNext(_ duration: Duration) {
        let next = clock.now().wallTime + duration.components.seconds * 1_000_000 + duration.components.attoseconds / 1_000_000_000_000
        published.withLock { $0.nextAttempt = next }
    }
}
