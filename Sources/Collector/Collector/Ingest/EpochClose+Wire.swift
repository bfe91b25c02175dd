import CollectorStore
import WireModel

/// Closing an epoch, to and from the generated messages.
extension EpochClose {
    /// - Throws: `Problem` unless each of the three streams is there once, with at most `maximumPoints` points.
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
            throw .malformed("A close names each of the streams status, event and sample once; \(streams.count) streams are given.")
        }
        guard streams.allSatisfy({ $0.points.count <= maximumPoints }) else {
            throw .bodyTooLarge(limit: maximumPoints, "More points in a stream")
        }
        guard streams.allSatisfy({ $0.last == 0 || DropReason.valid.contains($0.reason.rawValue) }) else {
            throw .malformed("A stream that has produced records gives no reason for what lies between mark and last.")
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
