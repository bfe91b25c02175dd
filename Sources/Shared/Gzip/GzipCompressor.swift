import CZlib
import FoundationEssentials

/// Compresses into gzip members, in pieces or at once. Keep it: it allocates about 260 KiB of zlib memory once and
/// reuses it for each member. The same input always gives the same bytes, because the header has no time and no name.
///
/// Not `Sendable`: use it from one thread or actor at a time.
package final class GzipCompressor {
    /// zlib stores the address of its stream, so the stream must not move.
    private let stream: UnsafeMutablePointer<z_stream>
    private let scratch: UnsafeMutableRawBufferPointer
    /// The member is complete. The next byte begins another.
    private var isFinished = false

    /// The most output of one call to zlib.
    private static let scratchBytes = 32 << 10
    /// The largest window (32 KiB), with gzip's header and not zlib's.
    static let gzipWindowBits: Int32 = 15 + 16
    private static let defaultMemoryLevel: Int32 = 8

    /// - Parameter level: 0 (stored) to 9 (smallest); gzip's own default is 6.
    /// - Throws: `.misuse` for another level, `.outOfMemory`.
    package init(level: Int = 6) throws(GzipError) {
        guard (0...9).contains(level) else {
            throw GzipError(code: .misuse, message: "compression level \(level) is not 0 to 9")
        }
        stream = .allocate(capacity: 1)
        stream.initialize(to: z_stream())
        scratch = .allocate(byteCount: GzipCompressor.scratchBytes, alignment: 16)
        let result = deflateInit2_(
            stream, Int32(level), Z_DEFLATED, GzipCompressor.gzipWindowBits, GzipCompressor.defaultMemoryLevel,
            Z_DEFAULT_STRATEGY, ZLIB_VERSION, Int32(MemoryLayout<z_stream>.size))
        guard result == Z_OK else {
            throw GzipError(code: .outOfMemory, message: "zlib could not be set up for compressing (\(result))")
        }
    }

    deinit {
        deflateEnd(stream)
        stream.deallocate()
        scratch.deallocate()
    }

    /// Discards what was fed since the last complete member.
    package func reset() {
        deflateReset(stream)
        isFinished = false
    }

    /// Feeds bytes. Calls `output` any number of times with finished output.
    package func update(_ bytes: UnsafeRawBufferPointer, output: (UnsafeRawBufferPointer) -> Void) throws(GzipError) {
        if isFinished { reset() }
        var rest = bytes
        // zlib counts in 32 bits.
        while !rest.isEmpty {
            let piece = UnsafeRawBufferPointer(rebasing: rest.prefix(1 << 30))
            rest = UnsafeRawBufferPointer(rebasing: rest.dropFirst(piece.count))
            try deflatePiece(piece, flush: Z_NO_FLUSH, output: output)
        }
    }

    /// Outputs everything fed so far, so it can be inflated up to here. Costs a few bytes.
    package func flush(output: (UnsafeRawBufferPointer) -> Void) throws(GzipError) {
        if isFinished { return }
        try deflatePiece(UnsafeRawBufferPointer(start: nil, count: 0), flush: Z_SYNC_FLUSH, output: output)
    }

    /// Completes the member. Feeding again begins another. Consecutive members are a valid stream.
    package func finish(output: (UnsafeRawBufferPointer) -> Void) throws(GzipError) {
        if isFinished { reset() }
        try deflatePiece(UnsafeRawBufferPointer(start: nil, count: 0), flush: Z_FINISH, output: output)
        isFinished = true
    }

    /// Compresses these bytes into one member. Discards unfinished input.
    package func compress(_ bytes: UnsafeRawBufferPointer) throws(GzipError) -> [UInt8] {
        var result: [UInt8] = []
        try compress(bytes) { result.append(contentsOf: $0) }
        return result
    }

    package func compress(_ bytes: [UInt8]) throws(GzipError) -> [UInt8] {
        var result: [UInt8] = []
        try bytes.withUnsafeBufferPointer { (buffer) throws(GzipError) in
            try compress(UnsafeRawBufferPointer(buffer)) { result.append(contentsOf: $0) }
        }
        return result
    }

    package func compress(_ data: Data) throws(GzipError) -> Data {
        var result = Data()
        try data.withContiguousBytes { (buffer) throws(GzipError) in
            try compress(buffer) { result.append(contentsOf: $0) }
        }
        return result
    }

    private func compress(_ bytes: UnsafeRawBufferPointer, output: (UnsafeRawBufferPointer) -> Void) throws(GzipError) {
        reset()
        try update(bytes, output: output)
        try finish(output: output)
    }

    private func deflatePiece(
        _ piece: UnsafeRawBufferPointer, flush: Int32, output: (UnsafeRawBufferPointer) -> Void
    ) throws(GzipError) {
        stream.pointee.next_in = UnsafeMutablePointer(mutating: piece.bindMemory(to: UInt8.self).baseAddress)
        stream.pointee.avail_in = UInt32(piece.count)
        // zlib keeps output back only for lack of room. If room is left, all output is here.
        repeat {
            stream.pointee.next_out = scratch.bindMemory(to: UInt8.self).baseAddress
            stream.pointee.avail_out = UInt32(scratch.count)
            let result = deflate(stream, flush)
            // Z_BUF_ERROR means no progress, which is the result of flushing nothing.
            guard result == Z_OK || result == Z_STREAM_END || result == Z_BUF_ERROR else {
                throw GzipError(code: .misuse, message: "zlib refused to compress (\(result))")
            }
            let count = scratch.count - Int(stream.pointee.avail_out)
            if count > 0 { output(UnsafeRawBufferPointer(rebasing: scratch[..<count])) }
        } while stream.pointee.avail_out == 0
    }
}
