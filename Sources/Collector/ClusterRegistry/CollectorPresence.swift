import CollectorTunables
import Logging
import PostgreSQL
import Synchronization

/// How many collectors share a registry now. A limit that each of them keeps for itself is divided by that number, so
/// that all together keep it.
///
/// ```
/// collector   run              name                   seen
///             16 hex digits    host-a 0.0.0.0:8420    12:00:00     written every 10 s
/// ```
///
/// A collector counts until it has ended in order, or has written nothing for
/// `Tunables.Cluster.presenceForgottenSeconds`. Safe to use from any thread.
package final class CollectorPresence: Sendable {
    private let database: PostgresDatabase
    private let run: String
    private let name: String
    private let interval: Duration
    private let logger: Logger
    private let known = Mutex(1)

    /// - Parameters:
    ///   - name: of this collector, for people.
    ///   - interval: other than a cluster's only in tests.
    package init(
        _ registry: PostgresRegistry, name: String, interval: Duration = Tunables.Cluster.presenceInterval,
        logger: Logger
    ) {
        database = registry.database
        run = String(UInt64.random(in: 0 ... .max), radix: 16)
        self.name = name
        self.interval = interval
        self.logger = logger
    }

    /// The count as of the last exchange with the registry; this collector is counted. At least 1.
    package var count: Int { known.withLock { $0 } }

    /// Informs the others of this collector until the task is cancelled, and then that it has ended.
    package func run() async {
        while !Task.isCancelled {
            do throws(PostgresError) {
                let count = try await exchange()
                known.withLock { $0 = max(count, 1) }
            } catch {
                // The number of a moment ago is the best there is.
                logger.debug("the number of collectors is not known now", metadata: ["error": "\(error)"])
            }
            try? await Task.sleep(for: interval)
        }
        // Whoever cannot say so is forgotten soon.
        _ = try? await database.transaction { [run] session throws(PostgresError) in
            try session.execute("DELETE FROM collector WHERE run = $1", run)
        }
    }

    private func exchange() async throws(PostgresError) -> Int {
        try await database.transaction { [run, name] session throws(PostgresError) in
            try session.execute(
                """
                INSERT INTO collector (run, name, seen) VALUES ($1, $2, \(ServerClock.now))
                ON CONFLICT (run) DO UPDATE SET seen = excluded.seen
                """, run, name)
            try session.execute(
                "DELETE FROM collector WHERE seen < \(ServerClock.now) - $1",
                Tunables.Cluster.presenceForgottenSeconds * 1_000_000)
            return try session.query("SELECT count(*) FROM collector")[0].int(0)
        }
    }
}
