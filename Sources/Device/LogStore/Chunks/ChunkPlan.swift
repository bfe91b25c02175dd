import FoundationEssentials
import WireModel

/// Which bytes of which segments make each chunk of a fetch. A kept plan gives the same chunks again as long as their
/// segments are there, whatever is written or sealed meanwhile.
package struct ChunkPlan: Codable, Equatable, Sendable {
    /// Lines of one segment that lie together.
    package struct Part: Codable, Equatable, Sendable {
        package var ordinal: UInt64
        package var kind: String
        /// The offset in the segment's text. A part begins and ends at lines.
        package var offset: Int
        package var bytes: Int
        /// Whole blocks of a sealed segment, all lines wanted: taken as they are stored. Otherwise lines are read,
        /// filtered and compressed again.
        package var isCopied: Bool

        package var range: Range<Int> { offset..<(offset + bytes) }

        /// `nil` for a kind this program does not know.
        package var name: SegmentName? {
            SegmentName.Kind(rawValue: kind).map { SegmentName(ordinal: ordinal, kind: $0) }
        }
    }

    package struct Chunk: Codable, Equatable, Sendable {
        package var type: LogType
        package var parts: [Part]
        package var rawBytes: Int
        package var lines: Int
        package var first: UInt64
        package var last: UInt64
        /// Least and greatest, microseconds since 1970.
        package var earliest: Int64
        package var latest: Int64
        /// SHA-256 of the text and of the gzip, where they are known from sealing: the chunk is one whole segment.
        package var rawDigest: Data?
        package var storedDigest: Data?
        package var storedBytes: Int?
    }

    package var filter: LogFilter
    package var chunks: [Chunk]
}

extension ChunkPlan {
    /// What was found wrong while planning; the plan is of the rest.
    package typealias Problem = StoreSnapshot.Problem

    /// Plans the chunks of all lines of a snapshot that a filter wants. Reads only blocks of which some lines are
    /// wanted and some not.
    /// - Parameter problems: gets what could not be read.
    package init(
        _ snapshot: StoreSnapshot, filter: LogFilter = LogFilter(), maximumBytes: Int = LogLimits.chunkBytes,
        problems: inout [Problem]
    ) throws(LogStoreError) {
        var planner = ChunkPlanner(maximumBytes: maximumBytes)
        let scanner = FilteredSegmentPlanner(snapshot.directory, filter: filter, inflater: try BlockInflater())
        for segment in snapshot.segments {
            if filter.isEverything, segment.index.whole.rawBytes <= maximumBytes {
                planner.add(.whole(segment))
            } else if filter.isEverything || filter.mayMatch(segment.index.whole) {
                do { try scanner.add(segment, to: &planner) } catch {
                    problems.append(Problem(name: segment.name, error: error))
                }
            }
        }
        self.init(filter: filter, chunks: planner.chunks)
    }
}

extension LogFilter {
    func mayMatch(_ stretch: SegmentIndex.Stretch) -> Bool {
        isEverything || mayMatch(times: stretch.times, levelCounts: stretch.levelCounts)
    }

    /// Lines that are not of the form are wanted by none but the filter that wants everything.
    func matchesAll(_ stretch: SegmentIndex.Stretch) -> Bool {
        isEverything
            || matchesAll(times: stretch.times, levelCounts: stretch.levelCounts)
                && stretch.levelCounts.reduce(0, +) == UInt64(stretch.lines)
    }
}

extension ChunkPlanner.Piece {
    static func whole(_ segment: StoreSnapshot.Segment) -> Self {
        let index = segment.index
        return Self(
            part: ChunkPlan.Part(segment.name, 0..<index.whole.rawBytes, isCopied: segment.isSealed),
            type: segment.name.kind.type,
            first: index.whole.first.value, last: index.last.value, tally: LineTally(index.whole),
            digests: segment.isSealed ? (index.rawDigest, index.storedDigest, index.whole.storedBytes) : nil)
    }

    static func block(_ block: SegmentIndex.Block, of segment: StoreSnapshot.Segment) -> Self {
        Self(
            part: ChunkPlan.Part(
                segment.name, block.rawOffset..<(block.rawOffset + block.stretch.rawBytes), isCopied: segment.isSealed),
            type: segment.name.kind.type, first: block.stretch.first.value,
            last: block.stretch.first.value + UInt64(block.stretch.lines) - 1, tally: LineTally(block.stretch))
    }
}

extension ChunkPlan.Part {
    init(_ name: SegmentName, _ range: Range<Int>, isCopied: Bool) {
        self.init(
            ordinal: name.ordinal, kind: name.kind.rawValue, offset: range.lowerBound, bytes: range.count,
            isCopied: isCopied)
    }
}

