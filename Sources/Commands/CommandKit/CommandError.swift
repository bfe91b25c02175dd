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
    /// The text for people: what failed, where, and what to do.
    package let message: String
    package let cause: (any Error)?

    package init(_ code: Code, _ message: String, cause: (any Error)? = nil) {
        self.code = code
        self.message = message
        self.cause = cause
    }

    /// Creates the error for a failure of a running agent or a collector that was asked.
    package init<Failure: CodedError>(_ error: Failure) where Failure.Code == FailureCode {
        let code: Code =
            switch error.code {
            case .usage: .usage
            case .tryAgain: .tryAgain
            case .failed: .failed
            }
        self.init(code, error.message, cause: error)
    }

    /// Throws what was found wrong, so that a person can mend all of it before the next attempt.
    /// - Throws: the only one as it is, several as one with a line for each.
    package static func throwIfAny(_ mistakes: [CommandError]) throws(CommandError) {
        guard let first = mistakes.first else { return }
        guard mistakes.count > 1 else { throw first }
        throw CommandError(first.code, mistakes.map(\.message).joined(separator: "\n"), cause: first)
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
