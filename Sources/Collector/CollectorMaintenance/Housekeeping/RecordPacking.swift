import CollectorTunables
import Logging
import RecordStore
import Registry
import SQLiteRecordStore
import WireModel

/// Packs the record files of days that ended some time ago, one after the other, oldest first, with half of a core.
///
/// It waits while the disk has little room. A failure is logged and tried again at the next look.
package struct RecordPacking: Sendable {
    /// A file that was packed.
    package struct Packed: Equatable, Sendable {
        package var partition: Partition
        /// Bytes of the file before and after.
        package var before: UInt64
        package var after: UInt64
    }

    private let store: SQLiteRecordStore
    private let clock: any StoreClock
    private let logger: Logger

    package init(store: SQLiteRecordStore, clock: any StoreClock, logger: Logger) {
        self.store = store
        self.clock = clock
        self.logger = logger
    }

    /// Runs until the task is cancelled. What is begun then goes on at the next start.
    /// - Parameters:
    ///   - days: whole days that lie between a day and its packing, at least 1.
    ///   - receive: gets every file that was packed.
    package func run(
        afterDays days: Int, on clock: some Clock<Duration>, receive: @Sendable (Packed) -> Void
    ) async {
        var settled: Set<Partition> = []
        var reported: String?
        while !Task.isCancelled {
            let today = UTCDay(microseconds: self.clock.now())
            do throws(StoreError) {
                try await pass(before: UTCDay(number: today.number - days), settled: &settled) {
                    // (A cancelled task is noticed by the loop.)
                    try? await clock.sleep(for: Tunables.Packing.pause)
                } receive: {
                    receive($0)
                    logger.info(
                        "a day of records packed",
                        metadata: [
                            "store.file": "\($0.partition.name)", "before": "\($0.before)", "after": "\($0.after)",
                        ])
                }
                reported = nil
            } catch {
                // Once, and not every ten minutes.
                if error.message != reported {
                    logger.warning("records could not be packed", metadata: ["store.error": "\(error)"])
                }
                reported = error.message
            }
            do { try await clock.sleep(for: Tunables.Packing.interval) } catch { break }
        }
    }

    /// Packs all files of days before a day, except the newest of each stream.
    /// - Parameters:
    ///   - settled: files in which nothing is left to pack. They are not looked at, and others are added.
    ///   - pause: is called between two steps.
    ///   - receive: gets every file that was packed.
    /// - Throws: the first error. The other files are packed nevertheless.
    package func pass(
        before day: UTCDay, settled: inout Set<Partition>, pause: () async -> Void = {}, receive: (Packed) -> Void
    ) async throws(StoreError) {
        var failure: StoreError?
        for partition in try store.partitions(before: day) where !settled.contains(partition) && !Task.isCancelled {
            do throws(StoreError) {
                let before = store.bytes(of: partition)
                guard let disk = store.disk, disk.freeBytes > Tunables.Packing.freeBytes + before else {
                    let need = "its size and \(Tunables.Packing.freeBytes) bytes must be free"
                    throw StoreError(.diskFull, "\(partition.name) is not packed: \(need).")
                }
                var step = try await store.pack(partition)
                while step == .more, !Task.isCancelled {
                    await pause()
                    step = try await store.pack(partition)
                }
                if step == .packed {
                    receive(Packed(partition: partition, before: before, after: store.bytes(of: partition)))
                }
                if step != .more { settled.insert(partition) }
            } catch {
                failure = failure ?? error
                // It would be the same the next time, after as much work.
                if error.code == .internalFault { settled.insert(partition) }
            }
        }
        if let failure { throw failure }
    }
}
