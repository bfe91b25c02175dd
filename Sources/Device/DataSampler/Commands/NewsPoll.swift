import DeviceTunables
import WireModel

/// Decides when to ask the collector for news (commands, a newer profile) because no answer has brought any. Pure.
///
/// A device asks at its beacon interval, at least every 15 minutes, and never more often than it transmits, so no radio
/// is woken for this alone. The interval is between 60 s and a day, 15 minutes by default, and longer while a budget
/// slows the device down. The request is a `GET` without a body, about 300 bytes. Times are microseconds of one
/// monotonic clock.
struct NewsPoll: Equatable, Sendable {
    struct Circumstances: Equatable, Sendable {
        var isEnrolled = true
        /// The device is unenrolled or being unenrolled, so commands have ended.
        var isLeaving = false
        /// Telemetry is disabled. Then each look for the profile asks for news, too.
        var isTelemetryDisabled = false
        /// The machine has no network. Metered networks, batteries and the like hold back records, but not this.
        var isOffline = false

        var allow: Bool { isEnrolled && !isLeaving && !isTelemetryDisabled && !isOffline }
    }

    /// When news were last received or requested.
    private var last: UInt64

    init(now: UInt64) { last = now }

    /// - Parameters:
    ///   - beaconInterval: in seconds; `nil` without a schedule.
    ///   - transmitInterval: the time between two passes.
    ///   - slowdown: the budgets' factor for intervals.
    static func interval(beaconInterval: Double?, transmitInterval: Duration, slowdown: Double) -> UInt64 {
        let quiet = min(
            beaconInterval.map(BeaconScheduleStateMachine.frequency) ?? Tunables.Commands.longestPollSeconds,
            Tunables.Commands.longestPollSeconds)
        let seconds = max(quiet, Double(transmitInterval.components.seconds)) * max(1, slowdown)
        return UInt64(seconds * 1_000_000)
    }

    /// An answer brought news, or showed that there are none.
    mutating func heard(at now: UInt64) { last = max(last, now) }

    /// How long to wait before the next call of `reached`.
    func pause(interval: UInt64, now: UInt64) -> UInt64 {
        let due = last + interval
        return due > now ? due - now : 0
    }

    /// The clock advanced. If asking is not possible now, it is not made up for: the change that makes it possible
    /// causes traffic itself, or the next call asks.
    ///
    /// - Returns: whether to ask.
    mutating func reached(_ now: UInt64, interval: UInt64, _ circumstances: Circumstances) -> Bool {
        guard pause(interval: interval, now: now) == 0 else { return false }
        last = now
        return circumstances.allow
    }
}
