import TelemetryBasics

/// A refusal by PostgreSQL, its client library or the connection.
///
/// A message has the server's main sentence and names of constraints. It never has the server's details, values of
/// parameters or the password, because values are personal data.
package struct PostgresError: CodedError {
    package enum Code: String, Sendable, CaseIterable {
        /// No connection, a timeout, or a server that starts, stops or has too many connections. Nothing was
        /// committed; the caller may try again.
        case unavailable
        /// A serialization failure, a deadlock or a lock timeout. Nothing was committed; a retry may pass.
        case conflict
        /// A unique, foreign key, not null, check or exclusion constraint. Nothing was committed.
        case constraint
        /// A COMMIT was sent and its result is not known. It may be durable, or never happen, or happen soon.
        case outcomeUnknown
        /// The server refuses the SQL or a parameter, or a result has another type. This is a defect.
        case statement
        /// The connection string, the password, TLS settings, a missing libpq, or wrong settings of the server.
        case configuration
        /// The check of a new connection refused the server, or a transaction that writes met a read-only server.
        case unexpectedServer
        /// The database was shut down in this process.
        case shutDown
    }

    package var code: Code
    package var message: String
    /// The server's five characters, such as `23505`; `nil` if the error does not come from the server.
    package var sqlState: String?
    /// The constraint that was violated, where the server names it.
    package var constraint: String?

    package init(_ code: Code, _ message: String, sqlState: String? = nil, constraint: String? = nil) {
        self.code = code
        self.message = message
        self.sqlState = sqlState
        self.constraint = constraint
    }
}

extension PostgresError {
    /// Nothing was committed, and the same may pass later.
    package var isRetryable: Bool { code == .unavailable || code == .conflict }

    static let shutDown = PostgresError(.shutDown, "The client of PostgreSQL was shut down.")

    /// The same failure, reported for a COMMIT.
    func asUnknownOutcome() -> PostgresError {
        PostgresError(
            .outcomeUnknown, "COMMIT was sent, and its result is not known: \(message)", sqlState: sqlState,
            constraint: constraint)
    }
}

extension PostgresError.Code {
    /// The meaning of a SQLSTATE that a statement was answered with.
    ///
    /// Source: PostgreSQL 15, Appendix A. Classes are the first two characters.
    init(sqlState: String, readOnly: Bool) {
        switch sqlState {
        case "40001", "40P01", "40000", "55P03": self = .conflict
        case "40002": self = .constraint
        // query_canceled: statement_timeout or an administrator.
        case "57014": self = .unavailable
        // read_only_sql_transaction: a standby, or a server that was set to read only.
        case "25006": self = readOnly ? .statement : .unexpectedServer
        // idle_in_transaction_session_timeout.
        case "25P03": self = .unavailable
        default:
            switch sqlState.prefix(2) {
            case "08", "53", "57", "58": self = .unavailable
            case "23": self = .constraint
            case "28": self = .configuration
            default: self = .statement
            }
        }
    }

    /// The meaning of a SQLSTATE that a connection attempt was answered with.
    init(connectState sqlState: String) {
        switch sqlState.prefix(2) {
        case "08", "53", "57", "58": self = .unavailable
        // 28 password or pg_hba.conf, 3D no such database, 42 no right or unknown setting, 22 bad setting.
        default: self = .configuration
        }
    }
}
