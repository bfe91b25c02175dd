import Logging
import RecordQueue
import SampleModules
import Synchronization
import WireModel

/// How the application is used: launches, sessions, time in use and events, for the Analytics module. Safe from any
/// thread.
///
/// `<data>/analytics` keeps the counts over a restart. It is written when a launch or a session is counted, when a
/// sample has told such counts, and at an orderly stop, but not at every sample. A crash may lose the events and the
/// time in use since the last sample; a launch or session is lost only together with the sample that told it.
final class AnalyticsLedger: Sendable {
    static let fileName = "analytics"

    private struct State {
        var tally: UsageTally
        /// What the file holds.
        var written: UsageTally.Snapshot
        var isEnabled: Bool
        var isLaunched = false
        /// The launch that no event has told yet.
        var untoldLaunch: RecordStamp?
    }

    private let file: StateFile<UsageTally.Snapshot>
    private let clock: any RecordClock
    private let logger: Logger
    /// Names events outside of a session.
    private let run = SessionID.random()
    private let state: Mutex<State>

    /// A file that is damaged or cannot be read is said and begun anew: usage counts are not worth refusing a start.
    init(directory: String, clock: any RecordClock, isEnabled: Bool, logger: Logger) {
        file = StateFile(directory: directory, name: Self.fileName)
        self.clock = clock
        self.logger = logger
        func warn(_ error: DataSamplerError) {
            logger.warning("the analytics ledger is begun anew", metadata: ["reason": "\(error.message)"])
        }
        var snapshot: UsageTally.Snapshot?
        do throws(DataSamplerError) { snapshot = try file.loadOrKeepAsDamaged(damaged: warn) } catch { warn(error) }
        let written = snapshot ?? UsageTally.Snapshot()
        state = Mutex(State(tally: UsageTally(written), written: written, isEnabled: isEnabled))
    }

    /// The program has started. Counts once in the life of a ledger, whoever calls again.
    func launched() {
        let now = clock.now()
        state.withLock { state in
            guard !state.isLaunched else { return }
            state.isLaunched = true
            state.untoldLaunch = now
            state.tally.launched()
            write(&state)
        }
    }

    /// When the launch was that no event has told yet; `nil` on every later call. Taken where the gate for events is
    /// open.
    func takeUntoldLaunch() -> RecordStamp? {
        state.withLock { state in
            defer { state.untoldLaunch = nil }
            return state.untoldLaunch
        }
    }

    /// While analytics is off nothing is told, and what happened meanwhile is not told later either.
    func setEnabled(_ isEnabled: Bool) {
        state.withLock { state in
            guard state.isEnabled != isEnabled else { return }
            state.isEnabled = isEnabled
            _ = sampled(&state, at: clock.now().timeSinceBoot)
        }
    }

    /// Begins a session; while one is open that one goes on.
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

    /// Ends the open session; harmless where there is none.
    func endSession() {
        let now = clock.now().timeSinceBoot
        state.withLock { state in
            guard state.tally.sessionID != nil else { return }
            state.tally.sessionEnded(at: now)
            write(&state)
        }
    }

    /// What an event recorded now belongs to: the open session, else this run of the program.
    var sessionID: SessionID { state.withLock { $0.tally.sessionID } ?? run }

    /// An event was taken into the queue.
    func eventRecorded() { state.withLock { $0.tally.eventRecorded() } }

    /// What the queue says now; asked at the start, before each sample and at the end.
    /// - Parameter status: of the queue, asked with the hold of the event stream.
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

    /// The orderly end: closes the open session and keeps what no sample has told for the next start.
    func stop() {
        let now = clock.now().timeSinceBoot
        state.withLock { state in
            state.tally.sessionEnded(at: now)
            write(&state, orderly: true)
        }
    }

    /// A wipe: counts that no sample has told, the open session among them, are forgotten.
    func erase() throws(DataSamplerError) {
        try state.withLock { state throws(DataSamplerError) in
            try file.file.remove()
            state.tally = UsageTally()
            state.written = UsageTally.Snapshot()
            state.untoldLaunch = nil
        }
    }

    private func sampled(_ state: inout State, at time: UInt64) -> WireAnalyticsSample {
        let sample = state.tally.sampled(at: time)
        // Told once: a restart must not tell it again.
        if state.written.hasCounts { write(&state) }
        return sample
    }

    /// Under the lock, so that an older snapshot never replaces a newer one.
    private func write(_ state: inout State, orderly: Bool = false) {
        let snapshot = state.tally.snapshot(orderly: orderly)
        guard snapshot != state.written else { return }
        do throws(DataSamplerError) {
            try file.save(snapshot)
            state.written = snapshot
        } catch {
            logger.warning("the analytics ledger was not written", metadata: ["reason": "\(error.message)"])
        }
    }
}

/// The Analytics module: the application's own usage since the last sample, from the ledger.
///
/// Whoever drives it lets the ledger observe the queue's status first, so that the figures of events are those of the
/// moment.
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

/// A session of the application, or, outside of one, the run of the program: what an event's `session_id` names.
typealias SessionID = Identifier<SessionSubject>

/// What a ``SessionID`` identifies.
enum SessionSubject {}

extension SessionID {
    /// How many bytes one has on the wire.
    static var byteCount: Int { 16 }
}
