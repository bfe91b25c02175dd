import RecordStore
import WireModel

/// The parts of one request, checked as far as possible without a mark.
///
/// A part that cannot be accepted still needs its stream's mark in the answer, read in a synced transaction. So it goes
/// to the store as an empty part, and its answer then gets the true outcome and reason.
struct IncomingBatch {
    private struct Verdict {
        var outcome: PartOutcome
        var detail: String
    }

    /// The parts for the store, in the order of the request.
    private(set) var parts: [BatchPart] = []
    private var verdicts: [Int: Verdict] = [:]

    /// - Throws: `Problem` if the request as a whole is malformed: no parts, an unreadable epoch or stream, two parts
    ///   of one stream of an epoch.
    init(_ request: WireBatchRequest) throws(Problem) {
        guard !request.parts.isEmpty else { throw .malformed("The request has no parts.") }
        struct Key: Hashable {
            let epoch: EpochID
            let stream: StreamName
        }
        var seen: Set<Key> = []
        for (position, wire) in request.parts.enumerated() {
            let key: Key
            do throws(WireError) {
                key = Key(
                    epoch: try .required(wire.epoch, "parts[\(position)].epoch"),
                    stream: try StreamName(wire.stream, in: "parts[\(position)]"))
            } catch { throw .malformed(error.message) }
            guard seen.insert(key).inserted else {
                throw .malformed(
                    "parts[\(position)] is a second part of stream \(key.stream) of epoch \(key.epoch).",
                    code: .duplicatePart)
            }
            let bytes = wire.records.reduce(0) { $0 + $1.count }
            if wire.records.count > 1, bytes > WireLimits.partBytes {
                refuse(
                    key.epoch, key.stream, .tooLarge,
                    "\(bytes) bytes of records; one part may have at most \(WireLimits.partBytes)")
                continue
            }
            do throws(WireError) { parts.append(try BatchPart(wire)) } catch {
                refuse(key.epoch, key.stream, .damaged, error.message)
            }
        }
    }

    private mutating func refuse(_ epoch: EpochID, _ stream: StreamName, _ outcome: PartOutcome, _ detail: String) {
        verdicts[parts.count] = Verdict(outcome: outcome, detail: detail)
        // An empty range: no store can store it.
        parts.append(
            BatchPart(epoch: epoch, stream: stream, first: 1, last: 0, priorLink: .zero, lastLink: .zero, records: []))
    }

    /// Combines the store's answers with the outcomes decided here. A stream that could not be read, or is closed,
    /// stays so.
    func merge(_ answers: [PartAnswer]) -> [PartAnswer] {
        answers.enumerated().map { position, answer in
            guard let verdict = verdicts[position], answer.outcome == .damaged else { return answer }
            var answer = answer
            answer.outcome = verdict.outcome
            answer.detail = verdict.detail
            return answer
        }
    }
}

/// Converts the closing of an epoch to and from the generated messages.
extension EpochClose {
    /// - Throws: `Problem` unless each of the three streams occurs once, with at most `maximumPoints` points.
    init(_ wire: WireCloseRequest, maximumPoints: Int) throws(Problem) {
        do throws(WireError) {
            var streams: [Stream] = []
            for wire in wire.streams {
                var points: [Point] = []
                for point in wire.points.prefix(maximumPoints + 1) {
                    points.append(Point(number: point.number, link: try ChainLink.required(point.link, "point.link")))
                }
                streams.append(
                    Stream(
                        stream: try StreamName(wire.stream, in: "streams"), last: wire.last,
                        reason: DropReason(rawValue: wire.reason.rawValue), points: points,
                        totals: wire.hasTotals ? StreamTotals(wire.totals) : nil))
            }
            self.init(epoch: try .required(wire.epoch, "epoch"), streams: streams)
        } catch { throw .malformed(error.message) }
        guard streams.count == StreamName.allCases.count, Set(streams.map(\.stream)).count == streams.count else {
            throw .malformed(
                "A close must name each of the streams status, event and sample once; it has \(streams.count) streams.")
        }
        guard streams.allSatisfy({ $0.points.count <= maximumPoints }) else {
            throw .bodyTooLarge(limit: maximumPoints, "More points in a stream")
        }
        guard streams.allSatisfy({ $0.last == 0 || DropReason.valid.contains($0.reason.rawValue) }) else {
            throw .malformed("A stream with records has no reason for the numbers between mark and last.")
        }
        guard streams.allSatisfy({ $0.last <= BatchPart.greatestNumber }) else {
            throw .malformed("A stream's last number is out of range.")
        }
    }
}

extension ClosedStream {
    var wire: WireClosedStream {
        var wire = WireClosedStream()
        wire.stream = stream.wire
        wire.mark = mark.wire
        switch match {
        case .point(let point):
            wire.matched.number = point.number
            wire.matched.link = point.link.data
        case .none: break
        case .unknown: wire.unknown = true
        }
        return wire
    }
}
