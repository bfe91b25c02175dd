import RecordStore
import Registry
import SQLite
import TelemetryBasics
import WireModel

/// Lists, verifies, counts and copies record files. It only reads and acquires no lock, so it works beside a running
/// collector. Each file is read as of one moment, the newest last. It has a queue of its own, because it may last long.
actor RecordInspector {
    private let directory: DataDirectory
    private let damaged: DamagedFiles
    /// Called after the baseline was read and before the files are listed, for tests.
    private let betweenLooks: @Sendable () -> Void
    private nonisolated let executor = BlockingExecutor(label: "ws1.collector.store.inspector")

    nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }

    /// - Parameter damaged: called with files that cannot be read.
    init(
        directory: DataDirectory, damaged: DamagedFiles = DamagedFiles(),
        betweenLooks: @escaping @Sendable () -> Void = {}
    ) {
        self.directory = directory
        self.damaged = damaged
        self.betweenLooks = betweenLooks
    }

    // MARK: Partitions

    func partitions() throws(StoreError) -> PartitionList {
        let removed = try removedPartitions()
        let kept = try directory.partitions().filter { !removed.contains($0) }.map {
            PartitionList.Item(partition: $0, bytes: directory.bytes(of: $0))
        }
        return PartitionList(kept: kept, dropped: Dictionary(grouping: removed, by: \.stream).mapValues(\.count))
    }

    func newestReceipt(in partition: Partition) throws(StoreError) -> Int64? {
        do throws(StoreError) { return try RecordFile(reading: partition, in: directory)?.newestReceipt() } catch {
            if error.code == .corrupt { damaged.record(partition, error.message) }
            throw error
        }
    }

    /// Record files that are missing although retention did not remove them, and unreadable ones, with the error.
    func harmedPartitions() throws(StoreError) -> [Partition: PartitionHarm] {
        let listing = try listing(withBaseline: false)
        var harmed: [Partition: PartitionHarm] = [:]
        for entry in listing.missing {
            harmed[entry.partition] = PartitionHarm(
                isMissing: true, message: "is missing, and retention has not removed it")
        }
        for partition in listing.partitions {
            var message: String?
            do throws(StoreError) {
                if try RecordFile(reading: partition, in: directory) == nil, listing.slices[partition] != nil {
                    message = "cannot be read: it is empty"
                }
            } catch {
                if Paths.exists(directory.path(of: partition)) {
                    message = "cannot be read: \(error.message)"
                }
            }
            guard let message else { continue }
            harmed[partition] = PartitionHarm(message: message)
            damaged.record(partition, message)
        }
        return harmed
    }

    // MARK: Proof and counts

    /// Verifies every file. First SQLite checks it. Then each chain's slices must cover all numbers from 1 (or from the
    /// baseline) to the mark, links recomputed over bytes and gaps must match, and rows and counts must agree.
    /// - Throws: if the directory or its `collector.sqlite` cannot be read at all.
    func verify() throws(StoreError) -> VerifyReport {
        try retryingWhenFilesGo { listing throws(StoreError) in
            var report = VerifyReport()
            for stream in StreamName.allCases { try verify(stream, listing, &report) }
            for partition in try SalvageArea.unfinished(in: directory)
            where SalvageArea(partition, in: directory).isBuilt {
                report.add(
                    .unreadable, partition,
                    "the repair of a damaged file is not finished, so counts in later files do not match yet. "
                        + "A running collector finishes it by itself, a stopped one at its start: verify again then.")
            }
            return report
        }
    }

    private func verify(_ stream: StreamName, _ listing: Listing, _ report: inout VerifyReport) throws(StoreError) {
        var verification = StreamVerification(stream: stream, baseline: listing.baseline[stream] ?? [])
        for entry in listing.missing where entry.partition.stream == stream {
            report.add(
                .missing, entry.partition,
                "the file is missing, and retention has not removed it; it had at least \(entry.slices) slices.")
        }
        for partition in listing.partitions where partition.stream == stream {
            var leastSlices = listing.slices[partition]
            do throws(StoreError) {
                var found: Int?
                verification.unsettled = try devicesBeingErased()
                if let file = try RecordFile(reading: partition, in: directory) {
                    report.files += 1
                    try verification.check(file, &report)
                    found = try file.rowCounts().slices
                }
                // An erasure has lowered it before.
                if let least = leastSlices, found ?? -1 < least {
                    leastSlices = try self.leastSlices()[partition]
                }
                // One without a schema that was never in use is one whose making was cut short.
                if let leastSlices, found ?? -1 < leastSlices {
                    report.add(
                        .missing, partition,
                        "the file has \(found ?? 0) slices; when it was last closed it had \(leastSlices).")
                }
            } catch {
                if !Paths.exists(directory.path(of: partition)) { throw error }
                verification.isIncomplete = true
                report.add(.unreadable, partition, error.message)
            }
        }
        verification.finish(&report)
    }

    func balances() throws(StoreError) -> FleetBalances {
        try retryingWhenFilesGo { listing throws(StoreError) in
            var balances: [(device: DeviceID, balance: EpochBalance)] = []
            var unreadable: [String] = []
            for stream in StreamName.allCases {
                var counts = ChainCounts()
                for entry in listing.baseline[stream] ?? [] { counts.add(entry) }
                for partition in listing.partitions where partition.stream == stream {
                    do throws(StoreError) {
                        var added = counts
                        if let file = try RecordFile(reading: partition, in: directory) { try added.add(file) }
                        counts = added
                    } catch  where error.code == .corrupt {
                        unreadable.append(partition.name)
                    }
                }
                balances += counts.balances(stream: stream)
            }
            return FleetBalances(balances, unreadableFiles: unreadable)
        }
    }

    // MARK: Backup

    /// The collector writes only a stream's newest file, so files listed at one moment have whole chains. If one is
    /// removed during the copy, neither a copied file nor the copied baseline has its marks. The same is true of chains
    /// that are erased from it.
    func backup(
        to output: DataDirectory, receive: @Sendable (BackupFile) throws(StoreError) -> Void
    ) throws(StoreError) -> Bool {
        guard let copy = try CollectorDatabase.openReading(output) else { throw .noCollector(output.path) }
        let removed = Set(try Baseline(copy).removedPartitions())
        let listed = try Baseline(copy).recordFiles()
        for partition in try directory.partitions() where !removed.contains(partition) {
            let target = output.path(of: partition)
            do throws(StoreError) {
                guard let file = try RecordFile(reading: partition, in: directory) else { continue }
                try output.makeDay(partition.day)
                // One step is one moment, and keeps no writer waiting.
                try StoreError.mapping(file.connection.backup(to: target, pagesPerStep: 0))
            } catch {
                if !Paths.exists(directory.path(of: partition)) { return false }
                throw error
            }
            guard let digest = try FileDigest.of(target) else { throw StoreError(FileError("reading", target)) }
            try Files<StoreError>.sync(directory: output.dayPath(partition.day))
            try receive(BackupFile(path: partition.name, digest))
        }
        try Files<StoreError>.sync(directory: output.recordsPath)
        guard try removedPartitions() == removed else { return false }
        let present = try leastSlices()
        return listed.allSatisfy { $0.slices <= present[$0.partition] ?? 0 }
    }

    // MARK: Listing

    private struct Listing {
        var baseline: [StreamName: [Baseline.Entry]] = [:]
        /// The least number of slices in each file, if known.
        var slices: [Partition: Int] = [:]
        /// Missing files.
        var missing: [RecordFileList.Entry] = []
        /// Ascending.
        var partitions: [Partition] = []
        /// Files that the baseline replaces.
        var removed: Set<Partition> = []
    }

    /// The baseline and the files that it does not replace.
    ///
    /// They are read one after the other. If retention moves a file into the baseline in between, it would be in
    /// neither, so both are read again. This ends, because each time another file is gone.
    /// - Parameter withBaseline: whether to read it. It has a row for each chain of the fleet.
    private func listing(withBaseline: Bool = true) throws(StoreError) -> Listing {
        while true {
            let listing = try look(withBaseline: withBaseline)
            if try removedPartitions() == listing.removed { return listing }
        }
    }

    private func look(withBaseline: Bool) throws(StoreError) -> Listing {
        guard Paths.exists(directory.path) else {
            throw StoreError(.notFound, "the data directory \(directory.path) does not exist.")
        }
        // With records and no metadata there is something to look at; with neither there is no collector's data.
        let partitions = try directory.partitions()
        guard !partitions.isEmpty || Paths.exists(directory.databasePath) else {
            throw .noCollector(directory.path)
        }
        var listing = Listing()
        if let connection = try CollectorDatabase.openReading(directory) {
            try StoreError.mapping(connection.begin(.deferred))
            defer { connection.rollback() }
            let baseline = Baseline(connection)
            listing.removed = Set(try baseline.removedPartitions())
            if withBaseline {
                for stream in StreamName.allCases { listing.baseline[stream] = try baseline.entries(of: stream) }
            }
            for entry in try baseline.recordFiles() where !listing.removed.contains(entry.partition) {
                listing.slices[entry.partition] = entry.slices
                listing.missing.append(entry)
            }
        }
        betweenLooks()
        listing.partitions = try directory.partitions().filter { !listing.removed.contains($0) }
        let present = Set(listing.partitions)
        listing.missing.removeAll { present.contains($0.partition) }
        return listing
    }

    /// Those that are not erased yet, or not wholly. Once a device counts as erased, no file has anything of it.
    private func devicesBeingErased() throws(StoreError) -> Set<DeviceID> {
        guard let connection = try CollectorDatabase.openReading(directory) else { return [] }
        return try StoreError.mapping { () throws(SQLiteError) in
            Set(try connection.rows("SELECT id FROM deleted_device WHERE erased IS NULL") { DeviceID($0.data(0)) })
        }
    }

    /// The least number of slices in each file, as `Listing.slices` has it.
    private func leastSlices() throws(StoreError) -> [Partition: Int] {
        guard let connection = try CollectorDatabase.openReading(directory) else { return [:] }
        return Dictionary(try Baseline(connection).recordFiles().map { ($0.partition, $0.slices) }) { $1 }
    }

    private func removedPartitions() throws(StoreError) -> Set<Partition> {
        guard let connection = try CollectorDatabase.openReading(directory) else { return [] }
        return Set(try Baseline(connection).removedPartitions())
    }

    /// Retention beside us may remove a listed file: then all is read anew, with what the baseline says by then. That
    /// ends, since each time a file that was listed has gone.
    private func retryingWhenFilesGo<T>(_ body: (Listing) throws(StoreError) -> T) throws(StoreError) -> T {
        while true {
            let listing = try listing()
            do throws(StoreError) {
                return try body(listing)
            } catch {
                if listing.partitions.allSatisfy({ Paths.exists(directory.path(of: $0)) }) { throw error }
            }
        }
    }
}
