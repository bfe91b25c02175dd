import CZlib

/// Sections of a block, compressed without a head of their own; and the checksum of a block.
enum Deflate {
    /// Deflate's own limit: a byte becomes at most this many.
    static let maximumRatio = 1032

    private static let windowBits: Int32 = -15
    private static let level: Int32 = 9
    private static let memoryLevel: Int32 = 8

    /// CRC-32 as zlib computes it.
    static func checksum(_ bytes: ArraySlice<UInt8>) -> UInt32 {
        bytes.withUnsafeBytes { buffer in
            UInt32(truncatingIfNeeded: crc32_z(0, buffer.bindMemory(to: UInt8.self).baseAddress, buffer.count))
        }
    }

    /// The bytes themselves if they do not become fewer. So equal counts say that nothing was compressed.
    static func compress(_ bytes: [UInt8]) throws(RecordBlockError) -> [UInt8] {
        var stream = z_stream()
        guard
            deflateInit2_(
                &stream, level, Z_DEFLATED, windowBits, memoryLevel, Z_DEFAULT_STRATEGY, ZLIB_VERSION,
                Int32(MemoryLayout<z_stream>.size)) == Z_OK
        else { throw RecordBlockError(.outOfMemory, "zlib has no memory for compressing. Free memory.") }
        defer { deflateEnd(&stream) }
        guard bytes.count > 1 else { return bytes }
        var output = [UInt8](repeating: 0, count: bytes.count - 1)
        let result = bytes.withUnsafeBytes { input in
            output.withUnsafeMutableBytes { output in
                stream.next_in = UnsafeMutablePointer(mutating: input.bindMemory(to: UInt8.self).baseAddress)
                stream.avail_in = UInt32(input.count)
                stream.next_out = output.bindMemory(to: UInt8.self).baseAddress
                stream.avail_out = UInt32(output.count)
                return deflate(&stream, Z_FINISH)
            }
        }
        guard result == Z_STREAM_END else { return bytes }
        output.removeLast(Int(stream.avail_out))
        return output
    }

    /// - Parameter count: how many bytes it has inflated. No more memory is taken.
    static func inflate(_ bytes: ArraySlice<UInt8>, count: Int) throws(RecordBlockError) -> [UInt8] {
        if bytes.count == count { return Array(bytes) }
        guard bytes.count < count, count <= bytes.count * maximumRatio else {
            throw .malformed("\(bytes.count) compressed bytes cannot be \(count)")
        }
        var stream = z_stream()
        guard inflateInit2_(&stream, windowBits, ZLIB_VERSION, Int32(MemoryLayout<z_stream>.size)) == Z_OK else {
            throw RecordBlockError(.outOfMemory, "zlib has no memory for inflating. Free memory.")
        }
        defer { inflateEnd(&stream) }
        var output = [UInt8](repeating: 0, count: count)
        let result = bytes.withUnsafeBytes { input in
            output.withUnsafeMutableBytes { output in
                stream.next_in = UnsafeMutablePointer(mutating: input.bindMemory(to: UInt8.self).baseAddress)
                stream.avail_in = UInt32(input.count)
                stream.next_out = output.bindMemory(to: UInt8.self).baseAddress
                stream.avail_out = UInt32(output.count)
                return CZlib.inflate(&stream, Z_FINISH)
            }
        }
        guard result == Z_STREAM_END, stream.avail_out == 0, stream.avail_in == 0 else {
            throw .malformed("a compressed section does not inflate to its \(count) bytes")
        }
        return output
    }
}
