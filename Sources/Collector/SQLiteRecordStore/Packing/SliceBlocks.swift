import FoundationEssentials
import RecordBlocks
import RecordStore
import WireModel

/// The records of a slice, and when each of them came.
struct SliceRecords {
    /// `PackedRecords`.
    var packed: Data
    /// The time of receipt of each record; `nil` if all came with the slice.
    var receivedAt: [Int64]?
}

/// Packs records of one chain into record blocks (Schemas/record-blocks), one for each kind and module, one behind the
/// other. Unpacking gives the same bytes in the order of their numbers.
///
/// Links, gaps and rejected records are not in the blocks: a slice has them in columns of its own.
enum SliceBlocks {
    /// - Parameter slices: of the chain, ascending by number: records, and when those came that do not tell.
    /// - Returns: `nil` if they cannot be packed, such as records without an envelope, or more than a block may have.
    static func pack(
        _ slices: [(records: SliceRecords, receivedAt: Int64)], of chain: ChainKey, _ stream: StreamName
    ) -> Data? {
        var blocks: [RecordBlock.Key: RecordBlock] = [:]
        var last: UInt64 = 0
        for slice in slices {
            guard let ranges = slice.records.packed.withUnsafeBytes({ PackedRecords.ranges($0) }) else { return nil }
            for (place, range) in ranges.enumerated() {
                let record = slice.records.packed.slice(range)
                guard let envelope = record.withUnsafeBytes({ RecordEnvelope(scanning: $0) }), envelope.number > last
                else { return nil }
                last = envelope.number
                let key = RecordBlock.Key(
                    device: Bytes16(chain.device.data), epoch: Bytes16(chain.epoch.data),
                    stream: UInt64(stream.rawValue), kind: UInt64(envelope.kind),
                    module: Array(record.slice(envelope.module)))
                let time = envelope.wallTime
                blocks[key, default: RecordBlock(key: key, records: BlockRecords(), earliest: time, latest: time)]
                    .append(
                        record, number: last, receivedAt: slice.records.receivedAt?[place] ?? slice.receivedAt,
                        wallTime: time)
            }
        }
        var packed = Data()
        for block in blocks.values.sorted(by: { $0.key.precedes($1.key) }) {
            guard let bytes = try? block.pack() else { return nil }
            packed.append(contentsOf: bytes)
        }
        return packed
    }

    /// - Parameter query: whose records are wanted; `nil` for all. Blocks of other kinds and modules are passed over,
    ///   except contexts of other records.
    /// - Returns: `nil` if the bytes are not whole blocks.
    static func unpack(_ stored: UnsafeRawBufferPointer, for query: RecordQuery? = nil) -> SliceRecords? {
        var rest = Array(stored)[...]
        var blocks: [BlockRecords] = []
        do throws(RecordBlockError) {
            while !rest.isEmpty {
                let bytes = rest.prefix(try BlockHeader.blockBytes(rest))
                rest = rest.dropFirst(bytes.count)
                if let query, try !BlockHeader.read(bytes).0.key.mayMatch(query) { continue }
                var reader = try BlockReader(bytes)
                blocks.append(try reader.records())
            }
        } catch { return nil }
        return merged(blocks)
    }

    private static func merged(_ blocks: [BlockRecords]) -> SliceRecords {
        var places: [(number: UInt64, block: Int, row: Int)] = []
        for (index, block) in blocks.enumerated() {
            for (row, number) in block.numbers.enumerated() { places.append((number, index, row)) }
        }
        places.sort { $0.number < $1.number }
        var packed = Data(capacity: blocks.reduce(0) { $0 + $1.rawBytes })
        for place in places { PackedRecords.append(blocks[place.block][place.row], to: &packed) }
        return SliceRecords(packed: packed, receivedAt: places.map { blocks[$0.block].receivedAt[$0.row] })
    }
}

extension RecordBlock {
    fileprivate mutating func append(_ record: Data, number: UInt64, receivedAt: Int64, wallTime: Int64) {
        records.append(number: number, receivedAt: receivedAt, record)
        earliest = min(earliest, wallTime)
        latest = max(latest, wallTime)
    }
}

extension RecordBlock.Key {
    fileprivate func mayMatch(_ query: RecordQuery) -> Bool {
        kind == UInt64(WireRecordKind.otlpContext.rawValue)
            || (query.kinds.isEmpty || query.kinds.contains(Int(clamping: kind)))
                && (query.module.map { module.elementsEqual($0.utf8) } ?? true)
    }

    fileprivate func precedes(_ other: Self) -> Bool {
        kind == other.kind ? module.lexicographicallyPrecedes(other.module) : kind < other.kind
    }
}

extension Bytes16 {
    /// - Parameter data: 16 bytes.
    fileprivate init(_ data: Data) {
        func word(_ bytes: Data) -> UInt64 { bytes.reduce(0) { $0 << 8 | UInt64($1) } }
        self.init(high: word(data.prefix(8)), low: word(data.dropFirst(8)))
    }
}
