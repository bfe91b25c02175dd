/// Why a command ended without having done what it was asked; ends the process with the exit code.
struct CommandError: Error, CustomStringConvertible, Equatable {
    /// The exit codes of every program of this package.
    enum Code: Int32, Sendable {
        case failed = 1
        /// Usage and configuration.
        case usage = 64
        /// Try again later: something else holds the data directory or the port.
        case tryAgainLater = 75
    }

    let code: Code
    /// What failed, on what, and what to do.
    let message: String

    /// What to do about a record file that cannot be read.
    static let damageRemedy = """
        A running collector replaces a damaged file by itself within seconds, keeping what can be proved: start it, and look again.
        """

    init(_ code: Code, _ message: String) {
        self.code = code
        self.message = message
    }

    var description: String { message }
}
