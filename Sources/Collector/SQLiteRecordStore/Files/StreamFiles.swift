import CollectorTunables
import Logging
import RecordStore
import Registry
import SQLite
import WireModel

/// One stream's files as its writer uses them: the file that it writes, older ones for chains that are not in memory,
/// and the baseline.
///
/// Not `Sendable`: belongs to its writer.
final class StreamFiles {
    let stream: StreamName
    let directory: DataDirectory
    private let baseline: Baseline
    private let damaged: DamagedFiles
    private let logger: Logger

    /// The file that is written; made at the first transaction of its day.
    private(set) var active: RecordFile?
    /// Days with a file, ascending, including the active one's.
    private(set) var days: [UTCDay]
    private var older: [UTCDay: RecordFile] = [:]
    /// Days whose file could not be read. Chains that may be in them cannot be decided.
    private(set) var unreadable: [UTCDay: StoreError] = [:]
    /// Names up to this day must not be used again.
    private var newestRemoved: UTCDay?

    init(
        stream: StreamName, directory: DataDirectory, baseline: Baseline, damaged: DamagedFiles, logger: Logger
    ) throws(StoreError) {
        self.stream = stream
        self.damaged = damaged
        self.directory = directory
        self.baseline = baseline
        self.logger = logger
        days = try directory.partitions().filter { $0.stream == stream }.map(\.day)
        newestRemoved = try baseline.removedPartitions().filter { $0.stream == stream }.map(\.day).max()
    }

    /// The file for a transaction that begins now: of the clock's day, but never before the newest file's day, and
    /// never with a removed name.
    /// - Returns: the file, and whether files have disappeared that marks in memory may come from.
    /// - Throws: `.io` if `collector.sqlite` was removed while this process uses it, and errors of opening.
    func fileForWriting(at time: Int64) throws(StoreError) -> (file: RecordFile, hasLostFiles: Bool) {
        try baseline.requireInPlace()
        var hasLostFiles = false
        if let open = active, open.isEmptied { throw StoreError.emptied(open.partition) }
        if let open = active, !open.isInPlace {
            logger.error("record file was removed while open", metadata: ["store.file": "\(open.path)"])
            close()
            let removed = newestRemoved
            days = try directory.partitions().filter { $0.stream == stream && $0.day.number > removed?.number ?? -1 }
                .map(\.day)
            hasLostFiles = true
        }
        var day = UTCDay(microseconds: time)
        if let newest = days.last { day = max(day, newest) }
        if let removed = newestRemoved { day = max(day, removed.next) }
        if let open = active, open.partition.day == day { return (open, hasLostFiles) }
        try sealActive()
        older[day] = nil
        let file = try openForWriting(day)
        try baseline.add(file.partition, at: time)
        active = file
        if days.last != day { days.append(day) }
        return (file, hasLostFiles)
    }

    private func openForWriting(_ day: UTCDay) throws(StoreError) -> RecordFile {
        let partition = Partition(day: day, stream: stream)
        do throws(StoreError) {
            if let fault = try damageCheck.quickFault(of: partition) {
                throw StoreError(.corrupt, "\(partition.name): \(fault)")
            }
            let file = try RecordFile(writing: partition, in: directory)
            unreadable[day] = nil
            return file
        } catch {
            if error.code == .corrupt { unreadable[day] = error }
            throw error
        }
    }

    /// Checks a file for damage before it is opened or moved.
    var damageCheck: DamageCheck { DamageCheck(directory: directory, baseline: baseline) }

    /// Days whose files may be damaged, oldest first: those that could not be read, and the one that is written.
    var suspects: [UTCDay] {
        var days = Set(unreadable.filter { $0.value.code == .corrupt }.keys)
        if let active { days.insert(active.partition.day) } else if let newest = self.days.last { days.insert(newest) }
        return days.sorted()
    }

    /// A file was replaced by a readable one.
    func recordMended(_ day: UTCDay) { unreadable[day] = nil }

    /// Returns what is known of a chain: its row in the newest file that contains it, or the baseline's, whichever is
    /// greater.
    func find(_ key: ChainKey) throws(StoreError) -> MarkCache.Entry {
        var found = MarkCache.Entry(state: ChainState(), place: nil)
        for day in days.reversed() {
            guard let row = try chain(key, on: day)?.row else { continue }
            found = MarkCache.Entry(
                state: row.state, place: (Partition(day: day, stream: stream), row.id), bounds: row.bounds)
            break
        }
        if let entry = try baseline.entry(key, stream: stream) { found.state = found.state.merged(with: entry.state) }
        return found
    }

    /// The greatest of the points that is in the chain's history.
    func match(_ points: [EpochClose.Point], key: ChainKey, state: ChainState) throws(StoreError) -> ClosedStream.Match
    {
        try state.match(points, removedUpTo: try baseline.entry(key, stream: stream)?.state.mark) {
            number throws(StoreError) in try link(at: number, key: key)
        }
    }

