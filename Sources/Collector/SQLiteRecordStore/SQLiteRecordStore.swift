import FoundationEssentials
import Logging
import RecordStore
import Registry
import SQLite
import TelemetryBasics
import WireModel

/// The record store over SQLite: one file per day and stream (`RecordFile` describes it), one writer per stream,
/// readers beside them. Marks and counts of dropped files are in `collector.sqlite` (`Baseline`).
///
/// What only this engine has are damaged files, and what replaces them (`salvageDamaged`).
package final class SQLiteRecordStore: RecordStore {
    package struct Configuration: Sendable {
        /// Bytes of parts that may wait for one stream's disk, or be on their way to it; more is answered unavailable
        /// at once.
        package var pipelineBytes = 64 << 20
        /// Parts, likewise.
        package var pipelineParts = 4096
        /// Bytes that share one transaction at most.
        package var transactionBytes = 8 << 20
        /// Chains per stream whose marks are kept in memory.
        package var cachedMarks = 65_536
        /// Below this many free bytes the store reports that it is not ready. It still stores records until the disk is
        /// full.
        package var readyFreeBytes: UInt64 = 64 << 20

        package init() {}
    }

    let directory: DataDirectory
    private let configuration: Configuration
    let clock: any StoreClock
    private let reader: RecordReader
    private let inspector: RecordInspector
    private let follower: ChainFollower
    let damaged: DamagedFiles
    /// `nil` if the store is open only for reading.
    private let held: Held?

    /// The parts of a store that alone holds its directory.
    private struct Held {
        let lock: FileLock
        let writers: [StreamName: StreamWriter]
        let keeper: PartitionKeeper
    }

    /// Opens the store, and creates missing files. Then it finishes an earlier process's work: it completes salvages,
    /// removes files with their marks in the baseline, and moves the WALs of earlier days into their files.
    /// - Parameter incidents: gets incidents for administrators, with the number of records concerned. The writers call
    ///   it, so it must return at once.
    /// - Throws: `.inUse` if another store holds the directory, `.newerVersion`, `.corrupt`, `.diskFull`, `.io`.
    package static func open(
        directory: String, clock: any StoreClock, configuration: Configuration = Configuration(),
        incidents: @escaping @Sendable (DeviceIncident, UInt64) -> Void = { _, _ in }, logger: Logger,
        observer: (any StoreObserver)? = nil
    ) throws(StoreError) -> SQLiteRecordStore {
        let directory = DataDirectory(path: directory)
        try directory.prepare()
        let lock = try DataDirectory.lock(directory.recordsLockPath)
        let database = try CollectorDatabase.open(directory)
        try RecordSalvage.finishUnfinished(directory, clock: clock, logger: logger)
        let baseline = Baseline(database)
        let removed = Set(try baseline.removedPartitions())
        for partition in try PackingArea.unfinished(in: directory)
        where !Paths.exists(directory.path(of: partition)) || removed.contains(partition) {
            try PackingArea(partition, in: directory).discard()
        }
        for partition in try directory.partitions() {
            if removed.contains(partition) {
                try directory.remove(partition)
            } else if directory.mayBeUnfinished(partition) {
                recover(partition, DamageCheck(directory: directory, baseline: baseline), clock: clock, logger: logger)
            }
        }
        let damaged = DamagedFiles()
        let replacement = ReplacementLock()
        var limits = WriterPipeline.Limits()
        limits.bytes = configuration.pipelineBytes
        limits.parts = configuration.pipelineParts
        limits.transactionBytes = configuration.transactionBytes
        var writers: [StreamName: StreamWriter] = [:]
        for stream in StreamName.allCases {
            writers[stream] = try StreamWriter(
                stream: stream, directory: directory, limits: limits, cachedMarks: configuration.cachedMarks,
                clock: clock, damaged: damaged, replacement: replacement, incidents: incidents, logger: logger,
                observer: observer)
        }
        let keeper = try PartitionKeeper(directory: directory, damaged: damaged, replacement: replacement)
        return try SQLiteRecordStore(
            directory, clock: clock, configuration: configuration, damaged: damaged,
            held: Held(lock: lock, writers: writers, keeper: keeper))
    }

    /// Opens the store beside a collector that may hold it, or in a directory that cannot be written. It answers every
    /// query. `append`, `close` and `drop` report that the store is closed. It creates and locks nothing.
    /// - Throws: errors of `collector.sqlite`. If the directory has no collector's data, the first query throws.
    package static func openReading(directory: String) throws(StoreError) -> SQLiteRecordStore {
        try SQLiteRecordStore(
            DataDirectory(path: directory), clock: SystemStoreClock(), configuration: Configuration(),
            damaged: DamagedFiles(), held: nil)
    }

    private init(
        _ directory: DataDirectory, clock: any StoreClock, configuration: Configuration, damaged: DamagedFiles,
        held: Held?
    ) throws(StoreError) {
        self.directory = directory
        self.clock = clock
        self.configuration = configuration
        self.damaged = damaged
        self.held = held
        reader = try RecordReader(directory: directory, damaged: damaged)
        inspector = RecordInspector(directory: directory, damaged: damaged)
        follower = ChainFollower(directory: directory, damaged: damaged, isRemembering: held != nil)
    }

    private func writer(of stream: StreamName) throws(StoreError) -> StreamWriter {
        guard let writer = held?.writers[stream] else {
            throw StoreError(.shuttingDown, "the store is open for reading only.")
        }
        return writer
    }

    /// Syncs the WAL that a killed process left. Salvages the file if it or its WAL is damaged, because SQLite would
    /// not read such a WAL to its end. An unreadable file affects only the chains in it, not the store.
    private static func recover(_ partition: Partition, _ check: DamageCheck, clock: any StoreClock, logger: Logger) {
        do {
            if let fault = try check.quickFault(of: partition) {
                try RecordSalvage(check.directory, clock: clock, logger: logger).run(partition, cause: fault)
            } else {
                try RecordFile(writing: partition, in: check.directory).seal()
            }
        } catch {
            logger.error(
                "a record file cannot be opened",
                metadata: ["store.file": "\(partition.name)", "store.error": "\(error)"])
        }
    }

    package var durability: String { "fsync" }

    package func append(_ parts: [BatchPart], from device: DeviceID, receivedAt: Int64) async -> [PartAnswer] {
        await WriterJob.append(parts, from: device, receivedAt: receivedAt) { [self] in
            await held?.writers[$1]?.perform($0)
        }
    }

    package func append(
        _ items: [UnnumberedItems], to stream: StreamName, receivedAt: Int64
    ) async -> [UnnumberedAnswer] {
        let (taken, refusals) = items.admitted(to: stream)
        var answers = refusals
        if !taken.isEmpty {
            let job = WriterJob(numbering: taken.map { items[$0] }, receivedAt: receivedAt)
            var found: [UnnumberedAnswer] = []
            if case .numbered(let numbered) = await held?.writers[stream]?.perform(job) { found = numbered }
            for (place, answer) in zip(taken, found) { answers[place] = answer }
        }
        return items.indices.map {
            answers[$0] ?? UnnumberedAnswer(unavailable: "the store is open for reading only.")
        }
    }

    package func close(_ request: EpochClose, from device: DeviceID) async throws(StoreError) -> [ClosedStream] {
        var closed: [ClosedStream] = []
        for stream in request.streams {
            let writer = try writer(of: stream.stream)
            let job = WriterJob(device: device, receivedAt: clock.now(), work: .close(epoch: request.epoch, stream))
            guard case .closed(let result) = await writer.perform(job) else { continue }
            closed.append(try result.get())
        }
        return closed
    }

    package func balance(of device: DeviceID, after: EpochID?, limit: Int) async throws(StoreError) -> BalancePage {
        try await reader.balance(of: device, after: after, limit: limit)
    }

    package func records(_ query: RecordQuery, before: String?, limit: Int) async throws(StoreError) -> RecordPage {
        try RecordPage.check(limit: limit)
        return try await reader.records(query, before: try Self.cursor(before), limit: limit)
    }

    private static func cursor(_ text: String?) throws(StoreError) -> RecordCursor? {
        guard let text else { return nil }
        guard let cursor = RecordCursor(text) else {
            throw StoreError(.invalid, "the cursor is not one of this store's.")
        }
        return cursor
    }

    package func newestRecords(
        of devices: [DeviceID], _ query: RecordQuery
    ) async throws(StoreError) -> [DeviceID: StoredRecord] {
        var found: [DeviceID: StoredRecord] = [:]
        // In steps, so that others are answered in between.
        var rest = devices[...]
        while !rest.isEmpty {
            found.merge(try await reader.newestRecords(of: rest.prefix(128), query)) { first, _ in first }
            rest = rest.dropFirst(128)
        }
        return found
    }

    package func readiness() async -> StoreReadiness {
        if let free = directory.disk?.freeBytes, free < configuration.readyFreeBytes {
            return .notReady(
                "\(free) bytes are free for \(directory.recordsPath), \(configuration.readyFreeBytes) are needed.")
        }
        for stream in StreamName.allCases {
            do throws(StoreError) { if let error = try await writer(of: stream).fault() { throw error } } catch {
                return .notReady("\(stream) stream: \(error)")
            }
        }
        return .ready
    }

    /// Whether the newest records were stored. It tries nothing, unlike `readiness`, which creates missing files of the
    /// day.
    package func isTakingRecords() async -> Bool {
        for writer in (held?.writers ?? [:]).values where await writer.isInTrouble { return false }
        return true
    }

    package func figures() async -> StoreFigures {
        var streams: [StoreFigures.Stream] = []
        let partitions = (try? directory.partitions()) ?? []
        for stream in StreamName.allCases {
            guard let pipeline = held?.writers[stream]?.pipeline else { continue }
            let files = partitions.filter { $0.stream == stream }
            streams.append(
                StoreFigures.Stream(
                    stream: stream, files: files.count,
                    fileBytes: files.reduce(0) { $0 + UInt64(clamping: directory.bytes(of: $1)) },
                    pipelineBytes: pipeline.bytes, pipelineLimitBytes: pipeline.limits.bytes))
        }
        return StoreFigures(streams: streams, disk: directory.disk)
    }

    package func shutDown() async {
        for writer in (held?.writers ?? [:]).values { await writer.shutDown() }
        await reader.shutDown()
        held?.lock.release()
    }
}

