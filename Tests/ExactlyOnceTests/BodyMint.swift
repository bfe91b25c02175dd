import Foundation
import TestKit
import WireModel

/// Makes records that are known by their bodies, whatever numbers they get on their way.
struct BodyMint {
    private var next: UInt64 = 1

    mutating func record(
        _ stream: StreamName, stamp: RecordStamp, using random: inout SplitMix64
    ) -> (identity: UInt64, record: NewRecord) {
        let identity = next
        next += 1
        return (identity, Self.record(identity, stream, stamp: stamp, using: &random))
    }

    static func record(_ identity: UInt64, _ stream: StreamName, stamp: RecordStamp, using random: inout SplitMix64)
        -> NewRecord
    {
        var body = withUnsafeBytes(of: identity.bigEndian) { Data($0) }
        body.append(
            Data(repeating: UInt8(truncatingIfNeeded: identity), count: Int.random(in: 0...200, using: &random)))
        return NewRecord(stream: stream, kind: .event, stamp: stamp, body: body)
    }

    static func identity(of record: Data, _ header: RecordHeader) -> UInt64 {
        header.body(of: record).prefix(8).reduce(0) { $0 << 8 | UInt64($1) }
    }
}
