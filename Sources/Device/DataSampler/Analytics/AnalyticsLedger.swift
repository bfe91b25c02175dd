import Logging
import RecordQueue
import SampleModules
import Synchronization
import WireModel

/// Counts how the application is used: launches, sessions, time in use and events, for the Analytics module. Safe from
/// any thread.
///
/// `<data>/analytics` keeps the counts over a restart. It is written when a launch or session is counted, when a sample
/// reported such counts, and at an orderly stop, but not at every sample. A crash may lose the events and the time in
/// use since the last sample. A launch or session is lost only together with the sample that reported it.
final class AnalyticsLedger: Sendable {
    static let fileName = "analytics"

    private struct State {
        var tally: UsageTally
        /// The content of the file.
        var written: UsageTally.Snapshot
        var isEnabled: Bool
        var isLaunched = false
        /// The launch, until an event reports it.
        var unreportedLaunch: RecordStamp?
    }

    private let file: StateFile<UsageTally.Snapshot>
    private let clock: any RecordClock
    private let logger: Logger
    /// The session id of events outside of a session.
    private let run = SessionID.random()
    private let state: Mutex<State>

    /// A file that is damaged or unreadable is replaced: usage counts are no reason to refuse a start.
    ///
    /// - Parameter damaged: called for a damaged file, which is kept.
    init(
        directory: String, seal: StateSeal? = nil, clock: any RecordClock, isEnabled: Bool, logger: Logger,
        damaged: (DataSamplerError) -> Void
    ) {
        file = StateFile(directory: directory, name: Self.fileName, seal: seal)
        self.clock = clock
        self.logger = logger
        var snapshot: UsageTally.Snapshot?
        do throws(DataSamplerError) { snapshot = try file.loadOrKeepAsDamaged(damaged: damaged) } catch {
            logger.warning("the analytics ledger starts again", metadata: ["reason": "\(error.message)"])
        }
        let written = snapshot ?? UsageTally.Snapshot()
        state = Mutex(State(tally: UsageTally(written), written: written, isEnabled: isEnabled))
    }

    /// The program started. Counts once per ledger, however often it is called.
    func launched() {
        let now = clock.now()
        state.withLock { state in
            guard !state.isLaunched else { return }
            state.isLaunched = true
            state.unreportedLaunch = now
            state.tally.launched()
            write(&state)
        }
    }

    /// The time of the launch if no event has reported it; `nil` on every later call. Call it where events may be
    /// recorded.
    func drainUnreportedLaunch() -> RecordStamp? {
        state.withLock { state in
            defer { state.unreportedLaunch = nil }
            return state.unreportedLaunch
        }
    }

    /// While analytics is off nothing is counted, and what happens meanwhile is not reported later.
    func setEnabled(_ isEnabled: Bool) {
        state.withLock { state in
            guard state.isEnabled != isEnabled else { return }
            state.isEnabled = isEnabled
            _ = sampled(&state, at: clock.now().timeSinceBoot)
        }
    }

    /// Begins a session, or continues the open one.
    /// - Returns: the open session's id.
    @discardableResult
    func beginSession() -> SessionID {
        let now = clock.now().timeSinceBoot
        return state.withLock { state in
            let former = state.tally.sessionID
            let session = state.tally.sessionBegan(.random(), at: now)
            if former != session { write(&state) }
            return session
        }
    }

    /// Ends the open session. Does nothing if there is none.
    func endSession() {
        let now = clock.now().timeSinceBoot
        state.withLock { state in
            guard state.tally.sessionID != nil else { return }
            state.tally.sessionEnded(at: now)
            write(&state)
        }
    }

    /// The session of an event recorded now: the open session, or else this run of the program.
    var sessionID: SessionID { state.withLock { $0.tally.sessionID } ?? run }

    func eventRecorded() { state.withLock { $0.tally.eventRecorded() } }

    /// Accepts the queue's present figures: at the start, before each sample and at the end.
    /// - Parameter status: the queue's status, requested with the hold of the event stream.
    func observe(_ status: QueueStatus) {
        let figures = EventFigures(status)
        state.withLock { $0.tally.observed(figures) }
    }

    /// Everything since the last sample; `nil` while analytics is off.
    func sample(at time: UInt64) -> WireAnalyticsSample? {
        state.withLock { state in
            let sample = sampled(&state, at: time)
            return state.isEnabled ? sample : nil
        }
    }

    /// An orderly stop: ends the open session, and keeps unreported counts for the next start.
    func stop() {
        let now = clock.now().timeSinceBoot
        state.withLock { state in
            state.tally.sessionEnded(at: now)
            write(&state, orderly: true)
        }
    }

    /// A wipe: forgets unreported counts and the open session.
    func erase() throws(DataSamplerError) {
        try state.withLock { state throws(DataSamplerError) in
            try file.file.remove()
            state.tally = UsageTally()
            state.written = UsageTally.Snapshot()
            state.unreportedLaunch = nil
        }
    }

    private func sampled(_ state: inout State, at time: UInt64) -> WireAnalyticsSample {
        let sample = state.tally.sampled(at: time)
        // A restart must not report it again.
        if state.written.hasCounts { write(&state) }
        return sample
    }

    /// Called under the lock, so an older snapshot never replaces a newer one.
    private func write(_ state: inout State, orderly: Bool = false) {
        let snapshot = state.tally.snapshot(orderly: orderly)
        guard snapshot != state.written else { return }
        do throws(DataSamplerError) {
            try file.save(snapshot)
            state.written = snapshot
        } catch {
            logger.warning("analytics ledger not written", metadata: ["reason": "\(error.message)"])
        }
    }
}

/// The Analytics module: the application's own usage since the last sample, from the ledger.
///
/// The caller first passes the queue's status to the ledger, so the figures of events are current.
struct AnalyticsModule: SampleModule {
    let name = SampleModuleName.analytics
    let ledger: AnalyticsLedger

    mutating func sample(at time: SampleTime) -> SampleResult {
        guard let sample = ledger.sample(at: time.sinceBootMicroseconds) else {
            return .none(reason: "analytics is not enabled")
        }
        return .sample(Sample(kind: .sampleAnalytics, module: name.rawValue, body: sample.encoded))
    }
}

/// A session of the application or, outside of one, the run of the program. It is an event's `session_id`.
typealias SessionID = Identifier<SessionSubject>

/// The thing that a ``SessionID`` identifies.
enum SessionSubject {}

extension SessionID {
    static var byteCount: Int { 16 }
}
