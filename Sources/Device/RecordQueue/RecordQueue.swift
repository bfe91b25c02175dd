import Logging
import WireModel

/// The device's queue: three first-in first-out streams on synced disk, which leave only when a collector has said it stored them, or
/// counted under a reason.
///
/// One process holds a directory at a time. Safe from any thread; calls that wait do so for the one writer, which commits what has
/// gathered together (QueueFile.swift has the format and its promises).
package final class RecordQueue: Sendable {
    let writer: QueueWriter

    private init(writer: QueueWriter) {
        self.writer = writer
    }

    /// The current epoch. It changes when one ends.
    package var epoch: EpochID { writer.epoch }

    /// Whether an epoch is over that the collector has not been told of: `nextClose` has something.
    package var hasEpochToClose: Bool { writer.hasEpochToClose }

    /// Runs on the writer's queue, after the commits that were asked for before.
    func run<T: Sendable>(
        committingFirst: Bool = false, _ body: @escaping @Sendable (QueueStore) throws -> T
    ) async throws(QueueError) -> T {
        try await writer.run(committingFirst: committingFirst, body)
    }

    /// Opens the queue of a directory, which is made if it is missing. The time it takes does not depend on the backlog.
    ///
    /// A corrupt file is moved aside and what is readable of it goes into a new one, in a new epoch (Salvage.swift); `status` reports it.
    /// - Throws: `.inUse` while another process or queue holds it, `.newerVersion`, `.diskFull`, `.io`, `.invalid` for a setting out of
    ///   range.
    package static func open(
        directory: String, configuration: Configuration, clock: any RecordClock, logger: Logger
    ) throws(QueueError) -> RecordQueue {
        try configuration.validate()
        let lock = try DirectoryLock(directory: directory)
        do {
            let (store, isReplaced) = try Salvage.open(
                directory: directory, configuration: configuration, clock: clock, logger: logger)
            let writer = QueueWriter(
                store: store, isReplaced: isReplaced, lock: lock, configuration: configuration, logger: logger
            ) { error in
                try Salvage.replace(
                    error.finding, files: SalvageFiles(directory: directory), configuration: configuration,
                    clock: clock, logger: logger)
                return try QueueStore(directory: directory, configuration: configuration, clock: clock, logger: logger)
            }
            return RecordQueue(writer: writer)
        } catch {
            throw QueueError(error)
        }
    }

    /// Hands an ordinary record to the writer: lost if the process or the machine dies within the loss window. A commit that fails is
    /// tried again; the record waits in the bounded buffer meanwhile. With a loss window of zero the call waits for its commit.
    ///
    /// - Throws: `.bufferFull`, `.tooLarge` (both counted), `.diskFull` and others once the buffer is full because commits fail, `.closed`.
    package func enqueue(_ record: NewRecord) throws(QueueError) {
        try writer.enqueue(record)
    }

    /// Queues a record and waits until it is on synced disk. Calls that wait at the same time share one sync.
    ///
    /// - Returns: its number.
    /// - Throws: as `enqueue`, and `.diskFull`, `.capReached` (both counted), `.io`, `.corrupt`. After an error the record is not in the
    ///   queue, unless the disk failed while syncing: then it may be.
    package func enqueueDurably(_ record: NewRecord) async throws(QueueError) -> UInt64 {
        try await writer.enqueueDurably(record)
    }

    /// Commits what has gathered.
    package func flush() async throws(QueueError) {
        try await writer.flush()
    }

    /// The front of a stream, to be sent: gaps first, then records, all of it on synced disk.
    ///
    /// - Parameters:
    ///   - maximumBytes: of records; one record is given whatever its size.
    ///   - maximumRecords: 1 or more.
    ///   - hold: only records that are so old, by the queue clock. Nothing overtakes: the first that is not ends the part.
    /// - Returns: `nil` where nothing waits or nothing is due, and once the histories have diverged.
    package func nextPart(
        of stream: StreamName, maximumBytes: Int, maximumRecords: Int, hold: Duration
    ) async throws(QueueError) -> BatchPart? {
        try await writer.run(committingFirst: true) { store in
            try store.keepClock()
            try store.dropOverAged()
            // What a crash or a full disk left of an ended epoch.
            _ = try store.advanceEnded()
            return try store.nextPart(of: stream, maximumBytes: maximumBytes, maximumRecords: maximumRecords, hold: hold)
        }
    }

    /// Takes over what a collector answered, in one transaction: on disk when this returns. A repeat changes nothing.
    package func apply(_ answer: PartAnswer) async throws(QueueError) -> MarkDecision {
        try await writer.run { try $0.apply(answer) }
    }

    /// Drops the oldest records of a stream.
    ///
    /// - Parameters:
    ///   - count: records, gaps not counted; 1 or more.
    ///   - keepAside: moves them into the bounded quarantine, where there is room.
    /// - Returns: what was dropped now (on disk it may be part of a longer gap); `nil`: nothing waits.
    package func drop(
        oldest count: Int, of stream: StreamName, reason: DropReason, keepAside: Bool
    ) async throws(QueueError) -> Gap? {
        try await writer.run { store in
            var dropped: Gap?
            var left = count
            // In transactions of bounded size, so that they fit into the WAL.
            while left > 0,
                let gap = try store.drop(
                    oldest: min(left, QueueFile.transactionRecords), bytes: QueueFile.transactionBytes, of: stream, reason: reason,
                    keepAside: keepAside)
            {
                left -= Int(gap.count)
                dropped = dropped?.merged(with: gap) ?? gap
                store.checkpointIfDue()
            }
            return dropped
        }
    }

    /// The queue at a glance. Its cost does not depend on what waits.
    /// - Parameter holds: per stream, for `due`.
    package func status(holds: [StreamName: Duration] = [:]) async throws(QueueError) -> QueueStatus {
        var status = try await writer.run { try $0.status(holds: holds) }
        let (count, failure) = writer.buffered
        status.buffered = count
        status.failure = failure?.message
        status.replacements = writer.replacedFiles
        return status
    }

    /// The balance of each stream as committed, over the current epoch and all before it: rows are counted, never derived. What is in the
    /// buffer is not part of it yet.
    package func balance() async throws(QueueError) -> [StreamName: StreamBalance] {
        try await writer.run { try $0.balance() }
    }

    /// Binds the queue to whom its records are for: the first one binds, another one is told and nothing changes.
    package func bind(to binding: QueueBinding) async throws(QueueError) -> BindingOutcome {
        try await writer.run { try $0.bind(to: binding) }
    }

    /// Whom the queue is bound to; `nil`: nobody yet.
    package var binding: QueueBinding? {
        get async throws(QueueError) { try await writer.run { $0.state.binding } }
    }

    /// The queue clock now, microseconds. Carry it on with `QueueClock` where it is needed often.
    package var queueTime: Int64 {
        get async throws(QueueError) {
            try await run { store in
                try store.keepClock()
                return store.state.clock.time
            }
        }
    }

    /// Seconds on the queue clock since a record was last quarantined; `nil`: never. Counts nothing, unlike `status`.
    package var secondsSinceQuarantine: Double? {
        get async throws(QueueError) { try await writer.run { $0.secondsSinceQuarantine } }
    }

    /// Commits what has gathered, closes the file and gives up the lock. Later calls throw `.closed`; a second close is harmless.
    package func close() async {
        await writer.close()
    }
}
