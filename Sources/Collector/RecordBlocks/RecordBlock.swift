/// The records of one device, epoch, stream, kind and module. `pack` makes a block of it, and `BlockReader` gives it
/// back byte for byte.
///
/// The target knows bytes and no messages: a device and an epoch are 16 bytes each, and what a kind means is not asked.
/// Schemas/record-blocks/FORMAT.md defines the block.
package struct RecordBlock: Equatable, Sendable {
    package var key: Key
    /// Ascending by number.
    package var records: BlockRecords
    /// The bounds of the records' wall times, in microseconds since 1970. The caller knows where a record has it;
    /// it is carried for an index.
    package var earliest: Int64
    package var latest: Int64

    package init(key: Key, records: BlockRecords, earliest: Int64 = 0, latest: Int64 = 0) {
        self.key = key
        self.records = records
        self.earliest = earliest
        self.latest = latest
    }

    /// Whose records they are. A block has one key.
    package struct Key: Hashable, Sendable {
        package var device: Bytes16
        package var epoch: Bytes16
        package var stream: UInt64
        package var kind: UInt64
        /// UTF-8, at most 255 bytes.
        package var module: [UInt8]

        package init(device: Bytes16, epoch: Bytes16, stream: UInt64, kind: UInt64 = 0, module: [UInt8] = []) {
            self.device = device
            self.epoch = epoch
            self.stream = stream
            self.kind = kind
            self.module = module
        }

        static let maximumModuleBytes = 255
    }
}

/// 16 bytes: an identifier.
package struct Bytes16: Hashable, Comparable, Sendable, CustomStringConvertible {
    package var high: UInt64
    package var low: UInt64

    package static let zero = Bytes16(high: 0, low: 0)

    package init(high: UInt64, low: UInt64) {
        self.high = high
        self.low = low
    }

    package static func < (one: Bytes16, other: Bytes16) -> Bool {
        (one.high, one.low) < (other.high, other.low)
    }

    /// 32 hexadecimal digits.
    package var description: String {
        [high, low].map { word in
            let digits = String(word, radix: 16)
            return String(repeating: "0", count: 16 - digits.count) + digits
        }.joined()
    }
}

/// Records one behind the other in one piece of memory.
package struct BlockRecords: Equatable, Sendable {
    package private(set) var bytes: [UInt8] = []
    /// Where each record ends in `bytes`.
    package private(set) var ends: [Int] = []
    package private(set) var numbers: [UInt64] = []
    /// When the collector received each, in microseconds since 1970.
    package private(set) var receivedAt: [Int64] = []

    package init() {}

    init(bytes: [UInt8], ends: [Int], numbers: [UInt64], receivedAt: [Int64]) {
        self.bytes = bytes
        self.ends = ends
        self.numbers = numbers
        self.receivedAt = receivedAt
    }

    package var count: Int { ends.count }

    package mutating func append(number: UInt64, receivedAt time: Int64, _ record: some Collection<UInt8>) {
        bytes.append(contentsOf: record)
        ends.append(bytes.count)
        numbers.append(number)
        receivedAt.append(time)
    }

    func range(_ row: Int) -> Range<Int> { (row == 0 ? 0 : ends[row - 1])..<ends[row] }

    /// The bytes of the record in this place, from 0.
    package subscript(_ row: Int) -> ArraySlice<UInt8> { bytes[range(row)] }

    /// What they take uncompressed: each its bytes and a length of four bytes, as in a slice.
    package var rawBytes: Int { bytes.count + count * BlockRecords.lengthBytes }

    static let lengthBytes = 4
}

/// What a block may have at most. A writer keeps to it, and a reader refuses what is beyond it before it takes
/// memory.
package enum BlockLimits {
    package static let records = 65_536
    /// Bytes of all records, each with four of length.
    package static let rawBytes = 4 << 20
    /// The tree's nodes.
    static let nodes = 16_384
    /// Nodes times records.
    static let cells = 1 << 22
    /// Messages inside of each other.
    static let depth = 16
    /// Inflated bytes of the tree.
    static let descriptionBytes = 4 << 20
    static let blockBytes = 16 << 20
}
