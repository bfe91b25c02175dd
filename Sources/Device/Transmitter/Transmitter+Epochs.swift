import DeviceTunables
import FoundationEssentials
import Logging
import RecordQueue
import WireModel

/// Diverged histories. The epoch ends, and its waiting records are kept separately. The device asks the collector how
/// far their histories agree, and queues again what the collector lacks. All steps continue by themselves, also after
/// restarts, because the queue stores how far they are.
extension Transmitter {
    /// Does what must be done before the next batch.
    /// - Returns: `nil` if the batch may be sent.
    func settleEpochs(_ enrollment: Enrollment) async throws(QueueError) -> TransmitterStateMachine.Action? {
        if mayHaveDiverged {
            if let action = try await endIfDiverged() { return action }
            mayHaveDiverged = false
        }
        let now = clock.now().timeSinceBoot
        guard closes.isDue(at: now) else { return nil }
        guard let request = try await queue.nextClose() else {
            closes.foundNothing()
            return nil
        }
        return try await close(request, enrollment, now: now)
    }

    /// The machine is the one that enrolled; otherwise the identity would have been a clone's. So an older image of
    /// this device's disk, or of the collector's, was restored.
    private func endIfDiverged() async throws(QueueError) -> TransmitterStateMachine.Action? {
        guard let divergence = try await queue.status().divergence else { return nil }
        do throws(QueueError) {
            try await queue.endEpoch(.restored)
        } catch {
            guard error.code == .tooSoon else { throw error }
            return .hold(error.message, lookAgain: Tunables.Retry.lookAgain)
        }
        logger.warning(
            "histories have diverged; sending goes on in a new epoch",
            metadata: [
                "divergence": "\(divergence.reason.rawValue)", "stream": "\(divergence.stream)",
                "epoch": "\(queue.epoch)",
            ])
        machine.epochBegan()
        closes.passBegan()
        events.post(.newEpoch(queue.epoch))
        return nil
    }

    private func close(
        _ request: WireCloseRequest, _ enrollment: Enrollment, now: UInt64
    ) async throws(QueueError) -> TransmitterStateMachine.Action? {
        let answer = await send(
            .post, WireNames.closePath, body: .message(request.encoded), bearer: enrollment.credential,
            expected: enrollment.collectorID)
        switch answer {
        case .success(let body, _):
            do {
                switch try await queue.applyClose(try WireCloseAnswer.decode(body)) {
                case .again: closes.narrowed(now: now, roll: roll())
                case .settled:
                    credentialWorked()
                    EpochID(request.epoch).map { events.post(.epochSettled($0)) }
                }
                return .goOn
            } catch let error as QueueError where error.code != .invalid {
                throw error
            } catch {
                return closeFailed("\(error)", after: nil, now: now)
            }
        // The way to the collector is unknown or closed. That holds for batches too.
        case .unreachable, .retry, .credentialRefused, .forbidden, .incompatible, .otherCollector:
            return machine.settled(
                [], answer.verdict(under: enrollment), mayQuarantine: false, now: now, roll: roll())
        // The failure concerns this request alone. Newer records do not wait for it.
        case .failing(let after, let why), .full(let after, let why): return closeFailed(why, after: after, now: now)
        case .tooLarge(let why), .refused(let why), .notFound(let why), .conflict(let why, _), .notEnrolled(let why):
            return closeFailed(why, after: Tunables.Retry.lookAgain, now: now)
        case .empty, .notModified: return closeFailed("the answer has no body", after: nil, now: now)
        }
    }

    private func closeFailed(_ why: String, after: Duration?, now: UInt64) -> TransmitterStateMachine.Action? {
        logger.warning("an ended epoch could not be closed; retrying", metadata: ["reason": "\(why)"])
        closes.failed(after: after, now: now, roll: roll())
        return nil
    }

    /// The directory was copied from another machine. Its records belong to that machine, which sends them itself. So
    /// they are dropped and counted.
    func beginAsClone(of former: DeviceID, as enrollment: Enrollment) async throws(QueueError) {
        logger.warning(
            """
            this directory is a copy of another machine's; its backlog is dropped and this machine goes on as a new \
            device
            """,
            metadata: ["former": "\(former)", "device": "\(enrollment.deviceID)"])
        try await queue.endEpoch(.clone)
        try await queue.rebind(to: QueueBinding(enrollment))
        machine.epochBegan()
    }
}

/// Decides when the next close request of an ended epoch is sent. A failed close waits by its own backoff, and newer
/// records are sent meanwhile. Times are microseconds since boot.
struct CloseRounds: Sendable {
    private let policy = RetryPolicy()
    private var failures = 0
    private var rounds = 0
    private var notBefore: UInt64 = 0
    private var isPending = true

    /// An epoch may have ended since the last pass.
    mutating func passBegan() { isPending = true }

    /// Whether to ask the queue for a close now.
    func isDue(at now: UInt64) -> Bool { isPending && now >= notBefore }

    /// When a failed close is due; `nil` if none waits.
    var next: UInt64? { isPending && failures > 0 ? notBefore : nil }

    /// The queue has nothing to close.
    mutating func foundNothing() {
        isPending = false
        failures = 0
        rounds = 0
    }

    /// The collector answered, and the queue needs to know more.
    mutating func narrowed(now: UInt64, roll: Double) {
        failures = 0
        rounds += 1
        if rounds >= Tunables.Transmission.greatestCloseRounds { failed(after: nil, now: now, roll: roll) }
    }

    /// There was no answer, or none that helps.
    mutating func failed(after: Duration?, now: UInt64, roll: Double) {
        failures += 1
        rounds = 0
        let delay = policy.delay(failures: failures, roll: RetryPolicy.upperHalf(roll), retryAfter: after)
        notBefore = now &+ delay.wholeMicroseconds
    }
}
