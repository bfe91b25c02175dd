import TelemetryBasics

/// The failure of a command: a message for people and an exit code for scripts.
package struct CommandError: CodedError {
    package enum Code: Sendable {
        case failed
        /// A flag, a variable, a file or a value is invalid.
        case usage
        /// The cause may go away: a lock, a port in use, a full disk, a collector out of reach.
        case tryAgain
        /// The reader of the output has gone, as with `ws1log show | head`. This is no failure.
        case readerGone
    }

    package let code: Code
    /// What failed, where, and what to do.
    package let message: String
    package let cause: (any Error)?

    package init(_ code: Code, _ message: String, cause: (any Error)? = nil) {
        self.code = code
        self.message = message
        self.cause = cause
    }

    /// The exit code, taken from sysexits.h for all programs of this package.
    package var exitCode: Int32 {
        switch code {
        case .readerGone: 0
        case .failed: 1
        case .usage: 64
        case .tryAgain: 75
        }
    }
}
