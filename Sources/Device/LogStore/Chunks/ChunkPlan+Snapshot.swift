import FoundationEssentials
import WireModel

extension ChunkPlan {
    /// What was found wrong while planning; the plan is of the rest.
    package typealias Problem = StoreSnapshot.Problem

    /// Plans the chunks of all lines of a snapshot that a filter wants. Reads only blocks of which some lines are wanted and some not.
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
                do { try scanner.add(segment, to: &planner) } catch { problems.append(Problem(name: segment.name, error: error)) }
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
            part: ChunkPlan.Part(segment.name, 0..<index.whole.rawBytes, isCopied: segment.isSealed), type: segment.name.kind.type,
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
        self.init(ordinal: name.ordinal, kind: name.kind.rawValue, offset: range.lowerBound, bytes: range.count, isCopied: isCopied)
    }
}
