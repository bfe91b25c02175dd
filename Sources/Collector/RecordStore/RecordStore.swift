import FoundationEssentials
import WireModel

/// Stores the devices' streams: the port that every storage engine implements.
///
/// Ingest, queries, retention, purge, verify, rebuild, export and backup use it. No other code opens an engine's files.
/// `RecordStoreConformance` tests these promises for every engine.
///
/// ## Terms
///
/// A *chain* is one stream of one epoch of a device. Its *mark* says up to which number the collector has it. A
/// *partition* holds what came for one stream on one day. It is dropped as a whole.
///
/// ## Promises
///
/// - **Durability.** `append`, `close` and `drop` return once their result survives a crash, or report a failure. A
///   call that stored nothing needs no sync, because it read only synced data.
/// - **Order.** One writer per stream decides, so two parts of a chain never race. Records have one order of receipt,
///   which `records` goes through backwards and `scan` forwards.
/// - **Retry.** A caller that does not know a call's result may repeat it. A repeated part is answered `already`; a
///   repeated close or drop changes nothing.
/// - **Distance.** No call assumes that the engine is on this machine or fast. Lists come in pages with opaque cursors,
///   and a cursor is good after a restart.
/// - **Errors.** `StoreError.code` says what to do: `.overloaded`, `.shuttingDown`, `.diskFull` and `.io` may pass,
///   so try again; `.invalid`, `.conflict` and `.notFound` are the caller's; `.corrupt` needs repair.
///
/// Safe to call from any number of tasks.
package protocol RecordStore: Sendable {
    // MARK: What devices send

    /// How safe a stored record is, as answers report to devices: `fsync`, on synced disk; `replicated`, on several
    /// servers.
    var durability: String { get }

    /// Decides every part against its chain's mark, in order, and stores what lies above it.
    ///
    /// Never throws. A part that cannot be decided now (disk full, I/O error, shutting down, too many requests waiting)
    /// gets `.unavailable`, with the last known mark on disk and the reason in `detail`.
    /// - Parameter receivedAt: the collector's clock, microseconds since 1970. The writer chooses the partition, at
    ///   commit.
    func append(_ parts: [BatchPart], from device: DeviceID, receivedAt: Int64) async -> [PartAnswer]

    /// Numbers items and adds them to the chains of some devices in one stream, without those that it has already.
    ///
    /// An item with a key is stored once, as long as the day of its receipt is kept, by however many calls at once.
    /// Each entry is stored as a whole or not at all. SQLite stores all of them in one transaction, so all or none is
    /// stored. In a cluster one entry may be unavailable while others are stored; a caller tries it again.
    ///
    /// Never throws. Repeating a call is safe: items with keys are known then, and others are stored again.
    /// - Parameters:
    ///   - items: at most one entry for each device.
    ///   - receivedAt: the collector's clock, microseconds since 1970.
    /// - Returns: an answer for each entry, in their order, once its result survives a crash.
    func append(
        _ items: [UnnumberedItems], to stream: StreamName, receivedAt: Int64
    ) async -> [UnnumberedAnswer]

    /// Closes an epoch for good. Finds for each stream the greatest offered point in the collector's history. May be
    /// repeated with finer points: the last number and reason of the first close are kept, and
    /// `StreamTotals.told(also:)` joins the totals.
    func close(_ request: EpochClose, from device: DeviceID) async throws(StoreError) -> [ClosedStream]

    // MARK: What people ask

    /// Counts rows and marks of some epochs of one device. Dropped rows count as stored. Each page is of one moment.
    /// - Parameters:
    ///   - after: a former page's `next`; `nil` from the first.
    ///   - limit: of epochs, 1 to `BalancePage.maximumEpochs`.
    func balance(of device: DeviceID, after: EpochID?, limit: Int) async throws(StoreError) -> BalancePage

    /// Records of one stream, of one or many devices, newest received first.
    ///
    /// A page ends at `limit` records, or when the call has examined enough. Then it may have few records or none, and
    /// still a `next`.
    /// - Parameters:
    ///   - before: an opaque position from an earlier page's `next`, of the same query; `nil` from the newest.
    ///   - limit: 1 to `RecordPage.maximumRecords`.
    /// - Throws: `.invalid` for a cursor that is not the store's, or another limit.
    func records(_ query: RecordQuery, before: String?, limit: Int) async throws(StoreError) -> RecordPage

    /// The newest record of each device, by position of receipt, that the query admits. Devices without one are not in
    /// the answer.
    ///
    /// Each device is looked up by itself, in its newest partitions first, so the cost is that of the devices asked
    /// for.
    func newestRecords(of devices: [DeviceID], _ query: RecordQuery) async throws(StoreError) -> [DeviceID:
        StoredRecord]

    /// Partitions of a stream that answers pass over, because they cannot be read; by name, oldest first. Empty where
    /// all are read.
    func unreadableFiles(of stream: StreamName) -> [String]

    // MARK: All that is stored

    /// Records of one stream in the order of their receipt: for export and for whatever is derived from records.
    ///
    /// The store chooses the size of a page; it may hold no record and still have a `next`. What arrives during a scan
    /// is in it or not. Partitions that cannot be read are passed over (`unreadableFiles`).
    ///
    /// Who follows the store for good keeps `RecordPage.resume` and scans again from there. With
    /// `RecordQuery.isFollowing` nothing that is stored later lies before it.
    /// - Parameter after: an earlier page's `next` or `resume`, of the same query; `nil` from the oldest.
    func scan(_ query: RecordQuery, after: String?) async throws(StoreError) -> RecordPage

    /// The balance of every device, as far as the partitions can be read.
    func balances() async throws(StoreError) -> FleetBalances

    /// Does the next step of following every chain through the numbers of its rows, for a round over all partitions.
    /// Each step is short. One caller at a time.
    ///
    /// It finds numbers that are missing or there twice, but reads no record: `verify` proves them.
    /// - Returns: what was found, at the end of a round; `nil` before. The next step begins another round, which looks
    ///   only at what is new.
    func followChains() async throws(StoreError) -> ChainFindings?

    /// The balances of some devices by their marks, without counting rows. For a sum over the fleet, page by page.
    /// - Parameter devices: at most 1,000, near each other in the order of ids.
    func markedBalances(of devices: Set<DeviceID>) async throws(StoreError) -> MarkedBalances

    /// Proves that every chain is whole and unaltered, and counts its records. Reads everything.
    /// - Throws: if nothing can be read at all. An error in one partition is a finding.
    func verify() async throws(StoreError) -> VerifyReport

    /// Partitions that are missing without having been dropped, and those that cannot be opened. Quick, where `verify`
    /// reads everything.
    func harmedPartitions() async throws(StoreError) -> [Partition: PartitionHarm]

    /// Copies all records to a directory, each partition as of one moment, and syncs the copies.
    ///
    /// The metadata was copied before. Every chain in the backup is whole, with or without the records received since.
    /// - Parameter receive: is given each file once its copy is whole, and may remove the copy.
    /// - Returns: `false` if a partition was dropped since the metadata was copied. Then the backup must begin anew.
    func backup(
        to directory: String, receive: @Sendable (BackupFile) throws(StoreError) -> Void
    ) async throws(StoreError) -> Bool

    // MARK: Partitions

    /// The partitions, without dropped ones.
    func partitions() async throws(StoreError) -> PartitionList

    /// When the newest record of a partition came, microseconds since 1970; `nil`: it has none.
    func newestReceipt(in partition: Partition) async throws(StoreError) -> Int64?

    /// Removes a partition for good. Its marks and counts stay: balances still count its records, and a device that
    /// sends them again gets `already`.
    /// - Throws: `.notFound`; `.conflict` unless it is the oldest of its stream; errors of the disk. After these the
    ///   drop may be under way, each chain whole or without the partition. The next `reclaim` ends it then.
    func drop(_ partition: Partition) async throws(StoreError)

    /// Removes all records of some devices for good. No answer has them any more. Files of SQLite have lost them when
    /// this returns; servers delete them in the background. As after a drop, marks and counts stay: balances still
    /// count the records, and a device that sends them again gets `already`.
    ///
    /// Chains of other devices do not change. May be repeated: it removes what an interrupted call has left, and what
    /// came since. One caller at a time.
    /// - Throws: errors of the disk, `.corrupt` for a damaged partition; `.overloaded` if a reader keeps some in use.
    ///   Then some may be left.
    func erase(_ devices: Set<DeviceID>) async throws(StoreError)

    /// Ends drops that were cut short, and gives back the space of dropped partitions. Retention calls it at each pass.
    func reclaim() async throws(StoreError)

    // MARK: Condition

    /// Whether an append could succeed now, or the reason why not.
    func readiness() async -> StoreReadiness

    /// Numbers for monitoring: what is on disk and what is being written. Reads every file's size.
    func figures() async -> StoreFigures

    /// Lets writers finish what they have begun, then closes every file. Later appends answer `.unavailable`.
    func shutDown() async
}

