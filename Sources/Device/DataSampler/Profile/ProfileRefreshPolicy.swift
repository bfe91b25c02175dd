import DeviceTunables

/// Decides when the profile is fetched. Pure; `dueAt` says when to ask next.
///
/// It is fetched at the start, every 8 h (intune), and at once if an answer names a newer revision. Failures are
/// retried with full jitter, without end. A refused revision is fetched again only at the next regular time, because
/// somebody must correct it. Times are microseconds of one monotonic clock.
struct ProfileRefreshPolicy: Equatable, Sendable {
    enum Outcome: Equatable, Sendable {
        /// A good profile came, or the present one is still current.
        case current(revision: UInt64)
        /// The received profile is not valid.
        case refused(revision: UInt64)
        /// Nothing came.
        case failed(after: Duration?)
    }

    /// When to ask next.
    private(set) var dueAt: UInt64
    private var failures = 0
    private var refused: UInt64?

    /// The first request is due at once.
    init(now: UInt64) { dueAt = now }

    /// An answer named the collector's newest revision.
    ///
    /// - Returns: whether to fetch it now.
    mutating func noticed(newest: UInt64, running: UInt64, now: UInt64) -> Bool {
        // A backoff stays in force, because the same collector answers batches and profiles.
        guard newest > running, newest != refused, failures == 0, dueAt > now else { return false }
        dueAt = now
        return true
    }

    /// A person or a command requests it now, whatever was planned.
    mutating func demanded(now: UInt64) {
        failures = 0
        dueAt = now
    }

    /// Telemetry was disabled or enabled.
    mutating func switched(disabled: Bool, now: UInt64, roll: Double) {
        dueAt =
            now
            + Self.microseconds(
                Self.jittered(disabled ? Tunables.Profile.disabledSeconds : Tunables.Profile.regularSeconds, roll))
    }

    /// - Parameters:
    ///   - disabled: whether the applied profile disables telemetry.
    ///   - roll: 0 up to 1.
    mutating func finished(_ outcome: Outcome, disabled: Bool, now: UInt64, roll: Double) {
        let regular = Self.jittered(disabled ? Tunables.Profile.disabledSeconds : Tunables.Profile.regularSeconds, roll)
        switch outcome {
        case .current:
            failures = 0
            refused = nil
            dueAt = now + Self.microseconds(regular)
        case .refused(let revision):
            failures = 0
            refused = revision
            dueAt = now + Self.microseconds(regular)
        case .failed(let after):
            let window = min(Tunables.Retry.longestWindow, Tunables.Retry.firstWindow * (1 << min(failures, 20)))
            failures += 1
            // Full jitter, but never a busy loop.
            var wait = max(0.1, window / Duration.seconds(1) * roll)
            if let after { wait = max(wait, min(after, Tunables.Retry.longestRetryAfter) / Duration.seconds(1)) }
            dueAt = now + Self.microseconds(wait)
        }
    }

    /// A tenth either way, so a fleet that started together does not ask together for ever.
    private static func jittered(_ seconds: Double, _ roll: Double) -> Double { seconds * (0.9 + 0.2 * roll) }

    private static func microseconds(_ seconds: Double) -> UInt64 { UInt64(seconds * 1_000_000) }
}
