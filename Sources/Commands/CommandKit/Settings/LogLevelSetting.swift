import Logging
import WireModel

/// The programs' own logs have the levels of the log store, by the same names.
extension LogLevel {
    package init(_ level: Logger.Level) {
        self =
            switch level {
            case .trace, .debug: .verbose
            case .info, .notice: .information
            case .warning: .warning
            case .error, .critical: .error
            }
    }

    /// The least severe level of a logger that shows this one.
    package var loggerLevel: Logger.Level {
        switch self {
        case .verbose: .trace
        case .information: .info
        case .warning: .warning
        case .error: .error
        }
    }
}

extension SettingType where Value == LogLevel {
    package static let logLevel = SettingType(.choice(LogLevel.allCases.map(\.name)), text: \.name) {
        given throws(CommandError) in
        guard case .text(let text) = given.value, let level = LogLevel(name: text) else {
            throw given.wrong("one of \(LogLevel.allCases.map(\.name).joined(separator: ", "))")
        }
        return level
    }
}
