import FoundationEssentials
import WireModel

/// Which bytes of which segments make each chunk of a fetch. A value: kept, it gives the same chunks again, as long as their segments are there,
/// whatever is written or sealed meanwhile.
package struct ChunkPlan: Codable, Equatable, Sendable {
    /// Lines of one segment that lie together.
    package struct Part: Codable, Equatable, Sendable {
        package var ordinal: UInt64
        package var kind: String
        /// Of the segment's text; begins and ends at lines.
        package var offset: Int
        package var bytes: Int
        /// Whole blocks of a sealed segment, all lines wanted: taken as they are stored. Otherwise lines are read, filtered and compressed again.
        package var isCopied: Bool

        package var range: Range<Int> { offset..<(offset + bytes) }

        /// `nil` for a kind this program does not know.
        package var name: SegmentName? { SegmentName.Kind(rawValue: kind).map { SegmentName(ordinal: ordinal, kind: $0) } }
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
