import Logging
import Synchronization
import WireModel

/// How much the data sampler logs about itself. Each level includes all more severe ones.
public enum TraceLevel: String, CaseIterable, Codable, Sendable {
    /// Nothing at all.
    case off
    /// Failures that need a person.
    case error
    /// Failures as above, and problems that recover by themselves.
    case warning
    /// All of the above, and ordinary events.
    case information
    /// All of the above, and every step.
    case verbose

    /// Reads a level's name. `info` and `debug` mean `information` and `verbose`. `nil` for any other text.
    public init?(name: String) {
        switch name.lowercased() {
        case "info": self = .information
        case "debug": self = .verbose
        case let name: self.init(rawValue: name)
        }
    }

    /// The logger with this level. For ``off``, one that drops everything.
    package func applied(to logger: Logger) -> Logger {
        var logger = self == .off ? Logger(label: logger.label, factory: { _ in SwiftLogNoOpLogHandler() }) : logger
        logger.logLevel = logLevel
        return logger
    }

    /// The least severe level that is shown. For ``off`` the caller must drop the rest.
    var logLevel: Logger.Level {
        switch self {
        case .off, .error: .error
        case .warning: .warning
        case .information: .info
        case .verbose: .trace
        }
    }
}

/// The present trace level: the configured one, or a command's temporary one.
final class TraceSwitch: Sendable {
    private struct State {
        var configured: TraceLevel
        var level: TraceLevel?
        var least: TraceLevel?
    }

    private let state: Mutex<State>

    init(_ configured: TraceLevel) { state = Mutex(State(configured: configured)) }

    var level: TraceLevel {
        let (configured, level, least) = state.withLock { ($0.configured, $0.level, $0.least) }
        return [level ?? configured, least ?? .off].max { $0.verbosity < $1.verbosity } ?? configured
    }

    /// - Parameters:
    ///   - level: `nil` returns to the configured level.
    ///   - least: at least this level is shown; `nil` for no minimum.
    func change(to level: TraceLevel?, least: TraceLevel?) { state.withLock { ($0.level, $0.least) = (level, least) } }

    /// The configuration changed. A command's level stays in force.
    func configure(_ level: TraceLevel) { state.withLock { $0.configured = level } }

    /// A logger that shows what this switch admits.
    func logger(over base: Logger) -> Logger {
        var base = base
        base.logLevel = .trace
        return Logger(label: base.label) { [base] _ in SwitchedLogHandler(base: base, switch: self) }
    }
}

/// Passes on what a `TraceSwitch` admits.
private struct SwitchedLogHandler: LogHandler {
    var base: Logger
    let `switch`: TraceSwitch

    var logLevel: Logger.Level {
        // A copy of the logger cannot have its own level; only the switch decides.
        get { `switch`.level.logLevel }
        set {}
    }

    var metadata: Logger.Metadata = [:]

    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { metadata[key] }
        set { metadata[key] = newValue }
    }

    func log(event: LogEvent) {
        guard `switch`.level != .off else { return }
        base.log(
            level: event.level, event.message, metadata: metadata.merging(event.metadata ?? [:]) { _, own in own },
            source: event.source, file: event.file, function: event.function, line: event.line)
    }
}

extension TraceLevel {
    fileprivate var verbosity: Int { Self.allCases.firstIndex(of: self) ?? 0 }

    init?(_ level: WireLogLevel) {
        switch level {
        case .error: self = .error
        case .warning: self = .warning
        case .information: self = .information
        case .verbose: self = .verbose
        case .unspecified, .UNRECOGNIZED: return nil
        }
    }
}
