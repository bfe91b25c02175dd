/// Tells how old a fix is, without the wall clock of this device, which can be wrong. Pure.
///
/// A receiver's time is compared with the time since boot. The smallest difference ever seen between the two is that of
/// a fix that was just made; what exceeds it is the fix's age. A time is believed only after it has advanced once,
/// because gpsd also answers with the last fix of a receiver that is silent.
struct ReceiverClock: Equatable, Sendable {
    /// How much faster than the receiver's the clock of this device may run, in microseconds a second. Above the drift
    /// of any quartz.
    private static let drift: Int64 = 1_000

    /// Since boot, when the time last advanced.
    private var seen: UInt64?
    private var last: Int64 = 0
    /// The smallest time since boot minus the receiver's.
    private var offset: Int64 = 0
    private var hasAdvanced = false

    init() {}

    /// The age of a fix, in microseconds; `nil` while it is not known whether the receiver's time advances.
    /// - Parameters:
    ///   - time: of the fix, by the receiver's clock, microseconds since 1970.
    ///   - now: microseconds since boot.
    mutating func age(of time: Int64, now: UInt64) -> Int64? {
        let present = Int64(clamping: now).subtractingReportingOverflow(time).partialValue
        guard let seen, time >= last, now >= seen else {
            // The first one, or the receiver's time or this machine began anew.
            self = ReceiverClock()
            (self.seen, last, offset) = (now, time, present)
            return nil
        }
        if time > last {
            hasAdvanced = true
            offset = min(present, offset + Int64(clamping: (now - seen) / 1_000_000) * Self.drift)
            (self.seen, last) = (now, time)
        }
        return hasAdvanced ? max(0, present - offset) : nil
    }
}
