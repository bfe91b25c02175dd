import FoundationEssentials
import WireModel

/// Requests for logs that have begun and not ended, for restarts: `log-requests.json`. Pure.
///
/// A request goes from `capturing` (a snapshot skips it) to `planning` to `uploading`, and is then removed; the command
/// says what came of it. Each step may be repeated: an upload is found again by its command. Times are microseconds: of
/// the queue clock for waiting, since 1970 for choosing lines.
struct LogRequestLedger: Codable, Equatable, Sendable {
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

    static func file(in directory: String) -> StateFile<LogRequestLedger> {
        StateFile(directory: directory, name: fileName)
    }

    private(set) var entries: [Entry] = []
    /// Ordinals of crashes whose uploads were begun, of those that are kept.
    private(set) var sentCrashes: Set<UInt64> = []

    subscript(command: Data) -> Entry? { entries.first { $0.command == command } }

    /// A request begins; one that has begun already stays as it is.
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
    /// - Parameter present: crashes that are kept; others need not be remembered.
    mutating func crashSent(_ ordinal: UInt64, present: Set<UInt64>) {
        sentCrashes.insert(ordinal)
        sentCrashes.formIntersection(present)
    }

    mutating func ended(_ command: Data) { entries.removeAll { $0.command == command } }

    /// The least severe level that a capture under way asks for; `nil`: none is.
    var captureLevel: LogLevel? {
        entries.compactMap { entry in
            guard case .capturing = entry.phase, let wire = try? WireRequestLogs.decode(entry.request) else {
                return nil
            }
            return LogLevel(wire.level) ?? .verbose
        }.max()
    }

    /// When the next capture ends, of the queue clock.
    var nextEnd: Int64? {
        entries.compactMap { if case .capturing(let until, _) = $0.phase { until } else { nil } }.min()
    }

    var planning: [Entry] { entries.filter { if case .planning = $0.phase { true } else { false } } }
}

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
            level: LogLevel(wire.level) ?? .verbose, since: wire.hasSince ? wire.since : nil,
            until: wire.hasUntil ? wire.until : nil,
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
        if wire.mode == .capture, wire.type == .crash {
            return "crashes cannot be captured: ask for a snapshot of them"
        }
        if wire.hasSince, wire.hasUntil, wire.since >= wire.until {
            return "the time range is empty: it ends before it begins"
        }
        guard wire.categories.count <= maximumCategories,
            wire.categories.allSatisfy({ $0.utf8.count <= LogLimits.categoryBytes })
        else {
            return "at most \(maximumCategories) categories of \(LogLimits.categoryBytes) bytes each"
        }
        guard wire.text.utf8.count <= maximumTextBytes else {
            return "the text has more than \(maximumTextBytes) bytes"
        }
        return nil
    }
}
