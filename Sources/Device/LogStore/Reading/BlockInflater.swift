import Gzip
import WireModel

/// Inflates blocks of sealed segments, one after the other, into memory it keeps. Not `Sendable`: one thread at a time.
package final class BlockInflater {
    private let inflater: GzipDecompressor
    private var stored = UnsafeMutableRawBufferPointer.allocate(byteCount: LogLimits.blockBytes, alignment: 16)
    private var text = UnsafeMutableRawBufferPointer.allocate(byteCount: LogLimits.blockBytes, alignment: 16)

    package init() throws(LogStoreError) {
        do { inflater = try GzipDecompressor(limits: .sealedSegment) } catch { throw LogStoreError(.io, error.message, cause: error) }
    }

    deinit {
        stored.deallocate()
        text.deallocate()
    }

    /// The text of a block; valid until the next call.
    /// - Throws: `.damaged` where it is not what the index says.
    func text(of block: SegmentIndex.Block, in file: borrowing StoreFile) throws(LogStoreError) -> UnsafeRawBufferPointer {
        let stretch = block.stretch
        Self.enlarge(&stored, to: stretch.storedBytes)
        Self.enlarge(&text, to: stretch.rawBytes)
        let target = UnsafeMutableRawBufferPointer(rebasing: stored.prefix(stretch.storedBytes))
        var filled = 0
        inflater.reset()
        do {
            guard try file.read(into: target, at: block.storedOffset) == stretch.storedBytes else { throw damaged(block, file.path) }
            do throws(GzipError) {
                try inflater.update(UnsafeRawBufferPointer(target)) { [text] piece in
                    let room = UnsafeMutableRawBufferPointer(rebasing: text.prefix(stretch.rawBytes).dropFirst(filled))
                    room.copyMemory(from: UnsafeRawBufferPointer(rebasing: piece.prefix(room.count)))
                    filled += piece.count
                }
                try inflater.finish()
            } catch { throw damaged(block, file.path, error) }
        }
        guard filled == stretch.rawBytes, inflater.members == 1 else { throw damaged(block, file.path) }
        return UnsafeRawBufferPointer(rebasing: text.prefix(filled))
    }

    private static func enlarge(_ buffer: inout UnsafeMutableRawBufferPointer, to size: Int) {
        guard buffer.count < size else { return }
        buffer.deallocate()
        buffer = .allocate(byteCount: size, alignment: 16)
    }

    private func damaged(_ block: SegmentIndex.Block, _ path: String, _ cause: GzipError? = nil) -> LogStoreError {
        LogStoreError(
            .damaged,
            "\(path) is damaged: lines \(block.stretch.first.value) to \(block.stretch.first.value + UInt64(block.stretch.lines) - 1) are not what "
                + "was written. The other blocks may still be readable.", cause: cause)
    }
}
