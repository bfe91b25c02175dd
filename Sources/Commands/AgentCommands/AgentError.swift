import ControlSocket
import DataSampler
import LogStore

/// What a command failed at, for people, and the exit code for scripts.
struct AgentError: Error, Sendable, CustomStringConvertible {
    enum Code: String, Sendable {
        /// A flag, a variable, a file or a value is not what it must be.
        case usage
        /// A file that was named is not there, or cannot be read. Whether that is an error depends on whether it is
        /// needed.
        case notThere = "not-there"
        /// Something holds now that may not hold later: locked, disk full, collector out of reach.
        case tryAgain = "try-again"
        case failed
    }

    let code: Code
    /// What failed, on what, and what to do.
    let message: String
    let cause: (any Error)?

    init(_ code: Code, _ message: String, cause: (any Error)? = nil) {
        self.code = code
        self.message = message
        self.cause = cause
    }

    /// Sorts the library's errors by whether trying again can help.
    init(_ error: DataSamplerError) {
        let code: Code =
            switch error.code {
            case .invalidConfiguration, .invalidEvent, .invalidArgument, .invalidModule: .usage
            case .queueInUse, .queueFull, .notRunning, .profileNotChecked, .collector, .wipePending, .networkNotAllowed:
                .tryAgain
            default: .failed
            }
        self.init(code, error.message, cause: error)
    }

    /// What asking a running agent failed at.
    init(_ error: ControlError) {
        let code: Code =
            switch error.code {
            case .usage: .usage
            case .tryAgain: .tryAgain
            case .failed: .failed
            }
        self.init(code, error.message, cause: error)
    }

    /// Sorts the log store's errors likewise.
    init(_ error: LogStoreError) {
        let code: Code =
            switch error.code {
            case .invalid: .usage
            case .busy, .diskFull: .tryAgain
            default: .failed
            }
        self.init(code, error.message, cause: error)
    }

    /// As sysexits.h has them.
    var exitCode: Int32 {
        switch code {
        case .failed: 1
        case .usage, .notThere: 64
        case .tryAgain: 75
        }
    }

    var description: String { message }
}
