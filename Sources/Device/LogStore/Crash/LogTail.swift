import Gzip
import WireModel

/// The last lines of segments.
enum LogTail {
    /// The last whole lines of a segment, at most so many bytes of them, in order; empty where there is no such segment any more.
    static func lines(of ordinal: UInt64, in directory: StoreDirectory, maximumBytes: Int) -> [[UInt8]] {
        let name = SegmentName(ordinal: ordinal, kind: .application)
        // It may be sealed between the two looks.
        return text(of: name, directory, maximumBytes) ?? sealed(name, directory, maximumBytes) ?? []
    }

    private static func text(of name: SegmentName, _ directory: StoreDirectory, _ maximumBytes: Int) -> [[UInt8]]? {
        guard let file = try? StoreFile(reading: directory.path(name, .text)), let size = try? file.byteCount() else { return nil }
        let start = max(0, size - maximumBytes)
        guard let bytes = try? file.read(size - start, at: start) else { return nil }
        return wholeLines(bytes, isCut: start > 0)
    }

    private static func sealed(_ name: SegmentName, _ directory: StoreDirectory, _ maximumBytes: Int) -> [[UInt8]]? {
        guard let index = try? SegmentIndex(name, in: directory), let file = try? StoreFile(reading: directory.path(name, .sealed)) else {
            return nil
        }
        var lines: [[UInt8]] = []
        var count = 0
        for block in index.blocks.reversed() where count < maximumBytes {
            guard let stored = try? file.read(block.stretch.storedBytes, at: block.storedOffset),
                let text = try? GzipCodec.decompress(stored)
            else { return lines }
            lines = wholeLines(text, isCut: false) + lines
            count += text.count
        }
        while count > maximumBytes, let first = lines.first {
            count -= first.count
            lines.removeFirst()
        }
        return lines
    }

    private static func wholeLines(_ bytes: [UInt8], isCut: Bool) -> [[UInt8]] {
        bytes.withUnsafeBytes { bytes in
            let lines = LineSlices(bytes).filter { $0.last == UInt8(ascii: "\n") }.map { Array($0) }
            return isCut ? Array(lines.dropFirst()) : lines
        }
    }
}
