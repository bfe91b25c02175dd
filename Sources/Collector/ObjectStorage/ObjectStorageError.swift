import TelemetryBasics

/// Why object storage did not do what it was asked.
package struct ObjectStorageError: CodedError {
    package enum Code: String, Sendable {
        /// The storage does not answer, or answers that it is overloaded or broken. The same may succeed later. Whether
        /// a change was made is not known.
        case unavailable
        /// The bucket does not exist. An object that does not exist is no error but `nil`.
        case notFound = "not-found"
        /// The storage does not accept the credentials, the signature, the clock or the request.
        case refused
        /// Bytes are not those that were stored, or an answer cannot be understood.
        case corrupt
        /// Settings that cannot work.
        case configuration
        /// The client was shut down, or the task was cancelled. Whether a change was made is not known.
        case shutDown = "shut-down"
    }

    package let code: Code
    /// The text for people: what failed, where, and what to do. Never a secret, and nothing that the storage says in
    /// its own words.
    package let message: String
    package let cause: (any Error)?

    package init(_ code: Code, _ message: String, cause: (any Error)? = nil) {
        self.code = code
        self.message = message
        self.cause = cause
    }
}