/// Puts chunks together: pieces come in byte order, and one goes into the chunk before it while it fits. Pure.
package struct ChunkPlanner {
    /// Lines that go into one chunk together.
    package struct Piece {
        package var part: ChunkPlan.Part
        package var type: LogType
        package var first: UInt64
        package var last: UInt64
        package var tally: LineTally
        /// Known if the piece is a whole sealed segment.
        package var digests: (raw: Data, stored: Data, storedBytes: Int)?
    }

    package private(set) var chunks: [ChunkPlan.Chunk] = []
    private var tally = LineTally()
    private let maximumBytes: Int

    package init(maximumBytes: Int = LogLimits.chunkBytes) { self.maximumBytes = maximumBytes }

    /// Whether lines of so many bytes go into the chunk that is being filled.
    package func fits(_ bytes: Int, _ type: LogType) -> Bool {
        guard let chunk = chunks.last else { return false }
        return chunk.type == type && chunk.rawBytes + bytes <= maximumBytes
    }

    package mutating func add(_ piece: Piece) {
        if !fits(piece.tally.rawBytes, piece.type) {
            tally = LineTally()
            chunks.append(
                ChunkPlan.Chunk(
                    type: piece.type, parts: [], rawBytes: 0, lines: 0, first: piece.first, last: piece.last,
                    earliest: 0, latest: 0,
                    rawDigest: piece.digests?.raw, storedDigest: piece.digests?.stored,
                    storedBytes: piece.digests?.storedBytes))
        } else {
            // More than one segment: nobody has seen these bytes as a whole.
            let chunk = chunks.count - 1
            (chunks[chunk].rawDigest, chunks[chunk].storedDigest, chunks[chunk].storedBytes) = (nil, nil, nil)
        }
        tally.add(piece.tally)
        let chunk = chunks.count - 1
        chunks[chunk].rawBytes = tally.rawBytes
        chunks[chunk].lines = tally.lines
        chunks[chunk].last = piece.last
        (chunks[chunk].earliest, chunks[chunk].latest) = (tally.times.lowerBound, tally.times.upperBound)
        append(piece.part, to: chunk)
    }

    /// Neighbours of one segment become one part; unwanted lines between two filtered ones are left out again when it
    /// is read.
    private mutating func append(_ part: ChunkPlan.Part, to chunk: Int) {
        guard let last = chunks[chunk].parts.last, last.ordinal == part.ordinal, last.isCopied == part.isCopied,
            !part.isCopied || last.range.upperBound == part.offset
        else { return chunks[chunk].parts.append(part) }
        chunks[chunk].parts[chunks[chunk].parts.count - 1].bytes = part.range.upperBound - last.offset
    }
}

/// Finds the lines of a segment that a filter wants, and hands them to the planner in pieces that fit.
final class FilteredSegmentPlanner {
    private let directory: StoreDirectory
    private let filter: LogFilter
    private let matcher: LogLineMatcher
    private let inflater: BlockInflater

    init(_ directory: StoreDirectory, filter: LogFilter, inflater: BlockInflater) {
        self.directory = directory
        self.filter = filter
        self.inflater = inflater
        matcher = LogLineMatcher(filter)
    }

    func add(_ segment: StoreSnapshot.Segment, to planner: inout ChunkPlanner) throws(LogStoreError) {
        var reader: SegmentReader?
        for block in segment.index.blocks where filter.mayMatch(block.stretch) {
            if filter.matchesAll(block.stretch) {
                planner.add(.block(block, of: segment))
                continue
            }
            if reader == nil {
                reader = try SegmentReader.open(segment.name, in: directory, inflater: inflater)
            }
            var position = block.stretch.first.value
            try reader?.read(block.rawOffset..<(block.rawOffset + block.stretch.rawBytes), where: { _ in true }) {
                text, offset in
                add(text, at: offset, position: &position, of: segment, to: &planner)
            }
        }
    }

    /// - Parameter position: number of the text's first line; afterwards of the one that follows.
    private func add(
        _ text: UnsafeRawBufferPointer, at offset: Int, position: inout UInt64, of segment: StoreSnapshot.Segment,
        to planner: inout ChunkPlanner
    ) {
        let type = segment.name.kind.type
        var piece: ChunkPlanner.Piece?
        var offset = offset
        for line in LineSlices(text) {
            if let fields = LogLine(line), matcher.matches(fields, in: line) {
                if let full = piece, !planner.fits(full.tally.rawBytes + line.count, type),
                    planner.fits(full.tally.rawBytes, type)
                {
                    planner.add(full)
                    piece = nil
                }
                var next =
                    piece
                    ?? ChunkPlanner.Piece(
                        part: ChunkPlan.Part(segment.name, offset..<offset, isCopied: false), type: type,
                        first: position, last: position,
                        tally: LineTally())
                next.part.bytes = offset + line.count - next.part.offset
                next.last = position
                next.tally.add(fields, bytes: line.count)
                piece = next
            }
            offset += line.count
            position += 1
        }
        if let piece { planner.add(piece) }
    }
}
