import Logging

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

    /// Reads a level by its name; `info` and `debug` are taken for `information` and `verbose`. `nil` for any other text.
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
