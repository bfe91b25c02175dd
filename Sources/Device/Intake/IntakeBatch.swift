import LogStore
import TelemetryBasics
import WireModel

/// Lines that are stored together, and the positions that belong to them.
package struct IntakeBatch {
    /// Bytes of text that a batch takes before it is full. Two thousand usual lines share one sync, and a batch that
    /// must be read again costs milliseconds. Range: 64 KiB to 16 MiB.
    package static let maximumBytes = 1 << 20

    package private(set) var lines: [IntakeLog.Line] = []
    package private(set) var changes: PositionChanges = [:]
    /// Lines over the limit, by level. A record in the batch says how many.
    package private(set) var leftOut = LogLevelCounts()
    private var budget: BurstBudget
    /// Lines that are less severe are passed by, so they take nothing of the budget; `nil`: all are.
    private let level: LogLevel?
    /// Bytes of all lines, also of those that were left out.
    private var bytes = 0
    /// Microseconds since 1970.
    private let time: Int64

    init(budget: BurstBudget, level: LogLevel?, time: Int64) {
        self.budget = budget
        self.level = level
        self.time = time
    }

    /// Whether the batch should be stored before more is added.
    package var isFull: Bool { bytes >= Self.maximumBytes }

    package var isEmpty: Bool { lines.isEmpty && changes.isEmpty }

    /// Adds a line, or counts it as left out.
    /// - Parameter lineTime: microseconds since 1970, if the source knows when the line was written; `nil`: now.
    package mutating func add(_ entry: LogEntry, at lineTime: Int64? = nil) {
        bytes += entry.message.utf8.count + 64
        let isStored = level.map { entry.level <= $0 } ?? false
        guard !isStored || budget.take(at: time) else {
            leftOut[entry.level] += 1
            return
        }
        lines.append(IntakeLog.Line(time: lineTime ?? time, entry))
    }

    /// Adds a line about the intake itself. It is never left out.
    package mutating func report(_ message: String, _ metadata: [String: String]) {
        lines.append(
            IntakeLog.Line(
                time: time, LogEntry(.warning, message, category: Self.reportCategory, metadata: metadata)))
    }

    /// The category of lines that the intake adds.
    package static let reportCategory = "intake"

    /// Sets a position; `nil` removes it.
    package mutating func set(_ key: String, _ value: [UInt8]?) { changes[key] = .some(value) }

    /// Ends the batch: what was left out becomes a record of it, so that the count is as durable as the position
    /// behind the lines.
    mutating func finish() -> BurstBudget {
        guard leftOut.total > 0 else { return budget }
        var metadata = ["lines": "\(leftOut.total)"]
        for level in LogLevel.allCases where leftOut[level] > 0 { metadata[level.name] = "\(leftOut[level])" }
        if let limit = budget.limit { metadata["limit"] = "\(limit.linesPerSecond)/s" }
        report("lines left out, because they came faster than the limit", metadata)
        return budget
    }
}

/// How many lines a source may store.
package struct BurstLimit: Equatable, Sendable {
    /// At least 1.
    package var linesPerSecond: Int
    /// Lines that may come at once after a quiet time. At least 1.
    package var burst: Int

    package init(linesPerSecond: Int, burst: Int) {
        self.linesPerSecond = max(1, linesPerSecond)
        self.burst = max(1, burst)
    }
}

/// The lines that may be stored now: a bucket that fills with time.
struct BurstBudget: Equatable, Sendable {
    /// `nil`: every line is stored.
    let limit: BurstLimit?
    /// Lines × 1,000,000.
    private var tokens: Int64
    private var last: Int64?

    init(_ limit: BurstLimit?) {
        self.limit = limit
        tokens = Int64(limit?.burst ?? 0) * 1_000_000
    }

    /// - Parameter time: microseconds. A clock that goes back gives nothing.
    mutating func take(at time: Int64) -> Bool {
        guard let limit else { return true }
        let full = Int64(limit.burst) * 1_000_000
        if let last, time > last {
            let (gained, overflow) = (time - last).multipliedReportingOverflow(by: Int64(limit.linesPerSecond))
            tokens = overflow ? full : min(full, tokens + min(gained, full))
        }
        last = time
        guard tokens >= 1_000_000 else { return false }
        tokens -= 1_000_000
        return true
    }
}