extension RecordStore {
    /// Records of one stream of a device.
    /// - Parameter kind: raw value of a record kind, `nil` for all.
    package func records(
        of device: DeviceID, stream: StreamName, kind: Int?, module: String?, before: String?, limit: Int
    ) async throws(StoreError) -> RecordPage {
        try await records(
            RecordQuery(.one(device), stream: stream, kinds: kind.map { [$0] } ?? [], module: module), before: before,
            limit: limit)
    }

    /// The balances of all epochs of a device, sorted by epoch and stream. For devices that are known to have few.
    package func balance(of device: DeviceID) async throws(StoreError) -> [EpochBalance] {
        var balances: [EpochBalance] = []
        var after: EpochID?
        repeat {
            let page = try await balance(of: device, after: after, limit: BalancePage.maximumEpochs)
            balances += page.epochs
            after = page.next
        } while after != nil
        return balances
    }

    /// Goes over a scan, page by page.
    package func forEachPage(of query: RecordQuery, _ body: ([StoredRecord]) async throws -> Void) async throws {
        var cursor: String?
        repeat {
            let page = try await scan(query, after: cursor)
            try await body(page.records)
            cursor = page.next
        } while cursor != nil
    }

    /// When the newest record of any stream came, microseconds since 1970; `nil`: there is none.
    package func newestReceipt() async throws(StoreError) -> Int64? {
        let kept = try await partitions().kept
        var newest: Int64?
        for stream in StreamName.allCases {
            guard let last = kept.last(where: { $0.partition.stream == stream }),
                let time = try await newestReceipt(in: last.partition)
            else { continue }
            newest = max(newest ?? time, time)
        }
        return newest
    }

