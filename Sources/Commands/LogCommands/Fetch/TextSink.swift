import Gzip
import LogStore

/// Passes text on to a sink, compressed into one gzip member if asked for.
///
/// Not `Sendable`: the compressor serves one thread at a time.
struct TextSink<Target: ChunkSink> {
    private(set) var target: Target
    private let compressor: GzipCompressor?

    init(_ target: Target, isCompressed: Bool) throws {
        self.target = target
        compressor = isCompressed ? try GzipCompressor() : nil
    }

    mutating func write(_ text: UnsafeRawBufferPointer) throws {
        guard let compressor else { return try target.write(text) }
        try compress { (output) throws(GzipError) in try compressor.update(text, output: output) }
    }

    /// Writes the end of the gzip member.
    mutating func finish() throws {
        guard let compressor else { return }
        try compress { (output) throws(GzipError) in try compressor.finish(output: output) }
    }

    /// The compressor's output closure cannot throw, so the first error waits until the step has ended.
    private mutating func compress(_ step: ((UnsafeRawBufferPointer) -> Void) throws(GzipError) -> Void) throws {
        var failure: LogStoreError?
        try step { output in
            guard failure == nil else { return }
            do throws(LogStoreError) { try target.write(output) } catch { failure = error }
        }
        if let failure { throw failure }
    }
}