/// All that is stored.
extension SQLiteRecordStore {
    package func scan(_ query: RecordQuery, after: String?) async throws(StoreError) -> RecordPage {
        try await reader.scan(query, after: try Self.cursor(after))
    }

    package func balances() async throws(StoreError) -> FleetBalances { try await inspector.balances() }

    package func followChains() async throws(StoreError) -> ChainFindings? { try await follower.step() }

    package func markedBalances(of devices: Set<DeviceID>) async throws(StoreError) -> MarkedBalances {
        try await follower.markedBalances(of: devices)
    }

    package func verify() async throws(StoreError) -> VerifyReport { try await inspector.verify() }

    package func harmedPartitions() async throws(StoreError) -> [Partition: PartitionHarm] {
        try await inspector.harmedPartitions()
    }

    package func backup(
        to directory: String, receive: @Sendable (BackupFile) throws(StoreError) -> Void
    ) async throws(StoreError) -> Bool {
        try await inspector.backup(to: DataDirectory(path: directory), receive: receive)
    }
}

/// Partitions: the record files.
extension SQLiteRecordStore {
    package func partitions() async throws(StoreError) -> PartitionList { try await inspector.partitions() }

    package func newestReceipt(in partition: Partition) async throws(StoreError) -> Int64? {
        try await inspector.newestReceipt(in: partition)
    }

