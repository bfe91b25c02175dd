import DeviceTunables
import WireModel

/// Decides when to ask the collector for news (commands, a newer profile): no answer has brought any, or the collector
/// rang. Pure.
///
/// A device asks at its beacon interval, at least every 15 minutes, and never more often than it transmits, so no radio
/// is woken for this alone. The interval is between 60 s and a day, 15 minutes by default, and longer while a budget
/// slows the device down. The request is a `GET` without a body, about 300 bytes. Times are microseconds of one
/// monotonic clock.
///
/// A collector behind a message broker rings at connected devices. A device asks then at once, but at most once a
/// second; rings that come meanwhile are one. An answer that comes after a ring may have been made before it, so only a
/// question settles a ring.
struct NewsPoll: Equatable, Sendable {
    struct Circumstances: Equatable, Sendable {
        var isEnrolled = true
        /// The device is unenrolled or being unenrolled, so commands have ended.
        var isLeaving = false
        /// Telemetry is disabled. Then each look for the profile asks for news, too.
        var isTelemetryDisabled = false
        /// The machine has no network. Metered networks, batteries and the like hold back records, but not this.
        var isOffline = false

        var allow: Bool { allowAfterRing && !isTelemetryDisabled && !isOffline }

        /// A ring came over the network, and what is new may switch telemetry on again.
        var allowAfterRing: Bool { isEnrolled && !isLeaving }
    }

    /// When news were last received or requested.
    private var last: UInt64
    /// The collector rang and was not asked since.
    private var isRung = false
    /// When the collector was last asked; `nil`: never.
    private var asked: UInt64?

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

    /// The collector said that something is new.
    mutating func rang() { isRung = true }

    /// How long to wait before the next call of `reached`.
    func pause(interval: UInt64, now: UInt64) -> UInt64 {
        let due =
            isRung ? min(asked.map { $0 + Tunables.Commands.ringMicroseconds } ?? 0, last + interval) : last + interval
        return due > now ? due - now : 0
    }

    /// The clock advanced. If asking is not possible now, it is not made up for: the change that makes it possible
    /// causes traffic itself, or the next call asks.
    ///
    /// - Returns: whether to ask.
    mutating func reached(_ now: UInt64, interval: UInt64, _ circumstances: Circumstances) -> Bool {
        guard pause(interval: interval, now: now) == 0 else { return false }
        last = now
        let asks = isRung ? circumstances.allowAfterRing : circumstances.allow
        isRung = false
        if asks { asked = now }
        return asks
    }
}
