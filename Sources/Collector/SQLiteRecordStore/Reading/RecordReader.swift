import CollectorTunables
import FoundationEssentials
import RecordStore
import Registry
import SQLite
import TelemetryBasics
import WireModel

/// Reads beside the writers, with its own queue and connections.
///
/// A call never suspends, so the files it listed exist until it ends: a file is removed only after `forget` has run
/// here.
actor RecordReader {
    private let directory: DataDirectory
    private let damaged: DamagedFiles
    /// `nil` if there is no `collector.sqlite`.
    private let database: Connection?
    private nonisolated let executor = BlockingExecutor(label: "ws1.collector.store.reader")
    private var files: [Partition: RecordFile] = [:]
    /// Files that are about to be removed. The baseline already has their marks.
    private var retired: Set<Partition> = []
    private var isShutDown = false

    /// The step at which each was last used. The least recently used connection is closed first.
    private var lastUse: [Partition: UInt64] = [:]
    private var uses: UInt64 = 0
    /// Bounds of whole files that are not written any more.
    private var bounds: [Partition: RecordBounds] = [:]

    nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }

    /// - Parameter damaged: receives unreadable files, which are left out.
    init(directory: DataDirectory, damaged: DamagedFiles) throws(StoreError) {
        self.directory = directory
        self.damaged = damaged
        database = try CollectorDatabase.openReading(directory)
    }

    private func baseline() throws(StoreError) -> Baseline {
        guard let database else { throw .noCollector(directory.path) }
        return Baseline(database)
    }

    /// Reads records in the order of receipt.
    /// - Parameter after: from the beginning without it. Its number does not count: a page ends behind a slice.
    func scan(_ query: RecordQuery, after: RecordCursor?) throws(StoreError) -> RecordPage {
        var page = RecordPageBuilder(query: query, limit: .max, isForward: true)
        page.resume = after
        // A file's day is that of a receipt in it or a later one, unless a clock was set back in between: hence a day
        // before.
        let firstDay = query.receivedSince.map { UTCDay(microseconds: $0 - CivilDate.microsecondsPerDay) }
        let first = [after?.day, firstDay].compactMap { $0 }.max() ?? UTCDay(number: 0)
        let partitions = try partitions(of: query.stream)
        for partition in partitions where partition.day >= first {
            // What the disk cannot read now is no damage: the caller asks again.
            let isFull = try passingOver(partition, [.corrupt]) { () throws(StoreError) in
                guard let file = try file(partition, isNewest: partition == partitions.last, for: query) else {
                    return false
                }
                return try add(file, after: after?.day == partition.day ? after?.slice : nil, to: &page)
            }
            if isFull == true { return page.page }
        }
        return page.page
    }

    /// - Returns: whether the page is full.
    private func add(
        _ file: RecordFile, after start: Int64?, to page: inout RecordPageBuilder
    ) throws(StoreError) -> Bool {
        var position = start ?? 0
        if start == nil, let time = page.query.receivedSince { position = try file.lastSlice(before: time) }
        var keys: [Int64: ChainKey] = [:]
        while true {
            let slices = try file.slices(after: position, page.query, limit: Tunables.Records.slicesPerLook)
            if slices.isEmpty {
                // A salvage has replaced the file by one that ends earlier. What comes next has numbers that were there
                // before, so the file is read anew.
                if position > 0, position == start, try file.lastSlice() < position {
                    position = 0
                    continue
                }
                page.resume = RecordCursor(day: file.partition.day, slice: position, number: 0)
                return false
            }
            for (id, chain) in slices {
                position = id
                page.work -= 1
                _ = try passingOverRows(of: file) { () throws(StoreError) in
                    if keys[chain] == nil { keys[chain] = try file.key(ofChain: chain) }
                    guard let key = keys[chain], page.query.admits(key.device) else { return false }
                    return try page.add(slice: id, of: key, in: file, below: .max)
                }
                if page.isLongEnoughForScan {
                    page.next = RecordCursor(day: file.partition.day, slice: id, number: 0)
                    return true
                }
            }
        }
    }

    func records(_ query: RecordQuery, before: RecordCursor?, limit: Int) throws(StoreError) -> RecordPage {
        var page = RecordPageBuilder(query: query, limit: limit)
        let partitions = try partitions(of: query.stream)
        for partition in partitions.reversed() {
            if let before, partition.day > before.day { continue }
            let isFull = try passingOver(partition) { () throws(StoreError) in
                guard let file = try file(partition, isNewest: partition == partitions.last, for: query) else {
                    return false
                }
                return try add(file, from: before?.day == partition.day ? before : nil, to: &page)
            }
            if isFull == true { return page.page }
        }
        return page.page
    }

    /// - Returns: whether the page is full.
    private func add(
        _ file: RecordFile, from start: RecordCursor?, to page: inout RecordPageBuilder
    ) throws(StoreError) -> Bool {
        let day = file.partition.day
        let walk = try SliceWalk(file, page.query)
        var position = start
        // A cursor of the file that this packed one has replaced: the day is read again.
        if let start, let above = try file.packedAbove(), start.slice <= above { position = nil }
        while let (id, key) = try walk.newest(atMost: position?.slice ?? .max, work: &page.work) {
            let below = position?.slice == id ? position?.number ?? .max : .max
            guard let key else {
                page.next = RecordCursor(day: day, slice: id, number: below)
                return true
            }
            let isFull = try passingOverRows(of: file) { () throws(StoreError) in
                try page.add(slice: id, of: key, in: file, below: below)
            }
            if isFull { return true }
            position = RecordCursor(day: day, slice: id - 1, number: .max)
        }
        return false
    }

    /// A row that says what cannot be is passed over.
    private func passingOverRows(of file: RecordFile, _ body: () throws(StoreError) -> Bool) throws(StoreError) -> Bool
    {
        do throws(StoreError) { return try body() } catch {
            // SQLite's own word is of the file, not of the row.
            guard error.code == .corrupt, error.cause == nil else { throw error }
            damaged.settle(file.partition, error.message)
            return false
        }
    }

    /// Leaves out and records what cannot be read, so one file does not keep the others from being read.
    /// - Returns: `nil` if it was left out.
    private func passingOver<T>(
        _ partition: Partition, _ codes: Set<StoreError.Code> = [.corrupt, .io], _ body: () throws(StoreError) -> T
    ) throws(StoreError) -> T? {
        do throws(StoreError) { return try body() } catch {
            guard codes.contains(error.code) else { throw error }
            files[partition] = nil
            damaged.record(partition, error.message)
            return nil
        }
    }

    /// The most slices examined per device before it counts as having no match.
    private static let slicesPerDevice = 256

    func newestRecords(
        of devices: ArraySlice<DeviceID>, _ query: RecordQuery
    ) throws(StoreError) -> [DeviceID: StoredRecord] {
        var found: [DeviceID: StoredRecord] = [:]
        var remaining = Dictionary(devices.map { ($0, Self.slicesPerDevice) }) { first, _ in first }
        let partitions = try partitions(of: query.stream)
        for partition in partitions.reversed() where !remaining.isEmpty {
            _ = try passingOver(partition) { () throws(StoreError) in
                guard let file = try file(partition, isNewest: partition == partitions.last, for: query) else { return }
                for (device, slices) in remaining {
                    var query = query
                    query.devices = .one(device)
                    var page = RecordPageBuilder(query: query, limit: 1)
                    page.work = slices * RecordPageBuilder.workPerSlice
                    let walk = try SliceWalk(file, query)
                    var position = Int64.max
                    while page.records.isEmpty, let (id, key) = try walk.newest(atMost: position, work: &page.work),
                        let key
                    {
                        let isFull = try passingOverRows(of: file) { () throws(StoreError) in
                            try page.add(slice: id, of: key, in: file, below: .max)
                        }
                        if isFull { break }
                        position = id - 1
                    }
                    let left = page.work / RecordPageBuilder.workPerSlice
                    found[device] = page.records.first
                    remaining[device] = page.records.isEmpty && left > 0 ? left : nil
                }
            }
        }
        return found
    }

    func balance(of device: DeviceID, after: EpochID?, limit: Int) throws(StoreError) -> BalancePage {
        var balances: [EpochBalance] = []
        var stretch = EpochStretch(after: after, limit: limit)
        let baseline = try baseline()
        // Read at one moment, so a file that retention moves into the baseline is counted once.
        try StoreError.mapping(database?.begin(.deferred))
        defer { database?.rollback() }
        for stream in StreamName.allCases {
            var counted = ChainCounts()
            for entry in try baseline.entries(of: device, after: after, limit: limit, stream: stream) {
                stretch.read(entry.key.epoch)
                counted.add(entry)
            }
            stretch.endSource()
            for partition in try partitions(of: stream) {
                let added = try passingOver(partition) { () throws(StoreError) in
                    var (added, read) = (counted, stretch)
                    if let file = try file(partition) { try added.add(file, of: device, &read) }
                    return (added, read)
                }
                if let added { (counted, stretch) = added }
            }
            balances += counted.balances(stream: stream).map(\.balance)
        }
        return BalancePage(balances, complete: stretch.complete, limit: limit)
    }

    /// Closes a file that is about to be removed, and does not read it any more.
    func forget(_ partition: Partition) {
        files[partition] = nil
        lastUse[partition] = nil
        bounds[partition] = nil
        retired.insert(partition)
    }

    func shutDown() {
        isShutDown = true
        files = [:]
    }

    private func partitions(of stream: StreamName) throws(StoreError) -> [Partition] {
        if isShutDown { throw StoreError(.shuttingDown, "the store is closed.") }
        let removed = Set(try baseline().removedPartitions())
        return try directory.partitions().filter {
            $0.stream == stream && !removed.contains($0) && !retired.contains($0)
        }
    }

    /// The file. A file without matching records is not even opened.
    private func file(
        _ partition: Partition, isNewest: Bool, for query: RecordQuery
    ) throws(StoreError) -> RecordFile? {
        // The newest file grows.
        if isNewest { return try file(partition) }
        if let known = bounds[partition] {
            return known.meet(query.times, kindBits: query.kindBits) ? try file(partition) : nil
        }
        guard let file = try file(partition) else { return nil }
        let found = try file.bounds()
        bounds[partition] = found
        return found.meet(query.times, kindBits: query.kindBits) ? file : nil
    }

    private func file(_ partition: Partition) throws(StoreError) -> RecordFile? {
        uses += 1
        if let open = files[partition], open.isInPlace {
            lastUse[partition] = uses
            return open
        }
        if files.count >= Tunables.Records.readerFiles,
            let oldest = files.keys.min(by: { lastUse[$0] ?? 0 < lastUse[$1] ?? 0 })
        {
            files[oldest] = nil
            lastUse[oldest] = nil
        }
        do throws(StoreError) { files[partition] = try RecordFile(reading: partition, in: directory) } catch {
            // Retention of a collector beside us may have removed it.
            guard !Paths.exists(directory.path(of: partition)),
                try baseline().removedPartitions().contains(partition)
            else { throw error }
            return nil
        }
        lastUse[partition] = uses
        return files[partition]
    }
}

