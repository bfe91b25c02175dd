import FoundationEssentials
import Gzip
import RecordStore
import Registry
import TelemetryBasics
import WireModel

/// Returns the lines that match a query, each once, in the requested order, piece by piece.
///
/// For the order by time, segments are merged. A segment is opened when the merge reaches its first line, so only
/// segments that overlap in time are open. Their text in memory is limited: beyond the limit, the segments whose next
/// line is furthest away release their text.
package actor LogReader {
    private let metadata: MetadataService
    private let chunks: any ChunkStore
    private let filter: LogFilter
    private let matcher: LogLineMatcher
    private let form: LogForm
    private let heldBytes: Int
    private let held = HeldText()
    private let compressor: GzipCompressor?
    private nonisolated let executor = BlockingExecutor(label: "ws1.collector.log-reader")

    package nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }

    /// Segments in the order in which they are opened, the next one last.
    private var waiting: [LogSegment]
    /// A heap ordered by the present line.
    private var open: [SegmentCursor] = []
    private var isCompressed = false

    /// The approximate size of one piece of the answer in bytes.
    static let pieceBytes = 128 << 10
    /// The most bytes of text in memory for all open segments.
    package static let standardHeldBytes = 32 << 20

    init(
        _ segments: [LogSegment], of query: LogQuery, as form: LogForm, metadata: MetadataService,
        chunks: any ChunkStore, heldBytes: Int = LogReader.standardHeldBytes
    ) throws(StoreError) {
        self.metadata = metadata
        self.chunks = chunks
        self.form = form
        self.heldBytes = heldBytes
        filter = query.lines
        matcher = LogLineMatcher(query.lines)
        do throws(GzipError) { compressor = form.isCompressed ? try GzipCompressor() : nil } catch {
            throw StoreError(.overloaded, error.message)
        }
        switch form.order {
        case .time: waiting = segments.sorted { ($1.start, $1.key) < ($0.start, $0.key) }
        case .number: waiting = segments.sorted { $1.key < $0.key }
        }
    }

    /// The greatest number of bytes of text that were in memory.
    private(set) var mostHeldBytes = 0

    /// The next piece, about 128 KiB; `nil` at the end. One caller at a time; releasing the reader ends it.
    package func next() async throws(StoreError) -> Data? {
        if isCompressed { return nil }
        var output: [UInt8] = []
        output.reserveCapacity(Self.pieceBytes + 4096)
        while output.count < Self.pieceBytes {
            while let segment = waiting.last, isDue(segment) {
                waiting.removeLast()
                try await openSegment(segment)
            }
            guard let cursor = open.first else { break }
            switch form.label {
            case .device: output.append(contentsOf: "\(cursor.key.device) ".utf8)
            case .source: output.append(contentsOf: "\(cursor.key.device) \(cursor.applicationLabel) ".utf8)
            case nil: break
            }
            try cursor.write(to: &output)
            if cursor.head == nil {
                open.swapAt(0, open.count - 1)
                open.removeLast()
            }
            sink(0)
            bound()
        }
        guard let compressor else { return output.isEmpty ? nil : Data(output) }
        return try compress(output, compressor)
    }

    /// A stream that has ended still needs its trailer.
    private func compress(_ output: [UInt8], _ compressor: GzipCompressor) throws(StoreError) -> Data {
        var compressed = Data()
        do throws(GzipError) {
            try Data(output).withContiguousBytes { (bytes) throws(GzipError) in
                try compressor.update(bytes) { compressed.append(contentsOf: $0) }
            }
            if output.isEmpty {
                isCompressed = true
                try compressor.finish { compressed.append(contentsOf: $0) }
            } else {
                // Flushes, so the client can read what there is.
                try compressor.flush { compressed.append(contentsOf: $0) }
            }
        } catch { throw StoreError(.internalFault, error.message) }
        return compressed
    }

    private func isDue(_ segment: LogSegment) -> Bool {
        guard let head = open.first?.head else { return true }
        return form.order == .time && segment.start <= head.time
    }

    private func openSegment(_ segment: LogSegment) async throws(StoreError) {
        let runs = try await metadata.runs(segment.runs)
        let cursor = try SegmentCursor(segment.key, runs.map { RunCursor($0, filter, matcher, held, chunks) })
        guard cursor.head != nil else { return }
        open.append(cursor)
        rise(open.count - 1)
        bound()
    }

    private func bound() {
        mostHeldBytes = max(mostHeldBytes, held.bytes)
        guard held.bytes > heldBytes else { return }
        for cursor in open.sorted(by: { Self.isBefore($1, $0) }) where held.bytes > heldBytes / 2 { cursor.release() }
    }

    // MARK: Heap

    private static func isBefore(_ left: SegmentCursor, _ right: SegmentCursor) -> Bool {
        guard let first = left.head, let second = right.head else { return left.head != nil }
        return first.time == second.time ? left.key < right.key : first.time < second.time
    }

    private func rise(_ start: Int) {
        var place = start
        while place > 0, Self.isBefore(open[place], open[(place - 1) / 2]) {
            open.swapAt(place, (place - 1) / 2)
            place = (place - 1) / 2
        }
    }

    private func sink(_ start: Int) {
        var place = start
        while true {
            let children = [2 * place + 1, 2 * place + 2].filter { $0 < open.count }
            guard let least = children.min(by: { Self.isBefore(open[$0], open[$1]) }),
                Self.isBefore(open[least], open[place])
            else {
                return
            }
            open.swapAt(place, least)
            place = least
        }
    }
}
