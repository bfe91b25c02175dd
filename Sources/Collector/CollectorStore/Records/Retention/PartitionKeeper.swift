import SQLite
import WireModel

/// What is done with record files as a whole, beside the writers and readers, on a queue and a connection of its own.
actor PartitionKeeper {
    private let directory: DataDirectory
    private let baseline: Baseline
    private let damaged: DamagedFiles
    private nonisolated let executor = BlockingExecutor(label: "ws1.collector.store.retention")

    nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }

    /// - Parameter damaged: told of files that cannot be read.
    init(directory: DataDirectory, damaged: DamagedFiles = DamagedFiles()) throws(StoreError) {
        self.directory = directory
        self.damaged = damaged
        baseline = Baseline(try CollectorDatabase.open(directory))
    }

    /// Which of a stream's files are over their limits. When a file's newest record came is looked at only where that
    /// could make it go: were it from the very beginning of its day.
    func removals(of stream: StreamName, at now: Int64, limits: RetentionLimits.Stream) throws(StoreError)
        -> [RetentionPlan.Removal]
    {
        let removed = Set(try baseline.removedPartitions())
        var files: [RetentionPlan.File] = []
        for partition in try directory.partitions() where partition.stream == stream && !removed.contains(partition) {
            files.append(
                RetentionPlan.File(
                    day: partition.day, bytes: directory.bytes(of: partition), newestReceipt: partition.day.start))
        }
        for removal in RetentionPlan.removals(of: files, at: now, limits: limits) {
            guard let place = files.firstIndex(where: { $0.day == removal.file.day }) else { continue }
            files[place].newestReceipt = try newestReceipt(Partition(day: removal.file.day, stream: stream))
        }
        return RetentionPlan.removals(of: files, at: now, limits: limits)
    }

    /// When the newest record of any stream came.
    func newestReceipt() throws(StoreError) -> Int64? {
        let partitions = try directory.partitions()
        var newest: Int64?
        for stream in StreamName.allCases {
            guard let partition = partitions.last(where: { $0.stream == stream }),
                let time = try newestReceipt(partition)
            else { continue }
            newest = max(newest ?? time, time)
        }
        return newest
    }

    private func newestReceipt(_ partition: Partition) throws(StoreError) -> Int64? {
        do throws(StoreError) { return try RecordFile(reading: partition, in: directory)?.newestReceipt() } catch {
            if error.code == .corrupt { damaged.note(partition, error.message) }
            throw error
        }
    }

    /// Takes a file's marks and counts over. Nobody writes to it any more.
    func absorb(_ partition: Partition, at time: Int64) throws(StoreError) {
        do throws(StoreError) {
            // What a killed process left in its log is synced before its marks are relied on.
            if directory.mayBeUnfinished(partition) { try RecordFile(writing: partition, in: directory).seal() }
            guard let file = try RecordFile(reading: partition, in: directory) else {
                throw StoreError(.corrupt, "\(partition.name) has no schema. Run `ws1collector verify`.")
            }
            try baseline.absorb(file, at: time)
        } catch {
            if error.code == .corrupt { damaged.note(partition, error.message) }
            throw error
        }
    }

    /// Removes a file that nobody has open any more, and whose marks are in the baseline.
    func remove(_ partition: Partition) throws(StoreError) {
        try directory.remove(partition)
    }

    /// Removes what is in the baseline and is there all the same: its removal failed, or was cut short.
    func removeLeftovers() throws(StoreError) {
        let removed = Set(try baseline.removedPartitions())
        for partition in try directory.partitions() where removed.contains(partition) {
            try directory.remove(partition)
        }
    }
}
