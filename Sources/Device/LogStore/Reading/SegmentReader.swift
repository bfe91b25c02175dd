import FoundationEssentials
import Gzip
import TelemetryBasics
import WireModel

/// Reads one segment in the form it has when it is opened. The segment stays readable if it is sealed or removed
/// meanwhile.
package final class SegmentReader {
    package let name: SegmentName
    /// The index of a sealed segment. It is rebuilt in memory if its file is lost or damaged.
    package let index: SegmentIndex?
    private let content: Content
    private let keys: LogKeys?
    /// Bytes of the text's file that are committed; `nil`: all.
    private let fileEnd: Int?
    private let inflater: BlockInflater
    /// Where encrypted text that is read on in order is gone on with.
    private var place: FrameReader.Position?
    /// Stretches of encrypted text that do not open; known after ``stretches(epoch:)``.
    private(set) var problem: LogStoreError?

    private enum Content: ~Copyable {
        case text(OpenFile<LogStoreError>)
        case stored(StoredSegment)
    }

    /// - Throws: `.notFound` if nothing is left of the segment; `.damaged`, `.newer`.
    package static func open(
        _ name: SegmentName, in directory: StoreDirectory, inflater: BlockInflater
    ) throws(LogStoreError) -> SegmentReader {
        for _ in 0..<3 {
            do throws(LogStoreError) { return try SegmentReader(name, in: directory, inflater: inflater) } catch {
                // Sealing may be under way: the index exists, and the text is gone.
                guard error.code == .notFound else { throw error }
            }
        }
        return try SegmentReader(name, in: directory, inflater: inflater)
    }

    private init(_ name: SegmentName, in directory: StoreDirectory, inflater: BlockInflater) throws(LogStoreError) {
        self.name = name
        self.inflater = inflater
        keys = directory.keys
        guard var index = try Self.index(name, in: directory) else {
            content = .text(try OpenFile<LogStoreError>(reading: directory.path(name, .text)))
            self.index = nil
            fileEnd = try directory.committedBytes(of: name)
            return
        }
        let stored = try StoredSegment(name, in: directory, index: index)
        let size = try stored.byteCount()
        guard size == stored.expectedBytes else {
            throw LogStoreError(
                .damaged,
                "\(stored.path) has \(size) bytes, its index says \(stored.expectedBytes). `ws1log verify` tells more.")
        }
        if index.rawDigest.isEmpty {
            guard stored.isEncrypted else {
                throw LogStoreError(.notFound, "\(stored.path) was decrypted meanwhile: try again")
            }
            // Without them a chunk of the whole segment is read before it is planned. A key that is missing is an error
            // for whoever reads lines, not for whoever lists segments.
            if let digests = try? stored.digests() { (index.rawDigest, index.storedDigest) = digests }
        }
        content = .stored(stored)
        self.index = index
        fileEnd = nil
    }

    /// The index of a sealed segment; `nil` if the text must be read.
    private static func index(_ name: SegmentName, in directory: StoreDirectory) throws(LogStoreError) -> SegmentIndex?
    {
        let hasText = directory.has(name, .text)
        guard directory.has(name, .sealed), directory.has(name, .index) || !hasText else { return nil }
        do { return try SegmentIndex(name, in: directory) } catch {
            switch error.code {
            case .damaged, .notFound: break
            default: throw error
            }
            // The index is rebuilt from the lines. If the text still exists, it is read in their place.
            return hasText ? nil : try SegmentIndex(rebuilding: name, in: directory, epoch: .unknown)
        }
    }

    package var isSealed: Bool { index != nil }

    /// Summaries of the whole and of each block. For a text segment they cover the lines that are whole now.
    /// - Returns: `nil` if there is no whole line.
    package func stretches(epoch: LogEpochID) throws(LogStoreError) -> SegmentIndex? {
        if let index { return index }
        var builder = SegmentIndexBuilder(name, epoch: epoch)
        var reader = try text(from: 0, end: nil)
        while let text = try reader.next() {
            builder.add(text: text, stored: text, isAfterDamage: !reader.damages.isEmpty)
        }
        if !reader.damages.isEmpty { problem = .frames(reader.damages, of: name) }
        return builder.index()
    }

    private func text(from start: Int, end: Int?) throws(LogStoreError) -> TextBlockReader {
        switch content {
        case .text(let file):
            try TextBlockReader(
                try file.duplicate(), of: name, keys: keys, from: start, end: end, fileEnd: fileEnd, at: place)
        case .stored: throw LogStoreError(.notFound, "segment \(name.ordinal) has no text")
        }
    }

    private func stored() throws(LogStoreError) -> StoredSegment {
        switch content {
        case .stored(let stored): return stored
        case .text: throw LogStoreError(.notFound, "segment \(name.ordinal) is not sealed")
        }
    }

    /// The text of one block, valid until the next call.
    package func text(of block: SegmentIndex.Block) throws(LogStoreError) -> UnsafeRawBufferPointer {
        try inflater.text(of: block, in: try stored())
    }

    /// Reads whole lines of a range of the text, piece by piece.
    /// - Parameters:
    ///   - range: begins and ends at line borders. What lies beyond the last whole line is left out.
    ///   - isWanted: decides by its summary whether a block is read. A text segment has no blocks and is read whole.
    ///   - body: receives a piece and its offset in the text. The piece is valid during the call.
    package func read(
        _ range: Range<Int>, where isWanted: (SegmentIndex.Stretch) -> Bool,
        _ body: (UnsafeRawBufferPointer, Int) throws(LogStoreError) -> Void
    ) throws(LogStoreError) {
        guard let index else {
            var reader = try text(from: range.lowerBound, end: range.upperBound)
            while let text = try reader.next() { try body(text, reader.offset - text.count) }
            place = reader.place
            return
        }
        let stored = try stored()
        for block in index.blocks[index.blocks(overlapping: range)] where isWanted(block.stretch) {
            let text = try inflater.text(of: block, in: stored)
            let part = max(range.lowerBound - block.rawOffset, 0)..<min(range.upperBound - block.rawOffset, text.count)
            try body(UnsafeRawBufferPointer(rebasing: text[part]), block.rawOffset + part.lowerBound)
        }
    }

    /// The compressed bytes of a range of the text. The range must begin and end at block borders and lie contiguously
    /// in the file.
    /// - Throws: `.damaged` if it does not.
    package func storedRange(of range: Range<Int>) throws(LogStoreError) -> Range<Int> {
        guard let index, case let blocks = index.blocks[index.blocks(overlapping: range)], let first = blocks.first,
            let last = blocks.last,
            first.rawOffset == range.lowerBound, last.rawOffset + last.stretch.rawBytes == range.upperBound
        else {
            throw LogStoreError(
                .damaged,
                "segment \(name.ordinal) has other blocks than when the chunks were planned. Plan them again.")
        }
        return first.storedOffset..<(last.storedOffset + last.stretch.storedBytes)
    }

    func copy(_ range: Range<Int>, to sink: inout some ChunkSink) throws(LogStoreError) {
        try stored().copy(range, to: &sink)
    }

    /// The digest of the gzip form of a sealed segment.
    /// - Throws: `.locked` if it is encrypted and the key is not at hand.
    func storedDigest() throws(LogStoreError) -> Data? {
        guard let index, index.storedDigest.isEmpty else { return index?.storedDigest }
        return try stored().digests().stored
    }
}