    /// Returns the partitions of a stream that are over the limits, oldest first.
    ///
    /// It asks for the time of a partition's newest record only if that can decide: if a record from the day's
    /// beginning would be over the limit.
    package func removals(
        of stream: StreamName, at now: Int64, limits: RetentionLimits.Stream
    ) async throws(StoreError) -> [RetentionPlan.Removal] {
        var files = try await partitions().kept.filter { $0.partition.stream == stream }.map {
            RetentionPlan.File(
                day: $0.partition.day, bytes: $0.bytes, newestReceipt: $0.partition.day.start)
        }
        for removal in RetentionPlan.removals(of: files, at: now, limits: limits) {
            guard let place = files.firstIndex(where: { $0.day == removal.file.day }) else { continue }
            files[place].newestReceipt = try await newestReceipt(
                in: Partition(day: removal.file.day, stream: stream))
        }
        return RetentionPlan.removals(of: files, at: now, limits: limits)
    }
}

/// The partitions of a store.
package struct PartitionList: Equatable, Sendable {
    package struct Item: Equatable, Sendable {
        package var partition: Partition
        /// The bytes on disk.
        package var bytes: Int64

        package init(partition: Partition, bytes: Int64) {
            self.partition = partition
            self.bytes = bytes
        }
    }

    /// Oldest first.
    package var kept: [Item]
    /// How many were dropped so far.
    package var dropped: [StreamName: Int]

    package init(kept: [Item], dropped: [StreamName: Int]) {
        self.kept = kept
        self.dropped = dropped
    }
}

