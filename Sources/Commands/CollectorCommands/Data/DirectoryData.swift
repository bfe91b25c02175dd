import CommandKit
import Foundation
import LogArchive
import Logging
import RecordStore
import Registry
import SQLiteRecordStore

/// The data directory of one collector.
struct DirectoryData: CollectorData {
    let directory: String
    let logger: Logger

    init(directory: String, logger: Logger = .ofCommand) {
        self.directory = directory
        self.logger = logger
    }

    var registry: any Registry { SQLiteRegistry(directory: directory) }
    var name: String { directory }

    func requireUsable() {}

    func records() throws -> any RecordStore { try SQLiteRecordStore.openReading(directory: directory) }

    func chunks() -> any ChunkStore { DirectoryChunkStore(directory: DataDirectory(path: directory)) }

    func metadata() throws -> MetadataService { try metadata(exclusive: false) }

    /// - Parameter exclusive: whether to refuse to work while a collector runs.
    func metadata(exclusive: Bool) throws -> MetadataService {
        guard FileManager.default.isReadableFile(atPath: "\(directory)/collector.sqlite") else {
            throw StoreError.noCollector(directory)
        }
        return try MetadataService.open(
            directory: directory, clock: SystemStoreClock(), logger: logger, exclusive: exclusive,
            deliver: { [directory] _ throws(StoreError) in throw .noCollector(directory) }
        ).0
    }

    func removing<Value: Sendable>(
        _ work: @escaping @Sendable (any RecordStore) async throws -> Value
    ) async throws -> Value? {
        let store: SQLiteRecordStore
        do throws(StoreError) {
            store = try SQLiteRecordStore.open(directory: directory, clock: SystemStoreClock(), logger: logger)
        } catch {
            guard error.code == .inUse else { throw error }
            return nil
        }
        let result: Result<Value, any Error>
        do { result = .success(try await work(store)) } catch { result = .failure(error) }
        await store.shutDown()
        return try result.get()
    }

    func close() {}
}
