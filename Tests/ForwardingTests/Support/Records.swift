import Foundation
import RecordStore
import SwiftProtobuf
import WireModel

@testable import Forwarding

/// Records as a store gives them.
enum Records {
    static let device = DeviceID(high: 1, low: 2)
    static let epoch = EpochID(high: 3, low: 4)
    static let time = Int64(1_750_000_000_000_000)

    static func stored(
        _ kind: WireRecordKind, _ body: Data, stream: StreamName = .event, number: UInt64 = 1, module: String = "",
        application: String = "", time: Int64 = Records.time, boot: BootID? = nil, sinceBoot: UInt64 = 5,
        test: Bool = false, device: DeviceID = Records.device, context: Data? = nil
    ) throws -> StoredRecord {
        let bytes = NewRecord(
            stream: stream, kind: kind, module: module,
            stamp: RecordStamp(wallTime: time, bootID: boot, timeSinceBoot: sinceBoot), application: application,
            test: test, body: body
        ).serialized(number: number)
        guard let header = RecordHeader(scanning: bytes) else { throw RecordError.noEnvelope }
        return StoredRecord(
            device: device, epoch: epoch, header: header, bytes: bytes, receivedAt: time + 1_000_000, context: context)
    }

    enum RecordError: Error { case noEnvelope }

    static func event(_ name: String, number: UInt64 = 1, test: Bool = false) throws -> StoredRecord {
        var event = WireEvent()
        event.type = .custom
        event.name = name
        event.value.integer = 42
        event.attributes["shop"] = WireValue.with { $0.text = "north" }
        return try stored(.event, event.encoded, number: number, test: test)
    }
}

extension [StoredRecord] {
    var entries: ArraySlice<ForwardEntry> { map { .record($0) }[...] }
}
