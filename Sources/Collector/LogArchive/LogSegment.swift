import FoundationEssentials
import RecordStore
import WireModel

/// The stored lines of one segment of a device's log, in runs: one for each chunk that contains some of them. Runs
/// overlap if lines were sent more than once.
struct LogSegment: Equatable, Sendable {
    struct Key: Hashable, Sendable, Comparable {
        var device: DeviceID
        var epoch: LogEpochID
        var segment: UInt64

        static func < (left: Key, right: Key) -> Bool {
            (left.device.high, left.device.low, left.epoch.high, left.epoch.low, left.segment)
                < (right.device.high, right.device.low, right.epoch.high, right.epoch.low, right.segment)
        }
    }

    let key: Key
    /// No line is earlier than this.
    private(set) var start: Int64
    /// Rows of `log_run`.
    private(set) var runs: [Int64] = []

    /// The most runs of one answer. Each needs about 100 bytes of memory.
    static let maximumRuns = 200_000

    init(key: Key, start: Int64) {
        self.key = key
        self.start = start
    }

    mutating func add(run: Int64, from time: Int64) {
        runs.append(run)
        start = min(start, time)
    }
}

/// The lines of one segment in one chunk.
struct LogRun: Sendable {
    /// The path of the chunk.
    var path: String
    /// The application of the chunk; empty if it is not known.
    var application: String
    var segment: UInt64
    var pieces: [LogPiece]
}

/// Walks through the lines of a segment by number, each once, whatever chunks contain it.
///
/// Not `Sendable`: belongs to its reader.
final class SegmentCursor {
    let key: LogSegment.Key
    private let runs: [RunCursor]
    /// The run with the next line.
    private var front: RunCursor?

    init(_ key: LogSegment.Key, _ runs: [RunCursor]) throws(StoreError) {
        self.key = key
        self.runs = runs
        for run in runs { try run.advance() }
        chooseFront()
    }

    /// The present line; `nil` at the end.
    var head: RunCursor.Head? { front?.head }

    /// The application of the present line in one word; `-` if it is not known.
    var applicationLabel: String { front?.applicationLabel ?? "-" }

    func release() { for run in runs { run.release() } }

    /// Appends the present line and advances.
    func write(to output: inout [UInt8]) throws(StoreError) {
        guard let front, let head = front.head else { return }
        try front.write(to: &output)
        // Skips the same line in other chunks, and numbers that do not ascend as they must.
        for run in runs { while let other = run.head, other.number <= head.number { try run.advance() } }
        chooseFront()
    }

    private func chooseFront() {
        front = nil
        for run in runs {
            guard let head = run.head else { continue }
            if let best = front?.head, best.number <= head.number { continue }
            front = run
        }
    }
}

/// Walks through the matching lines of a run in the order of the file. It holds the text of one stretch at a time and
/// releases it on request; the text is inflated again when needed.
///
/// Not `Sendable`: belongs to its reader.
final class RunCursor {
    private let run: LogRun
    private let matcher: LogLineMatcher
    /// Pieces that may contain matching lines.
    private let pieces: [LogPiece]
    private var piece = 0
    private var text: [UInt8]?
    private let held: HeldText
    private let chunks: any ChunkStore
    /// Offset of the next line.
    private var position = 0

    struct Head: Equatable {
        var number: UInt64
        var time: Int64
        /// Position in the text of the present stretch, including malformed lines that follow.
        fileprivate var range: Range<Int>
    }

    /// The present line; `nil` at the end.
    private(set) var head: Head?

    var applicationLabel: String {
        let name = run.application.escapingControlCharacters.replacing(" ", with: "_")
        return name.isEmpty ? "-" : name
    }

    init(_ run: LogRun, _ filter: LogFilter, _ matcher: LogLineMatcher, _ held: HeldText, _ chunks: any ChunkStore) {
        self.chunks = chunks
        self.held = held
        self.run = run
        self.matcher = matcher
        pieces = run.pieces.filter { filter.mayMatch(times: $0.times, levelCounts: $0.levelCounts) }
    }

    func release() {
        held.release(text?.count ?? 0)
        text = nil
    }

    /// Advances to the next line.
    func advance() throws(StoreError) {
        head = nil
        while piece < pieces.count {
            guard let text = try load() else { return }
            if let found = text.withUnsafeBytes({ next(in: $0) }) {
                head = found
                position = found.range.upperBound
                return
            }
            release()
            piece += 1
            position = 0
        }
    }

    /// Appends the present line.
    func write(to output: inout [UInt8]) throws(StoreError) {
        guard let head, let text = try load() else { return }
        output.append(contentsOf: text[head.range])
        if text[head.range.upperBound - 1] != UInt8(ascii: "\n") { output.append(UInt8(ascii: "\n")) }
    }

    private func next(in bytes: UnsafeRawBufferPointer) -> Head? {
        var found: Head?
        var start = position
        while start < bytes.count {
            let end = LogStretch.end(of: start, in: bytes)
            let line = UnsafeRawBufferPointer(rebasing: bytes[start..<end])
            if let parsed = LogLine(line) {
                if let found { return found }
                if parsed.number.segment == run.segment, matcher.matches(parsed, in: line) {
                    found = Head(number: parsed.number.value, time: parsed.time, range: start..<end)
                }
            } else if let head = found {
                found?.range = head.range.lowerBound..<end
            }
            start = end
        }
        return found
    }

    /// The text of the present stretch. `nil`, which ends the run, if its file was deleted meanwhile.
    private func load() throws(StoreError) -> [UInt8]? {
        if let text { return text }
        guard let stretch = try LogStretch(pieces[piece], of: run.path, in: chunks) else {
            piece = pieces.count
            return nil
        }
        text = stretch.bytes
        held.hold(stretch.bytes.count)
        return stretch.bytes
    }
}

/// Counts the text in memory of all cursors of one reader.
///
/// Not `Sendable`: belongs to its reader.
final class HeldText {
    private(set) var bytes = 0

    func hold(_ count: Int) { bytes += count }
    func release(_ count: Int) { bytes -= count }
}
