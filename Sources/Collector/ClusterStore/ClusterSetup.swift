import ClickHouse
import FoundationEssentials
import Logging
import PostgreSQL
import RecordStore

/// Makes the tables of a cluster's store in both systems, and brings them up to date.
package struct ClusterSetup: Sendable {
    private let configuration: ClusterRecordStore.Configuration
    private let logger: Logger

    package init(_ configuration: ClusterRecordStore.Configuration, logger: Logger) {
        self.configuration = configuration
        self.logger = logger
    }

    /// Brings both systems up to date. May be repeated, also by several at a time.
    /// - Parameter isDryRun: only reports.
    /// - Returns: what was done, or would be, for people. Empty if all is up to date.
    /// - Throws: `.internalFault` if PostgreSQL's settings would lose records; `.unavailable` if a server does not
    ///   answer.
    package func run(isDryRun: Bool = false) async throws(StoreError) -> [String] {
        var steps: [String] = []
        // Every request names a database, so one that exists is named until the store's has been created.
        var everyServers = configuration.clickHouse
        everyServers.database = "default"
        let client: ClickHouseClient
        do throws(ClickHouseError) {
            client = try ClickHouseClient(everyServers, logger: logger)
        } catch { throw StoreError(error) }
        let database = try ClusterRecordStore.database(configuration.postgreSQL, logger: logger)
        do throws(StoreError) {
            steps += try await makeClickHouse(client, isDryRun: isDryRun)
            steps += try await makePostgreSQL(database, isDryRun: isDryRun)
        } catch {
            await client.shutDown()
            await database.shutDown()
            throw error
        }
        await client.shutDown()
        await database.shutDown()
        return steps
    }

    private func makeClickHouse(_ client: ClickHouseClient, isDryRun: Bool) async throws(StoreError) -> [String] {
        let name = configuration.clickHouse.database
        let database = ClickHouseSQL.quoted(name)
        var steps: [String] = []
        do throws(ClickHouseError) {
            for replica in client.replicas {
                let databases = try await client.names(
                    "SELECT name FROM system.databases WHERE name = \(database)", on: replica)
                if databases.isEmpty {
                    steps.append("ClickHouse \(replica): create database \(name)")
                    if !isDryRun {
                        try await client.execute(
                            "CREATE DATABASE IF NOT EXISTS \(ClickHouseSQL.identifier(name))", on: replica)
                    }
                }
                let present = try await client.names(
                    "SELECT name FROM system.tables WHERE database = \(database)", on: replica)
                for table in SliceSchema.tables(in: name) + PeopleSchema.tables(in: name)
                where !present.contains(table.name) {
                    steps.append("ClickHouse \(replica): create table \(table.name)")
                    if !isDryRun { try await client.execute(table.statement, on: replica) }
                }
            }
            if !steps.isEmpty, !isDryRun { try await waitForQuorum(client) }
        } catch { throw StoreError(error) }
        return steps
    }

    /// A replica takes part some moments after its table was made.
    private func waitForQuorum(_ client: ClickHouseClient) async throws(ClickHouseError) {
        let database = ClickHouseSQL.quoted(configuration.clickHouse.database)
        let end = ContinuousClock.now + .seconds(60)
        var missing: Set<String> = []
        while ContinuousClock.now < end {
            missing = []
            for replica in client.replicas {
                missing.formUnion(
                    try await client.names(
                        """
                        SELECT table FROM system.replicas WHERE database = \(database)
                        AND (is_readonly OR active_replicas < \(configuration.quorum))
                        """, on: replica))
            }
            if missing.isEmpty { return }
            do { try await Task.sleep(for: .milliseconds(100)) } catch { break }
        }
        throw ClickHouseError(
            .unavailable,
            """
            fewer than \(configuration.quorum) replicas of \(missing.sorted().joined(separator: ", ")) became active \
            within 60 s.
            """
        )
    }

    /// Whether the record store's tables in PostgreSQL are those of this program.
    package static func isUpToDate(_ database: PostgresDatabase) async throws(StoreError) -> Bool {
        do throws(PostgresError) { return try await ChainSchema.current.pending(in: database).isEmpty } catch {
            throw StoreError(error)
        }
    }

    private func makePostgreSQL(_ database: PostgresDatabase, isDryRun: Bool) async throws(StoreError) -> [String] {
        let schema = ChainSchema.current
        do throws(PostgresError) {
            let done =
                try await isDryRun
                ? schema.pending(in: database) : schema.apply(to: database, logger: logger)
            var steps = done.map { "PostgreSQL: record store, \($0)" }
            if isDryRun { return steps }
            let isNew = try await database.transaction { session throws(PostgresError) in
                let facts = try PostgresServerFacts.read(session)
                return try session.execute(
                    """
                    INSERT INTO store (system_identifier, timeline, generation, is_open) VALUES ($1, $2, 1, true)
                    ON CONFLICT DO NOTHING
                    """, facts.systemIdentifier, facts.timeline) > 0
            }
            if isNew { steps.append("PostgreSQL: note this server as the store's") }
            return steps
        } catch { throw StoreError(error) }
    }
}

extension ClickHouseClient {
    /// A column of names.
    fileprivate func names(_ sql: String, on replica: ClickHouseReplica) async throws(ClickHouseError) -> Set<String> {
        var rows = try await query(sql, on: replica)
        var names: Set<String> = []
        while rows.next() { names.insert(try rows.string()) }
        return names
    }
}
