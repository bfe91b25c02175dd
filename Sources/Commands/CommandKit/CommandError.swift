import TelemetryBasics

/// Why a command ended without having done what it was asked: words for people, an exit code for scripts.
package struct CommandError: CodedError {
    package enum Code: Sendable {
        case failed
        /// A flag, a variable, a file or a value is not what it must be.
        case usage
        /// Something holds now that may not hold later: a lock, a port, a full disk, a collector out of reach.
        case tryAgain
        /// Nobody reads the output any more, as with `ws1log show | head`: no failure.
        case readerGone
    }

    package let code: Code
    /// What failed, on what, and what to do.
    package let message: String
    package let cause: (any Error)?

    package init(_ code: Code, _ message: String, cause: (any Error)? = nil) {
        self.code = code
        self.message = message
        self.cause = cause
    }

    /// The exit codes of every program of this package, as sysexits.h has them.
    package var exitCode: Int32 {
        switch code {
        case .readerGone: 0
        case .failed: 1
        case .usage: 64
        case .tryAgain: 75
        }
    }
}
