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

    package static func decompress(_ bytes: UnsafeRawBufferPointer, limits: InflateLimits = .standard) throws(GzipError)
        -> [UInt8]
    {
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

/// Why bytes could not be compressed or inflated. Messages hold numbers, never content.
package struct GzipError: Error, Equatable, CustomStringConvertible {
    package enum Code: String, Sendable, CaseIterable {
        /// More output than `InflateLimits.maximumBytes`.
        case limitExceeded
        /// More output for the input than `InflateLimits.maximumRatio`: a bomb.
        case ratioExceeded
        /// The input ends inside a member, or there is none.
        case truncated
        /// Not gzip, or its content contradicts its structure, checksum or length.
        case corrupt
        /// What follows a complete member is not another one.
        case trailingGarbage
        case outOfMemory
        /// The program used this wrongly, e.g. a level outside 0...9.
        case misuse
    }

    package var code: Code
    /// What was wrong, with the numbers, and the remedy.
    package var message: String

    package init(code: Code, message: String) {
        self.code = code
        self.message = message
    }

    package var description: String { "gzip \(code.rawValue): \(message)" }
}

extension Data {
    /// `withUnsafeBytes` with a typed error, which Foundation's own does not carry.
    package func withContiguousBytes(_ body: (UnsafeRawBufferPointer) throws(GzipError) -> Void) throws(GzipError) {
        let result = withUnsafeBytes { buffer -> Result<Void, GzipError> in
            do throws(GzipError) { return .success(try body(buffer)) } catch { return .failure(error) }
        }
        try result.get()
    }
}
