import WireModel

/// What a collector asks of this device's logs, checked: a command is refused as a whole, never carried out in part.
struct LogRequest: Equatable, Sendable {
    enum Mode: Equatable, Sendable {
        /// What is there now.
        case snapshot
        /// What comes, for so many seconds, kept down to the level asked for.
        case capture(seconds: UInt32)
    }

    static let captureSeconds: ClosedRange<UInt32> = 1...86_400
    static let maximumCategories = 64
    static let maximumTextBytes = 1024

    var mode: Mode
    /// `nil`: all.
    var type: LogType?
    var filter: LogFilter
    /// Text sent at most, newest lines first to stay; `nil`: no budget.
    var maximumBytes: UInt64?
    var includesRing: Bool

    /// `nil` for what `objection` objects to.
    init?(_ wire: WireRequestLogs) {
        guard Self.objection(to: wire) == nil else { return nil }
        mode = wire.mode == .capture ? .capture(seconds: wire.captureSeconds) : .snapshot
        type = LogType(wire.type)
        filter = LogFilter(
            level: LogLevel(wire.level) ?? .verbose, since: wire.hasSince ? wire.since : nil, until: wire.hasUntil ? wire.until : nil,
            categories: wire.categories, text: wire.text)
        maximumBytes = wire.maximumBytes == 0 ? nil : wire.maximumBytes
        includesRing = wire.includeVerboseRing
    }

    /// The filter with one more border.
    func filter(since: Int64?) -> LogFilter {
        guard let since else { return filter }
        var filter = filter
        filter.since = max(since, filter.since ?? .min)
        return filter
    }

    /// Why a request cannot be carried out, for people; `nil`: it can.
    static func objection(to wire: WireRequestLogs) -> String? {
        if case .UNRECOGNIZED = wire.mode { return "a mode this version does not know: update it" }
        if case .UNRECOGNIZED = wire.type { return "a type of log this version does not know: update it" }
        if case .UNRECOGNIZED = wire.level { return "a level this version does not know: update it" }
        if wire.mode == .capture, !captureSeconds.contains(wire.captureSeconds) {
            return "a capture takes 1 to 86400 seconds, not \(wire.captureSeconds)"
        }
        if wire.mode == .capture, wire.type == .crash { return "crashes cannot be captured: ask for a snapshot of them" }
        if wire.hasSince, wire.hasUntil, wire.since >= wire.until { return "the time range is empty: it ends before it begins" }
        guard wire.categories.count <= maximumCategories, wire.categories.allSatisfy({ $0.utf8.count <= LogLimits.categoryBytes }) else {
            return "at most \(maximumCategories) categories of \(LogLimits.categoryBytes) bytes each"
        }
        guard wire.text.utf8.count <= maximumTextBytes else { return "the text has more than \(maximumTextBytes) bytes" }
        return nil
    }
}
