import FoundationEssentials
import RecordStore
import Registry
import TelemetryBasics
import WireModel

/// Counts the lines that match a query by level and time, each line once.
///
/// The index knows for each run and each piece its times and its lines by level. A run or a piece within one bucket is
/// counted without a look at its text. A piece that reaches over a border is spread evenly over its time, or read, if
/// the caller wants exact numbers. A filter by words or categories needs the text of every piece.
///
/// Text is read from the newest piece backwards, up to a bound. What is older than that is estimated, or left out if
/// only the text could show it.
actor LogHistogramCounter {
    struct Bounds: Sendable {
        /// Bytes of text that are read for an answer.
        var scannedBytes = 64 << 20
        /// Runs that may match.
        var runs = 100_000
        /// Pieces that are looked at one by one.
        var pieces = 200_000
    }

    private let metadata: MetadataService
    private let chunks: any ChunkStore
    private let bounds: Bounds
    private nonisolated let executor = BlockingExecutor(label: "ws1.collector.log-reader")

    nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }

    init(metadata: MetadataService, chunks: any ChunkStore, bounds: Bounds = Bounds()) {
        (self.metadata, self.chunks, self.bounds) = (metadata, chunks, bounds)
    }

    /// Runs whose pieces are loaded at once.
    private static let runsPerLoad = 256

    /// - Throws: `.invalid` if more may match than can be counted.
    func count(_ query: LogQuery, in buckets: LogBuckets, isExact: Bool) async throws(StoreError) -> LogHistogram {
        var query = query
        query.lines.since = max(query.lines.since ?? .min, buckets.from)
        query.lines.until = min(query.lines.until ?? .max, buckets.to)
        var count = CountInProgress(query.lines, buckets)
        guard let runs = try await metadata.countedRuns(query, limit: bounds.runs) else {
            throw StoreError(
                .invalid,
                """
                More than \(bounds.runs) runs of log lines may match. Name devices or an application, or ask for less \
                time.
                """
            )
        }
        var rows: [Int64] = []
        for segment in Dictionary(grouping: runs, by: \.segment).values {
            if segment.count == 1, count.accept(segment[0]) { continue }
            rows += segment.map(\.row)
        }
        // Those of a chunk together, as they were written.
        rows.sort()
        for start in stride(from: 0, to: rows.count, by: Self.runsPerLoad) {
            count.add(try await metadata.runDetails(Array(rows[start..<min(start + Self.runsPerLoad, rows.count)])))
            guard count.pieces <= bounds.pieces else {
                throw StoreError(
                    .invalid,
                    """
                    More than \(bounds.pieces) pieces of logs may match. Name devices or an application, or ask for \
                    less time.
                    """
                )
            }
        }
        try count.finish(from: chunks, isExact: isExact, maximumBytes: bounds.scannedBytes)
        return count.histogram
    }
}

/// A run, as it is counted.
struct CountedLogRun: Sendable {
    var row: Int64
    var segment: LogSegment.Key
    var times: ClosedRange<Int64>
    /// Lines by level, most severe first.
    var levels: [UInt64]
}

/// A histogram while it is made.
private struct CountInProgress {
    private(set) var histogram: LogHistogram
    private(set) var pieces = 0
    private let filter: LogFilter
    private let levels: [LogLevel]
    private let needsText: Bool
    private var runs: [LogRunDetail] = []
    private var segments: [LogSegment.Key: [Item]] = [:]

    /// A piece that may have matching lines.
    private struct Item {
        var piece: LogPiece
        /// Its position in `runs`.
        var run: Int
        var share = LogPieceOverlap.Share.all
    }

    private struct Place: Hashable {
        var chunk: Int64
        var offset: UInt64
    }

    /// - Parameter filter: with the window's borders.
    init(_ filter: LogFilter, _ buckets: LogBuckets) {
        histogram = LogHistogram(buckets)
        self.filter = filter
        levels = LogLevel.allCases.filter { $0 <= filter.level }
        needsText = !filter.text.isEmpty || !filter.categories.isEmpty
    }

    /// Counts a run that is alone in its segment by its row.
    /// - Returns: whether that was possible.
    mutating func accept(_ run: CountedLogRun) -> Bool {
        guard !needsText, let bucket = bucket(of: run.times) else { return false }
        for level in levels { histogram.add(Int(clamping: run.levels[level.rawValue - 1]), level, to: bucket) }
        return true
    }

