import ClickHouse
import ClickHouseTestKit
import ClusterRegistry
import CollectorMaintenance
import Foundation
import LogArchiveTestKit
import PostgreSQL
import PostgresTestKit
import RecordStore
import StoreTestKit
import Synchronization
import WireModel

@testable import ClusterMove
@testable import ClusterStore
@testable import ObjectStorage

/// An empty cluster on real servers: PostgreSQL, three replicas of ClickHouse, and a bucket.
final class TargetCluster: Sendable {
    let configuration: ClusterRecordStore.Configuration
    let registry: PostgresRegistry
    let storage: ObjectStorage
    let chunks: BucketChunkStore
    private let clickHouse: ClickHouseServers

    init() async throws {
        let server = try await PostgresServer.shared()
        clickHouse = try await ClickHouseServers.shared()
        let database = try await server.makeDatabase()
        var clickHouse = ClickHouseConfiguration(urls: self.clickHouse.urls)
        clickHouse.database = database.name
        clickHouse.queryTimeoutSeconds = 10
        var postgres = PostgresConfiguration(connectionString: database.connectionString)
        postgres.maximumConnections = 6
        configuration = ClusterRecordStore.Configuration(postgreSQL: postgres, clickHouse: clickHouse)
        _ = try await ClusterSetup(configuration, logger: quietLogger).run()
        registry = PostgresRegistry.ofOneCollector(
            try ClusterRecordStore.database(postgres, logger: quietLogger), name: database.name)
        try await registry.prepare(logger: quietLogger)
        let moto = try await MotoServer.shared()
        storage = try ObjectStorage(
            try ObjectStorageConfiguration(
                endpoint: moto.endpoint, region: "us-east-1", bucket: "move-\(UUID().uuidString.lowercased())",
                prefix: "",
                credentials: .given(
                    try ObjectStorageCredentials(
                        accessKeyID: moto.accessKeyID, secretAccessKey: moto.secretAccessKey))))
        _ = try await storage.requests.send(.init(.put, key: nil, subject: "creating a bucket"))
        chunks = BucketChunkStore(storage)
    }

    static func with(_ body: (TargetCluster) async throws -> Void) async throws {
        let cluster = try await TargetCluster()
        do { try await body(cluster) } catch {
            await cluster.remove()
            throw error
        }
        await cluster.remove()
    }

    private func remove() async {
        await registry.database.shutDown()
        await storage.shutDown()
        let name = configuration.clickHouse.database
        for replica in clickHouse.client.replicas {
            try? await clickHouse.client.execute("DROP DATABASE IF EXISTS \(name)", on: replica)
        }
    }

    func open(_ clock: ManualStoreClock) async throws -> ClusterRecordStore {
        try await ClusterRecordStore.open(configuration, clock: clock, logger: quietLogger)
    }

    /// Moves a directory in small groups.
    /// - Parameter end: where the move is ended, and at which time that point comes.
    @discardableResult
    func move(
        _ path: String, clock: ManualStoreClock, endingAt end: (point: MovePoint, time: Int)? = nil,
        report: @escaping @Sendable (MoveNews) -> Void = { _ in }
    ) async throws -> MoveReport {
        let source = try MoveSource.open(directory: path, clock: clock, logger: quietLogger)
        let times = Mutex(0)
        var move = ClusterMove(
            from: source, to: configuration, registry: registry, chunks: chunks, name: "test", clock: clock,
            logger: quietLogger
        ) { point throws(StoreError) in
            guard let end, end.point == point else { return }
            let time = times.withLock { times in
                times += 1
                return times
            }
            if time == end.time { throw StoreError(.io, "ended by the test") }
        }
        move.slicesTogether = 7
        do {
            let report = try await move.run(report)
            await source.close()
            return report
        } catch {
            await source.close()
            throw error
        }
    }
}
