import FoundationEssentials

/// Compressing and inflating at once, for bodies that are in memory anyway.
package enum GzipCodec {
    /// - Parameter level: 0 to 9.
    package static func compress(_ bytes: [UInt8], level: Int = 6) throws(GzipError) -> [UInt8] {
        try GzipCompressor(level: level).compress(bytes)
    }

    package static func compress(_ bytes: UnsafeRawBufferPointer, level: Int = 6) throws(GzipError) -> [UInt8] {
        try GzipCompressor(level: level).compress(bytes)
    }

    package static func compress(_ data: Data, level: Int = 6) throws(GzipError) -> Data {
        try GzipCompressor(level: level).compress(data)
    }

    /// All members of the input, one after the other.
    package static func decompress(_ bytes: [UInt8], limits: InflateLimits = .standard) throws(GzipError) -> [UInt8] {
        var result: [UInt8] = []
        try bytes.withUnsafeBufferPointer { (buffer) throws(GzipError) in
            try decompress(UnsafeRawBufferPointer(buffer), limits: limits) { result.append(contentsOf: $0) }
        }
        return result
    }

    package static func decompress(_ bytes: UnsafeRawBufferPointer, limits: InflateLimits = .standard) throws(GzipError) -> [UInt8] {
        var result: [UInt8] = []
        try decompress(bytes, limits: limits) { result.append(contentsOf: $0) }
        return result
    }

    package static func decompress(_ data: Data, limits: InflateLimits = .standard) throws(GzipError) -> Data {
        var result = Data()
        try data.withContiguousBytes { (buffer) throws(GzipError) in
            try decompress(buffer, limits: limits) { result.append(contentsOf: $0) }
        }
        return result
    }

    private static func decompress(
        _ bytes: UnsafeRawBufferPointer, limits: InflateLimits, output: (UnsafeRawBufferPointer) -> Void
    ) throws(GzipError) {
        let decompressor = try GzipDecompressor(limits: limits)
        try decompressor.update(bytes, output: output)
        try decompressor.finish()
    }
}