    /// The one bucket of times that are within the filter's borders, too.
    private func bucket(of times: ClosedRange<Int64>) -> Int? {
        guard times.lowerBound >= filter.since ?? .min, times.upperBound < filter.until ?? .max else { return nil }
        return histogram.buckets.bucket(of: times)
    }

    mutating func add(_ loaded: [LogRunDetail]) {
        for run in loaded {
            let key = LogSegment.Key(device: run.device, epoch: run.epoch, segment: run.segment)
            let found = run.pieces.filter { filter.mayMatch(times: $0.times, levelCounts: $0.levelCounts) }
            segments[key, default: []] += found.map { Item(piece: $0, run: runs.count) }
            pieces += found.count
            var run = run
            run.pieces = []
            runs.append(run)
        }
    }

    mutating func finish(from chunks: any ChunkStore, isExact: Bool, maximumBytes: Int) throws(StoreError) {
        var unsure: [Item] = []
        for items in segments.values {
            for (item, share) in zip(items, LogPieceOverlap.shares(of: items.map(\.piece))) where share != .none {
                if !needsText, share == .all, let bucket = bucket(of: item.piece.times) {
                    for level in levels { histogram.add(Int(item.piece.levels[level.rawValue - 1]), level, to: bucket) }
                } else {
                    unsure.append(Item(piece: item.piece, run: item.run, share: share))
                }
            }
        }
        segments = [:]
        unsure.sort {
            ($0.piece.greatestTime, $0.run, $0.piece.storedOffset) > (
                $1.piece.greatestTime, $1.run, $1.piece.storedOffset
            )
        }
        let rest = needsText || isExact ? try read(unsure, from: chunks, maximumBytes: maximumBytes) : unsure[...]
        guard let next = rest.first else { return }
        if needsText {
            let newest = min(next.piece.greatestTime, histogram.buckets.to - 1)
            histogram.firstCounted = (histogram.buckets.bucket(of: newest) ?? 0) + 1
            return
        }
        histogram.isExact = false
        for item in rest {
            var part = 1.0
            if case .part(let share) = item.share { part = share }
            for level in levels {
                histogram.spread(
                    Int(item.piece.levels[level.rawValue - 1]), level, over: item.piece.times, share: part)
            }
        }
    }

    /// Counts the lines of pieces by their text, in order.
    /// - Returns: those that were not read.
    private mutating func read(
        _ items: [Item], from chunks: any ChunkStore, maximumBytes: Int
    ) throws(StoreError) -> ArraySlice<Item> {
        let matcher = LogLineMatcher(filter)
        // A stretch with lines of several segments is read once.
        let places = items.map { Place(chunk: runs[$0.run].chunk, offset: $0.piece.storedOffset) }
        let neighbours = Dictionary(grouping: items.indices) { places[$0] }
        var done: Set<Place> = []
        /// Lines of pieces that may share some, by segment.
        var seen: [LogSegment.Key: Set<UInt64>] = [:]
        for place in items.indices {
            guard !done.contains(places[place]) else { continue }
            guard histogram.scannedBytes < maximumBytes else {
                return items.indices[place...].filter { !done.contains(places[$0]) }.map { items[$0] }[...]
            }
            done.insert(places[place])
            let run = runs[items[place].run]
            guard let stretch = try LogStretch(items[place].piece, of: run.path, in: chunks) else { continue }
            histogram.scannedBytes += stretch.bytes.count
            var shares: [UInt64: LogPieceOverlap.Share] = [:]
            for neighbour in neighbours[places[place]] ?? [] {
                shares[runs[items[neighbour].run].segment] = items[neighbour].share
            }
            stretch.forEachLine { line in
                let number = line.fields.number
                guard let share = shares[number.segment], matcher.matches(line.fields, in: line.bytes),
                    let bucket = histogram.buckets.bucket(of: line.fields.time)
                else { return true }
                if share != .all {
                    let key = LogSegment.Key(device: run.device, epoch: run.epoch, segment: number.segment)
                    guard seen[key, default: []].insert(number.value).inserted else { return true }
                }
                histogram.add(1, line.fields.level, to: bucket)
                return true
            }
        }
        return []
    }
}
