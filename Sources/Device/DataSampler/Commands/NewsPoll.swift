import WireModel

/// Decides when to ask the collector for news (commands, a newer profile) because no answer has brought any. Pure.
///
/// A device asks at its beacon interval, at least every 15 minutes, and never more often than it transmits, so that no
/// radio is woken for it alone. That is between 60 s and a day, 15 minutes by default, and longer while a budget slows
/// the device down. The request is a `GET` without a body, some 300 bytes. Times are microseconds of one clock that
/// never goes back.
struct NewsPoll: Equatable, Sendable {
    /// What stands in the way of asking.
    struct Circumstances: Equatable, Sendable {
        var isEnrolled = true
        /// Unenrolled, or on the way to it: commands have ended.
        var isLeaving = false
        /// Then the profile is looked at, and nothing else.
        var isTelemetryDisabled = false
        /// No way out of this machine. Metered networks, batteries and the like hold records back, not this.
        var isOffline = false

        var allow: Bool { isEnrolled && !isLeaving && !isTelemetryDisabled && !isOffline }
    }

    static let greatestSeconds = 900.0

    /// When something was last heard, or asked.
    private var last: UInt64

    init(now: UInt64) { last = now }

    /// - Parameters:
    ///   - beaconInterval: seconds; `nil`: no schedule.
    ///   - transmitInterval: between two passes.
    ///   - slowdown: a budget's; intervals are so many times longer.
    static func interval(beaconInterval: Double?, transmitInterval: Duration, slowdown: Double) -> UInt64 {
        let quiet = min(beaconInterval.map(BeaconScheduleStateMachine.frequency) ?? greatestSeconds, greatestSeconds)
        let seconds = max(quiet, Double(transmitInterval.components.seconds)) * max(1, slowdown)
        return UInt64(seconds * 1_000_000)
    }

    /// An answer brought news, or that there are none.
    mutating func heard(at now: UInt64) { last = max(last, now) }

    /// How long until it is looked at again.
    func pause(interval: UInt64, now: UInt64) -> UInt64 {
        let due = last + interval
        return due > now ? due - now : 0
    }

    /// The clock reached a time. What may not be asked now is not asked as soon as it may: what changed then sends
    /// something of itself, or the next look asks.
    ///
    /// - Returns: whether to ask.
    mutating func reached(_ now: UInt64, interval: UInt64, _ circumstances: Circumstances) -> Bool {
        guard pause(interval: interval, now: now) == 0 else { return false }
        last = now
        return circumstances.allow
    }
}
