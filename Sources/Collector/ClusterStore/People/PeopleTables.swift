import ClickHouse
import Logging
import PostgreSQL
import RecordStore
import Synchronization
import WireModel

/// Fills the tables for people from the outbox.
///
/// A fill reads the slice that an entry describes, writes its rows, and then removes the entry. A crash in between
/// leaves the entry, and the rows are written again; their key makes them show once. One collector at a time fills. Two
/// would do the same work twice, and nothing worse.
///
/// Thread-safe. It uses the store's connections and ends with them.
package final class PeopleTables: Sendable {
    /// The figures of what is missing from the tables, and of what this collector has done since it started.
    package struct Figures: Equatable, Sendable {
        /// The age of the oldest slice that is not in the tables, in seconds; 0 if none waits.
        package var lagSeconds = 0.0
        /// Slices that wait.
        package var waiting = 0
        /// Those of them that failed and are tried again later: no replica has the slice, or the device has no
        /// organization.
        package var delayed = 0
        package var rows: UInt64 = 0
        package var slices: UInt64 = 0
        /// Records left out because their bytes cannot be read. The store keeps them.
        package var unreadableRecords: UInt64 = 0
    }

    private struct State {
        var figures = Figures()
        /// The code of the last error, until a fill succeeds.
        var trouble: StoreError.Code?
    }

    private let outbox: OutboxTable
    private let slices: SliceTable
    private let owners: @Sendable (Set<DeviceID>) async -> [DeviceID: String]
    private let logger: Logger
    private let state = Mutex(State())

    /// A slice becomes some twenty times its bytes as rows, which are in memory at once.
    private static let bytesTogether: Int64 = 2 << 20
    private static let entriesTogether = 500
    /// How long it waits after all that waited is filled, or after an error.
    private static let pause = Duration.milliseconds(500)
    /// How often another collector asks whether the one that fills has gone.
    private static let lockInterval = Duration.seconds(3)

    /// - Parameter owners: the organizations of devices. The slices of a device that is not in the answer wait.
    init(
        database: PostgresDatabase, slices: SliceTable,
        owners: @escaping @Sendable (Set<DeviceID>) async -> [DeviceID: String], logger: Logger
    ) {
        outbox = OutboxTable(database: database)
        self.slices = slices
        self.owners = owners
        self.logger = logger
    }

    package func figures() async throws(StoreError) -> Figures {
        let waiting = try await outbox.figures()
        var figures = state.withLock { $0.figures }
        figures.lagSeconds = Double(waiting.age) / 1_000_000
        (figures.waiting, figures.delayed) = (waiting.entries, waiting.delayed)
        return figures
    }

    // MARK: Running

    /// Fills until the task is cancelled or the store is shut down, while no other collector does.
    package func run() async {
        while !Task.isCancelled {
            do {
                _ = try await outbox.database.withAdvisoryLock(StoreLock.people) { try await self.fillWithoutEnd() }
            } catch let error as StoreError {
                if error.code == .shuttingDown { return }
                record(error)
            } catch let error as PostgresError {
                if error.code == .shutDown { return }
                record(StoreError(error))
            } catch { return }
            do { try await Task.sleep(for: Self.lockInterval) } catch { return }
        }
    }

    private func fillWithoutEnd() async throws {
        while true {
            try Task.checkCancellation()
            var count = 0
            do throws(StoreError) {
                count = try await fill()
                record(nil)
            } catch {
                if error.code == .shuttingDown { throw error }
                record(error)
            }
            if count == 0 { try await Task.sleep(for: Self.pause) }
        }
    }

    private func record(_ error: StoreError?) {
        let isNew = state.withLock { state in
            defer { state.trouble = error?.code }
            return state.trouble != error?.code
        }
        guard let error, isNew, !Task.isCancelled else { return }
        logger.error("the tables for people cannot be filled", metadata: ["store.error": "\(error)"])
    }

    // MARK: Filling

    /// Handles the entries that are due, up to a limit for each stream.
    /// - Returns: how many left the outbox.
    /// - Throws: the first error, after all streams were tried. The entries that failed stay.
    func fill() async throws(StoreError) -> Int {
        var (count, failure) = (0, StoreError?.none)
        for stream in StreamName.allCases {
            do throws(StoreError) { count += try await fill(stream) } catch { failure = failure ?? error }
        }
        if let failure { throw failure }
        return count
    }

    private func fill(_ stream: StreamName) async throws(StoreError) -> Int {
        let entries = try await outbox.next(stream, count: Self.entriesTogether, bytes: Self.bytesTogether)
        var handled = entries.filter(\.isDropped)
        var late: [OutboxEntry] = []
        var failure: StoreError?
        let organizations = await owners(Set(entries.map(\.slice.chain.device)))
        let partitions = Dictionary(grouping: entries.filter { !$0.isDropped }) {
            Partition(day: $0.day, stream: stream)
        }
        for (partition, entries) in partitions {
            do throws(StoreError) {
                let filled = try await fill(partition, entries, organizations)
                handled += filled
                let names = Set(filled.map(\.slice))
                late += entries.filter { !names.contains($0.slice) }
            } catch { failure = failure ?? error }
        }
        if !handled.isEmpty { Failpoint.filled.reach() }
        try await outbox.delay(late)
        try await outbox.remove(handled)
        if let failure { throw failure }
        return handled.count
    }

    /// Writes the rows of one partition in one insert, which is stored whole or not at all.
    /// - Returns: the entries whose rows are stored.
    private func fill(
        _ partition: Partition, _ entries: [OutboxEntry], _ organizations: [DeviceID: String]
    ) async throws(StoreError) -> [OutboxEntry] {
        let known = entries.filter { organizations[$0.slice.chain.device] != nil }
        let found = try await slices(of: known, partition)
        var rows = PeopleRows(partition.stream)
        var filled: [OutboxEntry] = []
        for entry in known {
            guard let slice = found[entry.slice], let organization = organizations[entry.slice.chain.device] else {
                continue
            }
            let former = rows.unreadable
            rows.add(slice, of: entry, organization: organization)
            if rows.unreadable > former { report(rows.unreadable - former, in: entry) }
            filled.append(entry)
        }
        try await slices.insertSurely(
            into: PeopleSchema.table(of: partition.stream),
            columns: PeopleSchema.columns(of: partition.stream).map(\.name),
            rows: rows.rows)
        let (rowCount, sliceCount, unreadable) = (rows.rows.rowCount, filled.count, rows.unreadable)
        state.withLock { state in
            state.figures.rows += UInt64(rowCount)
            state.figures.slices += UInt64(sliceCount)
            state.figures.unreadableRecords += unreadable
        }
        return filled
    }

    private func report(_ count: UInt64, in entry: OutboxEntry) {
        logger.warning(
            "records cannot be read, and are missing from the tables for people",
            metadata: [
                "store.records": "\(count)", "store.stream": "\(entry.stream)",
                "device.id": "\(entry.slice.chain.device)", "epoch.id": "\(entry.slice.chain.epoch)",
                "store.key": "\(entry.slice.key)",
            ])
    }

    /// The slices that the entries describe, from any replicas.
    /// - Returns: without those that no replica which answers has, or that cannot be read.
    private func slices(of entries: [OutboxEntry], _ partition: Partition) async throws(StoreError) -> [SliceID:
        StoredSlice]
    {
        do throws(StoreError) { return try await slicesTogether(of: entries, partition) } catch {
            guard error.code == .corrupt else { throw error }
            guard entries.count > 1 else {
                logger.error(
                    "a slice cannot be read for the tables for people", metadata: ["store.error": "\(error)"])
                return [:]
            }
        }
        // One of them may keep the others from being read.
        var found: [SliceID: StoredSlice] = [:]
        for entry in entries { found.merge(try await slices(of: [entry], partition)) { first, _ in first } }
        return found
    }

    private func slicesTogether(
        of entries: [OutboxEntry], _ partition: Partition
    ) async throws(StoreError) -> [SliceID: StoredSlice] {
        var found: [SliceID: StoredSlice] = [:]
        var missing = entries
        var (hasAnswer, failure) = (false, StoreError?.none)
        for replica in [nil] + slices.client.replicas.map(Optional.some) where !missing.isEmpty {
            do throws(StoreError) {
                let there = try await slices.slices(
                    missing.map(\.slice), .records, days: partition.day...partition.day, of: partition.stream,
                    on: replica
                ).slices
                hasAnswer = true
                missing.removeAll { entry in
                    guard let slice = there[entry.slice], slice.after == entry.after else { return false }
                    found[entry.slice] = slice.slice
                    return true
                }
            } catch {
                guard error.code == .unavailable else { throw error }
                failure = error
            }
        }
        if let failure, !hasAnswer { throw failure }
        return found
    }
}
