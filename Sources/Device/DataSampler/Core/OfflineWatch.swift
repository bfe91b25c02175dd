/// Reports once that the collector was out of reach for longer than is allowed (ws1). Pure; times are microseconds of
/// the queue clock, so that neither a wall clock set by somebody nor a restart changes what is counted.
struct OfflineWatch: KeptState, Equatable {
    static let fileName = "offline.json"

    /// Since when the collector is out of reach; `nil`: it answers.
    private(set) var since: Int64?
    private(set) var wasReported = false

    /// - Returns: whether something changed that is to be kept.
    mutating func reached() -> Bool {
        guard since != nil else { return false }
        self = OfflineWatch()
        return true
    }

    /// - Returns: whether something changed that is to be kept.
    mutating func unreachable(since: Int64) -> Bool {
        guard self.since == nil else { return false }
        self.since = since
        return true
    }

    /// When it is to be reported; `nil`: no limit is set, or it was reported.
    func dueAt(allowedSeconds: Double?) -> Int64? {
        guard let allowedSeconds, let since, !wasReported else { return nil }
        return since + Int64(allowedSeconds * 1_000_000)
    }

    /// - Returns: the seconds without the collector, while they are more than is allowed.
    func exceeded(allowedSeconds: Double?, now: Int64) -> Int64? {
        guard let allowedSeconds, let since, since + Int64(allowedSeconds * 1_000_000) <= now else { return nil }
        return (now - since) / 1_000_000
    }

    /// - Returns: the seconds without the collector, once, when they are more than is allowed.
    mutating func overdue(allowedSeconds: Double?, now: Int64) -> Int64? {
        guard !wasReported, let seconds = exceeded(allowedSeconds: allowedSeconds, now: now) else { return nil }
        wasReported = true
        return seconds
    }
}
