import FoundationEssentials
import RecordStore
import Registry
import TelemetryBasics
import WireModel

/// Makes pages of lines. Each page is made anew from the index and the chunks; between two pages nothing is kept.
///
/// ## How a page is made
///
/// The index knows the earliest and the latest line of each piece of each run. Pieces are read in the order of the line
/// that comes first in them. The page keeps the lines that come first of all that were read. It is complete when the
/// next piece begins behind its last line. So a page at the end of a log of 200 MB reads a piece or two.
///
/// ## Bounds
///
/// - *Text read*: after `Bounds.scannedBytes` the page ends with the lines before the next piece, however few, and says
///   where the next page begins. It goes on to `Bounds.mostScannedBytes` while that would be where it began itself,
///   because the pieces of many devices all begin there. Then it gives up.
/// - *Memory*: one stretch of text, the page (`Bounds.pageBytes`), the headers of runs and the pieces of runs that were
///   reached.
actor LogLinePager {
    struct Bounds: Sendable {
        /// Bytes of text that are read for a page.
        var scannedBytes = 16 << 20
        /// Bytes of text that are read for a page that has got nowhere.
        var mostScannedBytes = 512 << 20
        /// Bytes of text in a page.
        var pageBytes = 2 << 20
        /// Headers of runs.
        var runs = 20_000
        /// Pieces in memory, of 64 bytes each.
        var pieces = 400_000
    }

    private let metadata: MetadataService
    private let chunks: any ChunkStore
    private let bounds: Bounds
    private nonisolated let executor = BlockingExecutor(label: "ws1.collector.log-reader")

    nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }

    /// Runs whose pieces are loaded at once.
    private static let runsPerLoad = 16

    init(metadata: MetadataService, chunks: any ChunkStore, bounds: Bounds = Bounds()) {
        (self.metadata, self.chunks, self.bounds) = (metadata, chunks, bounds)
    }

    // MARK: Pages by time

    /// - Parameter start: `nil` from the first line in this order.
    /// - Throws: `.invalid` if more overlaps in time than may be read.
    func page(
        _ query: LogQuery, _ order: LogLineOrder, from start: LogLinePosition?, limit: Int
    ) async throws(StoreError) -> LogLinePage {
        var query = query
        if let time = start?.time {
            switch order {
            case .newest: query.lines.until = min(query.lines.until ?? .max, time == .max ? .max : time + 1)
            case .oldest: query.lines.since = max(query.lines.since ?? .min, time)
            }
        }
        let found = try await metadata.runHeaders(query, order, limit: bounds.runs)
        var page = PageInProgress(
            query, order, start: start, list: LogLineList(order, limit: limit, maximumBytes: bounds.pageBytes))
        var headers = found.headers[...]
        /// The rank from which lines may be in runs that were not found.
        let unknownRank = found.isCut ? found.headers.last.map { order.rank($0.times) } ?? .max : .max
        while true {
            try await load(&headers, order, into: &page)
            let rank = min(page.queue.first?.rank ?? .max, unknownRank)
            if rank == .max, page.queue.first == nil { return page.whole(arrival: LogArrival(run: found.next)) }
            // All that comes before the page's end was read.
            if let end = page.list.end, rank > order.rank(end.time) {
                return page.full(arrival: LogArrival(run: found.next))
            }
            let isSpent = page.scannedBytes >= bounds.scannedBytes || rank >= unknownRank
            if isSpent, rank > page.startRank {
                return page.stopped(atRank: rank, arrival: LogArrival(run: found.next))
            }
            guard rank < unknownRank, page.scannedBytes < bounds.mostScannedBytes else {
                throw StoreError(
                    .invalid,
                    """
                    The logs of too many devices or programs overlap at \(Timestamp.text(order.time(rank))). Name \
                    devices or an application.
                    """
                )
            }
            try page.readFirst(from: chunks)
        }
    }

    /// Loads the pieces of runs that may begin before the next piece.
    private func load(
        _ headers: inout ArraySlice<LogRunHeader>, _ order: LogLineOrder, into page: inout PageInProgress
    ) async throws(StoreError) {
        while let header = headers.first, page.queue.first.map({ order.rank(header.times) <= $0.rank }) ?? true {
            let next = headers.prefix(Self.runsPerLoad)
            headers = headers.dropFirst(next.count)
            page.add(try await metadata.runDetails(next.map(\.row)))
            guard page.queue.count <= bounds.pieces else {
                throw StoreError(
                    .invalid,
                    "The logs of too many devices or programs overlap in time. Name devices or an application.")
            }
        }
    }

    // MARK: Arrival

    /// Lines of runs that arrived since.
    /// - Parameter passesDamage: whether damaged bytes are passed over and counted, not thrown.
    func arrived(
        _ query: LogQuery, since start: LogArrival, limit: Int, passesDamage: Bool = false
    ) async throws(StoreError) -> ArrivedLogLines {
        let (rows, next) = try await metadata.arrivedRuns(query, from: start.run, limit: Self.arrivedRuns)
        let matcher = LogLineMatcher(query.lines)
        var arrived = ArrivedLogLines(
            arrival: LogArrival(run: rows.count < Self.arrivedRuns ? next : rows[rows.count - 1] + 1))
        arrived.hasMore = arrived.arrival.run < next
        var bytes = 0
        for row in rows {
            // One after the other: most answers need few.
            for run in try await metadata.runDetails([row]) {
                var position = row == start.run ? start : LogArrival(run: row)
                while position.pieces < run.pieces.count {
                    let piece = run.pieces[position.pieces]
                    defer { position = LogArrival(run: row, pieces: position.pieces + 1) }
                    guard query.lines.mayMatch(times: piece.times, levelCounts: piece.levelCounts) else { continue }
                    guard arrived.scannedBytes < bounds.scannedBytes else {
                        (arrived.arrival, arrived.hasMore) = (position, true)
                        return arrived
                    }
                    let found: LogStretch?
                    do throws(StoreError) { found = try LogStretch(piece, of: run.path, in: chunks) } catch {
                        guard passesDamage, error.code == .corrupt else { throw error }
                        arrived.unreadable += piece.levelCounts.reduce(0) { $0 + Int(clamping: $1) }
                        continue
                    }
                    guard let stretch = found else { continue }
                    arrived.scannedBytes += stretch.bytes.count
                    var full: LogArrival?
                    stretch.forEachLine(from: min(position.offset, stretch.bytes.count)) { line in
                        guard line.fields.number.segment == run.segment, matcher.matches(line.fields, in: line.bytes)
                        else { return true }
                        let reported = LogLineRow(line, of: run)
                        guard
                            arrived.lines.isEmpty
                                || arrived.lines.count < limit && bytes + reported.bytes <= bounds.pageBytes
                        else {
                            full = LogArrival(run: row, pieces: position.pieces, offset: line.start)
                            return false
                        }
                        bytes += reported.bytes
                        arrived.lines.append(reported)
                        return true
                    }
                    if let full {
                        (arrived.arrival, arrived.hasMore) = (full, true)
                        return arrived
                    }
                }
            }
        }
        return arrived
    }

    private static let arrivedRuns = 1000
}

