import WireModel

/// When a beacon is made, and which callers share it. Pure.
///
/// One beacon is in flight at a time. Each holds the device's state as of a *change number*. A caller whose change the
/// beacon holds shares its outcome; the others wait together for the next one. Times are microseconds of one clock that
/// never goes back.
struct BeaconScheduleStateMachine: Sendable {
    typealias Caller = UInt64

    enum Action: Equatable {
        /// Make a beacon now and report its end with `finished`.
        case make(trigger: WireBeaconTrigger)
        /// Nothing now; what is in flight, or the schedule, comes by itself.
        case none
    }

    /// The least time between two beacons of a schedule (ws1).
    static let leastFrequency: Double = 60
    /// The greatest, so that a schedule is one.
    static let greatestFrequency: Double = 86_400

    private struct Flight: Sendable {
        /// The newest change it holds.
        var change: UInt64
        var callers: [Caller]
    }

    private struct Waiting: Sendable {
        var trigger: WireBeaconTrigger
        var callers: [Caller]
    }

    private enum State: Sendable {
        /// No beacon is being made. -> inFlight
        case idle
        /// One is being made. -> idle, followed
        case inFlight(Flight)
        /// One is being made that does not hold the newest change; the next one will. -> inFlight
        case followed(Flight, by: Waiting)
    }

    /// Microseconds; `nil`: no schedule.
    private(set) var interval: UInt64?
    /// When the schedule's next is due; `nil`: no schedule.
    private(set) var nextDue: UInt64?
    private var state = State.idle
    /// Counts the changes of what a beacon says.
    private var change: UInt64 = 0

    /// What is asked for becomes this many seconds: not finite or less than 60 is 60 (ws1), more than a day is a day.
    static func frequency(_ asked: Double) -> Double {
        guard asked.isFinite else { return leastFrequency }
        return min(max(asked, leastFrequency), greatestFrequency)
    }

    /// Something a beacon tells has changed: one in flight does not hold it.
    mutating func changed() { change += 1 }

    /// Starts a schedule, or replaces the one there is; the first beacon goes at once.
    mutating func scheduleStarted(frequency asked: Double, now: UInt64, trigger: WireBeaconTrigger) -> Action {
        let interval = UInt64(Self.frequency(asked) * 1_000_000)
        self.interval = interval
        nextDue = now + interval
        return demand(trigger, caller: nil)
    }

    /// Idempotent. What is in flight still ends.
    mutating func scheduleStopped() {
        interval = nil
        nextDue = nil
    }

    /// Somebody asks for a beacon and waits for it. `finished` names the caller once its beacon has ended.
    mutating func asked(by caller: Caller, trigger: WireBeaconTrigger) -> Action { demand(trigger, caller: caller) }

    /// A beacon is to go, and nobody waits for it.
    mutating func wanted(_ trigger: WireBeaconTrigger) -> Action { demand(trigger, caller: nil) }

    /// The clock reached a time; a beacon that is due is made. Missed ones are not made up for: a beacon tells the
    /// present.
    mutating func reached(_ now: UInt64) -> Action {
        guard let interval, let due = nextDue, now >= due else { return .none }
        // In step with the schedule, so that lateness does not add up; after a long sleep, from now.
        nextDue = due + interval > now ? due + interval : now + interval
        return demand(.schedule, caller: nil)
    }

    /// What was in flight has ended. Its callers get its outcome; the returned action is the beacon after it.
    mutating func finished() -> (callers: [Caller], next: Action) {
        switch state {
        case .idle: return ([], .none)
        case .inFlight(let ended):
            state = .idle
            return (ended.callers, .none)
        case .followed(let ended, by: let waiting):
            state = .inFlight(Flight(change: change, callers: waiting.callers))
            return (ended.callers, .make(trigger: waiting.trigger))
        }
    }

    private mutating func demand(_ trigger: WireBeaconTrigger, caller: Caller?) -> Action {
        let callers = caller.map { [$0] } ?? []
        switch state {
        case .idle:
            state = .inFlight(Flight(change: change, callers: callers))
            return .make(trigger: trigger)
        case .inFlight(var flight) where flight.change == change:
            flight.callers += callers
            state = .inFlight(flight)
        case .inFlight(let flight): state = .followed(flight, by: Waiting(trigger: trigger, callers: callers))
        case .followed(let flight, by: var waiting):
            waiting.callers += callers
            state = .followed(flight, by: waiting)
        }
        return .none
    }
}
