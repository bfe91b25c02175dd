import WireModel

/// The last wanted lines of a snapshot by time. Blocks are read from the latest on, until none that is left can hold a later line.
package struct LatestLines {
    private struct Candidate {
        var time: Int64
        var name: SegmentName
        /// Of the line, in the segment's text.
        var offset: Int
        var line: [UInt8]
    }

    /// In order of time, each with its end.
    package let lines: [[UInt8]]
    package let problems: [StoreSnapshot.Problem]

    package init(_ count: Int, of snapshot: StoreSnapshot, filter: LogFilter) throws(LogStoreError) {
        let inflater = try BlockInflater()
        let blocks = snapshot.segments.flatMap { segment in
            segment.index.blocks.filter { filter.mayMatch($0.stretch) }.map { (segment.name, $0) }
        }.sorted { $0.1.stretch.times.upperBound > $1.1.stretch.times.upperBound }
        var latest: [Candidate] = []
        var problems: [StoreSnapshot.Problem] = []
        for (name, block) in blocks {
            if latest.count == count, let first = latest.first, block.stretch.times.upperBound < first.time { break }
            do {
                let reader = try SegmentReader.open(name, in: snapshot.directory, inflater: inflater)
                let wanted = try WantedLines(block, reader, filter)
                latest += wanted.list.indices.suffix(count).map { position in
                    let line = wanted.list[position]
                    return Candidate(
                        time: line.time, name: name, offset: block.rawOffset + line.range.lowerBound, line: wanted.line(position))
                }
            } catch { problems.append(StoreSnapshot.Problem(name: name, error: error)) }
            latest.sort { ($0.time, $0.name, $0.offset) < ($1.time, $1.name, $1.offset) }
            latest.removeFirst(max(0, latest.count - count))
        }
        lines = latest.map(\.line)
        self.problems = problems
    }
}
