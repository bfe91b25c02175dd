import WireModel

/// The matching lines of a snapshot in the order a person reads them: lines of several processes are merged by time.
/// Blocks without a matching line are not read.
///
/// Holds one block of each segment whose times overlap. Not `Sendable`: use it from one thread at a time.
package final class MergedLines {
    private let directory: StoreDirectory
    private let filter: LogFilter
    private let inflater: BlockInflater
    /// Segments not begun yet, the earliest last.
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

    /// Calls `body` with each line, including its newline, until `body` throws.
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
                if let cursor = try SegmentCursor(next, in: directory, filter: filter, inflater: inflater) {
                    active.append(cursor)
                }
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

/// Walks through the matching lines of one segment.
final class SegmentCursor {
    let name: SegmentName
    private let filter: LogFilter
    private let reader: SegmentReader
    private var blocks: ArraySlice<SegmentIndex.Block>
    private var lines = WantedLines()
    private var position = 0

    /// `nil` if no line matches.
    init?(
        _ segment: StoreSnapshot.Segment, in directory: StoreDirectory, filter: LogFilter, inflater: BlockInflater
    ) throws(LogStoreError) {
        name = segment.name
        self.filter = filter
        reader = try SegmentReader.open(segment.name, in: directory, inflater: inflater)
        blocks = segment.index.blocks[...]
        guard try fill() else { return nil }
    }

    /// The time of the current line.
    var time: Int64 { lines.list[position].time }

    func withLine<Failure: Error>(_ body: (UnsafeRawBufferPointer) throws(Failure) -> Void) throws(Failure) {
        try lines.withLine(position, body)
    }

    /// Moves to the next line; `false` at the end.
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

/// The last matching lines of a snapshot by time. Blocks are read from the latest on, until no unread block can hold a
/// later line.
package struct LatestLines {
    private struct Candidate {
        var time: Int64
        var name: SegmentName
        /// Offset of the line in the segment's text.
        var offset: Int
        var line: [UInt8]
    }

    /// Sorted by time, each with its newline.
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
                        time: line.time, name: name, offset: block.rawOffset + line.range.lowerBound,
                        line: wanted.line(position))
                }
            } catch { problems.append(StoreSnapshot.Problem(name: name, error: error)) }
            latest.sort { ($0.time, $0.name, $0.offset) < ($1.time, $1.name, $1.offset) }
            latest.removeFirst(max(0, latest.count - count))
        }
        lines = latest.map(\.line)
        self.problems = problems
    }
}

/// Copies of the lines of one block that match a filter.
struct WantedLines {
    struct Line {
        /// A malformed line gets the time of the line before it.
        var time: Int64
        var range: Range<Int>
    }

    private(set) var list: [Line] = []
    private var bytes: [UInt8] = []

    init() {}

    init(_ block: SegmentIndex.Block, _ reader: SegmentReader, _ filter: LogFilter) throws(LogStoreError) {
        let matcher = LogLineMatcher(filter)
        let range = block.rawOffset..<(block.rawOffset + block.stretch.rawBytes)
        try reader.read(range, where: { _ in true }) { text, _ in add(text, matcher, filter) }
    }

    mutating func add(_ text: UnsafeRawBufferPointer, _ matcher: LogLineMatcher, _ filter: LogFilter) {
        for line in LineSlices(text) {
            let fields = LogLine(line)
            guard fields.map({ matcher.matches($0, in: line) }) ?? filter.isEverything else { continue }
            let start = bytes.count
            bytes.append(contentsOf: line)
            list.append(Line(time: fields?.time ?? list.last?.time ?? 0, range: start..<bytes.count))
        }
    }

    func withLine<Failure: Error>(_ position: Int, _ body: (UnsafeRawBufferPointer) throws(Failure) -> Void)
        throws(Failure)
    {
        try bytes.withUnsafeBufferPointer { (buffer) throws(Failure) in
            try body(UnsafeRawBufferPointer(rebasing: UnsafeRawBufferPointer(buffer)[list[position].range]))
        }
    }

    func line(_ position: Int) -> [UInt8] { Array(bytes[list[position].range]) }
}
