import WireModel

/// The records that gather between two commits. Bounded in bytes, those being committed included; a value under the
/// queue's lock.
struct WriteBuffer {
    struct Entry {
        let record: NewRecord
        /// Gets the number after the commit; `nil` for an ordinary record.
        let waiter: (@Sendable (Result<UInt64, QueueError>) -> Void)?
    }

    enum Wake: Equatable {
        /// Somebody has already asked for a commit that will include this record.
        case none
        /// Commit when the loss window ends.
        case later
        case now
    }

    let capacity: Int
    private(set) var entries: [Entry] = []
    /// The bytes of `entries` and of what the writer has removed from here and not yet committed.
    private(set) var bytes = 0
    /// Refused, and not yet in the ledger.
    private(set) var unnumbered: [StreamName: [DropReason: UInt64]] = [:]
    private var isCommitAsked = false
    private var isTimerSet = false
    private(set) var isClosed = false
    /// Why the last commit failed; `nil` once one has succeeded.
    private(set) var failure: QueueError?

    init(capacity: Int) {
        self.capacity = capacity
    }

    var count: Int { entries.count }
    var isEmpty: Bool { entries.isEmpty && unnumbered.isEmpty }

    /// - Throws: `.closed`, `.tooLarge`, `.bufferFull`; or, when full because commits fail, why they do. All but
    ///   `.closed` are counted.
    mutating func add(_ entry: Entry) throws(QueueError) -> Wake {
        guard !isClosed else { throw .closed }
        let record = entry.record
        guard record.byteCount <= WireLimits.recordBytes else {
            unnumbered[record.stream, default: [:]][.tooLarge, default: 0] += 1
            throw QueueError(
                .tooLarge,
                """
                a record of \(record.byteCount) bytes; at most \(WireLimits.recordBytes) are allowed. Send less in one \
                record.
                """
            )
        }
        guard bytes + record.byteCount <= capacity else {
            let isDiskFull = failure?.code == .diskFull
            unnumbered[record.stream, default: [:]][isDiskFull ? .diskFull : .bufferFull, default: 0] += 1
            throw failure
                ?? QueueError(
                    .bufferFull,
                    "\(bytes) of \(capacity) bytes wait to be committed; the record was not taken. Send more slowly.")
        }
        entries.append(entry)
        bytes += record.byteCount
        if entry.waiter != nil || (bytes > capacity / 2 && failure == nil) { return askForCommit() }
        guard !isCommitAsked, !isTimerSet else { return .none }
        isTimerSet = true
        return .later
    }

    /// Counts what was refused elsewhere, to be written with the next commit.
    mutating func countDropped(_ reason: DropReason, of stream: StreamName, _ count: UInt64) -> Wake {
        guard count > 0, !isClosed else { return .none }
        unnumbered[stream, default: [:]][reason, default: 0] += count
        guard !isCommitAsked, !isTimerSet else { return .none }
        isTimerSet = true
        return .later
    }

    mutating func askForCommit() -> Wake {
        guard !isCommitAsked else { return .none }
        isCommitAsked = true
        return .now
    }

    /// Whether there is still anything it was set for.
    mutating func timerFired() -> Bool {
        defer { isTimerSet = false }
        return isTimerSet
    }

    /// The timer for a repeated attempt; `.none` where one is set.
    mutating func askForRetry() -> Wake {
        guard !isTimerSet, !isEmpty, !isClosed else { return .none }
        isTimerSet = true
        return .later
    }

    /// Everything gathered, to be committed; it stays in `bytes` until `settle`. The timer is void: what comes next has
    /// its own window.
    mutating func drain() -> (entries: [Entry], unnumbered: [StreamName: [DropReason: UInt64]]) {
        isCommitAsked = false
        isTimerSet = false
        defer {
            entries.removeAll(keepingCapacity: true)
            unnumbered.removeAll()
        }
        return (entries, unnumbered)
    }

    /// These are committed, or were given back to their callers.
    mutating func settle(_ settled: some Collection<Entry>) {
        bytes -= settled.reduce(0) { $0 + $1.record.byteCount }
    }

    mutating func committed() { failure = nil }

    /// Puts back, before what has gathered since, what a failed commit leaves to try again.
    mutating func putBack(
        _ kept: [Entry], unnumbered counts: [StreamName: [DropReason: UInt64]], after failure: QueueError
    ) {
        entries.insert(contentsOf: kept, at: 0)
        count(counts)
        self.failure = failure
    }

    private mutating func count(_ counts: [StreamName: [DropReason: UInt64]]) {
        for (stream, reasons) in counts { unnumbered[stream, default: [:]].merge(reasons, uniquingKeysWith: +) }
    }

    mutating func close() { isClosed = true }
}
