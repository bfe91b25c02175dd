import WireModel

/// The wanted lines of a snapshot for a person to read: those of several processes merged by time. Blocks no line of which is wanted are not read.
///
/// Holds a block of each segment whose times overlap. Not `Sendable`: one thread at a time.
package final class MergedLines {
    private let directory: StoreDirectory
    private let filter: LogFilter
    private let inflater: BlockInflater
    /// Not begun; the earliest last.
    private var waiting: [StoreSnapshot.Segment]
    private var active: [SegmentCursor] = []
    /// Segments that could not be read to their end.
    package private(set) var problems: [StoreSnapshot.Problem] = []

    package init(_ snapshot: StoreSnapshot, filter: LogFilter) throws(LogStoreError) {
        directory = snapshot.directory
        self.filter = filter
        inflater = try BlockInflater()
        waiting = snapshot.segments.filter { filter.mayMatch($0.index.whole) }
            .sorted { ($0.index.whole.times.lowerBound, $0.name) > ($1.index.whole.times.lowerBound, $1.name) }
    }

    /// Calls `body` with each line and its end, until it throws.
    package func forEach<Failure: Error>(_ body: (UnsafeRawBufferPointer) throws(Failure) -> Void) throws(Failure) {
        while let cursor = earliest() {
            try active[cursor].withLine(body)
            advance(cursor)
        }
    }

    private func earliest() -> Int? {
        while let next = waiting.last, active.allSatisfy({ next.index.whole.times.lowerBound <= $0.time }) {
            waiting.removeLast()
            do {
                if let cursor = try SegmentCursor(next, in: directory, filter: filter, inflater: inflater) { active.append(cursor) }
            } catch { problems.append(StoreSnapshot.Problem(name: next.name, error: error)) }
        }
        return active.indices.min { (active[$0].time, active[$0].name) < (active[$1].time, active[$1].name) }
    }

    private func advance(_ position: Int) {
        do {
            if try !active[position].advance() { active.remove(at: position) }
        } catch {
            problems.append(StoreSnapshot.Problem(name: active[position].name, error: error))
            active.remove(at: position)
        }
    }
}

/// The wanted lines of a segment, one after the other.
final class SegmentCursor {
    let name: SegmentName
    private let filter: LogFilter
    private let reader: SegmentReader
    private var blocks: ArraySlice<SegmentIndex.Block>
    private var lines = WantedLines()
    private var position = 0

    /// `nil` where no line is wanted.
    init?(
        _ segment: StoreSnapshot.Segment, in directory: StoreDirectory, filter: LogFilter, inflater: BlockInflater
    ) throws(LogStoreError) {
        name = segment.name
        self.filter = filter
        reader = try SegmentReader.open(segment.name, in: directory, inflater: inflater)
        blocks = segment.index.blocks[...]
        guard try fill() else { return nil }
    }

    /// Of the line it stands at.
    var time: Int64 { lines.list[position].time }

    func withLine<Failure: Error>(_ body: (UnsafeRawBufferPointer) throws(Failure) -> Void) throws(Failure) {
        try lines.withLine(position, body)
    }

    /// False at the end.
    func advance() throws(LogStoreError) -> Bool {
        position += 1
        if position < lines.list.count { return true }
        return try fill()
    }

    private func fill() throws(LogStoreError) -> Bool {
        while let block = blocks.popFirst() {
            guard filter.mayMatch(block.stretch) else { continue }
            lines = try WantedLines(block, reader, filter)
            position = 0
            if !lines.list.isEmpty { return true }
        }
        return false
    }
}
