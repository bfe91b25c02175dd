import Foundation
import WireModel

/// A device's stream: makes records, numbers and links as a queue does.
struct ChainBuilder {
    let epoch: EpochID
    let stream: StreamName
    private(set) var number: UInt64 = 0
    private(set) var link = ChainLink.zero

    init(epoch: EpochID = .random(), stream: StreamName) {
        self.epoch = epoch
        self.stream = stream
    }

    /// The next part, with these bodies as records.
    mutating func part(
        kind: WireRecordKind, module: String = "", time: Int64 = Harness.now, test: Bool = false, bodies: [Data]
    )
        -> BatchPart
    {
        let (first, prior) = (number + 1, link)
        var records: [Data] = []
        for body in bodies {
            number += 1
            let record = NewRecord(
                stream: stream, kind: kind, module: module,
                stamp: RecordStamp(wallTime: time, bootID: nil, timeSinceBoot: 5), test: test,
                body: body
            ).serialized(number: number)
            link = link.appending(record)
            records.append(record)
        }
        return BatchPart(
            epoch: epoch, stream: stream, first: first, last: number, priorLink: prior, lastLink: link,
            totals: StreamTotals(produced: number, waiting: UInt64(bodies.count)), records: records)
    }

    mutating func events(_ names: [String], time: Int64 = Harness.now, test: Bool = false) -> BatchPart {
        part(
            kind: .event, time: time, test: test,
            bodies: names.map { name in
                var event = WireEvent()
                event.type = .custom
                event.name = name
                event.value.integer = 42
                return event.encoded
            })
    }
}

extension [BatchPart] {
    var request: Data {
        var request = WireBatchRequest()
        request.parts = map(\.wire)
        return request.encoded
    }
}
