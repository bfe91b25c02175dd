import Logging
import Synchronization

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
            level: event.level, event.message, metadata: metadata.merging(event.metadata ?? [:]) { _, own in own }, source: event.source,
            file: event.file, function: event.function, line: event.line)
    }
}

extension TraceLevel {
    fileprivate var verbosity: Int { Self.allCases.firstIndex(of: self) ?? 0 }
}
