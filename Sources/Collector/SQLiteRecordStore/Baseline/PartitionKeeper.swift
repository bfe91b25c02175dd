import RecordStore
import Registry
import SQLite
import TelemetryBasics
import WireModel

/// Drops record files, beside the writers and readers, on a queue and a connection of its own.
actor PartitionKeeper {
    private let directory: DataDirectory
    private let baseline: Baseline
    private let damaged: DamagedFiles
    private nonisolated let executor = BlockingExecutor(label: "ws1.collector.store.retention")

    nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }

    /// - Parameter damaged: called with files that cannot be read.
    init(directory: DataDirectory, damaged: DamagedFiles) throws(StoreError) {
        self.directory = directory
        self.damaged = damaged
        baseline = Baseline(try CollectorDatabase.open(directory))
    }

    /// Stores a file's marks and counts. Nobody writes to it any more.
    func absorb(_ partition: Partition, at time: Int64) throws(StoreError) {
        do throws(StoreError) {
            // What a killed process left in its log is synced before its marks are relied on.
            if directory.mayBeUnfinished(partition) { try RecordFile(writing: partition, in: directory).seal() }
            guard let file = try RecordFile(reading: partition, in: directory) else {
                throw StoreError(.corrupt, "\(partition.name) has no schema. Run `ws1collector verify`.")
            }
            try baseline.absorb(file, at: time)
        } catch {
            if error.code == .corrupt { damaged.record(partition, error.message) }
            throw error
        }
    }

    /// Erases devices from a file that nobody writes to any more. Retention may have removed it.
    func erase(_ devices: Set<DeviceID>, from partition: Partition) throws(StoreError) {
        do throws(StoreError) {
            guard Paths.exists(directory.path(of: partition)) else { return }
            if let fault = try DamageCheck(directory: directory, baseline: baseline).quickFault(of: partition) {
                throw StoreError(.corrupt, "\(partition.name): \(fault)")
            }
            let isConcerned = try RecordFile(reading: partition, in: directory)?.hasChain(of: devices) ?? false
            guard isConcerned || directory.mayBeUnfinished(partition) else { return }
            let file = try RecordFile(writing: partition, in: directory)
            try RecordErasure(baseline: baseline).erase(devices, from: file, compacts: true)
            try file.seal()
        } catch {
            if error.code == .corrupt { damaged.record(partition, error.message) }
            throw error
        }
    }

    /// Removes a file that nobody has open any more, and whose marks are in the baseline.
    func remove(_ partition: Partition) throws(StoreError) {
        try directory.remove(partition)
    }

    /// Removes what is left of files that are already in the baseline. Their removal failed or was interrupted, or
    /// another process has read the file meanwhile and left its WAL behind.
    func removeLeftovers() throws(StoreError) {
        for partition in try baseline.removedPartitions() where directory.hasRemains(of: partition) {
            try directory.remove(partition)
        }
    }
}
