/// What the collector could not do outside of a request; a request's failure is a `Problem`.
package struct CollectorError: Error, Sendable, CustomStringConvertible {
    package enum Code: String, Sendable {
        /// A file or value that was configured cannot be used.
        case invalidConfiguration = "invalid-configuration"
        case io
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

    package var description: String { "\(code.rawValue): \(message)" }
}
