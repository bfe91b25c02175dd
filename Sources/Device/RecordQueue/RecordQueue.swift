import DeviceTunables
import Encryption
import Logging
import WireModel

/// The device's queue: three streams on synced disk, each first in, first out. A record leaves only when a collector
/// reported it as stored, or counted under a reason.
///
/// One process at a time holds a directory. Safe from any thread. Calls that wait do so for the single writer, which
/// commits waiting records together (Documentation/disk-formats.md describes the format and its promises).
package final class RecordQueue: Sendable {
    let writer: QueueWriter

    private init(writer: QueueWriter) {
        self.writer = writer
    }

    /// The current epoch. It changes when one ends.
    package var epoch: EpochID { writer.epoch }

    /// Whether an ended epoch was not reported to the collector yet: `nextClose` returns something.
    package var hasEpochToClose: Bool { writer.hasEpochToClose }

    /// Runs on the writer's queue, after the commits requested before.
    func run<T: Sendable>(
        committingFirst: Bool = false, _ body: @escaping @Sendable (QueueStore) throws -> T
    ) async throws(QueueError) -> T {
        try await writer.run(committingFirst: committingFirst, body)
    }

    /// Opens the queue of a directory, and makes the directory if it is missing. The duration does not depend on the
    /// backlog.
    ///
    /// A corrupt file is moved aside, and its readable records go into a new file, in a new epoch (Salvage.swift).
    /// `status` reports it.
    /// - Throws: `.inUse` while another process or queue holds it, `.newerVersion`, `.diskFull`, `.io`, `.invalid` for
    ///   a setting out of range.
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

    /// Passes an ordinary record to the writer. It is lost if the process or the machine dies within the loss window. A
    /// failed commit is repeated; the record waits in the bounded buffer meanwhile. With a loss window of zero the call
    /// waits for its commit.
    ///
    /// - Throws: `.bufferFull`, `.tooLarge` (both counted); `.diskFull` and others once the buffer is full because
    ///   commits fail; `.closed`.
    package func enqueue(_ record: NewRecord) throws(QueueError) {
        try writer.enqueue(record)
    }

    /// Queues a record and waits until it is on synced disk. Calls that wait at the same time share one sync.
    ///
    /// - Returns: its number.
    /// - Throws: as `enqueue`, and `.diskFull`, `.capReached` (both counted), `.keyUnavailable`, `.io`, `.corrupt`.
    ///   After an error the record is not in the queue. Only if the disk failed while syncing, it may be.
    package func enqueueDurably(_ record: NewRecord) async throws(QueueError) -> UInt64 {
        try await writer.enqueueDurably(record)
    }

    /// Commits what waits in the buffer.
    package func flush() async throws(QueueError) {
        try await writer.flush()
    }

    /// The front of a stream, to be sent: gaps first, then records, all on synced disk.
    ///
    /// - Parameters:
    ///   - maximumBytes: the most bytes of records. One record is always returned, whatever its size.
    ///   - maximumRecords: 1 or more.
    ///   - hold: only records of at least this age, by the queue clock. Nothing overtakes: the first younger record
    ///     ends the part.
    /// - Returns: `nil` if nothing waits or is due, after the histories have diverged, and while the front is sealed
    ///   by a key that is not at hand.
    package func nextPart(
        of stream: StreamName, maximumBytes: Int, maximumRecords: Int, hold: Duration
    ) async throws(QueueError) -> BatchPart? {
        try await writer.run(committingFirst: true) { store in
            try store.keepClock()
            try store.openLinks()
            guard store.isChainKnown else { return nil }
            try store.upkeep()
            return try store.nextPart(
                of: stream, maximumBytes: maximumBytes, maximumRecords: maximumRecords, hold: hold)
        }
    }

    /// Applies a collector's answer in one transaction. It is on disk when this returns. A repeat changes nothing.
    package func apply(_ answer: PartAnswer) async throws(QueueError) -> MarkDecision {
        try await writer.run { try $0.apply(answer) }
    }

    /// Drops the oldest records of a stream.
    ///
    /// - Parameters:
    ///   - count: the number of records, not counting gaps; 1 or more.
    ///   - keepAside: moves them into the bounded quarantine, if there is room.
    /// - Returns: what was dropped now; on disk it may be part of a longer gap. `nil` if nothing waits.
    package func drop(
        oldest count: Int, of stream: StreamName, reason: DropReason, keepAside: Bool
    ) async throws(QueueError) -> Gap? {
        try await writer.run { store in
            var dropped: Gap?
            var left = count
            // In transactions of bounded size, so they fit into the WAL.
            while left > 0,
                let gap = try store.drop(
                    oldest: min(left, Tunables.Queue.transactionRecords), bytes: Tunables.Queue.transactionBytes,
                    of: stream,
                    reason: reason, keepAside: keepAside)
            {
                left -= Int(gap.count)
                dropped = dropped?.merged(with: gap) ?? gap
                store.checkpointIfDue()
            }
            return dropped
        }
    }

    /// A summary of the queue. Its cost does not depend on what waits.
    /// - Parameter holds: by stream, for `due`.
    package func status(holds: [StreamName: Duration] = [:]) async throws(QueueError) -> QueueStatus {
        var status = try await writer.run { try $0.status(holds: holds) }
        let (count, failure) = writer.buffered
        status.buffered = count
        status.failure = failure?.message
        status.replacements = writer.replacedFiles
        return status
    }

    /// The committed balance of each stream, over the current epoch and all before it. Rows are counted, never derived.
    /// Records in the buffer are not included yet.
    package func balance() async throws(QueueError) -> [StreamName: StreamBalance] {
        try await writer.run { try $0.balance() }
    }

    /// Binds the queue to the device and collector that its records belong to. The first call binds. A call with
    /// another binding returns that outcome and changes nothing.
    package func bind(to binding: QueueBinding) async throws(QueueError) -> BindingOutcome {
        try await writer.run { try $0.bind(to: binding) }
    }

    /// The binding; `nil` if the queue is not bound.
    package var binding: QueueBinding? {
        get async throws(QueueError) { try await writer.run { $0.state.binding } }
    }

    /// The present queue clock in microseconds. If you need it often, advance it with `QueueClock`.
    package var queueTime: Int64 {
        get async throws(QueueError) {
            try await run { store in
                try store.keepClock()
                return store.state.clock.time
            }
        }
    }

    /// Seconds on the queue clock since the last record was quarantined; `nil` for never. Cheap, unlike `status`.
    package var secondsSinceQuarantine: Double? {
        get async throws(QueueError) { try await writer.run { $0.secondsSinceQuarantine } }
    }

    /// Commits what waits in the buffer, closes the file and releases the lock. Later calls throw `.closed`; closing
    /// again does nothing.
    package func close() async {
        await writer.close()
    }
}

