import ClickHouse
import ClickHouseTestKit
import ClusterStore
import Foundation
import Logging
import PostgreSQL
import PostgresTestKit
import RecordStore
import StoreTestKit
import WireModel

/// A store's own databases on real servers, for one test.
final class ClusterTestBed: Sendable {
    let postgreSQL: PostgresTestDatabase
    let clickHouse: ClickHouseServers
    let configuration: ClusterRecordStore.Configuration
    let clock = ManualStoreClock()

    static let logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }

    /// - Parameters:
    ///   - clickHouse: servers of the test's own, if it breaks them.
    ///   - postgreSQL: likewise.
    ///   - port: where PostgreSQL is reached, if not directly.
    ///   - queryTimeoutSeconds: of ClickHouse.
    init(
        clickHouse servers: ClickHouseServers? = nil, postgreSQL server: PostgresServer? = nil, port: Int? = nil,
        queryTimeoutSeconds: Int = 5
    ) async throws {
        let replicas = if let servers { servers } else { try await ClickHouseServers.shared() }
        let database = if let server { server } else { try await PostgresServer.shared() }
        self.clickHouse = replicas
        postgreSQL = try await database.makeDatabase()
        var clickHouse = ClickHouseConfiguration(urls: replicas.urls)
        clickHouse.database = postgreSQL.name
        clickHouse.queryTimeoutSeconds = queryTimeoutSeconds
        var postgres = PostgresConfiguration(
            connectionString: port.map { [postgreSQL] in postgreSQL.connectionString(port: $0) }
                ?? postgreSQL.connectionString)
        postgres.maximumConnections = 6
        postgres.statementTimeoutSeconds = 5
        configuration = ClusterRecordStore.Configuration(postgreSQL: postgres, clickHouse: clickHouse)
        _ = try await ClusterSetup(configuration, logger: Self.logger).run()
    }

    /// Another collector's store over the same databases.
    func open() async throws -> ClusterRecordStore {
        try await ClusterRecordStore.open(configuration, clock: clock, logger: Self.logger)
    }

    /// Removes what ClickHouse has of the test. PostgreSQL's database is small.
    func remove() async {
        for replica in clickHouse.client.replicas {
            try? await clickHouse.client.execute("DROP DATABASE IF EXISTS \(postgreSQL.name)", on: replica)
        }
    }

    /// Runs the body with another store over the same databases.
    func withStore(
        _ configuration: ClusterRecordStore.Configuration, _ body: (ClusterRecordStore) async throws -> Void
    ) async throws {
        let store = try await ClusterRecordStore.open(configuration, clock: clock, logger: Self.logger)
        do { try await body(store) } catch {
            await store.shutDown()
            throw error
        }
        await store.shutDown()
    }

    /// Runs the body with a store.
    static func withStore(_ body: (ClusterTestBed, ClusterRecordStore) async throws -> Void) async throws {
        let bed = try await ClusterTestBed()
        let store = try await bed.open()
        do { try await body(bed, store) } catch {
            await store.shutDown()
            await bed.remove()
            throw error
        }
        await store.shutDown()
        await bed.remove()
    }
}

/// The cluster's store, as the conformance suite needs it.
final class ClusterEngine: RecordStoreEngine {
    private let bed: ClusterTestBed
    private(set) var store: any RecordStore
    /// Killed collectors. They are ended with the test.
    private var former: [any RecordStore] = []

    var clock: ManualStoreClock { bed.clock }

    init() async throws {
        bed = try await ClusterTestBed()
        store = try await bed.open()
    }

    /// Another collector goes on, and the former one says nothing any more.
    func crash() async throws {
        former.append(store)
        store = try await bed.open()
    }

    func restart() async throws {
        await store.shutDown()
        store = try await bed.open()
    }

    /// The disks are the servers'.
    func fillDisk() -> Bool { false }
    func freeDisk() {}

    func restored() -> (any RecordStore)? { nil }

    func close() async {
        for store in former + [store] { await store.shutDown() }
        await bed.remove()
    }
}
