import Dispatch
import Logging

/// One PostgreSQL database with a small pool of connections.
///
/// Bodies run on threads of the pool that may block, one for each connection, and never on the cooperative pool. A body
/// must not ask the same database for another transaction while it runs: with all connections in use this would wait
/// for itself until the acquire timeout.
package final class PostgresDatabase: Sendable {
    let connector: PostgresConnector
    let pool: ConnectionPool
    /// Locks and listeners, which have connections of their own.
    let helpers = HelperRegistry()

    package var configuration: PostgresConfiguration { connector.configuration }

    /// Opens no connection yet.
    /// - Parameter check: runs on each new connection before anyone uses it. An error of it closes the connection and
    ///   goes to the caller who needed the connection.
    /// - Throws: `.configuration` if libpq is missing or the configuration is not valid.
    package init(
        _ configuration: PostgresConfiguration, logger: Logger,
        check: @escaping @Sendable (PostgresSession) throws(PostgresError) -> Void = { _ in }
    ) throws(PostgresError) {
        connector = try PostgresConnector(configuration: configuration, logger: logger, check: check)
        pool = ConnectionPool(connector: connector)
    }

    /// Another pool for the same database, with connections of its own and the same check. Its owner shuts it down.
    package func sibling(
        maximumConnections: Int, statementTimeoutSeconds: Int
    ) throws(PostgresError) -> PostgresDatabase {
        var configuration = configuration
        configuration.maximumConnections = maximumConnections
        configuration.statementTimeoutSeconds = min(statementTimeoutSeconds, configuration.statementTimeoutSeconds)
        return try PostgresDatabase(configuration, logger: connector.logger, check: connector.check)
    }

    /// Runs the body in one REPEATABLE READ READ ONLY transaction: all of its statements see the same snapshot.
    package func read<T: Sendable>(
        _ body: @escaping @Sendable (PostgresSession) throws(PostgresError) -> T
    ) async throws(PostgresError) -> T {
        try await read(mapping: { $0 }, body)
    }

    package func read<T: Sendable, E: Error>(
        mapping: @escaping @Sendable (PostgresError) -> E,
        _ body: @escaping @Sendable (PostgresSession) throws(E) -> T
    ) async throws(E) -> T {
        try await run(readOnly: true, mapping: mapping, body)
    }

    /// Runs the body in one transaction and returns when its COMMIT is known to have succeeded.
    ///
    /// The isolation level is the database's default. The body runs at most once. If a pooled connection turns out to
    /// be dead before the body has begun, the transaction begins anew on a fresh one.
    /// - Throws: `.outcomeUnknown` only if COMMIT was sent and not answered well. After any other error nothing was
    ///   committed. The body's own error is thrown as it is, after a rollback.
    @discardableResult
    package func transaction<T: Sendable>(
        _ body: @escaping @Sendable (PostgresSession) throws(PostgresError) -> T
    ) async throws(PostgresError) -> T {
        try await transaction(mapping: { $0 }, body)
    }

    @discardableResult
    package func transaction<T: Sendable, E: Error>(
        mapping: @escaping @Sendable (PostgresError) -> E,
        _ body: @escaping @Sendable (PostgresSession) throws(E) -> T
    ) async throws(E) -> T {
        try await run(readOnly: false, mapping: mapping, body)
    }

    /// ``transaction(mapping:_:)`` for a caller on a thread that may block, such as an actor on a `BlockingExecutor`.
    @discardableResult
    package func blockingTransaction<T, E: Error>(
        mapping: (PostgresError) -> E, _ body: (PostgresSession) throws(E) -> T
    ) throws(E) -> T {
        try runBlocking(readOnly: false, mapping: mapping, body)
    }

    /// ``read(mapping:_:)`` for a caller on a thread that may block.
    package func blockingRead<T, E: Error>(
        mapping: (PostgresError) -> E, _ body: (PostgresSession) throws(E) -> T
    ) throws(E) -> T {
        try runBlocking(readOnly: true, mapping: mapping, body)
    }

    /// Refuses callers with `.shutDown` from now on, ends locks and listeners, waits for running bodies, and closes all
    /// connections. Not to be called from a body.
    package func shutDown() async {
        helpers.endAll()
        await pool.shutDown()
        await helpers.waitUntilEmpty()
    }

    private func run<T: Sendable, E: Error>(
        readOnly: Bool, mapping: @escaping @Sendable (PostgresError) -> E,
        _ body: @escaping @Sendable (PostgresSession) throws(E) -> T
    ) async throws(E) -> T {
        let slot: PostgresSlot
        do throws(PostgresError) { slot = try await pool.acquire() } catch { throw mapping(error) }
        let result: Result<T, E> = await withCheckedContinuation { continuation in
            slot.queue.async {
                let result = Result { () throws(E) in
                    try slot.run(readOnly: readOnly, mapping: mapping, body)
                }
                self.pool.release(slot)
                continuation.resume(returning: result)
            }
        }
        return try result.get()
    }

    private func runBlocking<T, E: Error>(
        readOnly: Bool, mapping: (PostgresError) -> E, _ body: (PostgresSession) throws(E) -> T
    ) throws(E) -> T {
        let slot: PostgresSlot
        do throws(PostgresError) { slot = try pool.acquireBlocking() } catch { throw mapping(error) }
        defer { pool.release(slot) }
        return try slot.run(readOnly: readOnly, mapping: mapping, body)
    }
}
