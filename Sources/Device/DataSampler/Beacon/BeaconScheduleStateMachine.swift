import WireModel

/// Decides when a beacon is made, and which callers share it. Pure.
///
/// One beacon is in flight at a time. Each contains the device's state as of a *change number*. Callers whose change
/// the beacon contains share its result; the others wait together for the next one. Times are microseconds of one
/// monotonic clock.
struct BeaconScheduleStateMachine: Sendable {
    typealias Caller = UInt64

    enum Action: Equatable {
        /// Make a beacon now, and report its end with `finished`.
        case make(trigger: WireBeaconTrigger)
        /// Do nothing now. The end of the present beacon, or the schedule, leads to the next step.
        case none
    }

    /// The shortest interval of a schedule (ws1).
    static let leastFrequency: Double = 60
    /// The longest interval of a schedule.
    static let greatestFrequency: Double = 86_400

    private struct Flight: Sendable {
        /// The newest change that it contains.
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
        /// A beacon is being made. -> idle, followed
        case inFlight(Flight)
        /// A beacon is being made that lacks the newest change. The next one will contain it. -> inFlight
        case followed(Flight, by: Waiting)
    }

    /// The interval in microseconds; `nil` without a schedule.
    private(set) var interval: UInt64?
    /// `nil` without a schedule.
    private var scheduleDue: UInt64?
    /// When noticed changes are compared with the newest beacon; `nil` without any.
    private var comparisonDue: UInt64?
    private let changeDelay: UInt64
    private var state = State.idle
    /// Counts the changes of what a beacon contains.
    private var change: UInt64 = 0

    /// - Parameter changeDelay: changes within it share one beacon; in microseconds.
    init(changeDelay: UInt64 = 1_000_000) { self.changeDelay = changeDelay }

    /// When a beacon or a comparison is due next; `nil` if none is.
    var nextDue: UInt64? { [scheduleDue, comparisonDue].compactMap { $0 }.min() }

    /// Limits a requested interval in seconds. Below 60 or not finite becomes 60 (ws1); more than a day becomes a day.
    static func frequency(_ asked: Double) -> Double {
        guard asked.isFinite else { return leastFrequency }
        return min(max(asked, leastFrequency), greatestFrequency)
    }

    /// Something that beacons contain has changed. A beacon in flight does not contain it.
    mutating func changed() { change += 1 }

    /// Like `changed`, for something that may have changed: a comparison is due after `changeDelay`, unless a beacon is
    /// requested before.
    mutating func noticedChange(now: UInt64) {
        changed()
        comparisonDue = comparisonDue ?? now + changeDelay
    }

    /// - Returns: whether what a beacon would say now is to be compared with what the newest one said. If they differ,
    ///   the caller requests one.
    mutating func beginComparison(dueBy now: UInt64) -> Bool {
        guard let comparisonDue, now >= comparisonDue else { return false }
        self.comparisonDue = nil
        return true
    }

    /// Starts or replaces the schedule. Its first beacon is made at once.
    mutating func scheduleStarted(frequency asked: Double, now: UInt64, trigger: WireBeaconTrigger) -> Action {
        let interval = UInt64(Self.frequency(asked) * 1_000_000)
        self.interval = interval
        scheduleDue = now + interval
        return demand(trigger, caller: nil)
    }

    /// Idempotent. A beacon in flight still completes.
    mutating func scheduleStopped() {
        interval = nil
        scheduleDue = nil
    }

    /// A caller requests a beacon and waits. `finished` returns the caller when its beacon has ended.
    mutating func asked(by caller: Caller, trigger: WireBeaconTrigger) -> Action { demand(trigger, caller: caller) }

    /// A beacon is requested, and nobody waits for it.
    mutating func wanted(_ trigger: WireBeaconTrigger) -> Action { demand(trigger, caller: nil) }

    /// The clock advanced. Makes a beacon that is due. Missed beacons are not made up for, because a beacon reports the
    /// present.
    mutating func reached(_ now: UInt64) -> Action {
        guard let interval, let due = scheduleDue, now >= due else { return .none }
        // Keeps to the schedule, so delays do not add up; after a long sleep it starts again from now.
        scheduleDue = due + interval > now ? due + interval : now + interval
        return demand(.schedule, caller: nil)
    }

    /// The beacon in flight has ended. Its callers get its result. The returned action is the next beacon.
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
        // The beacon that this leads to contains every change so far.
        comparisonDue = nil
        switch state {
        case .idle:
            state = .inFlight(Flight(change: change, callers: callers))
            return .make(trigger: trigger)
        // An unlock is reported by a beacon of its own, whose trigger says so.
        case .inFlight(var flight) where flight.change == change && trigger != .unlock:
            flight.callers += callers
            state = .inFlight(flight)
        case .inFlight(let flight): state = .followed(flight, by: Waiting(trigger: trigger, callers: callers))
        case .followed(let flight, by: var waiting):
            waiting.callers += callers
            if trigger == .unlock { waiting.trigger = trigger }
            state = .followed(flight, by: waiting)
        }
        return .none
    }
}
