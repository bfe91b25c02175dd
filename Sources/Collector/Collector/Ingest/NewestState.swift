import Foundation
import RecordStore
import Registry
import WireModel

/// The newest beacon and system identity among the stored records of a batch, and the command results in it, also of
/// parts that were stored before.
struct NewestState {
    /// The beacon; of several the one that the device made last: it may have sent an earlier one again behind it.
    private(set) var beacon: WireBeacon?
    private(set) var beaconMade: RecordStamp?
    private(set) var isBeaconTest: Bool?
    private(set) var identity: WireSystemIdentity?
    /// The command results in the order of their numbers. Limited to the newest, as many as a device can have commands.
    private(set) var commandResults: [WireCommandResult] = []
    /// When the newest beacon or sample was made, by the device's clock. Only for streams with no waiting records.
    private(set) var newestRecordTime: Int64?

    static let maximumResults = 256

    /// Field 1, length-delimited.
    private static let identityTag: UInt8 = 0x0A

    init(parts: [BatchPart], answers: [PartAnswer]) {
        for (part, answer) in zip(parts, answers) {
            // A collector that ended between storing a result and recording it gets the part once more. A result that
            // is known already changes nothing.
            if part.stream == .status, [.stored, .already].contains(answer.outcome) { applyResults(of: part) }
            guard answer.outcome == .stored else { continue }
            recordTime(of: part)
            switch part.stream {
            case .status: applyBeacon(of: part)
            case .sample:
                identity = Self.identity(of: part) ?? identity
            case .event: continue
            }
        }
    }

    /// Events may have been held for days.
    private mutating func recordTime(of part: BatchPart) {
        guard part.stream != .event, part.last >= part.totals.produced, let record = part.records.last,
            let envelope = record.withUnsafeBytes({ RecordEnvelope(scanning: $0) })
        else { return }
        newestRecordTime = max(newestRecordTime ?? .min, envelope.wallTime)
    }

    static func identity(ofSample body: Data) -> WireSystemIdentity? {
        guard body.withUnsafeBytes(mayHoldIdentity), let sample = try? WireSystemSample.decodeBody(body),
            sample.hasIdentity
        else { return nil }
        return sample.identity
    }

    private mutating func applyResults(of part: BatchPart) {
        var found: [WireCommandResult] = []
        for record in part.records.reversed() where found.count < Self.maximumResults {
            guard let header = RecordHeader(scanning: record), header.kind == WireRecordKind.commandResult.rawValue,
                let result = try? WireCommandResult.decodeBody(header.body(of: record))
            else { continue }
            found.append(result)
        }
        commandResults += found.reversed()
    }

    /// The identity is a sample's first field. Most samples have none and need not be decoded.
    private static func mayHoldIdentity(_ body: UnsafeRawBufferPointer) -> Bool { body.first == identityTag }

    private static func identity(of part: BatchPart) -> WireSystemIdentity? {
        for record in part.records.reversed() {
            let body = record.withUnsafeBytes { bytes -> Range<Int>? in
                guard let envelope = RecordEnvelope(scanning: bytes),
                    envelope.kind == WireRecordKind.sampleSystem.rawValue,
                    mayHoldIdentity(UnsafeRawBufferPointer(rebasing: bytes[envelope.body]))
                else { return nil }
                return envelope.body
            }
            if let body, let identity = identity(ofSample: record.slice(body)) { return identity }
        }
        return nil
    }

    private mutating func applyBeacon(of part: BatchPart) {
        for record in part.records.reversed() {
            guard let header = RecordHeader(scanning: record), header.kind == WireRecordKind.beacon.rawValue,
                beaconMade?.isEarlier(than: header.stamp) ?? true,
                let beacon = try? WireBeacon.decodeBody(header.body(of: record))
            else { continue }
            (self.beacon, beaconMade, isBeaconTest) = (beacon, header.stamp, header.test)
        }
    }
}

extension RecordHeader {
    fileprivate var stamp: RecordStamp {
        RecordStamp(wallTime: wallTime, bootID: bootID, timeSinceBoot: timeSinceBoot)
    }
}

extension DeviceObservation {
    /// Reads from one stored record when its device was seen, and its beacon or identity.
    init(_ record: StoredRecord) {
        let header = record.header
        switch WireRecordKind(rawValue: header.kind) {
        case .beacon:
            let beacon = try? WireBeacon.decodeBody(header.body(of: record.bytes))
            self.init(
                at: record.receivedAt, beacon: beacon, made: header.stamp, expectedBeaconSeconds: beacon?.schedule,
                test: header.test)
        case .sampleSystem:
            self.init(at: record.receivedAt, identity: NewestState.identity(ofSample: header.body(of: record.bytes)))
        default: self.init(at: record.receivedAt)
        }
    }
}

extension WireBeacon {
    /// The beacon interval that the beacon states; 0 for no schedule any more, `nil` if it says nothing.
    ///
    /// After the last beacon of a program that ends, or one made by hand, no other follows until the program starts
    /// again. That says nothing about the schedule: a device that was stopped is missed like any other.
    var schedule: UInt32? {
        if nextBeaconSeconds > 0 { return nextBeaconSeconds }
        return trigger == .stop || trigger == .demand ? nil : 0
    }
}