/// A page of records while it is filled. Records, bytes and work are limited.
struct RecordPageBuilder {
    let query: RecordQuery
    let limit: Int
    /// Oldest first.
    let isForward: Bool
    private(set) var records: [StoredRecord] = []
    var next: RecordCursor?
    /// Behind all that was examined, of a scan.
    var resume: RecordCursor?
    /// The work that is left for this page. A slice that is read costs `workPerSlice`, one that is skipped 1.
    var work = 2000 * workPerSlice
    private var bytes = 0
    private var recordBytes = 0

    static let workPerSlice = 8
    /// The most bytes of slices read for one page. The one that exceeds it is still read.
    private static let maximumBytes = 8 << 20

    init(query: RecordQuery, limit: Int, isForward: Bool = false) {
        self.query = query
        self.limit = limit
        self.isForward = isForward
    }

    var page: RecordPage {
        RecordPage(records: records, next: next?.text, resume: isForward ? (next ?? resume)?.text : nil)
    }

    /// A page of a scan ends behind a slice, so that no slice is read twice.
    var isLongEnoughForScan: Bool { records.count >= 1000 || bytes >= Self.maximumBytes || work <= 0 }

    private var isFull: Bool { records.count == limit || !isForward && recordBytes >= RecordPage.maximumBytes }

