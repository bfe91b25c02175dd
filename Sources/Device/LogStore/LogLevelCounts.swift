import WireModel

/// Lines, by level.
public struct LogLevelCounts: Equatable, Sendable {
    /// Lines of level error.
    public var error: UInt64
    /// Lines of level warning.
    public var warning: UInt64
    /// Lines of level information.
    public var information: UInt64
    /// Lines of level verbose.
    public var verbose: UInt64

    /// Any number of each; none by default.
    public init(error: UInt64 = 0, warning: UInt64 = 0, information: UInt64 = 0, verbose: UInt64 = 0) {
        self.error = error
        self.warning = warning
        self.information = information
        self.verbose = verbose
    }

    /// All of them.
    public var total: UInt64 { error + warning + information + verbose }

    /// How many of a level.
    public subscript(level: LogLevel) -> UInt64 {
        get {
            switch level {
            case .error: error
            case .warning: warning
            case .information: information
            case .verbose: verbose
            }
        }
        set {
            switch level {
            case .error: error = newValue
            case .warning: warning = newValue
            case .information: information = newValue
            case .verbose: verbose = newValue
            }
        }
    }

    /// Adds, level by level.
    public static func += (left: inout LogLevelCounts, right: LogLevelCounts) {
        for level in LogLevel.allCases { left[level] += right[level] }
    }

    /// What is left of `left`, which has at least as many of each.
    static func -= (left: inout LogLevelCounts, right: LogLevelCounts) {
        for level in LogLevel.allCases { left[level] -= right[level] }
    }

    /// Most severe first, as in an index.
    package init(_ counts: [UInt64]) {
        self.init()
        for (level, count) in zip(LogLevel.allCases, counts) { self[level] = count }
    }

    /// Most severe first.
    package var list: [UInt64] { LogLevel.allCases.map { self[$0] } }
}

/// Why lines are not, or no longer, in a log store. Every line that passed the level is in the store or counted under
/// one of these, but for what a process that was killed had not handed to the kernel yet.
public enum LogDropReason: String, CaseIterable, Comparable, Sendable {
    /// The store was over its limit in bytes, or the ring over its own: oldest segment first.
    case sizeCap = "size-cap"
    /// The segment was older than lines are kept.
    case ageCap = "age-cap"
    /// Somebody deleted them, or the files under a running program.
    case deleted
    /// A process died while the line was being written.
    case torn
    /// The disk or a quota was full.
    case diskFull = "disk-full"
    /// The directory could not be written for another reason: read-only, not there, not ours.
    case unwritable
    /// Lines came faster than the disk took them, and the memory for waiting lines was full.
    case overload

    /// In the order of this list.
    public static func < (left: LogDropReason, right: LogDropReason) -> Bool { left.position < right.position }

    private var position: Int { Self.allCases.firstIndex(of: self)! }
}

/// Lines that could not be written by this process: what has to be counted in the store's state yet, and what has to be
/// told in the log.
struct LossLedger: Sendable {
    private(set) var unsaved: StoreState.Dropped = [:]
    private(set) var untold: StoreState.Dropped = [:]
    /// What went wrong last; `nil` once it went well again.
    var failure: LogStoreError?

    mutating func count(_ level: LogLevel, as reason: LogDropReason) {
        var counts = LogLevelCounts()
        counts[level] = 1
        self.count(counts, as: reason)
    }

    mutating func count(_ counts: LogLevelCounts, as reason: LogDropReason) {
        guard counts.total > 0 else { return }
        unsaved[reason, default: LogLevelCounts()] += counts
        untold[reason, default: LogLevelCounts()] += counts
    }

    mutating func saved() { unsaved = [:] }

    mutating func told() { untold = [:] }

    /// The line that tells of it, from its category on.
    var note: [UInt8]? {
        guard !untold.isEmpty else { return nil }
        var total = LogLevelCounts()
        for counts in untold.values { total += counts }
        var fields = LogLevel.allCases.map { (key: $0.name, value: total[$0]) }.filter { $0.value > 0 }
        fields += untold.map { (key: $0.key.rawValue, value: $0.value.total) }
        let text = fields.sorted { $0.key < $1.key }.map { "\($0.key)=\($0.value)" }.joined(separator: " ")
        return Array("\(Self.category) lines lost\t\(text)".utf8)
    }

    private static let category = "log.store"
}
