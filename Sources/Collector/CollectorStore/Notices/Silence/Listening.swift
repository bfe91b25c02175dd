/// Whether a collector has listened for long enough to say that a device is silent, and not that nobody heard it. Pure.
///
/// A device that could not reach its collector asks again within five minutes, or when a Retry-After is over, which it honours up to an hour: so an hour
/// after the collector began to listen, whoever still lives has been heard. That is counted anew after a start, a clock that was set (all devices
/// seem to be that much older or younger), a pause of the process or the machine, and while nothing can be stored.
struct Listening {
    static let settleMicroseconds: Int64 = 3_600_000_000
    /// Of the wall clock between two looks.
    static let stepMicroseconds: Int64 = 60_000_000
    /// Between two looks, which are a minute apart.
    static let pauseMicroseconds: Int64 = 600_000_000

    /// Since the machine was started, microseconds.
    private var since: Int64?
    private var former: ClockReading?

    /// - Parameter canStore: whether what devices send is taken.
    mutating func isSettled(at reading: ClockReading, canStore: Bool) -> Bool {
        var goesOn = canStore && since != nil
        if let former {
            let step = reading.step(since: former)
            goesOn = goesOn && step.map { abs($0) <= Self.stepMicroseconds } ?? false
            goesOn = goesOn && reading.sinceBoot - former.sinceBoot <= Self.pauseMicroseconds
        }
        former = reading
        guard goesOn, let since else {
            self.since = reading.sinceBoot
            return false
        }
        return reading.sinceBoot - since >= Self.settleMicroseconds
    }
}
