import FoundationEssentials

/// Compresses and inflates bodies that are in memory anyway.
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

    /// Inflates all members of the input, one after the other.
    package static func decompress(_ bytes: [UInt8], limits: InflateLimits = .standard) throws(GzipError) -> [UInt8] {
        var result: [UInt8] = []
        try bytes.withUnsafeBufferPointer { (buffer) throws(GzipError) in
            try decompress(UnsafeRawBufferPointer(buffer), limits: limits) { result.append(contentsOf: $0) }
        }
        return result
    }

    package static func decompress(_ bytes: UnsafeRawBufferPointer, limits: InflateLimits = .standard) throws(GzipError)
        -> [UInt8]
    {
        var result: [UInt8] = []
        try decompress(bytes, limits: limits) { result.append(contentsOf: $0) }
        return result
    }

    package static func decompress(_ data: Data, limits: InflateLimits = .standard) throws(GzipError) -> Data {
        var result = Data()
        try decompress(data, limits: limits) { result.append(contentsOf: $0) }
        return result
    }

    /// Inflates without holding the whole output.
    /// - Parameter output: called with each piece, which is valid during the call.
    package static func decompress(
        _ data: Data, limits: InflateLimits, output: (UnsafeRawBufferPointer) -> Void
    ) throws(GzipError) {
        try data.withContiguousBytes { (buffer) throws(GzipError) in
            try decompress(buffer, limits: limits, output: output)
        }
    }

    private static func decompress(
        _ bytes: UnsafeRawBufferPointer, limits: InflateLimits, output: (UnsafeRawBufferPointer) -> Void
    ) throws(GzipError) {
        let decompressor = try GzipDecompressor(limits: limits)
        try decompressor.update(bytes, output: output)
        try decompressor.finish()
    }
}

/// Why bytes could not be compressed or inflated. Messages contain numbers, never content.
package struct GzipError: Error, Equatable, CustomStringConvertible {
    package enum Code: String, Sendable, CaseIterable {
        /// The output exceeds `InflateLimits.maximumBytes`.
        case limitExceeded
        /// The output exceeds `InflateLimits.maximumRatio` times the input: a decompression bomb.
        case ratioExceeded
        /// The input ends inside a member, or is empty.
        case truncated
        /// The input is no gzip, or its structure, checksum or length does not match its content.
        case corrupt
        /// The bytes after a complete member are not another member.
        case trailingGarbage
        case outOfMemory
        /// A programming error, e.g. a level outside 0...9.
        case misuse
    }

    package var code: Code
    /// The text for people: what was wrong, with the numbers, and what to do.
    package var message: String

    package init(code: Code, message: String) {
        self.code = code
        self.message = message
    }

    package var description: String { "gzip \(code.rawValue): \(message)" }
}

extension Data {
    /// `withUnsafeBytes` with a typed error, which Foundation's own lacks.
    package func withContiguousBytes(_ body: (UnsafeRawBufferPointer) throws(GzipError) -> Void) throws(GzipError) {
        let result = withUnsafeBytes { buffer -> Result<Void, GzipError> in
            do throws(GzipError) { return .success(try body(buffer)) } catch { return .failure(error) }
        }
        try result.get()
    }
}
