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
            mayQuarantine = try await queue.secondsSinceQuarantine.map { $0 >= Self.quarantineSeconds } ?? true
        }
        return (
            machine.settled(sent, verdict, mayQuarantine: mayQuarantine, now: clock.now().timeSinceBoot, roll: roll()),
            pace
        )
    }

    private func verdict(
        on answer: CollectorAnswer, askedAt began: RecordStamp, _ parts: [BatchPart], _ enrollment: Enrollment
    ) async throws(QueueError) -> (TransmitterStateMachine.Verdict, Duration) {
        switch answer {
        case .success(let body, _):
            let answer: WireBatchAnswer
            do throws(WireError) { answer = try WireBatchAnswer.decode(body) } catch {
                return (.retry(after: nil, "the answer cannot be read: \(error.message)"), .zero)
            }
            let verdicts = try await apply(answer, to: parts)
            credentialWorked()
            noteTime(answer.serverTime, askedAt: began)
            note(
                revision: answer.profileRevision, commands: answer.commands, serverTime: answer.serverTime,
                under: enrollment)
            return (.decided(verdicts), .milliseconds(Int(answer.retryAfterMilliseconds)))
        case .tooLarge(let why): return (.tooLarge(why), .zero)
        case .refused(let why): return (.refused(why), .zero)
        case .retry(let after, let why): return (.retry(after: after, why), .zero)
        case .failing(let after, let why): return (.failed(after: after, why), .zero)
        case .credentialRefused(let why): return (.credentialRefused(why), .zero)
        case .forbidden(let why):
            forbidden(why)
            return (.forbidden(why), .zero)
        case .unreachable(let why), .notFound(let why), .conflict(let why, _), .notEnrolled(let why):
            return (.retry(after: nil, why), .zero)
        case .empty, .notModified:
            return (.retry(after: nil, "the answer has no body"), .zero)
        case .incompatible(let why): return (.incompatible(why), .zero)
        case .otherCollector(let other):
            return (
                .otherCollector(
                    "the queue belongs to collector \(enrollment.collectorID), but \(other) answers at this address"),
                .zero
            )
        }
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

extension TransmitterStateMachine.Verdict {
    /// Whether every part made progress.
    fileprivate func isProgress(of sent: [TransmitterStateMachine.Sent]) -> Bool {
        guard case .decided(let parts) = self else { return false }
        return sent.allSatisfy { parts[$0.stream] == .progressed }
    }
}
