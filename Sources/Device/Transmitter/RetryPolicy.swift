import DeviceTunables

/// Backoff with full jitter. After the n-th failure in a row it waits a random share of a window, which doubles from 1
/// s to 5 min.
///
/// It never gives up because of elapsed time. A pure function of its inputs.
struct RetryPolicy: Equatable, Sendable {
    /// The window after the first failure.
    var base = Tunables.Retry.firstWindow
    /// The greatest window.
    var cap = Tunables.Retry.longestWindow
    /// A longer Retry-After is shortened to this.
    var greatestRetryAfter = Tunables.Retry.longestRetryAfter

    /// A roll that gives waits of at least half the window. With a roll near 0, a failure would become a busy loop.
    static func upperHalf(_ roll: Double) -> Double { 0.5 + min(max(roll, 0), 1) / 2 }

    /// - Parameters:
    ///   - failures: failures in a row, from 1.
    ///   - roll: random, 0 up to 1.
    ///   - retryAfter: the wait that the other side requested. It is the least wait; jitter is added, so a fleet with
    ///     the same request does not return at the same time.
    func delay(failures: Int, roll: Double, retryAfter: Duration?) -> Duration {
        let doublings = min(max(failures, 1) - 1, 16)
        let window = min(cap, base * (1 << doublings))
        let jitter = window * min(max(roll, 0), 1)
        guard let retryAfter else { return jitter }
        return min(max(retryAfter, .zero), greatestRetryAfter) + jitter
    }
}

/// Judges whether something that is refused again and again is itself to blame.
///
/// A status says what somebody thought of a request, not who it was. A proxy, a firewall or a captive portal may answer
/// 413, 400 or 500 to everything for seconds or days, and can copy a collector's headers. So no answer alone makes the
/// device give anything up. Time does, but only time in which other records passed. The chain confirms records that
/// pass, so they distinguish a bad record from a bad path to the collector.
///
/// The time between two consecutive refusals counts if something else passed in between. An outage therefore counts
/// nothing, however long it is. A pure value. Times are microseconds of a monotonic clock.
struct RefusalEvidence: Equatable, Sendable {
    /// Consecutive refusals.
    private(set) var refusals = 0
    private var lastRefusal: UInt64?
    private var othersPassed = false
    private var counted: UInt64 = 0

    /// Whether the evidence is enough to quarantine it.
    var isProven: Bool { counted >= Tunables.Quarantine.evidenceMicroseconds }

    /// Another record passed.
    mutating func otherPassed() { othersPassed = true }

    /// It was sent alone and refused.
    mutating func refused(at now: UInt64) {
        refusals += 1
        if othersPassed, let last = lastRefusal, now > last {
            counted += min(now - last, Tunables.Quarantine.greatestIntervalMicroseconds)
        }
        lastRefusal = now
        othersPassed = false
    }
}

/// Remembers which failures were logged, so two alternating failures do not fill the log. Pure; times are microseconds
/// since boot.
///
/// A client certificate that the collector refuses is such a case: every second connection goes without it and fails
/// for another reason.
struct ReportedFailures {
    private static let hour: UInt64 = 3600 * 1_000_000
    /// The most lines per hour.
    private static let greatestCount = 32

    private var reported: [String: UInt64] = [:]

    /// - Parameter former: why the previous attempt failed; `nil` if it succeeded.
    /// - Returns: whether to log. A lasting failure is logged once, and a recurring one once per hour.
    mutating func report(_ why: String, after former: String?, now: UInt64) -> Bool {
        guard why != former else { return false }
        reported = reported.filter { now &- $0.value < Self.hour }
        guard reported[why] == nil, reported.count < Self.greatestCount else { return false }
        reported[why] = now
        return true
    }

    /// Everything due was sent, so the next failure is new.
    mutating func sentAll() { reported = [:] }
}

extension Duration {
    /// The duration in whole microseconds, from 0 to 30 years, so adding it to a clock's time cannot overflow.
    package var wholeMicroseconds: UInt64 {
        let (seconds, attoseconds) = components
        guard self > .zero else { return 0 }
        guard seconds < 1_000_000_000 else { return 1_000_000_000 * 1_000_000 }
        return UInt64(seconds) * 1_000_000 + UInt64(attoseconds / 1_000_000_000_000)
    }
}
