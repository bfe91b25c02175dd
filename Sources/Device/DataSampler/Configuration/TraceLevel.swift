import Logging
import Synchronization
import WireModel

/// How much the data sampler says of itself. Cumulative: a level shows itself and all that is more severe.
public enum TraceLevel: String, CaseIterable, Codable, Sendable {
    /// Nothing at all.
    case off
    /// What failed and needs somebody.
    case error
    /// And what went wrong but mends itself.
    case warning
    /// And what happens in the ordinary course.
    case information
    /// And each step.
    case verbose

    /// Reads a level by its name; `info` and `debug` are taken for `information` and `verbose`. `nil` for any other
    /// text.
    public init?(name: String) {
        switch name.lowercased() {
        case "info": self = .information
        case "debug": self = .verbose
        case let name: self.init(rawValue: name)
        }
    }

    /// The logger with this level set; one that drops everything for ``off``.
    package func applied(to logger: Logger) -> Logger {
        var logger = self == .off ? Logger(label: logger.label, factory: { _ in SwiftLogNoOpLogHandler() }) : logger
        logger.logLevel = logLevel
        return logger
    }

    /// The least severe level that is shown; for ``off`` somebody else has to drop the rest.
    var logLevel: Logger.Level {
        switch self {
        case .off, .error: .error
        case .warning: .warning
        case .information: .info
        case .verbose: .trace
        }
    }
}

/// How much the sampler says of itself now: as configured, or as a command asked for a while.
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
    ///   - level: `nil`: back to what was configured.
    ///   - least: no less than this, whatever the level; `nil`: none asked for.
    func change(to level: TraceLevel?, least: TraceLevel?) { state.withLock { ($0.level, $0.least) = (level, least) } }

    /// The configuration was changed; what a command asked for holds on.
    func configure(_ level: TraceLevel) { state.withLock { $0.configured = level } }

    /// A logger that says what this switch lets through.
    func logger(over base: Logger) -> Logger {
        var base = base
        base.logLevel = .trace
        return Logger(label: base.label) { [base] _ in SwitchedLogHandler(base: base, switch: self) }
    }
}

/// Passes on what a `TraceSwitch` lets through.
private struct SwitchedLogHandler: LogHandler {
    var base: Logger
    let `switch`: TraceSwitch

    var logLevel: Logger.Level {
        // A copy of the logger cannot have a level of its own: the switch is the only one.
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
            source: event.source,
            file: event.file, function: event.function, line: event.line)
    }
}

extension TraceLevel {
    fileprivate var verbosity: Int { Self.allCases.firstIndex(of: self) ?? 0 }
}

extension TraceLevel {
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
