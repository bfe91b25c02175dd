/// Full-jitter backoff: the n-th failure in a row waits a random share of a window that doubles from 1 s to 5 min.
///
/// Never gives up by elapsed time. A pure function of its inputs.
package struct RetryPolicy: Equatable, Sendable {
    /// Window after the first failure.
    package var base: Duration = .seconds(1)
    /// The window's upper bound.
    package var cap: Duration = .seconds(300)
    /// A longer Retry-After is cut to this.
    package var greatestRetryAfter: Duration = .seconds(3600)

    package init() {}

    /// A roll for waits of at least half the window: with a lucky roll near 0 a failure would become a hot loop.
    static func upperHalf(_ roll: Double) -> Double { 0.5 + min(max(roll, 0), 1) / 2 }

    /// - Parameters:
    ///   - failures: failures in a row, from 1.
    ///   - roll: random, 0 up to 1.
    ///   - retryAfter: what the other side asked for. Kept as the least wait, with the jitter on top so that a fleet
    ///     told the same does not come back as one.
    package func delay(failures: Int, roll: Double, retryAfter: Duration?) -> Duration {
        let doublings = min(max(failures, 1) - 1, 16)
        let window = min(cap, base * (1 << doublings))
        let jitter = window * min(max(roll, 0), 1)
        guard let retryAfter else { return jitter }
        return min(max(retryAfter, .zero), greatestRetryAfter) + jitter
    }
}

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

/// Remembers which failures were logged, so that two that alternate do not fill the log. Pure; times are microseconds
/// since boot.
///
/// A client certificate that the collector does not take is such a case: each other connection goes without it, and is
/// refused for another reason.
struct ToldFailures {
    private static let hour: UInt64 = 3600 * 1_000_000
    /// Lines in an hour.
    private static let greatestCount = 32

    private var told: [String: UInt64] = [:]

    /// - Parameter former: why the attempt before this failed; `nil`: it did not.
    /// - Returns: whether the log is to be told. One that lasts is told once; one that comes again, once an hour.
    mutating func tell(_ why: String, after former: String?, now: UInt64) -> Bool {
        guard why != former else { return false }
        told = told.filter { now &- $0.value < Self.hour }
        guard told[why] == nil, told.count < Self.greatestCount else { return false }
        told[why] = now
        return true
    }

    /// All that was due is sent: what fails from now on is news.
    mutating func sentAll() { told = [:] }
}

extension Duration {
    /// Whole microseconds; negative ones are 0, and what is over 30 years is 30 years, so that sums with a clock cannot
    /// overflow.
    var wholeMicroseconds: UInt64 {
        let (seconds, attoseconds) = components
        guard self > .zero else { return 0 }
        guard seconds < 1_000_000_000 else { return 1_000_000_000 * 1_000_000 }
        return UInt64(seconds) * 1_000_000 + UInt64(attoseconds / 1_000_000_000_000)
    }
}
