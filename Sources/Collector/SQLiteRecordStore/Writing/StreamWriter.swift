import CollectorTunables
import Logging
import RecordStore
import Registry
import SQLite
import TelemetryBasics
import WireModel

/// The single writer of a stream. It decides parts against marks and stores them with group commits.
///
/// A request puts a job into the bounded pipeline and then enters the actor. The first to enter commits all waiting
/// jobs in one transaction with one fsync; the others find their jobs settled. The actor runs on its own queue and
/// never suspends, so no other caller sees a transaction half done.
actor StreamWriter {
    nonisolated let stream: StreamName
    nonisolated let cache: MarkCache
    nonisolated let pipeline: WriterPipeline
    private nonisolated let executor: BlockingExecutor
    private let files: StreamFiles
    private let clock: any StoreClock
    private let incidents: @Sendable (DeviceIncident, UInt64) -> Void
    private let logger: Logger
    private let observer: (any StoreObserver)?
    /// The error of the last transaction, until one succeeds.
    private var trouble: StoreError?
    private var isShutDown = false
    private let damaged: DamagedFiles
    private let replacement: ReplacementLock
    /// When a file was last checked for damage and could not be repaired. Reading all of it for every transaction would
    /// delay everybody.
    private var lookedAt: [UTCDay: ContinuousClock.Instant] = [:]
    /// Whether a transaction that meets a damaged file may wait for its salvage.
    private var maySalvage = true

    nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }

    init(
        stream: StreamName, directory: DataDirectory, limits: WriterPipeline.Limits, cachedMarks: Int,
        clock: any StoreClock,
        damaged: DamagedFiles, replacement: ReplacementLock,
        incidents: @escaping @Sendable (DeviceIncident, UInt64) -> Void, logger: Logger, observer: (any StoreObserver)?
    ) throws(StoreError) {
        let baseline = Baseline(try CollectorDatabase.open(directory))
        files = try StreamFiles(
            stream: stream, directory: directory, baseline: baseline, damaged: damaged, logger: logger)
        self.damaged = damaged
        self.replacement = replacement
        self.stream = stream
        self.clock = clock
        self.incidents = incidents
        self.logger = logger
        self.observer = observer
        cache = MarkCache(limit: cachedMarks)
        pipeline = WriterPipeline(limits: limits)
        executor = BlockingExecutor(label: "ws1.collector.store.\(stream)")
    }

    /// Puts the job into the pipeline and waits until it is settled. A job that is not admitted is settled at once.
    nonisolated func perform(_ job: WriterJob) async -> WriterJob.Outcome {
        switch pipeline.admit(job) {
        case .admitted: return await settle(job)
        case .full(let bytes, let parts):
            return refusal(
                of: job,
                StoreError(
                    .overloaded, "\(parts) parts, \(bytes) bytes wait for the \(stream) stream's disk. Try again later."
                ))
        case .shutDown: return refusal(of: job, StoreError(.shuttingDown, "the store is closed. Try again later."))
        }
    }

    private func settle(_ job: WriterJob) -> WriterJob.Outcome {
        while true {
            if let outcome = job.outcome { return outcome }
            let batch = pipeline.drain()
            guard !batch.isEmpty else {
                return refusal(
                    of: job,
                    StoreError(.internalFault, "a job of the \(stream) stream was neither done nor waiting."))
            }
            commit(batch)
            pipeline.release(batch)
        }
    }

    /// - Parameter salvages: whether to repair a damaged file and try the batch again.
    private func commit(_ batch: [WriterJob], salvages: Bool = true) {
        let start = ContinuousClock.now
        maySalvage = salvages
        do throws(StoreError) {
            if isShutDown { throw StoreError(.shuttingDown, "the store is closed. Try again later.") }
            let (outcomes, counts) = try transaction(batch)
            trouble = nil
            observe(batch, since: start, counts: counts)
            for (job, outcome) in zip(batch, outcomes) { job.settle(outcome) }
        } catch {
            if salvages, error.code == .corrupt {
                salvageWhatIsDamaged()
                return commit(batch, salvages: false)
            }
            // An error caused by a single row must not affect the other jobs.
            if batch.count > 1, error.code == .conflict || error.code == .invalid {
                for job in batch { commit([job], salvages: salvages) }
                return
            }
            record(error)
            observe(batch, since: start, failure: error.code)
            for job in batch { job.settle(refusal(of: job, error)) }
        }
    }

    private func observe(
        _ batch: [WriterJob], since start: ContinuousClock.Instant, failure: StoreError.Code? = nil,
        counts: StoreCounts = StoreCounts()
    ) {
        observer?.committed(
            StoreCommit(
                stream: stream, requests: batch.count, duration: ContinuousClock.now - start, failure: failure,
                counts: counts))
    }

    private func record(_ error: StoreError) {
        if error.code == .shuttingDown { return }
        if trouble?.code != error.code {
            logger.error(
                "records cannot be stored", metadata: ["store.stream": "\(stream)", "store.error": "\(error)"])
        }
        trouble = error
    }

    /// One transaction for all jobs. Its results are on synced disk.
    private func transaction(_ batch: [WriterJob]) throws(StoreError) -> ([WriterJob.Outcome], StoreCounts) {
        let file = try fileForWriting()
        try StoreError.mapping(file.connection.begin())
        var changes = WriterChanges()
        do {
            var outcomes: [WriterJob.Outcome] = []
            for job in batch { outcomes.append(try perform(job, on: file, &changes)) }
            if changes.isEmpty {
                // There is nothing to sync: what was read was synced by its commit (see the promises of RecordFile).
                file.connection.rollback()
            } else {
                for (key, entry) in changes.entries {
                    guard changes.changed.contains(key), let place = entry.place else { continue }
                    try StoreError.mapping(file.update(chain: place.row, state: entry.state, bounds: entry.bounds))
                }
                try StoreError.mapping(file.connection.commit())
            }
            for (key, entry) in changes.entries { cache[key] = entry }
            for (incident, count) in changes.incidents { incidents(incident, count) }
            return (outcomes, changes.counts)
        } catch {
            file.connection.rollback()
            forget(changes, after: error)
            throw error
        }
    }

    /// After a failed commit, marks are read from disk again. Unless only space was missing, a new connection is used.
    private func forget(_ changes: WriterChanges, after error: StoreError) {
        // A salvage uses the committed marks in memory.
        if error.code == .corrupt, maySalvage { return }
        if error.code != .diskFull, error.code != .conflict, error.code != .invalid {
            files.close()
            cache.removeAll()
            return
        }
        for key in changes.entries.keys { cache[key] = nil }
        for key in changes.entries.keys {
            if let entry = try? files.find(key) { cache[key] = entry }
        }
    }

    private func perform(_ job: WriterJob, on file: RecordFile, _ changes: inout WriterChanges) throws(StoreError)
        -> WriterJob.Outcome
    {
        switch job.work {
        case .append(let parts):
            var answers: [PartAnswer] = []
            for part in parts { answers.append(try append(part, of: job, on: file, &changes)) }
            return .appended(answers)
        case .close(let epoch, let request):
            return .closed(try close(epoch, request, of: job, on: file, &changes))
        case .number(let items): return .numbered(try number(items, of: job, on: file, &changes))
        }
    }

    /// Numbers the items of one call and stores them: all entries, or none.
    private func number(
        _ items: [UnnumberedItems], of job: WriterJob, on file: RecordFile, _ changes: inout WriterChanges
    ) throws(StoreError) -> [UnnumberedAnswer] {
        var found: [(key: ChainKey, entry: MarkCache.Entry, known: KnownKeys)] = []
        do {
            for entry in items {
                let key = ChainKey(device: entry.device, epoch: entry.epoch)
                found.append((key, try known(key, changes), try files.known(entry)))
            }
        } catch {
            if error.code == .corrupt, maySalvage { throw error }
            // Unknown is never "nothing". Other requests continue.
            return items.map { _ in UnnumberedAnswer(unavailable: error.publicDescription) }
        }
        var answers: [UnnumberedAnswer] = []
        for (items, (key, known, keys)) in zip(items, found) {
            var entry = known
            let step = NumberingStep(items, after: entry.state, known: keys)
            answers.append(step.answer)
            guard !step.additions.isEmpty else {
                changes.entries[key] = entry
                continue
            }
            try enter(key, &entry, on: file)
            for addition in step.additions {
                guard let place = entry.place else { continue }
                let bounds = try StoreError.mapping(
                    file.insert(addition, chain: place.row, receivedAt: job.receivedAt))
                entry.bounds.include(bounds)
            }
            changes.counts.add(step.counts)
            entry.state = step.state
            changes.record(entry, key)
        }
        return answers
    }

    private func append(
        _ part: BatchPart, of job: WriterJob, on file: RecordFile, _ changes: inout WriterChanges
    ) throws(StoreError) -> PartAnswer {
        let key = ChainKey(device: job.device, epoch: part.epoch)
        var entry: MarkCache.Entry
        do { entry = try known(key, changes) } catch {
            if error.code == .corrupt, maySalvage { throw error }
            // Unknown is never "nothing": without its mark the part cannot be decided. Others continue.
            return PartAnswer(
                unavailable: part, mark: cache[key]?.state.mark ?? .none, detail: error.publicDescription)
        }
        let step = ChainStep(appending: part, to: entry.state, device: job.device)
        changes.incidents += step.incidents
        guard step.state != entry.state else {
            changes.entries[key] = entry
            return step.answer(to: part)
        }
        try enter(key, &entry, on: file)
        if let slice = step.slice, let place = entry.place {
            let bounds = try StoreError.mapping(
                file.insert(slice, chain: place.row, formerMark: entry.state.mark.number, receivedAt: job.receivedAt))
            entry.bounds.include(bounds)
        }
        changes.counts.add(step.counts)
        entry.state = step.state
        changes.record(entry, key)
        return step.answer(to: part)
    }

    private func close(
        _ epoch: EpochID, _ request: EpochClose.Stream, of job: WriterJob, on file: RecordFile,
        _ changes: inout WriterChanges
    ) throws(StoreError) -> Result<ClosedStream, StoreError> {
        let key = ChainKey(device: job.device, epoch: epoch)
        var entry: MarkCache.Entry
        let match: ClosedStream.Match
        do {
            entry = try known(key, changes)
            match = try files.match(request.points, key: key, state: entry.state)
        } catch {
            if error.code == .corrupt, maySalvage { throw error }
            return .failure(error)
        }
        var closed = entry.state
        closed.close(request, at: job.receivedAt)
        if closed != entry.state {
            try enter(key, &entry, on: file)
            entry.state = closed
            changes.record(entry, key)
        }
        return .success(ClosedStream(stream: stream, mark: entry.state.mark, match: match))
    }

    private func known(_ key: ChainKey, _ changes: WriterChanges) throws(StoreError) -> MarkCache.Entry {
        if let entry = changes.entries[key] ?? cache[key] { return entry }
        return try files.find(key)
    }

    private func fileForWriting() throws(StoreError) -> RecordFile {
        let (file, hasLostFiles) = try files.fileForWriting(at: clock.now())
        if hasLostFiles { cache.removeAll() }
        return file
    }

    /// Makes the chain's row in the active file, if its newest row is in another file.
    private func enter(_ key: ChainKey, _ entry: inout MarkCache.Entry, on file: RecordFile) throws(StoreError) {
        if entry.place?.partition == file.partition { return }
        let state = entry.state
        let row = try StoreError.mapping(file.enter(key, state: state))
        entry.place = (file.partition, row)
        entry.bounds = RecordBounds.none
    }

    private nonisolated func refusal(of job: WriterJob, _ error: StoreError) -> WriterJob.Outcome {
        job.refusal(error) { cache[ChainKey(device: job.device, epoch: $0.epoch)]?.state.mark ?? .none }
    }

    /// Whether the last transaction failed.
    var isInTrouble: Bool { trouble != nil }

    /// Why an append cannot succeed now; `nil` if it can.
    func fault() -> StoreError? {
        if isShutDown { return StoreError(.shuttingDown, "the store is closed.") }
        do throws(StoreError) {
            let file: RecordFile
            do throws(StoreError) { file = try fileForWriting() } catch  where error.code == .corrupt {
                salvageWhatIsDamaged()
                file = try fileForWriting()
            }
            // After a failure, only a write that reaches the disk shows that it is over.
            let hadTrouble = trouble != nil
            try StoreError.mapping(
                file.connection.transaction { () throws(SQLiteError) in
                    if hadTrouble { try RecordFile.countOpening(file.connection) }
                })
            trouble = nil
            return nil
        } catch {
            return error
        }
    }

    // MARK: Damaged files

    private func salvageWhatIsDamaged() {
        for day in files.suspects { salvage(day, isAsked: false) }
    }

    /// Replaces a day's file if it is damaged.
    /// - Parameter isAsked: checks it even if it was checked before.
    /// - Returns: whether it was replaced.
    @discardableResult
    func salvage(_ day: UTCDay, isAsked: Bool = true) -> Bool {
        let partition = Partition(day: day, stream: stream)
        if isShutDown { return false }
        // Retention may be reading it now.
        if !isAsked, files.isRetiring(day) { return false }
        if !isAsked, let last = lookedAt[day], .now - last < Tunables.Records.lookAgainAfter { return false }
        files.closeUnchanged()
        do throws(StoreError) {
            guard let fault = try files.damageCheck.fault(of: partition) else {
                lookedAt[day] = .now
                damaged.forget(partition)
                return false
            }
            let cache = cache
            try replacement.withLock { () throws(StoreError) in
                _ = try RecordSalvage(files.directory, clock: clock, logger: logger) { cache.states(in: $0) }.run(
                    partition, cause: fault)
            }
        } catch {
            lookedAt[day] = .now
            damaged.settle(partition, error.message)
            logger.error(
                "a damaged record file could not be replaced",
                metadata: ["store.file": "\(partition.name)", "store.error": "\(error)"])
            return false
        }
        cache.removeAll()
        lookedAt[day] = nil
        files.recordMended(day)
        damaged.forget(partition)
        return true
    }

    /// Stops writing to a day's file.
    func beginRetiring(_ day: UTCDay) throws(StoreError) {
        if isShutDown { throw StoreError(.shuttingDown, "the store is closed.") }
        try files.beginRetiring(day)
    }

    /// The day is in the baseline; its file may be removed after that.
    func endRetiring(_ day: UTCDay) {
        files.endRetiring(day)
        cache.forget(Partition(day: day, stream: stream))
    }

    // MARK: Erased devices

    /// Erases devices from the newest file, which only this writer changes.
    /// - Returns: `false`, with nothing done, for the day of another file.
    func erase(_ devices: Set<DeviceID>, on day: UTCDay) throws(StoreError) -> Bool {
        if isShutDown { throw StoreError(.shuttingDown, "the store is closed.") }
        // Also if it fails half way, no chain has its place there any more.
        defer { cache.forgetPlaces(of: devices) }
        return try files.erase(devices, on: day)
    }

    /// Ends after what was admitted is settled.
    func shutDown() {
        pipeline.shutDown()
        while true {
            let batch = pipeline.drain()
            if batch.isEmpty { break }
            commit(batch)
            pipeline.release(batch)
        }
        isShutDown = true
        do { try files.seal() } catch {
            logger.warning("record file not closed in order", metadata: ["store.error": "\(error)"])
        }
    }
}
