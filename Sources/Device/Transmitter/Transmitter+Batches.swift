import DeviceTunables
import FoundationEssentials
import Logging
import RecordQueue
import SwiftProtobuf
import Synchronization
import WireModel

extension Transmitter {
    /// Sends the parts and applies the answer. The second value is the pace that the collector requests.
    func exchange(
        _ parts: [BatchPart], _ enrollment: Enrollment
    ) async throws(QueueError) -> (TransmitterStateMachine.Action, Duration) {
        published.withLock { $0.state = .sending }
        var request = WireBatchRequest()
        request.parts = parts.map(\.wire)
        request.profileRevision = settings.profileRevision
        request.expectedBeaconSeconds = UInt32(clamping: settings.expectedBeaconSeconds)
        let sent = parts.map {
            TransmitterStateMachine.Sent(stream: $0.stream, records: $0.records.count, last: $0.last)
        }
        let began = clock.now()
        let answer = await send(
            .post, WireNames.batchesPath, body: .message(request.encoded), bearer: enrollment.credential,
            expected: enrollment.collectorID)
        let (verdict, pace) = try await verdict(on: answer, askedAt: began, parts, enrollment)
        // Only parts that were not delivered may cause a quarantine.
        var mayQuarantine = false
        if !verdict.isProgress(of: sent) {
            mayQuarantine = try await queue.secondsSinceQuarantine.map { $0 >= Tunables.Quarantine.seconds } ?? true
        }
        return (
            machine.settled(sent, verdict, mayQuarantine: mayQuarantine, now: clock.now().timeSinceBoot, roll: roll()),
            pace
        )
    }

    private func verdict(
        on answer: CollectorAnswer, askedAt began: RecordStamp, _ parts: [BatchPart], _ enrollment: Enrollment
    ) async throws(QueueError) -> (TransmitterStateMachine.Verdict, Duration) {
        guard case .success(let body, _) = answer else {
            if case .forbidden(let why) = answer { forbidden(why) }
            return (answer.verdict(under: enrollment), .zero)
        }
        let answer: WireBatchAnswer
        do throws(WireError) { answer = try WireBatchAnswer.decode(body) } catch {
            return (.retry(after: nil, "the answer cannot be read: \(error.message)"), .zero)
        }
        let verdicts = try await apply(answer, to: parts)
        credentialWorked()
        recordTime(answer.serverTime, askedAt: began)
        record(
            revision: answer.profileRevision, commands: answer.commands, serverTime: answer.serverTime,
            doNotDisturb: answer.hasDoNotDisturb ? answer.doNotDisturb : nil, under: enrollment)
        return (.decided(verdicts), .milliseconds(Int(answer.retryAfterMilliseconds)))
    }

    /// Passes each part's answer to the queue, which decides. Answers to parts that were not sent are ignored.
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
                    $0.acknowledged["\(part.stream)", default: 0] += acknowledgedRecords(
                        of: part, upTo: answered.mark.number)
                }
            case .diverged(let divergence):
                logger.error(
                    "the histories of device and collector have diverged; sending of this epoch stops",
                    metadata: [
                        "stream": "\(part.stream)", "epoch": "\(part.epoch)", "divergence": "\(divergence.rawValue)",
                    ])
                mayHaveDiverged = true
                events.post(.diverged(divergence))
                verdicts[part.stream] = .diverged(
                    "histories diverged (\(divergence.rawValue)) in stream \(part.stream) of epoch \(part.epoch)")
            case .old, .insideGap:
                switch answered.outcome {
                case .damaged:
                    verdicts[part.stream] = .refused("the collector says that the part is damaged: \(answered.detail)")
                case .tooLarge:
                    verdicts[part.stream] = .refused(
                        "the collector says that the part is too large: \(answered.detail)")
                case .unavailable:
                    verdicts[part.stream] = .unavailable("the collector could not store it now: \(answered.detail)")
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

    /// Records of the part that the mark covers, without gaps.
    private func acknowledgedRecords(of part: BatchPart, upTo mark: UInt64) -> UInt64 {
        let covered = min(mark, part.last)
        guard covered >= part.first else { return 0 }
        let inGaps = part.gaps.reduce(UInt64(0)) { sum, gap in
            gap.first > covered ? sum : sum + min(gap.last, covered) - gap.first + 1
        }
        return covered - part.first + 1 - inGaps
    }
}

extension CollectorAnswer {
    /// Returns what an answer that decided about no part means for the parts that were sent.
    func verdict(under enrollment: Enrollment) -> TransmitterStateMachine.Verdict {
        switch self {
        case .tooLarge(let why): .tooLarge(why)
        case .refused(let why): .refused(why)
        case .retry(let after, let why): .retry(after: after, why)
        case .failing(let after, let why), .full(let after, let why): .failed(after: after, why)
        case .credentialRefused(let why): .credentialRefused(why)
        case .forbidden(let why): .forbidden(why)
        case .unreachable(let why), .notFound(let why), .conflict(let why, _), .notEnrolled(let why):
            .retry(after: nil, why)
        case .success, .empty, .notModified: .retry(after: nil, "the answer has no body")
        case .incompatible(let why): .incompatible(why)
        case .otherCollector(let other):
            .otherCollector(
                "the queue belongs to collector \(enrollment.collectorID), but \(other) answers at this address")
        }
    }
}

extension TransmitterStateMachine.Verdict {
    /// Whether every part made progress.
    fileprivate func isProgress(of sent: [TransmitterStateMachine.Sent]) -> Bool {
        guard case .decided(let parts) = self else { return false }
        return sent.allSatisfy { parts[$0.stream] == .progressed }
    }
}
