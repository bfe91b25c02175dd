import ClusterRegistry
import ClusterStore
import CommandKit
import Foundation
import LogArchive
import Logging
import ObjectStorage
import PostgreSQL
import RecordStore
import Registry
import Synchronization

/// The servers of a cluster. Safe to use from any task.
final class ClusterData: CollectorData {
    let settings: Settings
    /// Its connections belong to this object.
    let postgresRegistry: PostgresRegistry
    private let logger: Logger
    private let opened = Mutex<(storage: ObjectStorage?, records: ClusterRecordStore?)>((nil, nil))

    /// Opens no connection yet.
    init(_ settings: Settings, logger: Logger = .ofCommand) throws(StoreError) {
        self.settings = settings
        self.logger = logger
        postgresRegistry = PostgresRegistry(
            try ClusterRecordStore.database(
                settings.cluster.database(allowsPlaintext: settings.allowPlaintext), logger: logger),
            name: Self.registryName)
    }

    private static let registryName = "the registry in PostgreSQL"

    var registry: any Registry { postgresRegistry }
    var name: String { "the cluster" }

    func records() async throws -> any RecordStore {
        if let records = opened.withLock({ $0.records }) { return records }
        return try await open()
    }

    /// Opens the record store.
    /// - Parameters: as of `ClusterRecordStore.open`.
    func open(
        incidents: @escaping @Sendable (DeviceIncident, UInt64) -> Void = { _, _ in },
        observer: (any StoreObserver)? = nil
    ) async throws(StoreError) -> ClusterRecordStore {
        let store = try await ClusterRecordStore.open(
            settings.clusterRecords, incidents: incidents, logger: logger,
            observer: observer)
        opened.withLock { $0.records = store }
        return store
    }

    func chunks() throws -> any ChunkStore {
        let storage = try opened.withLock { opened in
            if let storage = opened.storage { return storage }
            let storage: ObjectStorage
            let configuration = try settings.cluster.storage(allowsPlaintext: settings.allowPlaintext)
            do throws(ObjectStorageError) { storage = try ObjectStorage(configuration) } catch {
                throw CommandError(.usage, error.message, cause: error)
            }
            opened.storage = storage
            return storage
        }
        return BucketChunkStore(storage)
    }

    /// - Throws: if a server does not answer, has settings that would lose data, or lacks tables.
    func check() async throws {
        try await requireUsable()
        let store = try await open()
        if case .notReady(let reason) = await store.readiness() { throw CommandError(.tryAgain, reason) }
        try await checkBucket()
    }

    /// - Throws: `.notFound` before `cluster init` of this version.
    func requireUsable() async throws(StoreError) {
        guard try await ClusterSetup.isUpToDate(postgresRegistry.database),
            try await postgresRegistry.prepare(isDryRun: true, logger: logger).isEmpty
        else {
            throw StoreError(.notFound, "the cluster's tables are not up to date. Run `ws1collector cluster init`.")
        }
    }

    /// - Throws: if the bucket cannot be reached or listed.
    func checkBucket() async throws {
        let configuration = try settings.cluster.storage(allowsPlaintext: settings.allowPlaintext)
        do throws(ObjectStorageError) {
            let storage = try ObjectStorage(configuration)
            do throws(ObjectStorageError) { try await storage.check() } catch {
                await storage.shutDown()
                throw error
            }
            await storage.shutDown()
        } catch { throw CommandError(error.code == .configuration ? .usage : .tryAgain, error.message, cause: error) }
    }

    func metadata() throws -> MetadataService {
        try registry.requireCollector()
        return try metadata { _ throws(StoreError) in
            throw StoreError(.notFound, "the cluster has no collector's data yet. Start `serve` once.")
        }.0
    }

    /// - Parameter deliver: as of `MetadataService.open`.
    func metadata(
        deliver: @Sendable (FirstStart) throws(StoreError) -> Void
    ) throws(StoreError) -> (MetadataService, created: FirstStart?) {
        try MetadataService.open(
            registry: registry, directory: settings.data, clock: SystemStoreClock(), logger: logger, deliver: deliver)
    }

    func removing<Value: Sendable>(
        _ work: @escaping @Sendable (any RecordStore) async throws -> Value
    ) async throws -> Value? {
        let store = try await records()
        let turn = try HousekeepingTurn(postgresRegistry, name: "a command", logger: logger)
        return try await turn.once { try await work(store) }
    }

    func close() async {
        let (storage, records) = opened.withLock { ($0.storage, $0.records) }
        await records?.shutDown()
        await storage?.shutDown()
        await postgresRegistry.database.shutDown()
    }
}
