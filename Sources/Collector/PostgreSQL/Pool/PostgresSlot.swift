import Dispatch

/// A place in the pool: at most one connection, and the thread that its bodies run on.
final class PostgresSlot: @unchecked Sendable {  // The pool gives it to one user at a time.
    /// A queue of its own, so that a body may block without occupying a thread of the cooperative pool.
    let queue: DispatchQueue
    private let connector: PostgresConnector
    private var connection: PostgresConnection?

    init(number: Int, connector: PostgresConnector) {
        queue = DispatchQueue(label: "postgres-\(number)")
        self.connector = connector
    }

    func close() {
        connection?.close()
        connection = nil
    }

    /// Runs one transaction and leaves the slot with an idle connection or without one.
    /// - Throws: the body's error, or `mapping` of the client's. `.outcomeUnknown` only after COMMIT was sent.
    func run<T, E: Error>(
        readOnly: Bool, mapping: (PostgresError) -> E, _ body: (PostgresSession) throws(E) -> T
    ) throws(E) -> T {
        defer { if connection?.isIdle != true { close() } }
        let connection: PostgresConnection
        do throws(PostgresError) { connection = try begin(readOnly: readOnly) } catch { throw mapping(error) }
        let session = PostgresSession(connection, in: readOnly ? .readOnly : .readWrite)
        defer { session.end() }
        let value: T
        do throws(E) { value = try body(session) } catch {
            if session.hasEndedTransaction { throw mapping(Self.endedByBody) }
            rollBack(connection)
            throw error
        }
        session.end()
        do throws(PostgresError) {
            if readOnly { finishReading(connection) } else { try commit(session, connection) }
        } catch { throw mapping(error) }
        return value
    }

    /// Begins a transaction. A pooled connection that has died in the meantime is replaced, once.
    private func begin(readOnly: Bool) throws(PostgresError) -> PostgresConnection {
        let statement = readOnly ? "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY" : "BEGIN"
        if let pooled = connection, pooled.readPending() {
            do throws(PostgresError) {
                try pooled.command(statement)
                return pooled
            } catch {
                // A server that does not answer in time would not answer a new connection either.
                guard pooled.isBroken, !pooled.hasTimedOut else { throw error }
            }
        }
        close()
        let fresh = try connector.connect()
        connection = fresh
        try fresh.command(statement)
        return fresh
    }

    private func rollBack(_ connection: PostgresConnection) {
        // If it fails, the connection is closed, and that ends the transaction too.
        _ = try? connection.command("ROLLBACK")
    }

    /// Ends a transaction of reading, whose results are from one snapshot, whatever becomes of its end.
    private func finishReading(_ connection: PostgresConnection) {
        _ = try? connection.command("COMMIT")
    }

    /// Commits, and returns only if the server has said so without a doubt.
    private func commit(_ session: PostgresSession, _ connection: PostgresConnection) throws(PostgresError) {
        if session.hasEndedTransaction { throw Self.endedByBody }
        if connection.hasFailedTransaction {
            rollBack(connection)
            throw session.firstFailure ?? Self.rolledBack
        }
        // A loss that can be seen now is a loss before COMMIT.
        guard connection.readPending() else { throw session.firstFailure ?? connection.lost() }
        let warnings = connection.notices.warningCount
        let results: [PostgresResult]
        do throws(PostgresError) {
            results = try connection.command("COMMIT")
        } catch {
            // The server has said ERROR, and the session goes on: it has rolled back.
            if error.sqlState != nil, !connection.isBroken { throw error }
            connection.markBroken()
            throw error.asUnknownOutcome()
        }
        switch results.last?.commandTag {
        // A cancelled wait for the synchronous standby is only a warning: the commit is on this server alone and may
        // vanish with it. The texts are translated, and no other warning belongs to a COMMIT, so any of them counts.
        case "COMMIT" where connection.notices.warningCount == warnings: return
        case "COMMIT":
            let warning = connection.notices.lastWarning
            throw PostgresError(
                .outcomeUnknown,
                "COMMIT was answered with a warning, so a standby may lack it: \(warning?.message ?? "")",
                sqlState: warning?.sqlState)
        case "ROLLBACK": throw session.firstFailure ?? Self.rolledBack
        default:
            connection.markBroken()
            throw PostgresError(
                .outcomeUnknown,
                "COMMIT was answered with \"\(results.last?.commandTag ?? "")\", so its result is not known.")
        }
    }

    private static let rolledBack = PostgresError(
        .statement, "The transaction had failed, and PostgreSQL rolled it back instead of committing it.")

    private static let endedByBody = PostgresError(
        .outcomeUnknown, "A statement of the body ended the transaction, so what is committed is not known.")
}
