import CZlib

/// Inflates a stream of one or more gzip members, in pieces of any size, within limits. It can be reset for the next
/// stream.
///
/// Not `Sendable`: use it from one thread or actor at a time. After an error, all calls fail until `reset()`.
package final class GzipDecompressor {
    package let limits: InflateLimits
    /// Bytes fed since the last reset.
    package private(set) var bytesIn = 0
    /// Bytes output since the last reset, within the limits.
    package private(set) var bytesOut = 0
    /// Complete members since the last reset.
    package private(set) var members = 0

    /// zlib stores the address of its stream, so the stream must not move.
    private let stream: UnsafeMutablePointer<z_stream>
    private let scratch: UnsafeMutableRawBufferPointer
    /// Inside a member.
    private var isInsideMember = false
    private var failure: GzipError?

    private static let scratchBytes = 32 << 10

    /// - Throws: `.outOfMemory`.
    package init(limits: InflateLimits = .standard) throws(GzipError) {
        self.limits = limits
        stream = .allocate(capacity: 1)
        stream.initialize(to: z_stream())
        scratch = .allocate(byteCount: GzipDecompressor.scratchBytes, alignment: 16)
        let result = inflateInit2_(
            stream, GzipCompressor.gzipWindowBits, ZLIB_VERSION, Int32(MemoryLayout<z_stream>.size))
        guard result == Z_OK else {
            throw GzipError(code: .outOfMemory, message: "zlib could not be set up for inflating (\(result))")
        }
    }

    deinit {
        inflateEnd(stream)
        stream.deallocate()
        scratch.deallocate()
    }

    /// Prepares for another stream.
    package func reset() {
        inflateReset(stream)
        (bytesIn, bytesOut, members, isInsideMember, failure) = (0, 0, 0, false, nil)
    }

    /// Feeds bytes. Calls `output` any number of times with inflated bytes. Do not trust them before the member's end,
    /// because the checksum comes last.
    ///
    /// - Parameter memberEnd: called after the output of each complete member, with the number of the stream's bytes up
    ///   to its end.
    package func update(
        _ bytes: UnsafeRawBufferPointer, output: (UnsafeRawBufferPointer) -> Void, memberEnd: (Int) -> Void = { _ in }
    ) throws(GzipError) {
        if let failure { throw failure }
        do throws(GzipError) {
            var rest = bytes
            // zlib counts in 32 bits.
            while !rest.isEmpty {
                let piece = UnsafeRawBufferPointer(rebasing: rest.prefix(1 << 30))
                rest = UnsafeRawBufferPointer(rebasing: rest.dropFirst(piece.count))
                bytesIn += piece.count
                try inflatePiece(piece, output: output, memberEnd: memberEnd)
            }
        } catch {
            failure = error
            throw error
        }
    }

    /// Call it at the end of the input.
    /// - Throws: `.truncated` inside a member or if there was none; an earlier error again.
    package func finish() throws(GzipError) {
        if let failure { throw failure }
        guard members > 0, !isInsideMember else {
            throw GzipError(
                code: .truncated,
                message:
                    "the input ends after \(bytesIn) bytes, inside gzip member \(members + 1). Send it again, whole.")
        }
    }

    private func inflatePiece(
        _ piece: UnsafeRawBufferPointer, output: (UnsafeRawBufferPointer) -> Void, memberEnd: (Int) -> Void
    ) throws(GzipError) {
        stream.pointee.next_in = UnsafeMutablePointer(mutating: piece.bindMemory(to: UInt8.self).baseAddress)
        stream.pointee.avail_in = UInt32(piece.count)
        while true {
            if !isInsideMember {
                guard stream.pointee.avail_in > 0 else { return }
                try beginMember()
            }
            // One byte of room beyond the limit shows whether the stream continues after the limit.
            let room = min(scratch.count, max(0, limits.maximumBytes - bytesOut) + 1)
            stream.pointee.next_out = scratch.bindMemory(to: UInt8.self).baseAddress
            stream.pointee.avail_out = UInt32(room)
            let result = inflate(stream, Z_NO_FLUSH)
            let count = room - Int(stream.pointee.avail_out)
            try check(result)
            try checkLimits(adding: count)
            bytesOut += count
            if count > 0 { output(UnsafeRawBufferPointer(rebasing: scratch[..<count])) }
            if result == Z_STREAM_END {
                members += 1
                isInsideMember = false
                memberEnd(bytesIn - Int(stream.pointee.avail_in))
            } else if stream.pointee.avail_out > 0 {
                // Room is left, so zlib has used all of the input.
                return
            }
        }
    }

    private func beginMember() throws(GzipError) {
        if members > 0 {
            guard stream.pointee.next_in.pointee == 0x1F else { throw trailingGarbage }
            inflateReset(stream)
        }
        isInsideMember = true
    }

    private func check(_ result: Int32) throws(GzipError) {
        switch result {
        case Z_OK, Z_STREAM_END, Z_BUF_ERROR:
            return
        case Z_MEM_ERROR:
            throw GzipError(code: .outOfMemory, message: "zlib has no memory for inflating. Free memory.")
        default:
            // The magic number has two bytes. If they are refused after a member, the rest is no member at all.
            if members > 0, stream.pointee.total_in <= 2 { throw trailingGarbage }
            let detail = stream.pointee.msg.map { String(cString: $0) } ?? "error \(result)"
            throw GzipError(
                code: .corrupt,
                message:
                    "gzip member \(members + 1) is damaged after \(bytesOut) bytes of output: \(detail). Send it again."
            )
        }
    }

    private func checkLimits(adding count: Int) throws(GzipError) {
        let total = bytesOut + count
        guard total <= limits.maximumBytes else {
            throw GzipError(
                code: .limitExceeded,
                message: "the input becomes more than \(limits.maximumBytes) bytes. Send it in smaller parts.")
        }
        let (allowed, overflow) = bytesIn.multipliedReportingOverflow(by: limits.maximumRatio)
        guard total <= limits.ratioFloorBytes || overflow || total <= allowed else {
            throw GzipError(
                code: .ratioExceeded,
                message:
                    "\(bytesIn) bytes of input become more than \(limits.maximumRatio) times as many. Compress less "
                    + "at a time."
            )
        }
    }

    private var trailingGarbage: GzipError {
        GzipError(
            code: .trailingGarbage, message: "what follows gzip member \(members) is not gzip. Send the members alone.")
    }
}

/// Limits of the output, checked while inflating. At no time is there more output.
package struct InflateLimits: Sendable, Equatable {
    /// The most bytes of output of all members together. Exactly this many are accepted.
    package var maximumBytes: Int
    /// The most bytes of output per byte of input so far.
    package var maximumRatio: Int
    /// Below this many bytes of output the ratio is not checked. Small bodies of equal records compress well and do no
    /// harm.
    package var ratioFloorBytes: Int

    /// The limits for bodies from devices.
    package static let standard = InflateLimits()

    package init(maximumBytes: Int = 20 << 20, maximumRatio: Int = 200, ratioFloorBytes: Int = 64 << 10) {
        self.maximumBytes = maximumBytes
        self.maximumRatio = maximumRatio
        self.ratioFloorBytes = ratioFloorBytes
    }
}
