import WireModel

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
            try reader?.read(block.rawOffset..<(block.rawOffset + block.stretch.rawBytes), where: { _ in true }) { text, offset in
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
                if let full = piece, !planner.fits(full.tally.rawBytes + line.count, type), planner.fits(full.tally.rawBytes, type) {
                    planner.add(full)
                    piece = nil
                }
                var next =
                    piece
                    ?? ChunkPlanner.Piece(
                        part: ChunkPlan.Part(segment.name, offset..<offset, isCopied: false), type: type, first: position, last: position,
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