extension RecordQueue {
    package struct Configuration: Sendable {
        /// The most bytes of the database file, 1 MiB to 1 GiB. The WAL needs 8 MiB more.
        package var maximumBytes = 64 << 20
        /// Free space in bytes that the file does not grow into, 0 or more. The first megabyte and the WAL are
        /// allocated in any case.
        package var keepFreeBytes = 64 << 20
        /// Per cent of the file system's inodes that must stay free, 0 to 100.
        package var keepFreeInodesPercent = 1
        /// Records older than this on the queue clock are dropped; 1 min or more.
        package var maximumAge: Duration = .seconds(7 * 86400)
        /// The most records of one stream, 1 or more.
        package var maximumRecords = 1_000_000
        /// How long an ordinary record may wait in memory, 0 to 60 s. With 0, every call waits for its own commit.
        package var lossWindow: Duration = .seconds(1)
        /// Bytes of records in the writer's buffer, including those being committed; 256 KiB (one record) or more.
        package var bufferBytes = 1 << 20
        /// The most quarantined records, and their bytes, 0 or more. The oldest go first.
        package var quarantineRecords = 64
        package var quarantineBytes = 1 << 20
        /// The keys that seal and open records; `nil`: new records are plain, and sealed ones wait for keys.
        package var keys: KeyRing?
        /// With keys: whether new records are sealed, and plain ones that wait. `false`: sealed ones become plain.
        package var isSealing = true

        package init() {}

        func validate() throws(QueueError) {
            func check(_ valid: Bool, _ name: String, _ range: String) throws(QueueError) {
                guard valid else {
                    throw QueueError(.invalid, "queue setting \(name) is out of range; expected \(range)")
                }
            }
            try check((1 << 20...1 << 30).contains(maximumBytes), "maximumBytes", "1 MiB to 1 GiB")
            try check(keepFreeBytes >= 0, "keepFreeBytes", "0 or more")
            try check((0...100).contains(keepFreeInodesPercent), "keepFreeInodesPercent", "0 to 100")
            try check(maximumAge >= .seconds(60), "maximumAge", "60 s or more")
            try check(maximumRecords >= 1, "maximumRecords", "1 or more")
            try check(lossWindow >= .zero && lossWindow <= .seconds(60), "lossWindow", "0 to 60 s")
            try check(bufferBytes >= WireLimits.recordBytes, "bufferBytes", "256 KiB or more")
            try check(quarantineRecords >= 0 && quarantineBytes >= 0, "quarantineRecords, quarantineBytes", "0 or more")
        }

        /// Pages by which the file grows: 1 MiB, less if the limit is small.
        var growthPages: Int { max(16, min(256, maximumBytes / QueueFile.pageBytes / 16)) }
        var maximumPages: Int { maximumBytes / QueueFile.pageBytes }
        /// Keeps one transaction from filling the whole of a small queue.
        var transactionBytes: Int { min(Tunables.Queue.transactionBytes, maximumBytes / 8) }
    }
}

