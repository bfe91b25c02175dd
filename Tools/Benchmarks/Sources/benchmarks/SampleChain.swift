import WireModel

/// The sample stream of one epoch, cut into parts as a device cuts it.
enum SampleChain {
    /// - Parameters:
    ///   - recordsPerPart: each part but the last has that many.
    ///   - times: of the records.
    static func parts(records: Int, recordsPerPart: Int, times: SampleTimes = SampleTimes()) -> [BatchPart] {
        let epoch = EpochID.random()
        let bootID = BootID.random()
        var bodies = SampleBodies(seed: epoch.low)
        var parts: [BatchPart] = []
        var link = ChainLink.zero
        var last: UInt64 = 0
        while last < records {
            var part = BatchPart(
                epoch: epoch, stream: .sample, first: last + 1, last: last, priorLink: link, lastLink: link, records: []
            )
            for _ in 0..<min(recordsPerPart, records - Int(last)) {
                last += 1
                let stamp = RecordStamp(
                    wallTime: times.first + Int64(last - 1) * times.interval, bootID: bootID,
                    timeSinceBoot: last * UInt64(times.interval))
                let record = NewRecord(
                    stream: .sample, kind: .sampleSystem, module: "system", stamp: stamp, body: bodies.next()
                )
                .serialized(number: last)
                link = link.appending(record)
                part.records.append(record)
            }
            part.last = last
            part.lastLink = link
            part.totals = StreamTotals(produced: last, waiting: UInt64(part.records.count))
            parts.append(part)
        }
        return parts
    }
}

/// When samples were made, in microseconds.
struct SampleTimes {
    /// Since 1970.
    var first: Int64 = 1_790_000_000_000_000
    var interval: Int64 = 1_000_000
}
