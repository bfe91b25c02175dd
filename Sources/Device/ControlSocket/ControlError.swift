/// Why a running agent could not be asked, or said no.
package struct ControlError: Error, Sendable, CustomStringConvertible {
    package enum Code: Sendable {
        /// What was asked is not what it must be.
        case usage
        /// Something holds now that may not hold later.
        case tryAgain
        case failed
    }

    package let code: Code
    /// What failed, on what, and what to do.
    package let message: String

    package init(_ code: Code, _ message: String) {
        self.code = code
        self.message = message
    }

    package var description: String { message }
}
