import DeviceTunables
import Dispatch
import Logging
import Synchronization
import WireModel

/// The queue's one writer: a serial dispatch queue that owns the store, and the buffer before it.
///
/// `@unchecked Sendable`: the store is touched only on `queue`, everything else is constant or behind the mutex.
final class QueueWriter: @unchecked Sendable {
    private let queue = DispatchQueue(label: "ws1.record-queue", qos: .utility)
    private let buffer: Mutex<WriteBuffer>
    /// The snapshot as of the last call on `queue`.
    private let snapshot: Mutex<Snapshot>
    /// Files replaced, at opening included.
    private let replaced: Mutex<Int>
    private let lossWindow: Duration
    private let transactionBytes: Int
    private let logger: Logger
    /// Replaces a corrupt file, whose store is closed, by what is readable of it.
    private let replaceFile: @Sendable (QueueError) throws -> QueueStore
    /// Only on `queue`. While running.
    private var replacements = 0
    /// Only on `queue`; `nil` once closed.
    private var store: QueueStore?
    /// Only on `queue`; released after the store is closed.
    private var lock: DirectoryLock?
    /// The end of the loss window. One source that is set anew, and void once a commit for another reason has included
    /// what it was set for: so a commit for sending is not followed by one for the few records that came since.
    private let timer: any DispatchSourceTimer
    /// When an acknowledgement that no commit has included is committed alone.
    private let settling: any DispatchSourceTimer
    /// With keys: when rows of the other form are converted, and keys that nothing names are removed.
    private let converting: any DispatchSourceTimer

    init(
        store: QueueStore, isReplaced: Bool, lock: DirectoryLock, configuration: RecordQueue.Configuration,
        logger: Logger, replaceFile: @escaping @Sendable (QueueError) throws -> QueueStore
    ) {
        self.replaceFile = replaceFile
        self.store = store
        self.lock = lock
        buffer = Mutex(WriteBuffer(capacity: configuration.bufferBytes))
        snapshot = Mutex(Snapshot(store.state))
        replaced = Mutex(isReplaced ? 1 : 0)
        lossWindow = configuration.lossWindow
        transactionBytes = configuration.transactionBytes
        self.logger = logger
        timer = DispatchSource.makeTimerSource(queue: queue)
        settling = DispatchSource.makeTimerSource(queue: queue)
        converting = DispatchSource.makeTimerSource(queue: queue)
        timer.setEventHandler { [weak self] in self?.timerFired() }
        settling.setEventHandler { [weak self] in self?.settle() }
        converting.setEventHandler { [weak self] in self?.convert() }
        timer.activate()
        settling.activate()
        converting.activate()
        if configuration.keys != nil { convertAfter(.seconds(Tunables.Queue.conversionPauseSeconds)) }
    }

    deinit {
        timer.cancel()
        settling.cancel()
        converting.cancel()
    }

    private struct Snapshot {
        var epoch: EpochID
        var hasEpochToClose: Bool

        init(_ state: QueueState) {
            epoch = state.epoch
            hasEpochToClose = state.ended.contains { $0.phase == .closing }
        }
    }

    // MARK: - Callers

    var epoch: EpochID { snapshot.withLock { $0.epoch } }
    var replacedFiles: Int { replaced.withLock { $0 } }
    var hasEpochToClose: Bool { snapshot.withLock { $0.hasEpochToClose } }

    func countDropped(_ reason: DropReason, of stream: StreamName, _ count: UInt64) {
        perform(buffer.withLock { $0.countDropped(reason, of: stream, count) })
    }

    func enqueue(_ record: NewRecord) throws(QueueError) {
        guard lossWindow == .zero else { return perform(try add(WriteBuffer.Entry(record: record, waiter: nil))) }
        let outcome = Outcome()
        _ = try add(WriteBuffer.Entry(record: record) { result in outcome.result.withLock { $0 = result } })
        queue.sync { commitGathered() }
        _ = try (outcome.result.withLock { $0 } ?? .failure(.closed)).get()
    }

    private final class Outcome: Sendable {
        let result = Mutex<Result<UInt64, QueueError>?>(nil)
    }

    func enqueueDurably(_ record: NewRecord) async throws(QueueError) -> UInt64 {
        let result: Result<UInt64, QueueError> = await withCheckedContinuation { waiter in
            do throws(QueueError) {
                perform(try add(WriteBuffer.Entry(record: record) { waiter.resume(returning: $0) }))
            } catch {
                waiter.resume(returning: .failure(error))
            }
        }
        return try result.get()
    }

    /// Runs on the writer's queue, after the commits that were asked for before.
    func run<T: Sendable>(
        committingFirst: Bool = false, _ body: @escaping @Sendable (QueueStore) throws -> T
    ) async throws(QueueError) -> T {
        let result: Result<T, QueueError> = await withCheckedContinuation { waiter in
            queue.async { [self] in
                if committingFirst { commitGathered() }
                let result = outcome(of: body)
                waiter.resume(returning: result)
                store?.checkpointIfDue()
                if store?.isCommitDue == true {
                    settling.schedule(deadline: .now() + .seconds(Tunables.Queue.settleSeconds), leeway: .seconds(10))
                }
            }
        }
        return try result.get()
    }

