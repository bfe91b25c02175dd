import FoundationEssentials
import WireModel

/// Says which item it is, however often it is sent: what `log.record.uid` becomes. Holds within one device and stream.
///
/// Keys with one origin and numbers in a row are stored as one row.
package struct ItemKey: Hashable, Sendable {
    package let origin: KeyOrigin
    /// At most `BatchPart.greatestNumber`.
    package let number: UInt64

    package init(origin: KeyOrigin, number: UInt64) {
        self.origin = origin
        self.number = number
    }

    /// The key of a record that one of our own collectors forwards.
    package init(device: DeviceID, epoch: EpochID, stream: StreamName, number: UInt64) {
        self.init(
            origin: KeyOrigin(
                hashing: "ws1 item origin", [device.data, epoch.data, Data([UInt8(stream.rawValue)])]),
            number: number)
    }

    /// The key of a log line that one of our own collectors forwards.
    package init(device: DeviceID, logEpoch: LogEpochID, line: UInt64) {
        self.init(
            origin: KeyOrigin(hashing: "ws1 item origin", [device.data, logEpoch.data, Data(Self.lines.utf8)]),
            number: line)
    }

    /// The key that a `log.record.uid` says. Any text is one.
    /// - Parameter uid: if it is one of our own collectors, records of one chain have keys in a row, and so have the
    ///   lines of one log.
    package init(uid: String) {
        if let own = Self.own(uid) {
            self = own
        } else {
            self.init(origin: KeyOrigin(hashing: "ws1 item uid", [Data(uid.utf8)]), number: 0)
        }
    }

    /// The `log.record.uid` with which our own collectors forward a record.
    package static func uid(device: DeviceID, epoch: EpochID, stream: StreamName, number: UInt64) -> String {
        "ws1:\(device):\(epoch):\(stream):\(number)"
    }

    /// The `log.record.uid` with which our own collectors forward a log line.
    package static func uid(device: DeviceID, logEpoch: LogEpochID, line: UInt64) -> String {
        "ws1:\(device):\(logEpoch):\(lines):\(line)"
    }

    /// In place of a stream's name.
    private static let lines = "log"

    private static func own(_ uid: String) -> ItemKey? {
        guard uid.utf8.starts(with: "ws1:".utf8) else { return nil }
        let fields = uid.split(separator: ":", omittingEmptySubsequences: false)
        guard fields.count == 5, let device = DeviceID(String(fields[1])), let number = UInt64(fields[4]),
            number <= BatchPart.greatestNumber
        else { return nil }
        // Two texts never have one key.
        if fields[3] == lines, let epoch = LogEpochID(String(fields[2])) {
            guard uid == Self.uid(device: device, logEpoch: epoch, line: number) else { return nil }
            return ItemKey(device: device, logEpoch: epoch, line: number)
        }
        guard let epoch = EpochID(String(fields[2])), let stream = StreamName(name: String(fields[3])),
            uid == Self.uid(device: device, epoch: epoch, stream: stream, number: number)
        else { return nil }
        return ItemKey(device: device, epoch: epoch, stream: stream, number: number)
    }
}

package enum KeyOriginSubject {}
/// Where keys with numbers in a row come from: a hash of a foreign `log.record.uid`, or of one of our own chains.
package typealias KeyOrigin = Identifier<KeyOriginSubject>

/// Keys of one origin with numbers in a row, as a store keeps them.
package struct KeyRange: Hashable, Sendable {
    package var origin: KeyOrigin
    package var first: UInt64
    package var last: UInt64

    package init(origin: KeyOrigin, first: UInt64, last: UInt64) {
        self.origin = origin
        self.first = first
        self.last = last
    }

    package func contains(_ key: ItemKey) -> Bool {
        key.origin == origin && (first...last).contains(key.number)
    }

    /// The fewest ranges that have these keys and no others, by origin and number.
    package static func ranges(of keys: some Sequence<ItemKey>) -> [KeyRange] {
        let sorted = keys.sorted { ($0.origin, $0.number) < ($1.origin, $1.number) }
        var ranges: [KeyRange] = []
        for key in sorted {
            if let open = ranges.last, open.origin == key.origin, key.number <= open.last + 1 {
                ranges[ranges.count - 1].last = max(open.last, key.number)
            } else {
                ranges.append(KeyRange(origin: key.origin, first: key.number, last: key.number))
            }
        }
        return ranges
    }
}

/// The keys that a store has, of those that were asked for.
package struct KnownKeys: Equatable, Sendable {
    private var keys: Set<ItemKey> = []

    package static let none = KnownKeys()

    package init() {}

    /// Adds a range that the store has. It may be longer than what was asked for.
    /// - Parameter asked: a range of keys that the store was asked for.
    package mutating func add(_ stored: KeyRange, asked: KeyRange) {
        guard stored.origin == asked.origin else { return }
        let (first, last) = (max(stored.first, asked.first), min(stored.last, asked.last))
        guard first <= last else { return }
        for number in first...last { keys.insert(ItemKey(origin: asked.origin, number: number)) }
    }

    /// - Returns: whether the key was not known before.
    mutating func insert(_ key: ItemKey) -> Bool { keys.insert(key).inserted }
}
