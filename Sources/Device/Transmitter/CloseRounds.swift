import WireModel

/// When an ended epoch's next close goes out. A close that fails waits by its own backoff: what is recorded since goes on meanwhile.
/// Times are microseconds since boot.
package struct CloseRounds: Sendable {
    /// Rounds in a row without an end before a pause: each narrows the search a thousandfold, so more means that somebody answers nonsense.
    package static let greatestRounds = 16

    private let policy: RetryPolicy
    private var failures = 0
    private var rounds = 0
    private var notBefore: UInt64 = 0
    private var isPending = true

    package init(policy: RetryPolicy = RetryPolicy()) {
        self.policy = policy
    }

    /// An epoch may have ended since.
    package mutating func passBegan() { isPending = true }

    /// Whether to ask the queue for a close now.
    package func isDue(at now: UInt64) -> Bool { isPending && now >= notBefore }

    /// When a close that failed is due; `nil` where none waits.
    package var next: UInt64? { isPending && failures > 0 ? notBefore : nil }

    /// The queue has nothing to close.
    package mutating func foundNothing() {
        isPending = false
        failures = 0
        rounds = 0
    }

    /// The collector answered, and the queue wants to know more.
    package mutating func narrowed(now: UInt64, roll: Double) {
        failures = 0
        rounds += 1
        if rounds >= Self.greatestRounds { failed(after: nil, now: now, roll: roll) }
    }

    /// No answer, or none that says anything.
    package mutating func failed(after: Duration?, now: UInt64, roll: Double) {
        failures += 1
        rounds = 0
        notBefore = now &+ policy.delay(failures: failures, roll: 0.5 + min(max(roll, 0), 1) / 2, retryAfter: after).wholeMicroseconds
    }
}