    /// Adds a slice's matching records to the page, in its order.
    /// - Parameter below: only numbers below this.
    /// - Returns: whether the page is full. `next` is then its end.
    mutating func add(
        slice id: Int64, of chain: ChainKey, in file: RecordFile, below: UInt64
    ) throws(StoreError) -> Bool {
        guard let (receivedAt, slice) = try file.records(ofSlice: id, for: query) else { return false }
        work -= Self.workPerSlice
        bytes += slice.packed.count
        guard let ranges = slice.packed.withUnsafeBytes({ PackedRecords.ranges($0) }) else {
            throw file.corrupt("slice \(id) is not packed records")
        }
        var contexts = SliceContexts(slice.packed, ranges)
        var last = below
        for step in ranges.indices {
            let place = isForward ? step : ranges.count - 1 - step
            let packed = slice.packed.slice(ranges[place])
            guard let header = RecordHeader(scanning: packed) else {
                throw file.corrupt("a record of slice \(id) has no envelope")
            }
            guard header.number < below else { continue }
            if isFull {
                next = RecordCursor(day: file.partition.day, slice: id, number: last)
                return true
            }
            last = header.number
            guard query.admits(header) else { continue }
            let receivedAt = slice.receivedAt?[place] ?? receivedAt
            if isForward, let since = query.receivedSince, receivedAt < since { continue }
            records.append(
                StoredRecord(
                    device: chain.device, epoch: chain.epoch, header: header, bytes: Data(packed),
                    receivedAt: receivedAt,
                    context: contexts.context(of: header, at: place)))
            recordBytes += packed.count
        }
        if bytes >= Self.maximumBytes {
            next = RecordCursor(day: file.partition.day, slice: id - 1, number: .max)
            return true
        }
        return false
    }
}

