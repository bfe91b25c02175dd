import RecordStore
import Registry
import SQLite
import Synchronization
import TelemetryBasics
import WireModel

/// Packs and drops record files, beside the writers and readers, on a queue and a connection of its own.
actor PartitionKeeper {
    private let directory: DataDirectory
    private let baseline: Baseline
    private let damaged: DamagedFiles
    private let replacement: ReplacementLock
    /// The file that is packed now.
    private var packer: RecordPacker?
    private nonisolated let executor = BlockingExecutor(label: "ws1.collector.store.retention")

    nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }

    /// - Parameter damaged: called with files that cannot be read.
    init(
        directory: DataDirectory, damaged: DamagedFiles, replacement: ReplacementLock
    ) throws(StoreError) {
        self.directory = directory
        self.damaged = damaged
        self.replacement = replacement
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
            try endPacking(of: partition)
            let file = try RecordFile(writing: partition, in: directory)
            try RecordErasure(baseline: baseline).erase(devices, from: file, compacts: true)
            try file.seal()
        } catch {
            if error.code == .corrupt { damaged.record(partition, error.message) }
            throw error
        }
    }

    /// Packs a file that nobody writes to any more, for about a second.
    func pack(_ partition: Partition) throws(StoreError) -> PackingStep {
        do throws(StoreError) {
            guard let packer = try packer(of: partition) else { return .nothing }
            if try packer.step() { return .more }
            let slices = try packer.finish()
            self.packer = nil
            return try replacement.withLock { () throws(StoreError) in
                // A salvage has changed it or put another file in its place.
                guard packer.isSourceUnchanged else {
                    try endPacking(of: partition)
                    return .more
                }
                try baseline.lower(partition, slices: slices)
                try PackingArea(partition, in: directory).replace()
                return .packed
            }
        } catch {
            packer = nil
            if error.code == .corrupt { damaged.record(partition, error.message) }
            if error.code == .diskFull { try? endPacking(of: partition) }
            throw error
        }
    }

    /// - Returns: `nil` if there is nothing to pack.
    private func packer(of partition: Partition) throws(StoreError) -> RecordPacker? {
        if let packer, packer.partition == partition { return packer }
        packer = nil
        // Retention may have removed it.
        guard Paths.exists(directory.path(of: partition)) else {
            try endPacking(of: partition)
            return nil
        }
        if let fault = try DamageCheck(directory: directory, baseline: baseline).quickFault(of: partition) {
            throw StoreError(.corrupt, "\(partition.name): \(fault)")
        }
        if directory.mayBeUnfinished(partition) {
            let file = try RecordFile(writing: partition, in: directory)
            try file.emptyWAL()
            try file.seal()
        }
        packer = try RecordPacker(partition, in: directory, leastSlices: try baseline.slices(of: partition))
        return packer
    }

    /// Removes a file that nobody has open any more, and whose marks are in the baseline.
    func remove(_ partition: Partition) throws(StoreError) {
        try endPacking(of: partition)
        try directory.remove(partition)
    }

    /// Removes what was packed so far.
    private func endPacking(of partition: Partition) throws(StoreError) {
        packer = nil
        try PackingArea(partition, in: directory).discard()
    }

    /// Removes what is left of files that are already in the baseline. Their removal failed or was interrupted, or
    /// another process has read the file meanwhile and left its WAL behind.
    func removeLeftovers() throws(StoreError) {
        for partition in try baseline.removedPartitions() where directory.hasRemains(of: partition) {
            try directory.remove(partition)
        }
    }
}

/// What a step of packing a file has come to.
package enum PackingStep: Equatable, Sendable {
    case more
    /// It is packed now.
    case packed
    /// It was packed before, is gone, is in use, or lacks slices.
    case nothing
}

/// Held while a file of an earlier day is replaced: by its packed one, or after damage.
final class ReplacementLock: Sendable {
    private let mutex = Mutex(())

    func withLock<Result, Failure: Error>(_ body: () throws(Failure) -> Result) throws(Failure) -> Result {
        try mutex.withLock { _ throws(Failure) in try body() }
    }
}
