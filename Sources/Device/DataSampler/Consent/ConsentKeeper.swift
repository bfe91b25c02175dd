import FoundationEssentials
import Logging
import RecordQueue
import Synchronization
import WireModel

/// Knows the consent, keeps records apart while it is pending, and carries a decision out. Safe from any thread.
///
/// A decision is on disk before any record moves. Moving can be repeated: `settle()` resumes after a crash, one call at
/// a time. While kept records move into their streams, new ones queue up behind them, so that their order stays.
final class ConsentKeeper: Sendable {
    /// Releases after which a producer that never pauses no longer waits behind what was kept apart: its records go
    /// straight on.
    static let maximumReleases = 8

    private struct State {
        var consent: DataSamplerConsent
        /// Records may lie where the decision does not want them.
        var isUnsettled: Bool
        var isSettling = false
        /// Settling was asked for while it ran, so that it may have passed over something.
        var isAskedAgain = false
    }

    private let store: ConsentStore
    private let queue: any ConsentQueue
    private let logger: Logger
    private let state: Mutex<State>
    /// One decision at a time: what is on disk and what is in memory change together.
    private let deciding = Mutex(())

    /// - Parameter initial: what holds where nothing was decided yet.
    /// - Throws: `storage` where what was decided cannot be read: nothing may be recorded on a guess.
    init(
        store: ConsentStore, queue: any ConsentQueue, initial: DataSamplerConsent, logger: Logger,
        tell: (DataSamplerNotice) -> Void = { _ in }
    ) throws(DataSamplerError) {
        self.store = store
        self.queue = queue
        self.logger = logger
        let consent = try store.load(initial: initial, tell: tell)
        state = Mutex(State(consent: consent, isUnsettled: consent != .pending))
    }

    var consent: DataSamplerConsent { state.withLock { $0.consent } }

    /// What a record of this stream may do now. A lock and a comparison.
    func decision(for stream: StreamName) -> ConsentGate.Decision {
        state.withLock { ConsentGate.decide($0.consent, isSettling: $0.isUnsettled, stream: stream) }
    }

    /// Puts a record where consent wants it: into its stream, apart, or nowhere.
    ///
    /// A decision may fall while the record is on its way. One that is kept apart is then moved after; one that went
    /// into its stream is deleted after where the decision was a denial, which may have emptied the stream before the
    /// record was there.
    ///
    /// - Parameters:
    ///   - make: called only where the record is wanted.
    ///   - enqueue: puts it into its stream and gives its number, if it has one yet.
    /// - Returns: what `enqueue` gave; `nil` for a record kept apart.
    /// - Throws: `consentDenied`, and then it has been counted; what the queue throws.
    func place(
        in stream: StreamName, make: () -> NewRecord, enqueue: (NewRecord) async throws(DataSamplerError) -> UInt64?
    ) async throws(DataSamplerError) -> UInt64? {
        switch decision(for: stream) {
        case .refuse:
            queue.countRefused(stream)
            throw Self.denied
        case .apart:
            try await keepApart(make())
            return nil
        case .queue:
            let number = try await enqueue(make())
            if stream != .status, markUnsettled(where: { $0 == .denied }) {
                await settleLoggingFailure()
                throw Self.denied
            }
            return number
        }
    }

    private static var denied: DataSamplerError {
        DataSamplerError(
            .consentDenied,
            "consent to being sampled is denied: the record was not kept, and was counted; grant consent to record again"
        )
    }

    /// Keeps a record apart, for the decision to come.
    private func keepApart(_ record: NewRecord) async throws(DataSamplerError) {
        try await queue.keepApart(record)
        // The decision may have fallen, or have been carried out, while the record was on its way; then this one is
        // left to be moved.
        if markUnsettled(where: { $0 != .pending }) { await settleLoggingFailure() }
    }

    /// Takes a decision over.
    ///
    /// Denying also deletes what waits to be sent; a record whose transmission is under way may still arrive.
    ///
    /// - Throws: `storage` where it could not be put on disk: then nothing changed, though a denial may hold from the
    ///   next start on. `queue`, `queueFull` where records could not be moved yet: then the decision stands, and moving
    ///   goes on at the next `settle()`.
    func set(_ consent: DataSamplerConsent, wallTime: Int64) async throws(DataSamplerError) {
        try decide(consent, wallTime: wallTime)
        try await settle()
    }

    /// Moves what lies where the decision does not want it. To be called at start before anything records, and now and
    /// then after a failure; costs a lock where there is nothing to do.
    func settle() async throws(DataSamplerError) {
        var releases = 0
        while let consent = beginSettling() {
            do {
                switch consent {
                case .pending: break
                case .granted:
                    repeat {
                        releases += 1
                        if releases >= Self.maximumReleases { letThrough() }
                    } while try await queue.releaseKept() > 0
                case .denied:
                    try await queue.deleteKept()
                    try await queue.deleteWaiting()
                }
            } catch {
                state.withLock { state in
                    state.isSettling = false
                    state.isUnsettled = true
                }
                throw error
            }
            endSettling(consent)
        }
    }

