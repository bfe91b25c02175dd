import FoundationEssentials
import WireModel

/// Unfinished requests for logs, kept for restarts in `log-requests.json`. Pure.
///
/// A request goes from `capturing` (a snapshot skips it) to `planning` to `uploading` and is then removed; the command
/// holds the result. Each step may be repeated, because an upload is found again by its command. Times are
/// microseconds: of the queue clock for waiting, since 1970 for selecting lines.
struct LogRequestLedger: KeptState, Equatable {
    enum Phase: Codable, Equatable, Sendable {
        case capturing(until: Int64, sinceWallTime: Int64)
        case planning(sinceWallTime: Int64?)
        case uploading(uploads: [Data])
    }

    struct Entry: Codable, Equatable, Sendable {
        var command: Data
        /// `RequestLogs`, serialized.
        var request: Data
        var phase: Phase
    }

    static let fileName = "log-requests.json"

    private(set) var entries: [Entry] = []
    /// Ordinals of stored crashes whose uploads were begun, in order. A set would have another order, and the file
    /// another digest, in each process.
    private(set) var sentCrashes: [UInt64] = []

    subscript(command: Data) -> Entry? { entries.first { $0.command == command } }

    /// Begins a request. One that has begun stays as it is.
    mutating func began(_ command: Data, _ wire: WireRequestLogs, queueTime: Int64, wallTime: Int64) {
        guard self[command] == nil else { return }
        let phase: Phase =
            wire.mode == .capture
            ? .capturing(until: queueTime + Int64(wire.captureSeconds) * 1_000_000, sinceWallTime: wallTime)
            : .planning(sinceWallTime: nil)
        entries.append(Entry(command: command, request: wire.encoded, phase: phase))
    }

    /// Captures whose time is over are planned next.
    /// - Returns: whether there was one.
    mutating func capturesEnded(queueTime: Int64) -> Bool {
        var changed = false
        for index in entries.indices {
            guard case .capturing(let until, let since) = entries[index].phase, until <= queueTime else { continue }
            entries[index].phase = .planning(sinceWallTime: since)
            changed = true
        }
        return changed
    }

    mutating func planned(_ command: Data, uploads: [Data]) {
        guard let index = entries.firstIndex(where: { $0.command == command }) else { return }
        entries[index].phase = .uploading(uploads: uploads)
    }

    /// The upload of a crash was begun.
    /// - Parameter present: the stored crashes. Others are forgotten.
    mutating func crashSent(_ ordinal: UInt64, present: Set<UInt64>) {
        sentCrashes = Set(sentCrashes).union([ordinal]).intersection(present).sorted()
    }

    mutating func ended(_ command: Data) { entries.removeAll { $0.command == command } }

    /// The levels that running captures request.
    var captures: [LogLevelWish] { captures { _, _ in true } }

    /// The same for a program that does not hold the queue clock. By the wall clock a capture is over after its
    /// seconds, whether or not an agent has ended it.
    func captures(wallTime: Int64) -> [LogLevelWish] {
        captures { since, seconds in
            let (end, overflow) = since.addingReportingOverflow(Int64(seconds) * 1_000_000)
            return overflow || wallTime < end
        }
    }

    private func captures(
        where isRunning: (_ sinceWallTime: Int64, _ seconds: UInt32) -> Bool
    ) -> [LogLevelWish] {
        entries.compactMap { entry in
            guard case .capturing(_, let since) = entry.phase, let wire = try? WireRequestLogs.decode(entry.request),
                isRunning(since, wire.captureSeconds)
            else { return nil }
            return LogLevelWish(level: LogLevel(wire.level) ?? .verbose, application: wire.application)
        }
    }

    /// When the next capture ends, on the queue clock.
    var nextEnd: Int64? {
        entries.compactMap { if case .capturing(let until, _) = $0.phase { until } else { nil } }.min()
    }

    var planning: [Entry] { entries.filter { if case .planning = $0.phase { true } else { false } } }
}

/// A checked request for this device's logs. A command is refused as a whole, never carried out in part.
struct LogRequest: Equatable, Sendable {
    enum Mode: Equatable, Sendable {
        /// The lines that exist now.
        case snapshot
        /// The lines of the next seconds, stored down to the requested level.
        case capture(seconds: UInt32)
    }

    static let captureSeconds: ClosedRange<UInt32> = 1...86_400
    static let maximumCategories = 2 * LogLimits.filterCategories

    var mode: Mode
    /// `nil` for all.
    var type: LogType?
    /// Bundle id; `nil` for all.
    var application: String?
    var filter: LogFilter
    /// The most bytes of text to send; the newest lines are kept. `nil` for no limit.
    var maximumBytes: UInt64?
    var includesRing: Bool

    /// `nil` if `objection` refuses the request.
    init?(_ wire: WireRequestLogs) {
        guard Self.objection(to: wire) == nil else { return nil }
        mode = wire.mode == .capture ? .capture(seconds: wire.captureSeconds) : .snapshot
        type = LogType(wire.type)
        application = wire.application.isEmpty ? nil : wire.application
        filter = LogFilter(
            level: LogLevel(wire.level) ?? .verbose, since: wire.hasSince ? wire.since : nil,
            until: wire.hasUntil ? wire.until : nil, categories: wire.categories, text: wire.text)
        maximumBytes = wire.maximumBytes == 0 ? nil : wire.maximumBytes
        includesRing = wire.includeVerboseRing
    }

    /// The filter with one more time limit.
    func filter(since: Int64?) -> LogFilter {
        guard let since else { return filter }
        var filter = filter
        filter.since = max(since, filter.since ?? .min)
        return filter
    }

    /// Why a request cannot be carried out, for people; `nil` if it can.
    static func objection(to wire: WireRequestLogs) -> String? {
        if case .UNRECOGNIZED = wire.mode { return "this version does not know the mode: update it" }
        if case .UNRECOGNIZED = wire.type { return "this version does not know the type of log: update it" }
        if case .UNRECOGNIZED = wire.level { return "this version does not know the level: update it" }
        if wire.mode == .capture, !captureSeconds.contains(wire.captureSeconds) {
            return "a capture takes 1 to 86400 seconds, not \(wire.captureSeconds)"
        }
        if wire.mode == .capture, wire.type == .crash {
            return "crashes cannot be captured: ask for a snapshot of them"
        }
        if wire.hasSince, wire.hasUntil, wire.since >= wire.until {
            return "the time range is empty: it ends before it begins"
        }
        guard wire.categories.count <= maximumCategories,
            wire.categories.allSatisfy({ $0.utf8.count <= LogLimits.categoryBytes })
        else { return "a request has at most \(maximumCategories) categories of \(LogLimits.categoryBytes) bytes each" }
        guard wire.text.utf8.count <= LogLimits.filterTextBytes else {
            return "the text has more than \(LogLimits.filterTextBytes) bytes"
        }
        return nil
    }
}