    /// Runs like `run`, for callers that cannot await; never on the writer's own queue.
    func runWaiting<T>(_ body: (QueueStore) throws -> T) throws(QueueError) -> T {
        let result = queue.sync { outcome(of: body) }
        return try result.get()
    }

    /// Returns the outcome of a body; on `queue`.
    private func outcome<T>(of body: (QueueStore) throws -> T) -> Result<T, QueueError> {
        var result: Result<T, QueueError> = .failure(.closed)
        while let store {
            do { result = .success(try body(store)) } catch { result = .failure(QueueError(error)) }
            guard case .failure(let error) = result, replaceCorrupt(after: error) else { break }
        }
        look()
        return result
    }

    func flush() async throws(QueueError) {
        try await run(committingFirst: true) { _ in }
        // The failure of a record that was given back to its caller leaves nothing to commit.
        if let failure = buffer.withLock({ $0.isEmpty ? nil : $0.failure }) { throw failure }
    }

    var buffered: (count: Int, failure: QueueError?) { buffer.withLock { ($0.count, $0.failure) } }

    func close() async {
        buffer.withLock { $0.close() }
        await withCheckedContinuation { (waiter: CheckedContinuation<Void, Never>) in
            queue.async { [self] in
                commitGathered()
                do { try store?.close() } catch {
                    logger.warning("queue could not be closed in order", metadata: ["queue.error": "\(error)"])
                }
                store = nil
                lock = nil
                // Nobody will commit what is left.
                let left = buffer.withLock { $0.drain() }
                for entry in left.entries { entry.waiter?(.failure(.closed)) }
                waiter.resume()
            }
        }
    }

    // MARK: - Commits

    private func add(_ entry: WriteBuffer.Entry) throws(QueueError) -> WriteBuffer.Wake {
        let result = buffer.withLock { buffer -> Result<WriteBuffer.Wake, QueueError> in
            do throws(QueueError) { return .success(try buffer.add(entry)) } catch { return .failure(error) }
        }
        return try result.get()
    }

    private func perform(_ wake: WriteBuffer.Wake) {
        switch wake {
        case .none: break
        case .now: queue.async { [self] in commitGathered() }
        case .later: commitAfter(lossWindow)
        }
    }

    private func commitAfter(_ delay: Duration) {
        timer.schedule(deadline: .now() + .microseconds(Int(delay.queueMicroseconds)))
    }

    private func timerFired() {
        if buffer.withLock({ $0.timerFired() }) { commitGathered() }
    }

    /// A key was given. Sealed rows and what waits in memory go on.
    func keysAvailable() {
        queue.async { [self] in
            commitGathered()
            _ = outcome(of: { try $0.openLinks() })
            convertAfter(.milliseconds(Tunables.Queue.conversionStepMilliseconds))
        }
    }

    private func convertAfter(_ delay: DispatchTimeInterval) {
        converting.schedule(deadline: .now() + delay, leeway: .milliseconds(100))
    }

    /// Takes one step while the buffer has room for what comes meanwhile.
    private func convert() {
        guard store != nil else { return }
        let step = DispatchTimeInterval.milliseconds(Tunables.Queue.conversionStepMilliseconds)
        guard buffer.withLock({ $0.bytes < $0.capacity / 2 }) else { return convertAfter(step) }
        switch outcome(of: { try $0.convertSome() }) {
        case .success(true): convertAfter(step)
        case .success(false):
            if case .failure(let error) = outcome(of: { try $0.removeUnusedKeys() }) {
                logger.warning("unused keys of the queue stay", metadata: ["queue.error": "\(error)"])
            }
            convertAfter(.seconds(Tunables.Queue.unusedKeysSeconds))
        // Whoever gives the key calls `keysAvailable`.
        case .failure(let error) where error.code == .keyUnavailable: break
        case .failure(let error):
            logger.warning("queue is not converted yet", metadata: ["queue.error": "\(error)"])
            convertAfter(.seconds(Tunables.Queue.conversionPauseSeconds))
        }
    }

    private func settle() {
        do { try store?.settle() } catch {
            logger.warning("an acknowledgement could not be committed", metadata: ["queue.error": "\(error)"])
        }
    }

    /// Publishes the state after it may have changed in what others look at; on `queue`.
    private func look() {
        guard let store else { return }
        let seen = Snapshot(store.state)
        snapshot.withLock { $0 = seen }
    }

    /// A disk that damages every file is not worked against for ever.
    private static let greatestReplacements = 8