/// Ends epochs and closes them with the collector (Documentation/disk-formats.md describes them).
extension RecordQueue {
    /// Ends the epoch and begins a new one at once. Waiting records are kept for the new epoch (`.restored`,
    /// `.reboundSend`) or dropped under the reason.
    ///
    /// The change is one transaction and on disk when this returns. Rows are erased before that, too; after a crash the
    /// next call of `nextPart` goes on with it. After `.wiped` the file contains no former data, even on free pages,
    /// except numbers and links until the close is settled. If this throws after the epoch has changed, call
    /// `finishWipe`.
    /// - Throws: `.tooSoon` for `.restored` if the budget of new epochs is spent; `.invalid` for `.salvaged`.
    package func endEpoch(_ end: EpochEnd) async throws(QueueError) {
        try await run(committingFirst: true) { try $0.endEpoch(end) }
        if end == .wiped { try await finishWipe() } else { try await advanceEnded() }
    }

    /// Erases what `endEpoch(.wiped)` abandoned, and scrubs the file; former copies of files go too. Removes corrupt
    /// files that were kept, since they hold the same. For a wipe that threw or was interrupted, and for an enrollment
    /// that ends. Waiting records stay. May be repeated.
    package func finishWipe() async throws(QueueError) {
        try await advanceEnded()
        try await run { try SalvageFiles(directory: $0.directory).eraseKept() }
        do throws(QueueError) {
            try await run { try $0.scrub() }
        } catch {
            guard error.code == .diskFull else { throw error }
            // Scrubbing rewrites the file, which needs room for its content, so links are erased first.
            while try await run({ try $0.eraseLinks() }) {}
            try await run { try $0.scrub() }
        }
    }

    /// The next `POST /api/v1/streams/close` for an ended epoch, finer each time; `nil` if nothing must be closed.
    /// Survives restarts.
    ///
    /// Ask at the beginning of every pass, because epochs also end by salvage, at opening and while running. Costs
    /// nothing if there is none.
    package func nextClose() async throws(QueueError) -> WireCloseRequest? {
        try await run { try $0.nextClose() }
    }

