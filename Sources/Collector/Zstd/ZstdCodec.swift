import CZstd
import FoundationEssentials

/// Compresses and decompresses bytes in memory, each call one whole zstd frame (RFC 8878) that names its size.
///
/// Not `Sendable`: it keeps zstd's tables from call to call, because to make them takes longer than to compress a few
/// kilobytes.
package final class ZstdCodec {
    private let level: Int32
    private var compressor: OpaquePointer?
    private var decompressor: OpaquePointer?

    /// The first bytes of every frame, as a number of four bytes, little-endian.
    package static let magic: UInt32 = 0xFD2F_B528

    /// - Parameter level: 1 to 19; below 0 faster and larger.
    package init(level: Int = 1) { self.level = Int32(level) }

    deinit {
        ZSTD_freeCCtx(compressor)
        ZSTD_freeDCtx(decompressor)
    }

    /// - Returns: `nil` if the frame would not be shorter than the bytes, or if there is no memory.
    package func compress(_ bytes: UnsafeRawBufferPointer) -> Data? {
        if compressor == nil { compressor = ZSTD_createCCtx() }
        guard let compressor, bytes.count > 1 else { return nil }
        var frame = Data(count: bytes.count - 1)
        let count = frame.withUnsafeMutableBytes {
            ZSTD_compressCCtx(compressor, $0.baseAddress, $0.count, bytes.baseAddress, bytes.count, level)
        }
        guard ZSTD_isError(count) == 0 else { return nil }
        return frame.prefix(count)
    }

    /// - Parameter limit: the most bytes.
    /// - Returns: `nil` if it is no whole frame, is damaged, names no size or one above the limit, or if there is no
    ///   memory.
    package func decompress(_ frame: UnsafeRawBufferPointer, limit: Int) -> Data? {
        if decompressor == nil { decompressor = ZSTD_createDCtx() }
        let size = ZSTD_getFrameContentSize(frame.baseAddress, frame.count)
        // Above the limit are also the two values for "not named" and "no frame".
        guard let decompressor, size <= UInt64(limit) else { return nil }
        var bytes = Data(count: Int(size))
        let count = bytes.withUnsafeMutableBytes {
            ZSTD_decompressDCtx(decompressor, $0.baseAddress, $0.count, frame.baseAddress, frame.count)
        }
        return count == bytes.count ? bytes : nil
    }
}