    /// Goes on with a new file; on `queue`.
    /// - Returns: whether there is one, and what failed is worth another try.
    private func replaceCorrupt(after error: QueueError) -> Bool {
        guard error.code == .corrupt, replacements < Self.greatestReplacements, let former = store else { return false }
        replacements += 1
        store = nil
        do {
            try former.abandon()
            store = try replaceFile(error)
            replaced.withLock { $0 += 1 }
            look()
            return true
        } catch {
            logger.critical("corrupt queue could not be replaced", metadata: ["queue.error": "\(error)"])
            // As before: calls fail with what is wrong with it, until it is opened anew.
            store = former
            return false
        }
    }

    /// Commits all that has gathered, in transactions of bounded size; on `queue`.
    private func commitGathered() {
        let taken = buffer.withLock { $0.drain() }
        var rest = taken.entries[...]
        var unnumbered = taken.unnumbered
        while !rest.isEmpty || !unnumbered.isEmpty {
            let chunk = rest.prefix(fittingBytes: transactionBytes, records: Tunables.Queue.transactionRecords)
            do {
                guard let store else { throw QueueError.closed }
                try commit(Array(chunk), unnumbered: unnumbered, into: store)
                unnumbered = [:]
                rest.removeFirst(chunk.count)
                buffer.withLock { $0.committed() }
            } catch {
                let failure = QueueError(error)
                if replaceCorrupt(after: failure) { continue }
                guard let store else { return fail(Array(rest), unnumbered: unnumbered, with: failure) }
                return commitLess(of: Array(rest), unnumbered: unnumbered, into: store, after: failure)
            }
        }
    }

    private func commit(
        _ entries: [WriteBuffer.Entry], unnumbered: [StreamName: [DropReason: UInt64]], into store: QueueStore
    ) throws {
        let outcomes = try store.append(entries.map(\.record), unnumbered: unnumbered)
        buffer.withLock { $0.settle(entries) }
        for (entry, outcome) in zip(entries, outcomes) { entry.waiter?(outcome.result(for: entry.record)) }
        store.checkpointIfDue()
    }

    /// Commits one by one what callers wait for, because a full disk may still have room for it, and always the counts.
    private func commitLess(
        of entries: [WriteBuffer.Entry], unnumbered: [StreamName: [DropReason: UInt64]], into store: QueueStore,
        after failure: QueueError
    ) {
        guard failure.code == .diskFull else { return fail(entries, unnumbered: unnumbered, with: failure) }
        var left: [WriteBuffer.Entry] = []
        var refused = unnumbered
        for entry in entries {
            guard entry.waiter != nil, (try? commit([entry], unnumbered: [:], into: store)) == nil else {
                if entry.waiter == nil { left.append(entry) }
                continue
            }
            refused[entry.record.stream, default: [:]][.diskFull, default: 0] += 1
            left.append(entry)
        }
        if (try? store.append([], unnumbered: refused)) != nil { refused = [:] }
        fail(left, unnumbered: refused, with: failure)
    }

    /// Callers that wait get the error; ordinary records stay, within the buffer's bound, for another attempt.
    private func fail(
        _ entries: [WriteBuffer.Entry], unnumbered: [StreamName: [DropReason: UInt64]], with failure: QueueError
    ) {
        let waiting = entries.filter { $0.waiter != nil }
        let ordinary = entries.filter { $0.waiter == nil }
        let (isFirst, retry) = buffer.withLock { buffer in
            let isFirst = buffer.failure?.code != failure.code
            buffer.settle(waiting)
            buffer.putBack(ordinary, unnumbered: unnumbered, after: failure)
            // A key is given by somebody, who says so; the next record asks again, too.
            return (isFirst, failure.code == .keyUnavailable ? .none : buffer.askForRetry())
        }
        if isFirst { logger.error("queue could not commit", metadata: ["queue.error": "\(failure)"]) }
        for entry in waiting { entry.waiter?(.failure(failure)) }
        if retry == .later { commitAfter(max(lossWindow, .seconds(1))) }
    }
}

extension AppendOutcome {
    fileprivate func result(for record: NewRecord) -> Result<UInt64, QueueError> {
        switch self {
        case .number(let number): .success(number)
        case .refused:
            .failure(
                QueueError(
                    .capReached,
                    """
                    the queue is at its cap and holds nothing less important than stream \(record.stream); the record \
                    was dropped and counted. Raise the cap, or let the queue drain.
                    """))
        }
    }
}

extension ArraySlice<WriteBuffer.Entry> {
    /// The longest prefix within both bounds, at least one.
    fileprivate func prefix(fittingBytes maximum: Int, records: Int) -> ArraySlice<WriteBuffer.Entry> {
        var bytes = 0
        var end = startIndex
        while end < endIndex, end - startIndex < records {
            bytes += self[end].record.byteCount
            if bytes > maximum, end > startIndex { break }
            end += 1
        }
        return self[startIndex..<end]
    }
}
