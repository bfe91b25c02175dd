import RecordQueue
import Synchronization
import WireModel

/// The events that the transmitter's loop waits for: its schedule, requests to send now, and modules whose interval
/// ends earlier.
///
/// The shell around `TransmitSchedule`. Safe from any thread; one task waits at a time.
final class TransmitTimer: Sendable {
    /// Why the loop waits whoever asks for a pass.
    enum Pause {
        /// An attempt failed, or the collector asks for a slower pace.
        case backoff
        /// Something outside must change.
        case hold
    }

    private struct State {
        var schedule = TransmitSchedule()
        var settings: TransmitterSettings
        /// When the loop will wake, in microseconds since boot. `nil` while it works or must not be woken.
        var wakeAt: UInt64?
        var isUrgent = true
        /// `nil`: the loop does not pause.
        var pause: Pause?
    }

    private let clock: any RecordClock
    private let sleeper: any Clock<Duration>
    private let wake = AsyncEvent()
    private let pauseEnd = AsyncEvent()
    private let state: Mutex<State>

    init(settings: TransmitterSettings, clock: any RecordClock, sleeper: any Clock<Duration>) {
        self.clock = clock
        self.sleeper = sleeper
        state = Mutex(State(settings: settings))
    }

    /// Makes the next pass urgent and due now.
    func transmitNow() {
        state.withLock { $0.isUrgent = true }
        wake.signal()
    }

    /// A module's record was queued. Wakes the loop only if the module's interval ends before the next pass.
    func recorded(module: String) {
        let isSooner = state.withLock { state in
            guard state.schedule.recorded(by: module), let wakeAt = state.wakeAt else { return false }
            return state.schedule.nextPass(state.settings, now: clock.now().timeSinceBoot) < wakeAt
        }
        if isSooner { wake.signal() }
    }

    /// Applies new intervals, and reconsiders the next pass at once.
    func apply(_ settings: TransmitterSettings) {
        state.withLock { $0.settings = settings }
        transmitNow()
    }

    /// Whether the next pass is urgent. Resets the flag.
    func drainUrgency() -> Bool {
        state.withLock { state in
            defer { state.isUrgent = false }
            return state.isUrgent
        }
    }

    /// - Returns: whether the pass includes samples.
    func passBegan(isUrgent: Bool) -> Bool {
        let now = clock.now().timeSinceBoot
        return state.withLock { $0.schedule.passBegan($0.settings, isUrgent: isUrgent, now: now) }
    }

    /// A pass with samples was interrupted or could not send all.
    func passWasCut() { state.withLock { $0.schedule.passWasCut() } }

    /// Returns after the duration, whoever asks for a pass meanwhile, or when this pause is ended.
    func pause(for duration: Duration, _ pause: Pause) async {
        state.withLock { $0.pause = pause }
        await pauseEnd.wait(for: duration, clock: sleeper)
        state.withLock { $0.pause = nil }
    }

    /// Ends the pause, because its reason may be gone. Does nothing if the loop pauses for another reason, or not.
    func end(_ pause: Pause) { if state.withLock({ $0.pause == pause }) { pauseEnd.signal() } }

    /// Returns when a pass is due, when something urgent comes, or after the duration.
    /// - Parameter willWait: called with the greatest length of each wait.
    func wait(atMost greatest: Duration?, willWait: (Duration) -> Void) async {
        let began = clock.now().timeSinceBoot
        while !Task.isCancelled {
            let now = clock.now().timeSinceBoot
            let pause: UInt64? = state.withLock { state in
                var next = state.schedule.nextPass(state.settings, now: now)
                if let greatest { next = min(next, began &+ greatest.wholeMicroseconds) }
                guard !state.isUrgent, next > now else {
                    state.wakeAt = nil
                    return nil
                }
                state.wakeAt = next
                return next - now
            }
            guard let pause else { return }
            let duration = Duration.microseconds(Int64(clamping: pause))
            willWait(duration)
            await wake.wait(for: duration, clock: sleeper)
        }
    }
}

/// Decides when the next pass is due, and whether it includes samples. Times are microseconds since boot, including
/// suspend, so an overdue pass is made right after a resume.
///
/// The streams are first in, first out, so one module's records cannot overtake another's. A module's transmit interval
/// is therefore the longest time that its records wait, not the shortest. Samples go when the interval of any module
/// with new records is over, and the other modules' samples go with them. Other passes leave samples alone. A fleet
/// that samples every minute and transmits every hour thus wakes its radio once an hour for samples, even if events go
/// every five minutes.
struct TransmitSchedule: Sendable {
    private var lastPass: UInt64?
    private var lastSamples: UInt64?
    private var recorded: Set<String> = []
    /// A pass was interrupted, so the next one includes samples, whatever its reason. It does not come sooner for that.
    private var isOwed = false
    /// Whether `recorded(by:)` was ever called. Otherwise samples may always be waiting.
    private var isReported = false

    /// A module's record was queued.
    /// - Returns: whether it is the module's first since samples were last sent.
    mutating func recorded(by module: String) -> Bool {
        isReported = true
        return recorded.insert(module).inserted
    }

    /// - Returns: whether the pass includes samples.
    mutating func passBegan(_ settings: TransmitterSettings, isUrgent: Bool, now: UInt64) -> Bool {
        let takesSamples = isUrgent || isOwed || samplesDue(settings).map { now >= $0 } ?? false
        lastPass = now
        if takesSamples {
            lastSamples = now
            recorded = []
            isOwed = false
        }
        return takesSamples
    }

    /// A pass with samples was interrupted or could not send all. The rest goes with the next pass.
    mutating func passWasCut() { isOwed = true }

    /// When the next pass is due.
    func nextPass(_ settings: TransmitterSettings, now: UInt64) -> UInt64 {
        let regular = (lastPass ?? now) &+ settings.pause(of: nil)
        return min(regular, samplesDue(settings) ?? regular)
    }

    /// `nil` if no module has recorded anything.
    private func samplesDue(_ settings: TransmitterSettings) -> UInt64? {
        // No samples were sent yet.
        guard let lastSamples else { return 0 }
        guard isReported, !settings.moduleIntervals.isEmpty else { return lastSamples &+ settings.pause(of: nil) }
        return recorded.map { lastSamples &+ settings.pause(of: $0) }.min()
    }
}

extension TransmitterSettings {
    /// Microseconds between two passes for a module; with `nil`, for anything else.
    fileprivate func pause(of module: String?) -> UInt64 {
        let interval = module.flatMap { moduleIntervals[$0] } ?? transmitInterval
        return (interval * (slowdown >= 1 ? min(slowdown, 1000) : 1)).wholeMicroseconds
    }
}
