import RecordStore
import WireModel

extension RecordStore {
    /// Closes an epoch as the collector's route does, from message to message.
    /// - Throws: what the store throws; `MalformedClose` for what no queue sends.
    package func answer(_ request: WireCloseRequest, from device: DeviceID) async throws -> WireCloseAnswer {
        guard let close = EpochClose(request) else { throw MalformedClose() }
        var answer = WireCloseAnswer()
        answer.epoch = request.epoch
        answer.streams = try await self.close(close, from: device).map(\.wire)
        return answer
    }
}

/// A close that no queue sends.
package struct MalformedClose: Error {}

extension EpochClose {
    fileprivate init?(_ wire: WireCloseRequest) {
        guard let epoch = EpochID(wire.epoch) else { return nil }
        var streams: [Stream] = []
        for close in wire.streams {
            guard let stream = StreamName(rawValue: close.stream.rawValue) else { return nil }
            let points = close.points.compactMap { point in
                ChainLink(point.link).map { EpochClose.Point(number: point.number, link: $0) }
            }
            streams.append(
                Stream(
                    stream: stream, last: close.last, reason: DropReason(rawValue: close.reason.rawValue),
                    points: points,
                    totals: close.hasTotals ? StreamTotals(close.totals) : nil))
        }
        self.init(epoch: epoch, streams: streams)
    }
}

extension ClosedStream {
    fileprivate var wire: WireClosedStream {
        var wire = WireClosedStream()
        wire.stream = WireStream(rawValue: stream.rawValue) ?? .unspecified
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
