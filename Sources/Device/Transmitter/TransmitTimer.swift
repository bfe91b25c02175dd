import RecordQueue
import Synchronization
import WireModel

/// What the transmitter's loop waits on: its schedule, whoever wants something sent now, and modules whose interval
/// ends sooner.
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

/// When the next pass is due, and whether samples go with it. Times are microseconds since boot, counting suspend, so
/// that after a resume an overdue pass is made at once.
///
/// The streams are first-in first-out, so one module's records cannot overtake another's: a module's transmit interval
/// is the longest time its records wait, not the shortest. Samples go when the interval of any module that has recorded
/// since the last time is over; with them goes what the others have. A pass that has no reason to take samples leaves
/// them: a fleet that samples every minute and transmits every hour wakes its radio once an hour, even if its events go
/// every five minutes.
package struct TransmitSchedule: Sendable {
    private var lastPass: UInt64?
    private var lastSamples: UInt64?
    private var recorded: Set<String> = []
    /// A pass was cut short, so the next one takes samples whatever it is made for. It does not come sooner for that.
    private var isOwed = false
    /// Whether `recorded(by:)` was ever called; otherwise samples may always be waiting.
    private var isTold = false

    package init() {}

    /// A module's record was queued.
    /// - Returns: whether that is news since samples last went.
    package mutating func recorded(by module: String) -> Bool {
        isTold = true
        return recorded.insert(module).inserted
    }

    /// A pass begins.
    /// - Returns: whether samples go with it.
    package mutating func passBegan(_ settings: TransmitterSettings, isUrgent: Bool, now: UInt64) -> Bool {
        let takesSamples = isUrgent || isOwed || samplesDue(settings).map { now >= $0 } ?? false
        lastPass = now
        if takesSamples {
            lastSamples = now
            recorded = []
            isOwed = false
        }
        return takesSamples
    }

    /// The pass that took samples was cut short, or could not send all: what is left goes with the next pass.
    package mutating func passWasCut() { isOwed = true }

    /// When the next pass is due.
    package func nextPass(_ settings: TransmitterSettings, now: UInt64) -> UInt64 {
        let regular = (lastPass ?? now) &+ settings.pause(of: nil)
        return min(regular, samplesDue(settings) ?? regular)
    }

    /// `nil`: no module has recorded anything.
    private func samplesDue(_ settings: TransmitterSettings) -> UInt64? {
        // Nothing went yet.
        guard let lastSamples else { return 0 }
        guard isTold, !settings.moduleIntervals.isEmpty else { return lastSamples &+ settings.pause(of: nil) }
        return recorded.map { lastSamples &+ settings.pause(of: $0) }.min()
    }
}

extension TransmitterSettings {
    /// Microseconds between two passes, for a module's sake or (`nil`) for anything else's.
    fileprivate func pause(of module: String?) -> UInt64 {
        let interval = module.flatMap { moduleIntervals[$0] } ?? transmitInterval
        return (interval * (slowdown >= 1 ? min(slowdown, 1000) : 1)).wholeMicroseconds
    }
}