    // MARK: State

    private func decide(_ consent: DataSamplerConsent, wallTime: Int64) throws(DataSamplerError) {
        // Result, because a lock's closure does not pass typed errors on.
        let outcome = deciding.withLock { _ -> Result<Void, DataSamplerError> in
            do throws(DataSamplerError) {
                try store.save(consent, wallTime: wallTime)
            } catch { return .failure(error) }
            state.withLock { state in
                state.consent = consent
                state.isUnsettled = consent != .pending
                state.isAskedAgain = true
            }
            return .success(())
        }
        try outcome.get()
        logger.info("consent decided", metadata: ["consent": "\(consent.rawValue)"])
    }

    /// A record may lie where the decision that holds now does not want it.
    /// - Returns: whether it does.
    private func markUnsettled(where isUnwanted: (DataSamplerConsent) -> Bool) -> Bool {
        state.withLock { state in
            guard isUnwanted(state.consent) else { return false }
            state.isUnsettled = true
            state.isAskedAgain = true
            return true
        }
    }

    /// `nil`: nothing to do, or somebody does it.
    private func beginSettling() -> DataSamplerConsent? {
        state.withLock { state in
            guard state.isUnsettled, !state.isSettling else { return nil }
            state.isSettling = true
            state.isAskedAgain = false
            return state.consent
        }
    }

    /// New records no longer queue up behind those kept apart.
    private func letThrough() {
        state.withLock { state in
            if state.consent == .granted { state.isUnsettled = false }
        }
    }

    private func endSettling(_ consent: DataSamplerConsent) {
        state.withLock { state in
            state.isSettling = false
            if state.consent == consent, !state.isAskedAgain { state.isUnsettled = false }
        }
    }

    private func settleLoggingFailure() async {
        do { try await settle() } catch {
            logger.warning(
                "records kept apart could not be moved yet; it is tried again", metadata: ["error": "\(error)"])
        }
    }
}

/// What consent asks of the queue.
protocol ConsentQueue: Sendable {
    /// Keeps a record out of its stream, counted as waiting.
    func keepApart(_ record: NewRecord) async throws(DataSamplerError)
    /// Moves what is kept apart into its streams, in order. Interrupted, it goes on when called again.
    /// - Returns: how many were moved.
    func releaseKept() async throws(DataSamplerError) -> Int
    /// Deletes what is kept apart, counted under `consent`.
    func deleteKept() async throws(DataSamplerError)
    /// Deletes the events and samples that wait to be sent, counted under `consent`.
    func deleteWaiting() async throws(DataSamplerError)
    /// Counts a record that was not made under `consent`.
    func countRefused(_ stream: StreamName)
    /// The copy of the file of the decision, as last kept; `nil`: there is none.
    func consentCopy() throws(DataSamplerError) -> Data?
    /// Replaces the copy; on synced disk when this returns.
    func keepConsentCopy(_ content: Data) throws(DataSamplerError)
}

/// The device's queue, as consent uses it.
struct QueueForConsent: ConsentQueue {
    let queue: RecordQueue

    func keepApart(_ record: NewRecord) async throws(DataSamplerError) {
        do { try await queue.enqueueApart(record, account: .consent) } catch { throw DataSamplerError(error) }
    }

    func releaseKept() async throws(DataSamplerError) -> Int {
        do { return try await queue.releaseApart(.consent) } catch { throw DataSamplerError(error) }
    }

    func deleteKept() async throws(DataSamplerError) {
        do { _ = try await queue.dropApart(.consent, reason: .consent) } catch { throw DataSamplerError(error) }
    }

    func deleteWaiting() async throws(DataSamplerError) {
        do {
            // What is still in the writer's memory waits, too.
            try await queue.flush()
            for stream in StreamName.allCases where stream != .status {
                _ = try await queue.drop(oldest: .max, of: stream, reason: .consent, keepAside: false)
            }
        } catch { throw DataSamplerError(error) }
    }

    func countRefused(_ stream: StreamName) { queue.countDropped(.consent, of: stream) }

    func consentCopy() throws(DataSamplerError) -> Data? {
        do throws(QueueError) { return try queue.copy(of: .consent) } catch { throw DataSamplerError(error) }
    }

    func keepConsentCopy(_ content: Data) throws(DataSamplerError) {
        do throws(QueueError) { try queue.keepCopy(content, of: .consent) } catch { throw DataSamplerError(error) }
    }
}
