import CollectorStore
import Foundation
import WireModel

extension DeviceObservation {
    /// What one stored record says of its device.
    init(_ record: StoredRecord) {
        let header = record.header
        switch WireRecordKind(rawValue: header.kind) {
        case .beacon:
            let beacon = try? WireBeacon.decode(header.body(of: record.bytes))
            self.init(at: record.receivedAt, beacon: beacon, expectedBeaconSeconds: beacon?.schedule)
        case .sampleSystem:
            self.init(at: record.receivedAt, identity: NewestState.identity(ofSample: header.body(of: record.bytes)))
        default: self.init(at: record.receivedAt)
        }
    }
}
