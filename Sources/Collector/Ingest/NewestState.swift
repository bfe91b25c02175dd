import Foundation
import WireModel

/// The newest beacon and system identity among the records of a batch that were stored.
struct NewestState {
    private(set) var beacon: WireBeacon?
    private(set) var identity: WireSystemIdentity?

    /// Field 1, length-delimited.
    private static let identityTag: UInt8 = 0x0A

    init(parts: [BatchPart], answers: [PartAnswer]) {
        for (part, answer) in zip(parts, answers) where answer.outcome == .stored {
            switch part.stream {
            case .status:
                beacon = Self.newest(of: part, kind: .beacon) { try? WireBeacon.decode($0) } ?? beacon
            case .sample:
                let found = Self.newest(of: part, kind: .sampleSystem) { body -> WireSystemIdentity? in
                    // The identity is a sample's first field: most samples have none, and are not decoded to learn that.
                    guard body.first == Self.identityTag, let sample = try? WireSystemSample.decode(body), sample.hasIdentity else {
                        return nil
                    }
                    return sample.identity
                }
                identity = found ?? identity
            case .event: continue
            }
        }
    }

    private static func newest<Value>(of part: BatchPart, kind: WireRecordKind, decode: (Data) -> Value?) -> Value? {
        for record in part.records.reversed() {
            guard let header = RecordHeader(scanning: record), header.kind == kind.rawValue, let value = decode(header.body(of: record))
            else {
                continue
            }
            return value
        }
        return nil
    }
}