extension LogStoreError {
    /// Frames of an encrypted text that do not open.
    static func frames(_ damages: [Range<Int>], of name: SegmentName) -> LogStoreError {
        let ranges = damages.prefix(5).map { "\($0.lowerBound) to \($0.upperBound)" }.joined(separator: ", ")
        return LogStoreError(
            .damaged,
            "\(name.file(.text)) is damaged at bytes \(ranges): the lines there are not what was written. The others "
                + "can be read; their numbers show how many are missing.")
    }
}

extension SegmentIndex {
    /// The blocks that hold bytes of a range of the text.
    func blocks(overlapping range: Range<Int>) -> Range<Int> {
        let first = blocks.partitioningIndex { $0.rawOffset + $0.stretch.rawBytes > range.lowerBound }
        let end = blocks.partitioningIndex { $0.rawOffset >= range.upperBound }
        return first..<max(first, end)
    }
}

extension Array {
    /// The first position at which `holds` is true. It must be true for all positions after that.
    func partitioningIndex(where holds: (Element) -> Bool) -> Int {
        var (low, high) = (0, count)
        while low < high {
            let middle = (low + high) / 2
            if holds(self[middle]) { high = middle } else { low = middle + 1 }
        }
        return low
    }
}

extension Identifier where Subject == LogEpochSubject {
    /// Used while the store's epoch is unknown.
    package static var unknown: Self { Self(high: 0, low: 0) }
}

/// Inflates blocks of sealed segments, one at a time, into memory that it reuses. Not `Sendable`: use it from one
/// thread at a time.
package final class BlockInflater {
    private let inflater: GzipDecompressor
    private var stored = UnsafeMutableRawBufferPointer.allocate(byteCount: LogLimits.blockBytes, alignment: 16)
    private var text = UnsafeMutableRawBufferPointer.allocate(byteCount: LogLimits.blockBytes, alignment: 16)

    package init() throws(LogStoreError) {
        do { inflater = try GzipDecompressor(limits: .sealedSegment) } catch {
            throw LogStoreError(.io, error.message, cause: error)
        }
    }

    deinit {
        stored.deallocate()
        text.deallocate()
    }

    /// The text of a block, valid until the next call.
    /// - Throws: `.damaged` if it is not what the index says.
    func text(of block: SegmentIndex.Block, in segment: StoredSegment) throws(LogStoreError) -> UnsafeRawBufferPointer {
        let stretch = block.stretch
        Self.enlarge(&stored, to: stretch.storedBytes)
        Self.enlarge(&text, to: stretch.rawBytes)
        let target = UnsafeMutableRawBufferPointer(rebasing: stored.prefix(stretch.storedBytes))
        var filled = 0
        inflater.reset()
        try segment.read(block, into: target)
        do throws(GzipError) {
            try inflater.update(UnsafeRawBufferPointer(target)) { [text] piece in
                let room = UnsafeMutableRawBufferPointer(rebasing: text.prefix(stretch.rawBytes).dropFirst(filled))
                room.copyMemory(from: UnsafeRawBufferPointer(rebasing: piece.prefix(room.count)))
                filled += piece.count
            }
            try inflater.finish()
        } catch { throw segment.damaged(block, error) }
        guard filled == stretch.rawBytes, inflater.members == 1 else { throw segment.damaged(block) }
        return UnsafeRawBufferPointer(rebasing: text.prefix(filled))
    }

    private static func enlarge(_ buffer: inout UnsafeMutableRawBufferPointer, to size: Int) {
        guard buffer.count < size else { return }
        buffer.deallocate()
        buffer = .allocate(byteCount: size, alignment: 16)
    }
}
