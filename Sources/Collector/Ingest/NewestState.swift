import Foundation
import WireModel

/// The newest beacon and system identity among the records of a batch that were stored, and what they say of commands.
struct NewestState {
    private(set) var beacon: WireBeacon?
    private(set) var identity: WireSystemIdentity?
    /// In the order of their numbers; of more than a device can have commands for, the newest.
    private(set) var commandResults: [WireCommandResult] = []

    static let maximumResults = 256

    /// Field 1, length-delimited.
    private static let identityTag: UInt8 = 0x0A

    init(parts: [BatchPart], answers: [PartAnswer]) {
        for (part, answer) in zip(parts, answers) where answer.outcome == .stored {
            switch part.stream {
            case .status:
                beacon = Self.newest(of: part, kind: .beacon) { try? WireBeacon.decode($0) } ?? beacon
                takeResults(of: part)
            case .sample:
                identity = Self.newest(of: part, kind: .sampleSystem, decode: Self.identity(ofSample:)) ?? identity
            case .event: continue
            }
        }
    }

    static func identity(ofSample body: Data) -> WireSystemIdentity? {
        // The identity is a sample's first field: most samples have none, and are not decoded to learn that.
        guard body.first == identityTag, let sample = try? WireSystemSample.decode(body), sample.hasIdentity else { return nil }
        return sample.identity
    }

    private mutating func takeResults(of part: BatchPart) {
        var found: [WireCommandResult] = []
        for record in part.records.reversed() where found.count < Self.maximumResults {
            guard let header = RecordHeader(scanning: record), header.kind == WireRecordKind.commandResult.rawValue,
                let result = try? WireCommandResult.decode(header.body(of: record))
            else { continue }
            found.append(result)
        }
        commandResults += found.reversed()
    }

    private static func newest<Value>(of part: BatchPart, kind: WireRecordKind, decode: (Data) -> Value?) -> Value? {
        for record in part.records.reversed() {
            guard let envelope = record.withUnsafeBytes({ RecordEnvelope(scanning: $0) }), envelope.kind == kind.rawValue,
                let value = decode(record.slice(envelope.body))
            else { continue }
            return value
        }
        return nil
    }
}
