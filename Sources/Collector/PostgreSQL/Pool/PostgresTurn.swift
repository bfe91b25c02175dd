import Dispatch

extension PostgresDatabase {
    /// Runs the body in turn: of all sessions that ask for the same key, one at a time runs its body. It waits for its
    /// turn as long as the configured lock timeout.
    ///
    /// The turn is an advisory lock of a transaction on a pooled connection. If that connection is lost, another turn
    /// may begin while the body still runs. So a turn may save work, but correctness must not depend on it.
    /// - Throws: `.conflict` if the turn did not come in time, `.unavailable`, `.shutDown`. Then the body has not
    ///   begun.
    package func inTurn<T: Sendable>(
        _ key: Int64, _ body: @Sendable () async -> T
    ) async throws(PostgresError) -> T {
        let ended = DispatchSemaphore(value: 0)
        let (beginnings, begun) = AsyncStream<PostgresError?>.makeStream(bufferingPolicy: .bufferingOldest(1))
        async let lock: Void = {
            do throws(PostgresError) {
                try await transaction { session throws(PostgresError) in
                    _ = try session.query("SELECT pg_advisory_xact_lock($1)", key)
                    begun.yield(nil)
                    // Blocks the connection's own thread, which may block.
                    ended.wait()
                }
            } catch { begun.yield(error) }
        }()
        var iterator = beginnings.makeAsyncIterator()
        if let error = await iterator.next() ?? nil {
            await lock
            throw error
        }
        let value = await body()
        ended.signal()
        await lock
        return value
    }
}
