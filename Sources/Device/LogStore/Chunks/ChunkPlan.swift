import FoundationEssentials
import WireModel

/// Lists the bytes of each segment that make up each chunk of a fetch. A stored plan yields the same chunks again as
/// long as its segments exist, whatever is written or sealed meanwhile.
package struct ChunkPlan: Codable, Equatable, Sendable {
    /// Adjacent lines of one segment.
    package struct Part: Codable, Equatable, Sendable {
        package var ordinal: UInt64
        package var kind: String
        /// The bundle id in the segment's name; absent if it has none.
        package var application: String?
        /// Offset in the segment's text, in bytes. A part begins and ends at line borders.
        package var offset: Int
        package var bytes: Int
        /// Whether the part consists of whole blocks of a sealed segment and every line is wanted. Such a part is
        /// copied in its compressed form. Other parts are read, filtered and compressed again.
        package var isCopied: Bool

        package var range: Range<Int> { offset..<(offset + bytes) }

        /// `nil` if this program does not know the kind of segment.
        package var name: SegmentName? {
            SegmentName.Kind(rawValue: kind).map {
                SegmentName(ordinal: ordinal, kind: $0, application: application ?? "")
            }
        }
    }

    package struct Chunk: Codable, Equatable, Sendable {
        package var type: LogType
        /// The bundle id of all its segments; absent if they have none.
        package var application: String?
        package var parts: [Part]
        package var rawBytes: Int
        package var lines: Int
        package var first: UInt64
        package var last: UInt64
        /// Time of the earliest line, in microseconds since 1970; `latest` is that of the latest.
        package var earliest: Int64
        package var latest: Int64
        /// SHA-256 of the text and of the gzip data. Known from sealing if the chunk is one whole segment, else `nil`.
        package var rawDigest: Data?
        package var storedDigest: Data?
        package var storedBytes: Int?
    }

    package var filter: LogFilter
    package var chunks: [Chunk]
}

extension ChunkPlan {
    /// A part that could not be read while planning. The plan covers the rest.
    package typealias Problem = StoreSnapshot.Problem

    /// Plans chunks for all lines of a snapshot that match a filter. Reads only the blocks in which some lines match
    /// and others may not.
    /// - Parameter problems: receives what could not be read.
    /// - Throws: `.locked` if lines are encrypted and their key is not at hand.
    package init(
        _ snapshot: StoreSnapshot, filter: LogFilter = LogFilter(), maximumBytes: Int = LogLimits.chunkBytes,
        problems: inout [Problem]
    ) throws(LogStoreError) {
        // Lines whose key comes back are not left out of what is sent for good.
        if let locked = (problems + snapshot.problems).first(where: { $0.error.code == .locked }) { throw locked.error }
        var planner = ChunkPlanner(maximumBytes: maximumBytes)
        let scanner = FilteredSegmentPlanner(snapshot.directory, filter: filter, inflater: try BlockInflater())
        for segment in snapshot.segments {
            if filter.isEverything, segment.index.whole.rawBytes <= maximumBytes {
                planner.add(.whole(segment))
            } else if filter.isEverything || filter.mayMatch(segment.index.whole) {
                do { try scanner.add(segment, to: &planner) } catch {
                    if error.code == .locked { throw error }
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

    /// Malformed lines match only the filter that matches everything.
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
            digests: segment.isSealed && !index.rawDigest.isEmpty
                ? (index.rawDigest, index.storedDigest, index.whole.storedBytes) : nil)
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
            ordinal: name.ordinal, kind: name.kind.rawValue,
            application: name.application.isEmpty ? nil : name.application, offset: range.lowerBound,
            bytes: range.count,
            isCopied: isCopied)
    }
}

/// Packs pieces into chunks. Pieces come in byte order; each joins the current chunk if it fits, and begins a new one
/// otherwise. Pure.
package struct ChunkPlanner {
    /// Lines that must go into one chunk together.
    package struct Piece {
        package var part: ChunkPlan.Part
        package var type: LogType
        package var first: UInt64
        package var last: UInt64
        package var tally: LineTally
        /// Known if the piece is one whole sealed segment.
        package var digests: (raw: Data, stored: Data, storedBytes: Int)?

        var owner: Owner { Owner(type: type, application: part.application) }
    }

    /// The properties that all lines of a chunk share.
    struct Owner: Equatable {
        var type: LogType
        var application: String?
    }

    package private(set) var chunks: [ChunkPlan.Chunk] = []
    private var tally = LineTally()
    private let maximumBytes: Int

    package init(maximumBytes: Int = LogLimits.chunkBytes) { self.maximumBytes = maximumBytes }

    /// Whether that many bytes of lines fit into the current chunk.
    func fits(_ bytes: Int, _ owner: Owner) -> Bool {
        guard let chunk = chunks.last else { return false }
        return Owner(type: chunk.type, application: chunk.application) == owner
            && chunk.rawBytes + bytes <= maximumBytes
    }

    package mutating func add(_ piece: Piece) {
        if !fits(piece.tally.rawBytes, piece.owner) {
            tally = LineTally()
            chunks.append(
                ChunkPlan.Chunk(
                    type: piece.type, application: piece.part.application, parts: [], rawBytes: 0, lines: 0,
                    first: piece.first, last: piece.last,
                    earliest: 0, latest: 0, rawDigest: piece.digests?.raw, storedDigest: piece.digests?.stored,
                    storedBytes: piece.digests?.storedBytes))
        } else {
            // The digests from sealing hold for one segment alone, and the chunk now has more.
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

    /// Joins adjacent parts of one segment into one. It may then contain lines that do not match; reading filters them
    /// out.
    private mutating func append(_ part: ChunkPlan.Part, to chunk: Int) {
        guard let last = chunks[chunk].parts.last, last.ordinal == part.ordinal, last.isCopied == part.isCopied,
            !part.isCopied || last.range.upperBound == part.offset
        else { return chunks[chunk].parts.append(part) }
        chunks[chunk].parts[chunks[chunk].parts.count - 1].bytes = part.range.upperBound - last.offset
    }
}

/// Finds the matching lines of a segment and passes them to the planner in pieces that fit into a chunk.
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

    /// - Parameter position: the number of the text's first line; on return, of the line after the text.
    private func add(
        _ text: UnsafeRawBufferPointer, at offset: Int, position: inout UInt64, of segment: StoreSnapshot.Segment,
        to planner: inout ChunkPlanner
    ) {
        let type = segment.name.kind.type
        var piece: ChunkPlanner.Piece?
        var offset = offset
        for line in LineSlices(text) {
            if let fields = LogLine(line), matcher.matches(fields, in: line) {
                if let full = piece, !planner.fits(full.tally.rawBytes + line.count, full.owner),
                    planner.fits(full.tally.rawBytes, full.owner)
                {
                    planner.add(full)
                    piece = nil
                }
                var next =
                    piece
                    ?? ChunkPlanner.Piece(
                        part: ChunkPlan.Part(segment.name, offset..<offset, isCopied: false), type: type,
                        first: position, last: position, tally: LineTally())
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