/// A page while it is made.
private struct PageInProgress {
    private let order: LogLineOrder
    private let start: LogLinePosition?
    private let filter: LogFilter
    private let matcher: LogLineMatcher
    private var runs: [LogRunDetail] = []
    /// Stretches that were read. One with lines of several segments is a piece of each.
    private var read: Set<Place> = []
    private(set) var list: LogLineList
    private(set) var queue = LogPieceQueue()
    private(set) var scannedBytes = 0

    private struct Place: Hashable {
        var chunk: Int64
        var offset: UInt64
    }

    init(_ query: LogQuery, _ order: LogLineOrder, start: LogLinePosition?, list: LogLineList) {
        (self.order, self.start, self.list) = (order, start, list)
        filter = query.lines
        matcher = LogLineMatcher(query.lines)
    }

    /// The least rank that a line can have: that of the start, or of the filter's border.
    var startRank: Int64 {
        switch order {
        case .newest: filter.until.map { $0 == .max ? .min : order.rank($0 - 1) } ?? .min
        case .oldest: filter.since ?? .min
        }
    }

    mutating func add(_ loaded: [LogRunDetail]) {
        for run in loaded {
            for piece in run.pieces where filter.mayMatch(times: piece.times, levelCounts: piece.levelCounts) {
                // Of the lines that match, none comes before that.
                let rank = max(order.rank(piece.times), startRank)
                queue.insert(LogPieceQueue.Entry(rank: rank, piece: piece, run: runs.count))
            }
            runs.append(run)
        }
    }

