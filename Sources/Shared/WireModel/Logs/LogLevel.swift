/// The severity of a line, most severe first. Levels are cumulative: a level includes all more severe ones. The meaning
/// is the same when a line is written, when the device filters a request, at the collector, and in a viewer.
///
/// The four levels and their meaning are documented (ws1); the numbers are ours.
public enum LogLevel: Int, CaseIterable, Comparable, Codable, Sendable {
    /// Something failed, and somebody must act.
    case error = 1
    /// Something went wrong, but it recovers by itself or somebody can act later.
    case warning = 2
    /// Ordinary events.
    case information = 3
    /// Each step.
    case verbose = 4

    /// Reads a level's name in upper or lower case. `info` and `debug` mean `information` and `verbose`. `nil` for any
    /// other text.
    public init?(name: String) {
        switch name.lowercased() {
        case "error": self = .error
        case "warning": self = .warning
        case "information", "info": self = .information
        case "verbose", "debug": self = .verbose
        default: return nil
        }
    }

    /// The full name in lower case.
    public var name: String {
        switch self {
        case .error: "error"
        case .warning: "warning"
        case .information: "information"
        case .verbose: "verbose"
        }
    }

    /// More severe levels come first. A level includes every level that is less than or equal to it.
    public static func < (left: LogLevel, right: LogLevel) -> Bool { left.rawValue < right.rawValue }

    /// The level's letter in a line on disk.
    package var letter: UInt8 {
        switch self {
        case .error: UInt8(ascii: "E")
        case .warning: UInt8(ascii: "W")
        case .information: UInt8(ascii: "I")
        case .verbose: UInt8(ascii: "V")
        }
    }

    /// `nil` if it is none of the four letters.
    package init?(letter: UInt8) {
        switch letter {
        case UInt8(ascii: "E"): self = .error
        case UInt8(ascii: "W"): self = .warning
        case UInt8(ascii: "I"): self = .information
        case UInt8(ascii: "V"): self = .verbose
        default: return nil
        }
    }

    /// `nil` if unspecified or unknown.
    package init?(_ wire: WireLogLevel) { self.init(rawValue: wire.rawValue) }

    package var wire: WireLogLevel { WireLogLevel(rawValue: rawValue) ?? .unspecified }
}

/// The kind of log a line belongs to.
public enum LogType: String, CaseIterable, Codable, Sendable {
    /// Lines that programs log while they run.
    case application
    /// The report of a session that ended by a crash.
    case crash

    /// `nil` if unspecified (all types) or unknown.
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
