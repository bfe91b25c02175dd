/// How to reach one PostgreSQL database, with the limits of the client.
///
/// The connection string is libpq's: `postgresql://user@host:5432/name?sslmode=verify-full` or
/// `host=... dbname=... sslmode=verify-full`. TLS comes from it (`sslmode`, `sslrootcert`, `sslcert`, `sslkey`). It may
/// list several hosts; each gets the whole connect timeout. The password comes from the string, from ``passwordFile``,
/// from its `passfile` or from the file that PGPASSFILE names. A pooler between client and server must keep sessions
/// (PgBouncer: `pool_mode=session`), because prepared statements and advisory locks belong to a session.
package struct PostgresConfiguration: Sendable, CustomStringConvertible, CustomDebugStringConvertible,
    CustomReflectable
{
    /// libpq's URI or `key=value` form. May have the password, so it is in no description.
    package var connectionString: String
    /// A file whose first line is the password, read for each new connection. It outranks the string's password.
    package var passwordFile: String?
    /// Whether a server on another machine may be reached without TLS, or without verifying who it is. Everybody on
    /// the way can then read and change marks and tokens.
    package var allowsPlaintext = false
    /// Connections of the pool; those of locks and listeners come in addition.
    package var maximumConnections: Int
    /// The timeout for one host: TCP, TLS and authentication together. A slow name server is not limited by it.
    package var connectTimeoutSeconds: Int
    /// The server ends a statement after this time. The client waits ``answerMarginSeconds`` longer.
    package var statementTimeoutSeconds: Int
    /// The server gives up waiting for one lock after this time.
    package var lockTimeoutSeconds: Int
    /// How long a caller waits for a free connection of the pool.
    package var acquireTimeoutSeconds: Int
    /// The server ends a transaction whose client has been silent for this time, so that a frozen collector does not
    /// keep its locks.
    package var idleInTransactionTimeoutSeconds: Int
    /// How much longer than the server's timeout the client waits for an answer, before it counts the server as frozen.
    package var answerMarginSeconds: Int
    /// Shown in `pg_stat_activity`.
    package var applicationName: String
    /// The client library, as dlopen(3) accepts it.
    package var library: String

    package init(
        connectionString: String, passwordFile: String? = nil, maximumConnections: Int = 8,
        connectTimeoutSeconds: Int = 5, statementTimeoutSeconds: Int = 20, lockTimeoutSeconds: Int = 10,
        acquireTimeoutSeconds: Int = 10, idleInTransactionTimeoutSeconds: Int = 30, answerMarginSeconds: Int = 3,
        applicationName: String = "ws1collector", library: String = "libpq.so.5"
    ) {
        self.connectionString = connectionString
        self.passwordFile = passwordFile
        self.maximumConnections = maximumConnections
        self.connectTimeoutSeconds = connectTimeoutSeconds
        self.statementTimeoutSeconds = statementTimeoutSeconds
        self.lockTimeoutSeconds = lockTimeoutSeconds
        self.acquireTimeoutSeconds = acquireTimeoutSeconds
        self.idleInTransactionTimeoutSeconds = idleInTransactionTimeoutSeconds
        self.answerMarginSeconds = answerMarginSeconds
        self.applicationName = applicationName
        self.library = library
    }

    /// A description without the connection string, which may have the password in more places than one can mask.
    package var description: String {
        "PostgreSQL as \(applicationName), at most \(maximumConnections) connections (connection string hidden)"
    }

    package var debugDescription: String { description }

    /// Hides the string from `dump` and from reflecting descriptions too.
    package var customMirror: Mirror { Mirror(self, children: ["description": description]) }
}

extension PostgresConfiguration {
    /// A server that does not answer is noticed after this time, also by the kernel.
    var answerTimeout: Duration { .seconds(statementTimeoutSeconds + answerMarginSeconds) }

    /// Throws `.configuration` for a limit that makes no sense.
    func validate() throws(PostgresError) {
        let limits: [(String, Int, ClosedRange<Int>)] = [
            ("maximumConnections", maximumConnections, 1...200),
            ("connectTimeoutSeconds", connectTimeoutSeconds, 1...3600),
            ("statementTimeoutSeconds", statementTimeoutSeconds, 1...86_400),
            ("lockTimeoutSeconds", lockTimeoutSeconds, 1...86_400),
            ("acquireTimeoutSeconds", acquireTimeoutSeconds, 1...3600),
            ("idleInTransactionTimeoutSeconds", idleInTransactionTimeoutSeconds, 1...86_400),
            ("answerMarginSeconds", answerMarginSeconds, 1...3600),
        ]
        for (name, value, range) in limits where !range.contains(value) {
            throw PostgresError(
                .configuration,
                "\(name) of PostgreSQL is \(value); it must be \(range.lowerBound) to \(range.upperBound).")
        }
    }
}
