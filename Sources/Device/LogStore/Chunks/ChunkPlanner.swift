import FoundationEssentials
import WireModel

/// Puts chunks together: pieces come in byte order, and one goes into the chunk before it while it fits. Pure.
package struct ChunkPlanner {
    /// Lines that go into one chunk together.
    package struct Piece {
        package var part: ChunkPlan.Part
        package var type: LogType
        package var first: UInt64
        package var last: UInt64
        package var tally: LineTally
        /// Of a whole sealed segment.
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
                    type: piece.type, parts: [], rawBytes: 0, lines: 0, first: piece.first, last: piece.last, earliest: 0, latest: 0,
                    rawDigest: piece.digests?.raw, storedDigest: piece.digests?.stored, storedBytes: piece.digests?.storedBytes))
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

    /// Neighbours of one segment become one part; unwanted lines between two filtered ones are left out again when it is read.
    private mutating func append(_ part: ChunkPlan.Part, to chunk: Int) {
        guard let last = chunks[chunk].parts.last, last.ordinal == part.ordinal, last.isCopied == part.isCopied,
            !part.isCopied || last.range.upperBound == part.offset
        else { return chunks[chunk].parts.append(part) }
        chunks[chunk].parts[chunks[chunk].parts.count - 1].bytes = part.range.upperBound - last.offset
    }
}
