/// When those who are refused for load shall come back: one after the other, at the pace at which requests have been served lately, so that a
/// herd that was turned away does not return as one. Pure.
struct RetrySlots {
    /// Microseconds, as all times here.
    static let least: Int64 = 500_000
    /// Longer nobody is sent away: the pace is a guess.
    static let most: Int64 = 300_000_000
    /// Between two that are served: what is believed at the most and, before anything was measured, at first.
    private static let slowest: Int64 = 1_000_000
    private static let first: Int64 = 10_000

    /// Between two requests that were served, on average.
    private(set) var spacing = first
    private var lastServed: Int64?
    /// The latest slot that was given.
    private var latest: Int64 = 0

    /// A request that was admitted has ended.
    mutating func served(at now: Int64) {
        if let lastServed {
            let interval = min(max(now - lastServed, 1), Self.slowest)
            // The mean of about the last 32.
            spacing += (interval - spacing) / 32
        }
        lastServed = now
    }

    /// - Parameter roll: 0 to 1.
    /// - Returns: how long to wait.
    mutating func next(at now: Int64, roll: Double) -> Int64 {
        latest = min(max(latest, now + Self.least) + max(spacing, 1), now + Self.most)
        // Within the slot, and among those whom the bound has put at the same time.
        return latest - now + Int64(Double(max(spacing, Self.least / 4)) * roll)
    }
}