    /// Marks and counts go into the baseline, synced, before the file goes. The writer is asked twice, shortly: to
    /// write to it no more, and to forget it. Counting and removing happen beside it. A crash in between is finished at
    /// the next opening.
    package func drop(_ partition: Partition) async throws(StoreError) {
        let writer = try writer(of: partition.stream)
        guard let keeper = held?.keeper else { return }
        try await writer.beginRetiring(partition.day)
        do throws(StoreError) { try await keeper.absorb(partition, at: clock.now()) } catch {
            guard DiskReserve(directory: directory).giveUp(for: error) else { throw error }
            try await keeper.absorb(partition, at: clock.now())
        }
        await writer.endRetiring(partition.day)
        await reader.forget(partition)
        try await keeper.remove(partition)
    }

    /// The writer erases from its newest file, between two transactions. Older files are erased from beside it.
    package func erase(_ devices: Set<DeviceID>) async throws(StoreError) {
        for partition in try directory.partitions() {
            guard try await !writer(of: partition.stream).erase(devices, on: partition.day) else { continue }
            try await held?.keeper.erase(devices, from: partition)
        }
    }

    package func reclaim() async throws(StoreError) { try await held?.keeper.removeLeftovers() }

    /// The record files that can be packed: those of days before a day, without the newest of each stream. Oldest
    /// first.
    package func partitions(before day: UTCDay) throws(StoreError) -> [Partition] {
        let all = try directory.partitions()
        return all.filter { partition in
            partition.day < day && all.contains { $0.stream == partition.stream && partition < $0 }
        }
    }

    /// Packs a record file that is not the newest of its stream, for about a second. A repetition goes on.
    ///
    /// A packed file has the same records in less space. It gets the name when it is complete. A crash leaves one of
    /// the two files.
    package func pack(_ partition: Partition) async throws(StoreError) -> PackingStep {
        try await held?.keeper.pack(partition) ?? .nothing
    }

    /// Removes what was packed of files that are not packed to their end.
    package func discardPackings() throws(StoreError) {
        for partition in try PackingArea.unfinished(in: directory) {
            try PackingArea(partition, in: directory).discard()
        }
    }

    package var disk: StoreFigures.Disk? { directory.disk }

    /// Bytes of a record file.
    package func bytes(of partition: Partition) -> UInt64 { UInt64(clamping: directory.bytes(of: partition)) }
}

extension SQLiteRecordStore {
    /// A file that could not be read, as somebody beside the store has found.
    package func recordDamage(_ partition: Partition, _ message: String) {
        damaged.record(partition, message)
    }

    /// Replaces damaged record files, oldest first (`RecordSalvage`). Only their streams wait.
    /// - Parameter again: whether to retry files that could not be replaced before.
    /// - Returns: the number of replaced files.
    package func salvageDamaged(again: Bool = false) async -> Int {
        if again { damaged.lookAgain() }
        var count = 0
        for partition in damaged.suspects
        where await held?.writers[partition.stream]?.salvage(partition.day) == true {
            count += 1
        }
        return count
    }

    package func unreadableFiles(of stream: StreamName) -> [String] { damaged.names(of: stream) }
}
