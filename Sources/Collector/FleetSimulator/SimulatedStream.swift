import FoundationEssentials
import WireModel

/// One stream of a simulated device's queue. Records are numbered and chained, and only the collector's mark removes
/// them at the front.
struct SimulatedStream: Sendable {
    struct Held: Sendable {
        let number: UInt64
        let bytes: Data
        let link: ChainLink
        let time: Int64
    }

    let name: StreamName
    private(set) var last: UInt64 = 0
    private var lastLink = ChainLink.zero
    private(set) var held: [Held] = []
    private(set) var mark = StreamMark.none

    init(_ name: StreamName) { self.name = name }

    /// - Returns: the record's number.
    mutating func append(_ record: NewRecord) -> UInt64 {
        last += 1
        let bytes = record.serialized(number: last)
        lastLink = lastLink.appending(bytes)
        held.append(Held(number: last, bytes: bytes, link: lastLink, time: record.stamp.wallTime))
        return last
    }

    /// The first `count` waiting records; `nil` if none wait.
    func part(of epoch: EpochID, _ count: Int) -> BatchPart? {
        guard let front = held.first else { return nil }
        let items = held.prefix(count)
        return BatchPart(
            epoch: epoch, stream: name, first: front.number, last: items[items.endIndex - 1].number,
            priorLink: mark.link, lastLink: items[items.endIndex - 1].link, totals: totals, records: items.map(\.bytes))
    }

    var totals: StreamTotals { StreamTotals(produced: last, waiting: UInt64(held.count)) }

    /// The report of the stream in the close request.
    var closing: WireCloseStream {
        var stream = WireCloseStream()
        stream.stream = name.wire
        stream.last = last
        stream.reason = .moved
        stream.totals = totals.wire
        stream.points = ([(number: mark.number, link: mark.link)] + held.suffix(1000).map { ($0.number, $0.link) }).map
        { number, link in
            var point = WireChainPoint()
            point.number = number
            point.link = link.data
            return point
        }
        return stream
    }

    /// - Returns: the records this answer acknowledged, and whether the histories have diverged.
    mutating func apply(_ answer: PartAnswer) -> (acknowledged: [Held], hasDiverged: Bool) {
        let held = held
        let decision = MarkDecision.decide(
            answered: answer.mark, outcome: answer.outcome, ownMark: mark.number, lastProduced: last,
            ownLink: { number in held.first { $0.number == number }?.link })
        switch decision {
        case .remove:
            mark = answer.mark
            self.held.removeAll { $0.number <= mark.number }
            return (held.filter { $0.number <= mark.number }, false)
        case .old, .insideGap: return ([], false)
        case .diverged: return ([], true)
        }
    }
}
