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
