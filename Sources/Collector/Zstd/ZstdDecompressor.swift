import CZstd

/// Why a stream could not be decompressed. Messages contain numbers, never content.
package struct ZstdError: Error, Equatable {
    package enum Code: Sendable {
        /// The output exceeds the limit.
        case limitExceeded
        /// The input ends inside a frame, or is empty.
        case truncated
        /// The input is no zstd, is damaged, or needs more memory than is given to it.
        case corrupt
        case outOfMemory
    }

    package var code: Code
    package var message: String
}

/// Decompresses a stream of one or more zstd frames, in pieces of any size, within a limit.
///
/// Not `Sendable`: use it from one thread or actor at a time. After an error it is of no use any more.
package final class ZstdDecompressor {
    /// Bytes fed.
    package private(set) var bytesIn = 0
    /// Bytes output, at most the limit.
    package private(set) var bytesOut = 0

    private let limit: Int
    private let stream: OpaquePointer
    private let scratch: UnsafeMutableRawBufferPointer
    private var isInsideFrame = false

    /// 8 MiB, which RFC 8878 names for what is exchanged: the sender chooses how much memory its frame needs here.
    private static let windowLog: Int32 = 23

    /// - Parameter limit: the most bytes of output; exactly this many are accepted.
    /// - Throws: `.outOfMemory`.
    package init(limit: Int) throws(ZstdError) {
        guard let stream = ZSTD_createDCtx() else {
            throw ZstdError(code: .outOfMemory, message: "zstd has no memory for decompressing. Free memory.")
        }
        ZSTD_DCtx_setParameter(stream, ZSTD_d_windowLogMax, Self.windowLog)
        (self.limit, self.stream) = (limit, stream)
        scratch = .allocate(byteCount: ZSTD_DStreamOutSize(), alignment: 16)
    }

    deinit {
        ZSTD_freeDCtx(stream)
        scratch.deallocate()
    }

    /// The memory that it uses, in bytes. It grows with what a frame asks for.
    package var memory: Int { ZSTD_sizeof_DCtx(stream) + scratch.count }

    /// Feeds bytes. Calls `output` any number of times with decompressed bytes.
    package func update(
        _ bytes: UnsafeRawBufferPointer, output: (UnsafeRawBufferPointer) -> Void
    ) throws(ZstdError) {
        bytesIn += bytes.count
        var input = ZSTD_inBuffer(src: bytes.baseAddress, size: bytes.count, pos: 0)
        var hasMore = false
        while input.pos < input.size || hasMore {
            var piece = ZSTD_outBuffer(dst: scratch.baseAddress, size: scratch.count, pos: 0)
            let rest = ZSTD_decompressStream(stream, &piece, &input)
            guard ZSTD_isError(rest) == 0 else {
                throw ZstdError(
                    code: .corrupt,
                    message: "zstd is damaged after \(bytesOut) bytes of output, or needs more than 8 MiB of memory: "
                        + "\(String(cString: ZSTD_getErrorName(rest))).")
            }
            isInsideFrame = rest > 0
            guard piece.pos <= limit - bytesOut else {
                throw ZstdError(
                    code: .limitExceeded,
                    message: "the input becomes more than \(limit) bytes. Send it in smaller parts.")
            }
            bytesOut += piece.pos
            if piece.pos > 0 { output(UnsafeRawBufferPointer(rebasing: scratch[..<piece.pos])) }
            // A full piece may leave output that waits inside zstd, unless the frame has ended.
            hasMore = isInsideFrame && piece.pos == piece.size
        }
    }

    /// Call it at the end of the input.
    /// - Throws: `.truncated` inside a frame or if there was none.
    package func finish() throws(ZstdError) {
        guard bytesIn > 0, !isInsideFrame else {
            throw ZstdError(
                code: .truncated,
                message: "the input ends after \(bytesIn) bytes, inside a zstd frame. Send it again, whole.")
        }
    }
}
