import CollectorClient
import ControlSocket
import LogStore
import TelemetryBasics
import WireModel

/// What a command failed at, for people, and the exit code for scripts.
struct LogCommandError: CodedError {
    enum Code: Sendable {
        case usage, tryAgain, failed
        /// Nobody reads the output any more, as with `ws1log show | head`: no failure.
        case readerGone
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

    /// Sorts the store's errors by whether trying again can help.
    init(_ error: LogStoreError) {
        let code: Code =
            switch error.code {
            case .invalid: .usage
            case .busy, .diskFull, .networkNotAllowed: .tryAgain
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

    /// What asking a collector failed at.
    init(_ error: CollectorClientError) {
        let code: Code =
            switch error.code {
            case .invalid: .usage
            case .tryAgain: .tryAgain
            case .failed: .failed
            }
        self.init(code, error.message, cause: error)
    }

    /// As sysexits.h has them.
    var exitCode: Int32 {
        switch code {
        case .readerGone: 0
        case .failed: 1
        case .usage: 64
        case .tryAgain: 75
        }
    }
}
