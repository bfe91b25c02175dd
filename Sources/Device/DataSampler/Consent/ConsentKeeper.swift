import FoundationEssentials
import Logging
import RecordQueue
import Synchronization
import WireModel

/// Knows the consent and carries a denial out: what waits of events and samples is dropped and counted. Safe from any
/// thread.
///
/// While consent is pending records are queued as ever, and `StreamHolds` keeps those streams from being sent. A
/// decision is on disk before a record is dropped because of it. Dropping can be repeated: `settle()` resumes after a
/// crash, one call at a time.
final class ConsentKeeper: Sendable {
    private struct State {
        var consent: DataSamplerConsent
        /// Consent is denied, and records may wait all the same.
        var isUnsettled: Bool
        var isSettling = false
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
        report: (DataSamplerNotice) -> Void = { _ in }
    ) throws(DataSamplerError) {
        self.store = store
        self.queue = queue
        self.logger = logger
        let consent = try store.load(initial: initial, report: report)
        state = Mutex(State(consent: consent, isUnsettled: consent == .denied))
    }

    var consent: DataSamplerConsent { state.withLock { $0.consent } }

    /// Whether events and samples may not be sent: nobody has decided, or a denial is not carried out yet.
    var holdsBack: Bool { state.withLock { $0.consent == .pending || $0.isUnsettled || $0.isSettling } }

    /// Lets a record into its stream, or refuses it.
    ///
    /// A denial may fall while the record is on its way, and may have emptied the stream before the record is there. It
    /// is dropped after, then.
    ///
    /// - Parameter enqueue: makes the record, puts it into its stream and gives its number, if it has one yet. Called
    ///   only where the record is wanted.
    /// - Throws: `consentDenied`, and then it has been counted; what `enqueue` throws.
    func admit(
        to stream: StreamName, enqueue: () async throws(DataSamplerError) -> UInt64?
    ) async throws(DataSamplerError) -> UInt64? {
        guard stream != .status else { return try await enqueue() }
        guard consent != .denied else {
            queue.countRefused(stream)
            throw Self.denied
        }
        let number = try await enqueue()
        let wasDenied = state.withLock { state in
            if state.consent == .denied { state.isUnsettled = true }
            return state.consent == .denied
        }
        guard wasDenied else { return number }
        do { try await settle() } catch {
            logger.warning(
                "records without consent could not be dropped yet; retrying",
                metadata: ["error": "\(error)"])
        }
        throw Self.denied
    }

    private static var denied: DataSamplerError {
        DataSamplerError(
            .consentDenied,
            "consent is denied: the record was counted but not kept; grant consent to record again"
        )
    }

    /// Applies a decision.
    ///
    /// Denying also drops what waits to be sent; a record whose transmission is under way may still arrive.
    ///
    /// - Throws: `storage` where it could not be put on disk: then nothing changed. `queue`, `queueFull` where records
    ///   could not be dropped yet: then the decision stands, and dropping goes on at the next `settle()`.
    func set(_ consent: DataSamplerConsent, wallTime: Int64) async throws(DataSamplerError) {
        try deciding.withLock { _ throws(DataSamplerError) in
            try store.save(consent, wallTime: wallTime)
            state.withLock { state in
                state.consent = consent
                state.isUnsettled = consent == .denied
            }
        }
        logger.info("consent decided", metadata: ["consent": "\(consent.rawValue)"])
        try await settle()
    }

    /// Drops what waits against a denial. To be called at start before anything records, and now and then after a
    /// failure; costs a lock where there is nothing to do.
    func settle() async throws(DataSamplerError) {
        while beginSettling() {
            do {
                try await queue.dropWaiting()
                state.withLock { $0.isSettling = false }
            } catch {
                state.withLock { state in
                    state.isSettling = false
                    state.isUnsettled = state.consent == .denied
                }
                throw error
            }
        }
    }

    /// - Returns: `false` where there is nothing to do, or somebody does it. A record that comes while he does makes it
    ///   unsettled again.
    private func beginSettling() -> Bool {
        state.withLock { state in
            guard state.isUnsettled, !state.isSettling else { return false }
            state.isSettling = true
            state.isUnsettled = false
            return true
        }
    }
}

/// The queue as consent needs it.
protocol ConsentQueue: Sendable {
    /// Drops the events and samples that wait to be sent, counted under `consent`.
    func dropWaiting() async throws(DataSamplerError)
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

    func dropWaiting() async throws(DataSamplerError) {
        do { try await queue.dropWaiting(of: [.event, .sample], reason: .consent) } catch {
            throw DataSamplerError(error)
        }
    }

    func countRefused(_ stream: StreamName) { queue.countDropped(.consent, of: stream) }

    func consentCopy() throws(DataSamplerError) -> Data? {
        do throws(QueueError) { return try queue.copy(of: .consent) } catch { throw DataSamplerError(error) }
    }

    func keepConsentCopy(_ content: Data) throws(DataSamplerError) {
        do throws(QueueError) { try queue.keepCopy(content, of: .consent) } catch { throw DataSamplerError(error) }
    }
}
