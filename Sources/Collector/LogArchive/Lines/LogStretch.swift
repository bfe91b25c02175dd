import FoundationEssentials
import Glibc
import Gzip
import RecordStore
import WireModel

/// The text of one stretch of a chunk's file: whole lines, at most those of one chunk.
struct LogStretch {
    let bytes: [UInt8]

    /// Reads and inflates it.
    /// - Parameter path: of the chunk.
    /// - Returns: `nil` if the chunk was deleted meanwhile.
    /// - Throws: `.corrupt` if the file is not what its index says; `.io`.
    init?(_ piece: LogPiece, of path: String, in chunks: any ChunkStore) throws(StoreError) {
        let start = Int(piece.storedOffset)
        guard let stored = try chunks.read(path, start..<start + Int(piece.storedBytes)) else { return nil }
        var inflated: [UInt8] = []
        inflated.reserveCapacity(Int(piece.rawBytes))
        do throws(GzipError) {
            let decompressor = try GzipDecompressor(
                limits: InflateLimits(maximumBytes: Int(piece.rawBytes), maximumRatio: .max))
            try stored.withContiguousBytes { (bytes) throws(GzipError) in
                try decompressor.update(bytes, output: { inflated.append(contentsOf: $0) })
                try decompressor.finish()
            }
        } catch { throw StoreError(.corrupt, "\(path): \(error.message)") }
        guard inflated.count == Int(piece.rawBytes) else {
            throw StoreError(.corrupt, "\(path) has \(inflated.count) bytes of text instead of \(piece.rawBytes).")
        }
        bytes = inflated
    }

    /// A well-formed line with the malformed ones that follow it.
    struct Line {
        let fields: LogLine
        /// Its offset in the stretch.
        let start: Int
        /// The line alone, with its newline.
        let bytes: UnsafeRawBufferPointer
        /// Malformed lines that follow it; empty if there are none.
        let unformatted: UnsafeRawBufferPointer
    }

    /// Goes over the lines in the order of the file. Malformed lines at the beginning belong to no line and are left
    /// out.
    /// - Parameters:
    ///   - offset: the start of a line.
    ///   - visit: returns whether to go on.
    func forEachLine(from offset: Int = 0, _ visit: (Line) -> Bool) {
        bytes.withUnsafeBytes { bytes in
            var found: (fields: LogLine, range: Range<Int>)?
            func report(_ end: Int) -> Bool {
                guard let found else { return true }
                return visit(
                    Line(
                        fields: found.fields, start: found.range.lowerBound,
                        bytes: UnsafeRawBufferPointer(rebasing: bytes[found.range]),
                        unformatted: UnsafeRawBufferPointer(rebasing: bytes[found.range.upperBound..<end])))
            }
            var start = offset
            while start < bytes.count {
                let end = Self.end(of: start, in: bytes)
                if let fields = LogLine(UnsafeRawBufferPointer(rebasing: bytes[start..<end])) {
                    guard report(start) else { return }
                    found = (fields, start..<end)
                }
                start = end
            }
            _ = report(bytes.count)
        }
    }

    /// The end of the line that begins at `start`, after its newline.
    static func end(of start: Int, in bytes: UnsafeRawBufferPointer) -> Int {
        guard let base = bytes.baseAddress,
            let found = memchr(base + start, Int32(UInt8(ascii: "\n")), bytes.count - start)
        else {
            return bytes.count
        }
        return base.distance(to: UnsafeRawPointer(found)) + 1
    }
}
