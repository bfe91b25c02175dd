import Foundation
import RecordStore
import WireModel

/// A sender without numbers, of one device: makes items whose bodies say which they are.
package struct ItemSender: Sendable {
    package let device: DeviceID
    package let epoch: EpochID
    package let stream: StreamName

    package init(device: DeviceID = .random(), incarnation: IncarnationID = .random(), stream: StreamName = .event) {
        self.device = device
        epoch = EpochID(numberedBy: incarnation, for: device)
        self.stream = stream
    }

    /// An item whose body is `name`, and whose key follows from `uid`.
    package func item(
        _ name: String, uid: String?, at time: Int64 = ManualStoreClock.start, padding: Int = 0
    ) -> UnnumberedItems.Item {
        UnnumberedItems.Item(
            record(name, stream == .event ? .otlpLog : .otlpMetrics, at: time, padding: padding),
            key: uid.map(ItemKey.init(uid:)))
    }

    /// Items of one context, each with its name as `log.record.uid`.
    package func run(
        _ context: String, _ names: some Sequence<String>, at time: Int64 = ManualStoreClock.start
    ) -> UnnumberedItems.Run {
        run(context, items: names.map { item($0, uid: $0, at: time) }, at: time)
    }

    package func run(
        _ context: String, items: [UnnumberedItems.Item], at time: Int64 = ManualStoreClock.start
    ) -> UnnumberedItems.Run {
        UnnumberedItems.Run(context: record(context, .otlpContext, at: time), items: items)
    }

    package func items(_ runs: UnnumberedItems.Run...) -> UnnumberedItems {
        UnnumberedItems(device: device, epoch: epoch, runs: runs)
    }

    private func record(_ name: String, _ kind: WireRecordKind, at time: Int64, padding: Int = 0) -> NewRecord {
        var body = Data(name.utf8)
        if padding > 0 { body += Data([0]) + Data.filler(padding - 1, seed: UInt64(name.utf8.count)) }
        return NewRecord(
            stream: stream, kind: kind, stamp: RecordStamp(wallTime: time, bootID: nil, timeSinceBoot: 0), body: body)
    }
}

extension RecordStore {
    /// One entry's answer.
    package func append(
        _ items: UnnumberedItems, to stream: StreamName, receivedAt: Int64 = ManualStoreClock.start
    ) async -> UnnumberedAnswer {
        await append([items], to: stream, receivedAt: receivedAt)[0]
    }

    /// What the sender's device has, oldest first: the names of contexts in brackets, of items as `context:name`.
    package func names(of sender: ItemSender) async throws -> [String] {
        try await allRecords(of: sender.device, stream: sender.stream).reversed().map { record in
            func name(_ body: Data) -> String { String(decoding: body.prefix { $0 != 0 }, as: UTF8.self) }
            let own = name(record.header.body(of: record.bytes))
            if record.header.kind == WireRecordKind.otlpContext.rawValue { return "[\(own)]" }
            return "\(record.context.map(name) ?? "none"):\(own)"
        }
    }
}
