import Glibc
import Gzip
import TelemetryBasics

/// Reads a gzip file from a place in what it inflates to. Memory does not depend on the file: a piece of 4 KiB inflates
/// to 4 MiB at most, besides a line that is not complete.
final class CompressedFile {
    static let suffix = ".gz"

    /// The place of the first byte of ``pending``.
    private(set) var offset = 0
    /// Inflated, and not used yet.
    private(set) var pending: [UInt8] = []
    /// Bytes before `offset`, for the next mark.
    private(set) var tail: [UInt8] = []
    private let descriptor: Int32
    private let decompressor: GzipDecompressor
    private var isEnded = false

    /// - Parameter descriptor: of the file, at its beginning; closed with this.
    init(_ descriptor: Int32) throws(GzipError) {
        self.descriptor = descriptor
        do throws(GzipError) {
            // The file decides alone how long it is. It is never in memory as a whole.
            decompressor = try GzipDecompressor(
                limits: InflateLimits(maximumBytes: 1 << 50, maximumRatio: 2000, ratioFloorBytes: 1 << 20))
        } catch {
            close(descriptor)
            throw error
        }
    }

    deinit { close(descriptor) }

    /// Inflates up to a position.
    /// - Parameter goesOn: asked after each piece; `false` ends the call.
    /// - Returns: whether the content is that which was read to there.
    func begin(at position: FilePosition, goesOn: () -> Bool) throws(GzipError) -> Bool {
        var head: [UInt8] = []
        while offset < position.offset {
            if pending.isEmpty {
                guard goesOn(), try fill() else { return false }
            }
            head.append(contentsOf: pending.prefix(position.mark.headBytes - head.count))
            use(min(pending.count, position.offset - offset))
        }
        return position.mark.isMark(ofHead: head, tail: tail)
    }

    /// Inflates another piece of the file.
    /// - Returns: `false` at the end.
    func fill() throws(GzipError) -> Bool {
        let before = pending.count
        var piece = [UInt8](repeating: 0, count: 4096)
        while pending.count == before, !isEnded {
            let count = piece.withUnsafeMutableBytes { buffer in
                retryingOnInterrupt { read(descriptor, buffer.baseAddress!, buffer.count) }
            }
            guard count > 0 else {
                isEnded = true
                try decompressor.finish()
                break
            }
            var inflated: [UInt8] = []
            try piece.withUnsafeBufferPointer { (bytes) throws(GzipError) in
                try decompressor.update(
                    UnsafeRawBufferPointer(UnsafeBufferPointer(rebasing: bytes[..<count])),
                    output: { inflated.append(contentsOf: $0) })
            }
            pending.append(contentsOf: inflated)
        }
        return pending.count > before
    }

    /// Bytes of ``pending`` were used.
    func use(_ count: Int) {
        tail.append(contentsOf: pending.prefix(count).suffix(FilePosition.Mark.maximumTailBytes))
        tail.removeFirst(max(0, tail.count - FilePosition.Mark.maximumTailBytes))
        pending.removeFirst(count)
        offset += count
    }
}
