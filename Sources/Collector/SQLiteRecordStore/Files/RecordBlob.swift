import FoundationEssentials
import RecordStore
import Zstd

/// The column `slice.records`: `PackedRecords` as they are, or one zstd frame of them if that is shorter.
///
/// A frame begins with `ZstdCodec.magic`. Read as the length of a record these four bytes are 4.2 GB, which no record
/// has, so nothing else says which of the two it is. Twenty records of a module become about a third, and several
/// slices share a page.
///
/// Not `Sendable`: belongs to its file.
final class RecordBlob {
    /// The fastest level: packing later saves far more than a higher one, and each record waits for this one.
    private let codec = ZstdCodec(level: -1)

    /// A part is smaller than this.
    private static let greatestBytes = 64 << 20
    /// Frames of less save nothing.
    private static let leastBytes = 64

    /// - Returns: `nil` if the packed records are stored as they are.
    func frame(_ packed: UnsafeRawBufferPointer) -> Data? {
        packed.count < Self.leastBytes ? nil : codec.compress(packed)
    }

    /// What is stored as packed records. A damaged frame is returned as it is: it is no packed records, as whoever
    /// reads it finds out.
    func packed(_ stored: Data) -> Data { stored.withUnsafeBytes { inflated($0) } ?? stored }

    /// Like `packed`, without a copy where there is no frame.
    func withPacked<Result>(_ stored: UnsafeRawBufferPointer, _ body: (UnsafeRawBufferPointer) -> Result) -> Result {
        inflated(stored).map { $0.withUnsafeBytes(body) } ?? body(stored)
    }

    private func inflated(_ stored: UnsafeRawBufferPointer) -> Data? {
        guard stored.count >= 4,
            UInt32(littleEndian: stored.loadUnaligned(fromByteOffset: 0, as: UInt32.self)) == ZstdCodec.magic
        else { return nil }
        return codec.decompress(stored, limit: Self.greatestBytes)
    }
}
