import TelemetryBasics

/// Why a request to ClickHouse had no result.
///
/// Messages may contain the server's own text. That text can quote SQL, but never the rows of an insert.
package struct ClickHouseError: CodedError {
    package enum Code: String, Sendable {
        /// No replica answered, an answer took too long, or a server has too much to do. The same may succeed later.
        case unavailable
        /// The server refuses this request: it would refuse it again.
        case refused
        /// The table accepts no inserts on this replica at present, usually because it has lost ZooKeeper.
        case readOnly = "read-only"
        /// Something answered, but not as ClickHouse does; or rows ended in the middle of a value.
        case protocolViolation = "protocol-violation"
        /// The answer is longer than the caller allows.
        case answerTooLarge = "answer-too-large"
        /// The configuration, or a parameter of a query, is not valid.
        case configuration
        /// The client has been shut down.
        case shutDown = "shut-down"
    }

    package let code: Code
    /// The text for people: what failed, on which replica, and what to do.
    package let message: String
    /// The number of ClickHouse's exception, such as 60 for an unknown table; `nil` if no server said one.
    package let serverCode: Int?
    package let cause: (any Error)?

    package init(_ code: Code, _ message: String, serverCode: Int? = nil, cause: (any Error)? = nil) {
        self.code = code
        self.message = message
        self.serverCode = serverCode
        self.cause = cause
    }
}