    /// The link of the chain at a number; `nil` where none is there: inside a gap or a lost range.
    private func link(at number: UInt64, key: ChainKey) throws(StoreError) -> ChainLink? {
        for day in days.reversed() {
            guard let (file, row) = try chain(key, on: day), row.entryNumber < number else { continue }
            guard let slice = try file.slice(chain: row.id, holding: number), number <= slice.last else {
                return nil
            }
            var found: ChainLink?
            do {
                try slice.walk { last, link, _ in if last == number { found = link } }
            } catch {
                throw file.corrupt(
                    "slice \(slice.first)...\(slice.last) of chain \(row.id), at \(error.number): \(error.message)")
            }
            return found
        }
        return nil
    }

    /// Whether a day's file is about to be removed.
    func isRetiring(_ day: UTCDay) -> Bool { newestRemoved.map { day <= $0 } ?? false }

    /// A day's file is about to be removed. From now on nothing is written to it, and its name is not used again; it is
    /// still read.
    /// - Throws: `.conflict` unless it is the oldest file. Otherwise marks of older files would be newer than the
    ///   baseline's.
    func beginRetiring(_ day: UTCDay) throws(StoreError) {
        let partition = Partition(day: day, stream: stream)
        guard let oldest = days.first, days.contains(day) else {
            throw StoreError(.notFound, "\(partition.name) does not exist.")
        }
        guard day == oldest else {
            throw StoreError(
                .conflict,
                "\(partition.name) is not the oldest file of its stream; \(oldest) is. Remove the older ones first.")
        }
        newestRemoved = max(newestRemoved ?? day, day)
        if active?.partition.day == day { try sealActive() }
    }

    /// Its chains and counts are in the baseline, so the file is not used any more.
    func endRetiring(_ day: UTCDay) {
        older[day] = nil
        unreadable[day] = nil
        days.removeAll { $0 == day }
    }

    /// Erases devices from a day's file, if it is the newest one.
    /// - Returns: whether it is.
    func erase(_ devices: Set<DeviceID>, on day: UTCDay) throws(StoreError) -> Bool {
        guard day == days.last else { return false }
        let erasure = RecordErasure(baseline: baseline)
        if let active, active.partition.day == day {
            try erasure.erase(devices, from: active)
        } else {
            let file = try openForWriting(day)
            try erasure.erase(devices, from: file)
            try file.seal()
        }
        return true
    }

    func close() {
        active = nil
        older = [:]
    }

    /// Closes without moving the WAL into the file, so the disk stays unchanged.
    func closeUnchanged() {
        do throws(SQLiteError) { try active?.connection.setCheckpointOnClose(false) } catch {
            logger.warning("WAL of a record file not moved into it at the close", metadata: ["store.error": "\(error)"])
        }
        close()
    }

    /// Closes in order and moves the WAL into the file.
    func seal() throws(StoreError) {
        older = [:]
        try sealActive()
    }

    private func sealActive() throws(StoreError) {
        guard let open = active else { return }
        active = nil
        let slices = try open.rowCounts().slices
        try open.seal()
        try baseline.record(open.partition, slices: slices)
    }

    /// The keys of items that the files have.
    ///
    /// A record cannot have come before it was made, so older files are not asked. A clock may be wrong by a day. The
    /// two newest files are asked in any case, for records whose time is that of their receipt.
    func known(_ items: UnnumberedItems) throws(StoreError) -> KnownKeys {
        var found = KnownKeys.none
        guard let earliest = items.earliestKeyed else { return found }
        let asked = KeyRange.ranges(of: items.keys)
        let from = UTCDay(microseconds: earliest).number - 1
        for (age, day) in days.reversed().enumerated() where age < 2 || day.number >= from {
            try reading(day) { file throws(StoreError) in try file.find(asked, of: items.device, &found) }
        }
        return found
    }

    private func chain(_ key: ChainKey, on day: UTCDay) throws(StoreError) -> (
        file: RecordFile, row: RecordFile.ChainRow
    )? {
        try reading(day) { file throws(StoreError) in try file.chain(key).map { (file, $0) } } ?? nil
    }

    /// - Returns: `nil` if there is no file.
    private func reading<T>(
        _ day: UTCDay, _ body: (RecordFile) throws(StoreError) -> T
    ) throws(StoreError) -> T? {
        do throws(StoreError) {
            let file = try file(of: day)
            let result = if let file { try body(file) } else { T?.none }
            unreadable[day] = nil
            return result
        } catch {
            if unreadable[day] == nil {
                logger.error(
                    "a record file cannot be read", metadata: ["store.stream": "\(stream)", "store.error": "\(error)"])
            }
            unreadable[day] = error
            if error.code == .corrupt { damaged.record(Partition(day: day, stream: stream), error.message) }
            older[day] = nil
            throw error
        }
    }

    private func file(of day: UTCDay) throws(StoreError) -> RecordFile? {
        if let active, active.partition.day == day { return active }
        // Packing may have put another one in its place.
        if let open = older[day], open.isInPlace { return open }
        if older.count >= Tunables.Records.writerFiles, let oldest = older.keys.min() { older[oldest] = nil }
        let file = try RecordFile(reading: Partition(day: day, stream: stream), in: directory)
        older[day] = file
        return file
    }
}
