import Glibc
import TelemetryBasics
import WireModel

/// Reads a segment's text block by block, up to its last whole line. The blocks are those that sealing makes. Holds one
/// block in memory.
package struct TextBlockReader: ~Copyable {
    private let file: OpenFile<LogStoreError>
    /// Where this reader stops, whatever is appended meanwhile.
    private let end: Int
    /// Offset of the next block. At the end: the number of bytes in whole lines.
    package private(set) var offset: Int
    private var buffer: UnsafeMutableRawBufferPointer

    /// - Parameters:
    ///   - start: the offset to start from, at the beginning of a line.
    ///   - end: the offset to stop at; `nil` for the file's present end.
    package init(_ file: consuming OpenFile<LogStoreError>, from start: Int = 0, end: Int? = nil) throws(LogStoreError)
    {
        let size = try file.byteCount()
        self.end = min(end ?? size, size)
        self.file = file
        offset = start
        buffer = .allocate(byteCount: LogLimits.blockBytes, alignment: 16)
    }

    deinit { buffer.deallocate() }

    /// Bytes after the last whole line. Known at the end.
    package var tornBytes: Int { end - offset }

    /// The next block; `nil` at the end. Valid until the next call.
    /// - Throws: `.damaged` if a line is as long as a segment.
    package mutating func next() throws(LogStoreError) -> UnsafeRawBufferPointer? {
        while offset < end {
            let count = try file.read(
                into: UnsafeMutableRawBufferPointer(rebasing: buffer.prefix(end - offset)), at: offset)
            let read = UnsafeRawBufferPointer(rebasing: buffer.prefix(count))
            let block = LineSlices.blockBytes(read, limit: LogLimits.blockBytes)
            if block > 0 {
                offset += block
                return UnsafeRawBufferPointer(rebasing: read.prefix(block))
            }
            guard count == buffer.count, offset + count < end else { return nil }
            guard buffer.count < LogLimits.chunkBytes else {
                throw LogStoreError(
                    .damaged,
                    """
                    \(file.path) has a line of more than \(buffer.count) bytes at byte \(offset): it is no log of \
                    ours. Move it away.
                    """
                )
            }
            let size = buffer.count * 2
            buffer.deallocate()
            buffer = .allocate(byteCount: size, alignment: 16)
        }
        return nil
    }
}

/// The lines of a text in order, each with its newline; the last line may have none. Copies nothing.
package struct LineSlices: Sequence, IteratorProtocol {
    private var rest: UnsafeRawBufferPointer

    package init(_ text: UnsafeRawBufferPointer) { rest = text }

    package mutating func next() -> UnsafeRawBufferPointer? {
        guard let start = rest.baseAddress, !rest.isEmpty else { return nil }
        let end =
            memchr(start, Int32(UInt8(ascii: "\n")), rest.count).map { UnsafeRawPointer($0) - start + 1 } ?? rest.count
        let line = UnsafeRawBufferPointer(rebasing: rest[..<end])
        rest = UnsafeRawBufferPointer(rebasing: rest[end...])
        return line
    }

    /// The length of a text's first block: as many whole lines as fit into `LogLimits.blockBytes`, and at least one
    /// line. 0 if the text has no whole line.
    package static func blockBytes(_ text: UnsafeRawBufferPointer, limit: Int) -> Int {
        var end = Swift.min(text.count, limit)
        while end > 0, text[end - 1] != UInt8(ascii: "\n") { end -= 1 }
        if end > 0 { return end }
        guard let line = LineSlices(text).first(where: { _ in true }), line.last == UInt8(ascii: "\n") else { return 0 }
        return line.count
    }
}
