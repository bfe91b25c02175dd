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

    /// - Parameters:
    ///   - failures: failures in a row, from 1.
    ///   - roll: random, 0 up to 1.
    ///   - retryAfter: what the other side asked for. Kept as the least wait, with the jitter on top so that a fleet told the same does not come back as one.
    package func delay(failures: Int, roll: Double, retryAfter: Duration?) -> Duration {
        let doublings = min(max(failures, 1) - 1, 16)
        let window = min(cap, base * (1 << doublings))
        let jitter = window * min(max(roll, 0), 1)
        guard let retryAfter else { return jitter }
        return min(max(retryAfter, .zero), greatestRetryAfter) + jitter
    }
}
