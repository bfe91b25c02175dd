/// How often an epoch may end because histories diverged.
///
/// A collector that always says so must not make the device start over and over: each new epoch costs a close, three
/// tables, and one rewrite of all that waits, 64 MiB at most. But a person who brings an image of a disk back, and then
/// another one, must not wait for it.
///
/// So there is a budget of six, and one comes back every hour. A device whose histories part all the time begins 24
/// epochs a day, which is 1.5 GiB of flash at worst; and if none of them can be closed for a day, all 30 are still kept
/// apart (`QueueFile.closingEpochs`).
///
/// It is kept as one time on the queue clock: when the budget will be whole again. A pure function; times are
/// microseconds.
enum DivergenceBudget {
    static let epochs: Int64 = 6
    static let refill: Int64 = 3600 * 1_000_000

    /// - Parameter wholeAt: `nil`: nothing was ever spent.
    /// - Returns: how long until an epoch may end; 0: now.
    static func wait(wholeAt: Int64?, now: Int64) -> Int64 {
        max(0, bounded(wholeAt, now) - now - (epochs - 1) * refill)
    }

    /// One is spent.
    static func spend(wholeAt: Int64?, now: Int64) -> Int64 { bounded(wholeAt, now) + refill }

    /// A time that cannot be is no reason to wait for longer than an empty budget takes.
    private static func bounded(_ wholeAt: Int64?, _ now: Int64) -> Int64 {
        min(max(wholeAt ?? now, now), now + epochs * refill)
    }
}
