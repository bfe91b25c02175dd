import FoundationEssentials
import Logging
import SQLite
import WireModel

/// Removes records older than an administrator says, with or without a collector that runs.
package struct RecordPurge: Sendable {
    /// One file that would go.
    package struct File: Equatable, Sendable {
        package var partition: Partition
        package var bytes: Int64
    }

    package enum Outcome: Equatable, Sendable {
        case removed(files: Int)
        /// A running collector has been asked, and has not answered yet.
        case asked(PurgeTicket)
    }

    private let directory: DataDirectory
    private let clock: any StoreClock
    private let logger: Logger

    /// - Throws: `.notFound` where there is no collector's data.
    package init(directory path: String, clock: any StoreClock, logger: Logger) throws(StoreError) {
        directory = DataDirectory(path: path)
        self.clock = clock
        self.logger = logger
        guard DataDirectory.exists(directory.databasePath) else { throw .noCollector(path) }
    }

    /// Whole days whose newest record is older; never the present day.
    /// - Parameter days: 1 or more.
    package func files(olderThanDays days: Int, streams: Set<StreamName>) async throws(StoreError) -> [File] {
        let keeper = try PartitionKeeper(directory: directory)
        var files: [File] = []
        for stream in streams.sorted() {
            for removal in try await keeper.removals(of: stream, at: clock.now(), limits: RetentionLimits.Stream(days: days)) {
                files.append(File(partition: Partition(day: removal.file.day, stream: stream), bytes: removal.file.bytes))
            }
        }
        return files
    }

    /// Removes these files, or asks the collector that holds the directory to.
    package func remove(_ files: [File]) async throws(StoreError) -> Outcome {
        let store: SQLiteRecordStore
        do throws(StoreError) {
            store = try SQLiteRecordStore.open(directory: directory.path, clock: clock, logger: logger)
        } catch {
            guard error.code == .inUse else { throw error }
            return .asked(try ask(files))
        }
        let result: Result<Int, StoreError>
        do throws(StoreError) { result = .success(try await store.remove(files.map(\.partition))) } catch { result = .failure(error) }
        await store.shutDown()
        return .removed(files: try result.get())
    }

    private func ask(_ files: [File]) throws(StoreError) -> PurgeTicket {
        let request = PurgeRequest(files: files.map { PurgeRequest.File(day: $0.partition.day.number, stream: $0.partition.stream) })
        let connection = try CollectorDatabase.open(directory)
        try StoreError.mapping { () throws(SQLiteError) in
            try connection.transaction { () throws(SQLiteError) in try RetentionState(connection: connection).ask(request) }
        }
        return PurgeTicket(id: request.id)
    }

    /// What the collector has done of what it was asked.
    /// - Returns: files removed; `nil`: it has not come to it yet.
    /// - Throws: `.conflict` where it could not do all of it.
    package func answer(to ticket: PurgeTicket) throws(StoreError) -> Int? {
        guard let connection = try CollectorDatabase.openReading(directory) else { throw .noCollector(directory.path) }
        let answer = try StoreError.mapping { () throws(SQLiteError) in try RetentionState(connection: connection).answer() }
        guard let answer, answer.id == ticket.id else { return nil }
        if let failure = answer.failure {
            throw StoreError(.conflict, "\(answer.removedFiles) files were removed, then: \(failure)")
        }
        return answer.removedFiles
    }

    /// The collector shall not do any more what it was asked.
    package func withdraw(_ ticket: PurgeTicket) throws(StoreError) {
        let connection = try CollectorDatabase.open(directory)
        try StoreError.mapping { () throws(SQLiteError) in
            try connection.transaction { () throws(SQLiteError) in
                let state = RetentionState(connection: connection)
                if try state.request()?.id == ticket.id { try state.forgetRequest() }
            }
        }
    }
}

/// Which request a collector was asked.
package struct PurgeTicket: Equatable, Sendable {
    let id: UUID
}

extension SQLiteRecordStore {
    /// Removes files, oldest first in each stream; those that are gone already count as removed.
    /// - Returns: how many there were.
    func remove(_ partitions: [Partition]) async throws(StoreError) -> Int {
        for partition in partitions {
            do throws(StoreError) {
                try await dropPartition(day: partition.day, stream: partition.stream)
            } catch {
                guard error.code == .notFound else { throw error }
            }
        }
        return partitions.count
    }
}