/// Finds the slices of one file that may match a query, newest first, without reading their records.
///
/// A few devices are followed through the indexes of their chains, so other devices' records cost nothing. For many
/// devices the whole file is scanned.
struct SliceWalk {
    private let file: RecordFile
    private let query: RecordQuery
    /// `nil` scans the whole file.
    private let chains: [RecordFile.ChainRow]?

    /// Up to this many devices are followed one by one.
    private static let followedDevices = 16

    init(_ file: RecordFile, _ query: RecordQuery) throws(StoreError) {
        self.file = file
        self.query = query
        switch query.devices {
        case .one(let device): chains = try Self.chains(of: [device], in: file, query)
        case .among(let devices) where devices.count <= Self.followedDevices:
            chains = try Self.chains(of: devices, in: file, query)
        case .among, .all: chains = nil
        }
    }

    private static func chains(
        of devices: some Sequence<DeviceID>, in file: RecordFile, _ query: RecordQuery
    ) throws(StoreError) -> [RecordFile.ChainRow] {
        var found: [RecordFile.ChainRow] = []
        for device in devices {
            found += try file.chains(of: device).filter {
                $0.bounds.meet(query.times, kindBits: query.kindBits)
            }
        }
        return found
    }

    /// The newest slice with an id of at most `id`.
    /// - Parameter work: reduced for every slice examined.
    /// - Returns: the slice with its chain. Without a chain if the work was used up first; then continue from there.
    func newest(atMost id: Int64, work: inout Int) throws(StoreError) -> (slice: Int64, chain: ChainKey?)? {
        if work <= 0 { return (id, nil) }
        guard let chains else { return try newestOfMany(atMost: id, work: &work) }
        var found: (slice: Int64, chain: ChainKey?)?
        for chain in chains {
            let slice = try file.newestSlice(chain: chain.id, atMost: id, kindBits: query.kindBits, times: query.times)
            if let slice, slice.id > found?.slice ?? 0 { found = (slice.id, chain.key) }
        }
        return found
    }

    private func newestOfMany(
        atMost id: Int64, work: inout Int
    ) throws(StoreError) -> (slice: Int64, chain: ChainKey?)? {
        var position = id
        while let slice = try file.newestSlice(
            chain: nil, atMost: position, kindBits: query.kindBits, times: query.times)
        {
            work -= 1
            if let key = try file.key(ofChain: slice.chain), query.admits(key.device) { return (slice.id, key) }
            position = slice.id - 1
            if work <= 0 { return (position, nil) }
        }
        return nil
    }
}
