/// How severe a line is, most severe first. Cumulative: a level shows itself and all that is more severe. The same
/// everywhere: where a line is written, where the device filters a request, at the collector, and in a viewer.
///
/// Names and meaning are those of the Workspace ONE SDK's `AWLogLevel`.
public enum LogLevel: Int, CaseIterable, Comparable, Codable, Sendable {
    /// Something failed and needs somebody.
    case error = 1
    /// Something went wrong but mends itself, or will need somebody.
    case warning = 2
    /// What happens in the ordinary course.
    case information = 3
    /// Each step.
    case verbose = 4

    /// Reads a level by its name, in any case; `info` and `debug` are taken for `information` and `verbose`. `nil` for
    /// any other text.
    public init?(name: String) {
        switch name.lowercased() {
        case "error": self = .error
        case "warning": self = .warning
        case "information", "info": self = .information
        case "verbose", "debug": self = .verbose
        default: return nil
        }
    }

    /// In lower case, in full.
    public var name: String {
        switch self {
        case .error: "error"
        case .warning: "warning"
        case .information: "information"
        case .verbose: "verbose"
        }
    }

    /// Severe before less severe: a level shows every level that is less than or equal to it.
    public static func < (left: LogLevel, right: LogLevel) -> Bool { left.rawValue < right.rawValue }

    /// The letter in a line on disk.
    package var letter: UInt8 {
        switch self {
        case .error: UInt8(ascii: "E")
        case .warning: UInt8(ascii: "W")
        case .information: UInt8(ascii: "I")
        case .verbose: UInt8(ascii: "V")
        }
    }

    /// `nil` for a letter that is none of the four.
    package init?(letter: UInt8) {
        switch letter {
        case UInt8(ascii: "E"): self = .error
        case UInt8(ascii: "W"): self = .warning
        case UInt8(ascii: "I"): self = .information
        case UInt8(ascii: "V"): self = .verbose
        default: return nil
        }
    }

    /// `nil` for unspecified or unknown.
    package init?(_ wire: WireLogLevel) { self.init(rawValue: wire.rawValue) }

    package var wire: WireLogLevel { WireLogLevel(rawValue: rawValue) ?? .unspecified }
}

/// What kind of log a line belongs to.
public enum LogType: String, CaseIterable, Codable, Sendable {
    /// What programs say while they run.
    case application
    /// What is known of a session that ended by a crash.
    case crash

    /// `nil` for unspecified (all types) or unknown.
    package init?(_ wire: WireLogType) {
        switch wire {
        case .application: self = .application
        case .crash: self = .crash
        default: return nil
        }
    }

    package var wire: WireLogType {
        switch self {
        case .application: .application
        case .crash: .crash
        }
    }
}