    /// Reads the next piece and adds its lines.
    mutating func readFirst(from chunks: any ChunkStore) throws(StoreError) {
        guard let entry = queue.removeFirst() else { return }
        let run = runs[entry.run]
        guard read.insert(Place(chunk: run.chunk, offset: entry.piece.storedOffset)).inserted,
            let stretch = try LogStretch(entry.piece, of: run.path, in: chunks)
        else { return }
        scannedBytes += stretch.bytes.count
        var found: [LogLineRow] = []
        stretch.forEachLine { line in
            let id = LogLineID(line.fields, of: run)
            if line.fields.number.value <= UInt64(Int64.max), matcher.matches(line.fields, in: line.bytes),
                begins(with: id),
                list.wants(id)
            {
                found.append(LogLineRow(line, of: run))
            }
            return true
        }
        list.add(found)
    }

    private func begins(with id: LogLineID) -> Bool {
        switch start {
        case .after(let line): order.precedes(line, id)
        case .time, nil: true
        }
    }

    /// Everything was read.
    func whole(arrival: LogArrival) -> LogLinePage {
        LogLinePage(
            lines: list.lines, next: list.isCut ? list.lines.last.map { .after($0.id) } : nil, arrival: arrival,
            scannedBytes: scannedBytes)
    }

    /// There is more after the last line.
    func full(arrival: LogArrival) -> LogLinePage {
        LogLinePage(
            lines: list.lines, next: list.lines.last.map { .after($0.id) }, arrival: arrival, scannedBytes: scannedBytes
        )
    }

    /// All lines of a lesser rank were read.
    mutating func stopped(atRank rank: Int64, arrival: LogArrival) -> LogLinePage {
        list.cut(atRank: rank)
        return LogLinePage(
            lines: list.lines, next: .time(order.time(rank)), arrival: arrival, scannedBytes: scannedBytes)
    }
}

extension LogLineID {
    init(_ line: LogLine, of run: LogRunDetail) {
        self.init(time: line.time, device: run.device, epoch: run.epoch, number: line.number.value)
    }
}

extension LogLineRow {
    fileprivate init(_ line: LogStretch.Line, of run: LogRunDetail) {
        let fields = line.fields
        var rest = LogLimits.lineBytes
        var isCut = false
        func text(_ bytes: some Collection<UInt8>) -> String {
            let part = Self.prefix(bytes, rest)
            if part.count < bytes.count { isCut = true }
            rest -= part.count
            return String(decoding: part, as: UTF8.self)
        }
        let category = text(line.bytes[fields.category])
        self.init(
            id: LogLineID(fields, of: run), level: fields.level, category: category == "-" ? nil : category,
            text: text(line.bytes[fields.message]), metadata: text(line.bytes[fields.metadata]),
            unformatted: line.unformatted.isEmpty ? nil : text(line.unformatted), isCut: isCut, chunk: run.chunk,
            application: run.application, type: run.type, ring: run.ring, test: run.test, receivedAt: run.receivedAt)
    }

    /// The first bytes, at most so many, in whole characters of UTF-8.
    private static func prefix<Bytes: Collection<UInt8>>(_ bytes: Bytes, _ count: Int) -> Bytes.SubSequence {
        guard bytes.count > count else { return bytes[...] }
        var end = bytes.index(bytes.startIndex, offsetBy: count)
        while end > bytes.startIndex, bytes[end] & 0xC0 == 0x80 { end = bytes.index(end, offsetBy: -1) }
        return bytes[..<end]
    }
}
