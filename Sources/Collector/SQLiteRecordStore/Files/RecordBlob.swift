import FoundationEssentials
import RecordStore
import Zstd

/// The column `slice.records`, in one of three forms:
///
///     records    PackedRecords as they are
///     frame      one zstd frame of them, if that is shorter
///     blocks     record blocks (SliceBlocks), in a file that is packed
///
/// A frame begins with `ZstdCodec.magic`, a block with "WS1B". Read as the length of a record these four bytes are more
/// than a gigabyte, which no record has, so nothing else says which form it is. As a frame, twenty records of a module
/// become about a third, and several slices share a page.
///
/// Not `Sendable`: belongs to its file.
final class RecordBlob {
    /// The fastest level: packing later saves far more than a higher one, and each record waits for this one.
    private let codec = ZstdCodec(level: -1)

    /// A part is smaller than this.
    private static let greatestBytes = 64 << 20
    /// Frames of less save nothing.
    private static let leastBytes = 64
    private static let blockMagic = UInt32(littleEndian: 0x4231_5357)

    /// - Returns: `nil` if the packed records are stored as they are.
    func frame(_ packed: UnsafeRawBufferPointer) -> Data? {
        packed.count < Self.leastBytes ? nil : codec.compress(packed)
    }

    /// What is stored as packed records. Damaged frames and blocks are returned as they are: they are no packed
    /// records, as whoever reads them finds out.
    func packed(_ stored: Data) -> Data { records(stored).packed }

    /// Like `packed`, with the times of receipt.
    /// - Parameter query: whose records are wanted; `nil` for all. Others may be returned with them.
    func records(_ stored: Data, for query: RecordQuery? = nil) -> SliceRecords {
        stored.withUnsafeBytes { expanded($0, for: query) } ?? SliceRecords(packed: stored)
    }

    /// Like `packed`, without a copy where the records are stored as they are.
    func withPacked<Result>(_ stored: UnsafeRawBufferPointer, _ body: (UnsafeRawBufferPointer) -> Result) -> Result {
        expanded(stored).map { $0.packed.withUnsafeBytes(body) } ?? body(stored)
    }

    /// - Returns: `nil` if the records are stored as they are, or are damaged.
    private func expanded(_ stored: UnsafeRawBufferPointer, for query: RecordQuery? = nil) -> SliceRecords? {
        guard stored.count >= 4 else { return nil }
        switch UInt32(littleEndian: stored.loadUnaligned(fromByteOffset: 0, as: UInt32.self)) {
        case ZstdCodec.magic:
            return codec.decompress(stored, limit: Self.greatestBytes).map { SliceRecords(packed: $0) }
        case Self.blockMagic: return SliceBlocks.unpack(stored, for: query)
        default: return nil
        }
    }
}