/// The fault of a partition.
package struct PartitionHarm: Equatable, Sendable {
    package var isMissing = false
    package var message: String

    package init(isMissing: Bool = false, message: String) {
        self.isMissing = isMissing
        self.message = message
    }
}

/// Every device's balances.
package struct FleetBalances: Equatable, Sendable {
    /// One device's, one for each epoch and stream.
    package struct Device: Equatable, Sendable {
        package var device: DeviceID
        package var epochs: [EpochBalance]
    }

    /// The balances by device, epoch and stream.
    package var devices: [Device]
    /// Names of partitions that cannot be read and were passed over.
    package var unreadableFiles: [String]

    package init(_ balances: [(device: DeviceID, balance: EpochBalance)], unreadableFiles: [String] = []) {
        devices = Dictionary(grouping: balances, by: \.device).map { device, balances in
            Device(device: device, epochs: balances.map(\.balance).sorted())
        }.sorted { $0.device.description < $1.device.description }
        self.unreadableFiles = unreadableFiles
    }
}

/// Balances by marks: a stored record is one that a mark counts.
package struct MarkedBalances: Sendable {
    /// The balances in any order. `storedRows` differs from the mark's count only by what was counted when files were
    /// removed.
    package var balances: [(device: DeviceID, balance: EpochBalance)] = []
    /// Names of partitions that cannot be read and were passed over.
    package var unreadableFiles: Set<String> = []

    package init() {}
}

/// One stream of one epoch of a device, counted at the collector.
package struct EpochBalance: Equatable, Comparable, Sendable {
    package var epoch: EpochID
    package var stream: StreamName
    package var mark: StreamMark
    /// Counted from rows, plus what retention removed with its files (from the baseline).
    package var storedRows: UInt64
    /// The device's totals in its newest stored part.
    package var totals: StreamTotals
    package var closed: Bool
    /// Produced: by the device's newest totals. Waiting: produced minus what the mark covers, as far as the totals are
    /// not older than the mark.
    package var balance: StreamBalance

    package init(
        epoch: EpochID, stream: StreamName, mark: StreamMark, storedRows: UInt64, totals: StreamTotals, closed: Bool,
        balance: StreamBalance
    ) {
        self.epoch = epoch
        self.stream = stream
        self.mark = mark
        self.storedRows = storedRows
        self.totals = totals
        self.closed = closed
        self.balance = balance
    }

    package static func < (left: Self, right: Self) -> Bool {
        (left.epoch, left.stream) < (right.epoch, right.stream)
    }
}

/// Balances of some epochs of a device, all streams of each.
package struct BalancePage: Equatable, Sendable {
    /// Sorted by epoch and stream.
    package var epochs: [EpochBalance]
    /// The last of these epochs, if others follow.
    package var next: EpochID?

    package static let maximumEpochs = 1000

    /// Cuts a page out of the balances of each stream's first epochs.
    /// - Parameters:
    ///   - balances: complete for all epochs up to `complete`, in any order.
    ///   - complete: the epoch up to which every source was read; `nil` if all were read to their ends.
    package init(_ balances: [EpochBalance], complete: EpochID?, limit: Int) {
        let sorted = balances.filter { balance in complete.map { balance.epoch <= $0 } ?? true }.sorted()
        var kept = 0
        var epochs = 0
        var last: EpochID?
        for balance in sorted {
            if balance.epoch != last {
                guard epochs < limit else { break }
                epochs += 1
                last = balance.epoch
            }
            kept += 1
        }
        self.epochs = Array(sorted.prefix(kept))
        // Epochs without a balance are passed over with `complete`.
        next = kept < sorted.count ? last : complete
    }
}

