import CollectorTunables
import Dispatch
import Logging
import PostgreSQL
import RecordStore
import Registry
import TelemetryBasics

/// Informs one metadata service of what the other collectors of its registry have changed, and so keeps its lease
/// valid.
///
/// It reads the table `change` every second, and at once after a notification. Notifications may get lost: they only
/// make a change known earlier. It has a connection of its own and a queue of its own, so neither a busy pool nor the
/// service's writer delays it.
package actor RegistryFollower {
    private let service: MetadataService
    private let database: PostgresDatabase
    private let changes: ChangeTable
    private let logger: Logger
    /// The newest change that the service knows; `nil` before the first read.
    private var last: Int64?
    /// The last read failed, and that is logged.
    private var isFailing = false
    private nonisolated let executor = BlockingExecutor(label: "ws1.collector.registry.changes")

    package nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }

    /// A server that does not answer for this time is asked on a new connection.
    private static let statementTimeoutSeconds = 5

    /// Opens no connection yet. The owner runs it, or closes it.
    /// - Parameters:
    ///   - registry: that of the service.
    ///   - service: has one follower.
    package init(_ registry: PostgresRegistry, of service: MetadataService, logger: Logger) throws(StoreError) {
        do throws(PostgresError) {
            database = try registry.database.sibling(
                maximumConnections: 1, statementTimeoutSeconds: Self.statementTimeoutSeconds)
        } catch { throw StoreError(error) }
        changes = ChangeTable(session: PostgresRegistrySession(database, name: registry.name, isWriting: false))
        self.service = service
        self.logger = logger
    }

    /// Reads and applies what is new, until the task is cancelled. A failed read is logged, and the next one comes
    /// after the interval. It then closes the connections, so it runs once.
    /// - Throws: `.shuttingDown` once the registry has begun a new incarnation. The collector has to start again.
    ///
    /// After a cancellation it waits for a read that has begun: some seconds if the server does not answer.
    /// - Parameter interval: how often it reads without a notification.
    package nonisolated func run(every interval: Duration = Tunables.Cluster.followInterval) async throws(StoreError) {
        // One that waits stands for all.
        let (triggers, trigger) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
        let notifications = database.listen(to: [ChangeTable.channel])
        await withTaskGroup(of: Void.self) { group in
            group.addTask {
                for await _ in notifications {
                    trigger.yield()
                    try? await Task.sleep(for: Tunables.Cluster.followPause)
                }
            }
            group.addTask {
                while !Task.isCancelled {
                    trigger.yield()
                    try? await Task.sleep(for: interval)
                }
            }
            for await _ in triggers where await !readLogging() { break }
            group.cancelAll()
        }
        await close()
        if !Task.isCancelled { throw StoreError.newIncarnation }
    }

    /// Reads and applies what is new. The service's lease then counts from the begin of this call.
    package func read() throws(StoreError) {
        let begin = service.lease.now()
        let (news, newest) = try changes.read(after: last, in: service.incarnationID)
        try service.apply(news, from: changes.session)
        last = newest
        service.lease.renew(from: begin)
    }

    /// Ends its connections.
    package nonisolated func close() async { await database.shutDown() }

    /// - Returns: `false` if the registry has begun a new incarnation.
    private func readLogging() -> Bool {
        do throws(StoreError) {
            try read()
            if isFailing { logger.info("changes of the registry are known again") }
            isFailing = false
        } catch {
            if error.code == .shuttingDown { return false }
            if !isFailing {
                logger.warning(
                    "changes of the registry cannot be read, so nothing is answered from memory",
                    metadata: ["store.error": "\(error)"])
            }
            isFailing = true
        }
        return true
    }
}
