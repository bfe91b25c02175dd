import CLibPQ
import Logging

/// The messages of the server beside its answers: notices and warnings of one connection.
///
/// Not `Sendable`: libpq calls the receiver on the thread that reads from the connection.
final class PostgresNotices {
    private let library: LibPQ
    private let logger: Logger
    /// Warnings since the connection was opened.
    private(set) var warningCount = 0
    /// The last warning's SQLSTATE and text.
    private(set) var lastWarning: (sqlState: String?, message: String)?
    /// The server said that it ends the session.
    private(set) var isTerminated = false

    init(library: LibPQ, logger: Logger) {
        self.library = library
        self.logger = logger
    }

    /// Receives the connection's notices from now on. The connection must be closed before this object goes.
    func attach(to connection: OpaquePointer) {
        let argument = Unmanaged.passUnretained(self).toOpaque()
        _ = library.call.setNoticeReceiver(
            connection,
            { argument, result in
                guard let argument, let result else { return }
                Unmanaged<PostgresNotices>.fromOpaque(argument).takeUnretainedValue().receive(result)
            }, argument)
    }

    private func receive(_ result: OpaquePointer) {
        let severity = library.field(.severity, of: result) ?? "NOTICE"
        let state = library.field(.sqlState, of: result)
        let message = library.field(.message, of: result) ?? ""
        switch severity {
        case "WARNING":
            warningCount += 1
            lastWarning = (state, message)
        case "ERROR", "FATAL", "PANIC": isTerminated = true
        default: break
        }
        logger.debug(
            "PostgreSQL sent a notice",
            metadata: [
                "postgres.severity": "\(severity)", "postgres.sqlstate": "\(state ?? "")",
                "postgres.message": "\(message)",
            ])
    }
}