package struct StoredRecord: Equatable, Sendable {
    package var device: DeviceID
    package var epoch: EpochID
    package var header: RecordHeader
    /// The serialized record.
    package var bytes: Data
    /// The collector's clock at receipt, microseconds since 1970.
    package var receivedAt: Int64
    /// The body of the context that holds for the record: its own, else the last `otlpContext` before it in its slice.
    /// `nil` if the record needs none.
    package var context: Data?

    package init(
        device: DeviceID, epoch: EpochID, header: RecordHeader, bytes: Data, receivedAt: Int64, context: Data? = nil
    ) {
        self.device = device
        self.epoch = epoch
        self.header = header
        self.bytes = bytes
        self.receivedAt = receivedAt
        self.context = context
    }
}

package struct RecordPage: Equatable, Sendable {
    package var records: [StoredRecord]
    /// Opaque; `nil` at the end.
    package var next: String?
    /// Of a scan: behind all that it has examined, also at the end. A later scan of the same query goes on there with
    /// what has come since. `nil` while there is nothing to pass.
    package var resume: String?

    /// The most records that one call may ask for.
    package static let maximumRecords = 5000
    /// A page of the newest records ends once its records have so many bytes. One record more fits in any page.
    package static let maximumBytes = 1 << 20

    package init(records: [StoredRecord], next: String?, resume: String? = nil) {
        self.records = records
        self.next = next
        self.resume = resume
    }

    /// - Throws: `.invalid` for a limit outside of 1 to `maximumRecords`.
    package static func check(limit: Int) throws(StoreError) {
        guard (1...maximumRecords).contains(limit) else {
            throw StoreError(.invalid, "limit is \(limit); expected 1 to \(maximumRecords).")
        }
    }
}

/// Receives what the store does, for metrics. Called from the writers' threads; must return at once.
package protocol StoreObserver: Sendable {
    func committed(_ commit: StoreCommit)
}

/// One transaction of a stream's writer.
package struct StoreCommit: Sendable {
    package var stream: StreamName
    /// Requests that shared it.
    package var requests: Int
    /// Includes waiting for the file, all work, and the sync.
    package var duration: Duration
    /// `nil` if it is on synced disk.
    package var failure: StoreError.Code?
    /// The records that it stored; empty if it failed.
    package var counts = StoreCounts()

    package init(
        stream: StreamName, requests: Int, duration: Duration, failure: StoreError.Code?,
        counts: StoreCounts = StoreCounts()
    ) {
        self.stream = stream
        self.requests = requests
        self.duration = duration
        self.failure = failure
        self.counts = counts
    }
}

/// Numbers of records by what became of them.
package struct StoreCounts: Equatable, Sendable {
    package var stored: UInt64 = 0
    package var rejected: UInt64 = 0
    /// Dropped by devices, as reported in gaps.
    package var dropped: UInt64 = 0
    /// Numbers that no device sent.
    package var lost: UInt64 = 0

    package init() {}

    package mutating func add(_ other: StoreCounts) {
        stored.addSaturating(other.stored)
        rejected.addSaturating(other.rejected)
        dropped.addSaturating(other.dropped)
        lost.addSaturating(other.lost)
    }

    package mutating func add(_ mark: StreamMark, since former: StreamMark) {
        stored.addSaturating(mark.stored.subtractingSaturating(former.stored))
        rejected.addSaturating(mark.rejectedCount.subtractingSaturating(former.rejectedCount))
        dropped.addSaturating(mark.droppedCount.subtractingSaturating(former.droppedCount))
        lost.addSaturating(mark.lostAtCollector.subtractingSaturating(former.lostAtCollector))
    }
}
