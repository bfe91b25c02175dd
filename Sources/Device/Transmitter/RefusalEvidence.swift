/// Whether something that alone is refused, again and again, is itself to blame.
///
/// A status says what somebody thought of a request, not who. A proxy, a firewall or a captive portal answers 413, 400
/// or 500 to everything for seconds or for days, and can copy a collector's headers. So no answer makes the device give
/// anything up by itself. Time does, but only time in which others passed: what passes is confirmed by the chain, so it
/// tells a bad record from a bad way to the collector.
///
/// The time between two refusals in a row counts where something else passed in between. An outage therefore counts
/// nothing, however long it is. A pure value; times are microseconds of a clock that does not go back.
package struct RefusalEvidence: Equatable, Sendable {
    /// So much time has to count.
    package static let neededMicroseconds: UInt64 = 600 * 1_000_000
    /// Of one interval no more than this counts, however rarely it was tried: three refusals are the least there is.
    package static let greatestIntervalMicroseconds: UInt64 = 300 * 1_000_000

    /// In a row.
    package private(set) var refusals = 0
    private var lastRefusal: UInt64?
    private var othersPassed = false
    private var counted: UInt64 = 0

    package init() {}

    /// Enough to set it aside.
    package var isProven: Bool { counted >= Self.neededMicroseconds }

    /// Something else passed.
    package mutating func otherPassed() { othersPassed = true }

    /// It was tried alone, and refused.
    package mutating func refused(at now: UInt64) {
        refusals += 1
        if othersPassed, let last = lastRefusal, now > last {
            counted += min(now - last, Self.greatestIntervalMicroseconds)
        }
        lastRefusal = now
        othersPassed = false
    }
}