    /// Applies the collector's answer to the last `nextClose`. Records above the greatest common number are queued
    /// again; those up to it are stored there. If the collector can no longer know, they count as unverifiable.
    ///
    /// - Parameter answer: the answer to the newest request, because it refers to the points of that request.
    /// - Returns: `.again` if `nextClose` must be asked once more.
    /// - Throws: `.invalid` for an impossible answer; nothing changes then.
    package func applyClose(_ answer: WireCloseAnswer) async throws(QueueError) -> CloseProgress {
        let progress = try await run(committingFirst: true) { try $0.applyClose(answer) }
        try await advanceEnded()
        return progress
    }

    /// Clears the binding after `endEpoch(.reboundSend)` or `.reboundDrop`. The records belong to the next binding.
    /// - Returns: the result of binding to `binding`; `nil` if none was given.
    @discardableResult
    package func rebind(to binding: QueueBinding?) async throws(QueueError) -> BindingOutcome? {
        try await run { store in
            try store.unbind()
            return try binding.map { try store.bind(to: $0) }
        }
    }

    /// Erases and moves rows until nothing is left, in transactions between which others get their turn.
    private func advanceEnded() async throws(QueueError) {
        while try await run({ try $0.advanceEnded() }) {}
    }
}

/// Keys of sealed records.
extension RecordQueue {
    /// Somebody has given a key. What waits in memory is stored, and what is sealed can be sent again.
    package func keysAvailable() { writer.keysAvailable() }

    /// Drops what is sealed by keys that are gone, counted as `unreadable`, and begins a new epoch. Everything else is
    /// kept, and the collector is asked as ever which of it has arrived. Does nothing if no key is gone. After a kill
    /// the next call, or the next part, goes on.
    ///
    /// - Returns: the number of dropped records, quarantined ones included, which were counted before.
    /// - Throws: `.keyUnavailable` while the keys are locked or their device key is missing: then nobody knows which
    ///   are gone, and nothing changes.
    @discardableResult
    package func giveUpSealed() async throws(QueueError) -> UInt64 {
        var dropped = try await run(committingFirst: true) { try $0.beginGivingUp() }
        while let more = try await run({ try $0.dropGivenUp() }) { dropped += more }
        try await advanceEnded()
        try await flush()
        return dropped
    }
}

/// Drops records on request, and counts those that were refused.
extension RecordQueue {
    /// Drops all waiting records of some streams, in every epoch, and removes the quarantined ones, which were counted
    /// before. Records in the buffer are committed first. The transactions have a bounded size, so after an error some
    /// records may already be dropped.
    /// - Returns: the number of dropped records.
    @discardableResult
    package func dropWaiting(of streams: Set<StreamName>, reason: DropReason) async throws(QueueError) -> UInt64 {
        try await flush()
        var dropped: UInt64 = 0
        while let gap = try await run({ try $0.dropSome(of: streams, reason: reason) }) { dropped += gap.count }
        try await run { try $0.removeQuarantined(of: streams) }
        return dropped
    }

    /// Counts records that were refused before they reached the queue. Never waits; the next commit writes it.
    package func countDropped(_ reason: DropReason, of stream: StreamName, _ count: UInt64 = 1) {
        writer.countDropped(reason, of: stream, count)
    }
}

/// Quarantined records.
extension RecordQueue {
    /// Queues quarantined records again at the end of their streams, on synced disk when this returns. After a kill
    /// each is either quarantined or queued, never both.
    ///
    /// Only records that the collector lacks by its own counts are queued; the others stay.
    /// - Parameters:
    ///   - ids: as in `inspect`; empty for all.
    ///   - includingUncertain: also queue records of which nobody knows whether the collector has them. It may then
    ///     store them twice.
    /// - Throws: `.capReached`, `.diskFull` if there is no room; nothing changes then.
    package func retry(_ ids: Set<Int64> = [], includingUncertain: Bool = false) async throws(QueueError) -> QueueRetry
    {
        try await run(committingFirst: true) { try $0.retry(ids, includingUncertain: includingUncertain) }
    }
}
