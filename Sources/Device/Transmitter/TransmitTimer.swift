import RecordQueue
import Synchronization
import WireModel

/// What the transmitter's loop waits on: its schedule, whoever wants something sent now, and modules whose interval ends sooner.
///
/// The shell around `TransmitSchedule`. Safe from any thread; one task waits at a time.
final class TransmitTimer: Sendable {
    private struct State {
        var schedule = TransmitSchedule()
        var settings: TransmitterSettings
        /// When the loop means to wake, microseconds since boot; `nil` while it works, or may not be woken.
        var wakeAt: UInt64?
        var isUrgent = true
        var isHolding = false
    }

    private let clock: any RecordClock
    private let sleeper: any Clock<Duration>
    private let wake = AsyncEvent()
    private let holdEnd = AsyncEvent()
    private let state: Mutex<State>

    init(settings: TransmitterSettings, clock: any RecordClock, sleeper: any Clock<Duration>) {
        self.clock = clock
        self.sleeper = sleeper
        state = Mutex(State(settings: settings))
    }

    /// The next pass is urgent, and due at once.
    func transmitNow() {
        state.withLock { $0.isUrgent = true }
        wake.signal()
    }

    /// A module's record was queued. Wakes only where its interval ends before the next pass.
    func recorded(module: String) {
        let isSooner = state.withLock { state in
            guard state.schedule.recorded(by: module), let wakeAt = state.wakeAt else { return false }
            return state.schedule.nextPass(state.settings, now: clock.now().timeSinceBoot) < wakeAt
        }
        if isSooner { wake.signal() }
    }

    /// Other intervals hold; they are looked at anew at once.
    func apply(_ settings: TransmitterSettings) {
        state.withLock { $0.settings = settings }
        transmitNow()
    }

    /// Whether the next pass is urgent; it is said once.
    func takeUrgency() -> Bool {
        state.withLock { state in
            defer { state.isUrgent = false }
            return state.isUrgent
        }
    }

    /// A pass begins.
    /// - Returns: whether samples go with it.
    func passBegan(isUrgent: Bool) -> Bool {
        let now = clock.now().timeSinceBoot
        return state.withLock { $0.schedule.passBegan($0.settings, isUrgent: isUrgent, now: now) }
    }

    /// The pass that took samples was cut short, or could not send all.
    func passWasCut() { state.withLock { $0.schedule.passWasCut() } }

    /// Returns after the duration, whoever asks for a pass meanwhile; or, where it is a hold, at `endHold`.
    func pause(for duration: Duration, isHold: Bool) async {
        guard isHold else {
            try? await sleeper.sleep(for: duration)
            return
        }
        state.withLock { $0.isHolding = true }
        await holdEnd.wait(for: duration, clock: sleeper)
        state.withLock { $0.isHolding = false }
    }

    /// What the loop waits for may be there. Harmless where it is not on hold.
    func endHold() {
        if state.withLock({ $0.isHolding }) { holdEnd.signal() }
    }

    /// Returns when a pass is due by the schedule, when something urgent comes, or when the duration is over.
    /// - Parameter willWait: is told how long each wait may be.
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
