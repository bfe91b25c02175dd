import WireModel

/// Numbers of lines by level.
public struct LogLevelCounts: Equatable, Sendable {
    /// Lines of level error.
    public var error: UInt64
    /// Lines of level warning.
    public var warning: UInt64
    /// Lines of level information.
    public var information: UInt64
    /// Lines of level verbose.
    public var verbose: UInt64

    /// Creates counts; by default there are none of any level.
    public init(error: UInt64 = 0, warning: UInt64 = 0, information: UInt64 = 0, verbose: UInt64 = 0) {
        self.error = error
        self.warning = warning
        self.information = information
        self.verbose = verbose
    }

    /// The sum over all levels.
    public var total: UInt64 { error + warning + information + verbose }

    /// The number of lines of one level.
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

    /// Adds the counts level by level.
    public static func += (left: inout LogLevelCounts, right: LogLevelCounts) {
        for level in LogLevel.allCases { left[level] += right[level] }
    }

    /// Subtracts level by level. `left` must have at least as many lines of each level.
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

/// Why a line is not, or no longer, in a log store. Every line that passed the level is in the store or counted under
/// one of these reasons. The exception: lines that a killed process had not handed to the kernel yet.
public enum LogDropReason: String, CaseIterable, Comparable, Sendable {
    /// The store or the ring exceeded its limit in bytes; the oldest segment goes first.
    case sizeCap = "size-cap"
    /// The segment was older than the maximum age.
    case ageCap = "age-cap"
    /// Somebody deleted the lines, or removed the files while the program ran.
    case deleted
    /// A process died while it wrote the line.
    case torn
    /// The disk or a quota was full.
    case diskFull = "disk-full"
    /// The directory could not be written for another reason: it is read-only, missing, or belongs to somebody else.
    case unwritable
    /// Lines came faster than the disk could write them, and the memory for waiting lines was full.
    case overload

    /// Sorts in the order of this list.
    public static func < (left: LogDropReason, right: LogDropReason) -> Bool { left.position < right.position }

    private var position: Int { Self.allCases.firstIndex(of: self)! }
}

/// Lines this process could not write: those not yet counted in the store's state, and those not yet reported in the
/// log.
struct LossLedger: Sendable {
    private(set) var unsaved: StoreState.Dropped = [:]
    private(set) var unreported: StoreState.Dropped = [:]
    /// The last failure; `nil` after a success.
    var failure: LogStoreError?

    mutating func count(_ level: LogLevel, as reason: LogDropReason) {
        var counts = LogLevelCounts()
        counts[level] = 1
        self.count(counts, as: reason)
    }

    mutating func count(_ counts: LogLevelCounts, as reason: LogDropReason) {
        guard counts.total > 0 else { return }
        unsaved[reason, default: LogLevelCounts()] += counts
        unreported[reason, default: LogLevelCounts()] += counts
    }

    mutating func saved() { unsaved = [:] }

    mutating func reported() { unreported = [:] }

    /// The line that reports the losses, from its category to its end.
    var note: [UInt8]? {
        guard !unreported.isEmpty else { return nil }
        var total = LogLevelCounts()
        for counts in unreported.values { total += counts }
        var fields = LogLevel.allCases.map { (key: $0.name, value: total[$0]) }.filter { $0.value > 0 }
        fields += unreported.map { (key: $0.key.rawValue, value: $0.value.total) }
        let text = fields.sorted { $0.key < $1.key }.map { "\($0.key)=\($0.value)" }.joined(separator: " ")
        return Array("\(Self.category) lines lost\t\(text)".utf8)
    }

    private static let category = "log.store"
}
