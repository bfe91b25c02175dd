/// When the profile is fetched. Pure; `dueAt` says when to ask next.
///
/// At the start, every 8 h (intune), and at once when an answer names a newer revision. Failures are retried with full
/// jitter, without end. A refused revision is fetched again only with the next regular look: somebody has to mend it.
/// Times are microseconds of one clock that never goes back.
struct ProfileRefreshPolicy: Equatable, Sendable {
    enum Outcome: Equatable, Sendable {
        /// A good profile, or word that the one at hand still is.
        case current(revision: UInt64)
        /// What came is no profile to run.
        case refused(revision: UInt64)
        /// Nothing came.
        case failed(after: Duration?)
    }

    static let regularSeconds = 8.0 * 3600
    /// Nothing but this look can lift a switched-off telemetry: soon enough for whoever lifts it, and one small request
    /// (304) each.
    static let disabledSeconds = 900.0
    /// 1 s to 5 min, as every request; before the first profile nothing can be recorded, so it begins small.
    static let leastBackoffSeconds = 1.0
    static let greatestBackoffSeconds = 300.0
    static let greatestRetryAfterSeconds = 3600.0

    /// When to ask next.
    private(set) var dueAt: UInt64
    private var failures = 0
    private var refused: UInt64?

    /// The first look is due at once.
    init(now: UInt64) { dueAt = now }

    /// An answer of the collector named its newest revision.
    ///
    /// - Returns: whether it is to be fetched now.
    mutating func noticed(newest: UInt64, running: UInt64, now: UInt64) -> Bool {
        // A failure's backoff stands: whoever answers batches answers this too, or said when.
        guard newest > running, newest != refused, failures == 0, dueAt > now else { return false }
        dueAt = now
        return true
    }

    /// A person or a command asks: now, whatever was planned.
    mutating func demanded(now: UInt64) {
        failures = 0
        dueAt = now
    }

    /// Telemetry was switched off or on.
    mutating func switched(disabled: Bool, now: UInt64, roll: Double) {
        dueAt = now + Self.microseconds(Self.jittered(disabled ? Self.disabledSeconds : Self.regularSeconds, roll))
    }

    /// - Parameters:
    ///   - disabled: whether telemetry is switched off by what runs now.
    ///   - roll: 0 up to 1.
    mutating func finished(_ outcome: Outcome, disabled: Bool, now: UInt64, roll: Double) {
        let regular = Self.jittered(disabled ? Self.disabledSeconds : Self.regularSeconds, roll)
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
            let ceiling = min(Self.greatestBackoffSeconds, Self.leastBackoffSeconds * Double(1 << min(failures, 20)))
            failures += 1
            // Full jitter, but never a tight loop.
            var wait = max(0.1, ceiling * roll)
            if let after { wait = max(wait, min(Double(after.components.seconds), Self.greatestRetryAfterSeconds)) }
            dueAt = now + Self.microseconds(wait)
        }
    }

    /// A tenth either way, so that a fleet that started together does not ask together for ever.
    private static func jittered(_ seconds: Double, _ roll: Double) -> Double { seconds * (0.9 + 0.2 * roll) }

    private static func microseconds(_ seconds: Double) -> UInt64 { UInt64(seconds * 1_000_000) }
}
