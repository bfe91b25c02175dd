import FoundationEssentials
import Logging
import SQLite
import TelemetryBasics
import WireModel

/// The log archive over files and SQLite: chunks as they came below `<data>/chunks`, what is known of them in
/// `collector.sqlite` (`UploadCatalog` says how the two stay together).
package final class SQLiteLogArchive: LogArchive {
    package struct Configuration: Sendable {
        package var quotas = LogQuotas()
        /// Below so many free bytes no chunk is taken: logs must not take the last room from records.
        package var leastFreeBytes: UInt64 = 256 << 20

        package init() {}
    }

    private let configuration: Configuration
    private let files: ChunkFiles
    private let lock: FileLock
    let catalog: UploadCatalog
    /// Chunks are inflated and written on a few queues, one device's always on the same.
    private let writers = (0..<4).map { ChunkWriter(number: $0) }

    /// Opens the archive and removes what an earlier process left unfinished.
    /// - Throws: `.inUse` where another collector holds it, `.newerVersion`, `.corrupt`, `.diskFull`, `.io`.
    package static func open(
        directory: String, clock: any StoreClock, configuration: Configuration = Configuration(), logger: Logger
    ) throws(StoreError) -> SQLiteLogArchive {
        let directory = DataDirectory(path: directory)
        try directory.prepare()
        let lock = try DataDirectory.lock(directory.chunksLockPath)
        let files = ChunkFiles(directory: directory)
        let connection = try CollectorDatabase.open(directory)
        let leftovers = try files.removeLeftovers(kept: try UploadCatalog.keptPaths(connection)) {
            upload, number throws(StoreError) in
            try UploadCatalog.leftoverFate(upload, number, connection)
        }
        if leftovers.removed > 0 {
            logger.notice("files of unfinished chunks removed", metadata: ["store.files": "\(leftovers.removed)"])
        }
        if let first = leftovers.strangers.first {
            logger.warning(
                "there are files among the chunks that are not the collector's; they are left alone",
                metadata: ["store.files": "\(leftovers.strangers.count)", "store.file": "\(first)"])
        }
        if let first = leftovers.unknown.first {
            logger.error(
                "there are chunks of uploads that collector.sqlite does not know; they are left alone, and not listed",
                metadata: ["store.files": "\(leftovers.unknown.count)", "store.file": "\(first)"])
        }
        let catalog = UploadCatalog(
            connection: connection, files: files, quotas: configuration.quotas, clock: clock, logger: logger)
        return SQLiteLogArchive(configuration: configuration, files: files, lock: lock, catalog: catalog)
    }

    private init(configuration: Configuration, files: ChunkFiles, lock: FileLock, catalog: UploadCatalog) {
        self.configuration = configuration
        self.files = files
        self.lock = lock
        self.catalog = catalog
    }

    /// What is kept from now on.
    package func setQuotas(_ quotas: LogQuotas) async { await catalog.setQuotas(quotas) }

    package func begin(_ manifest: UploadManifest, from device: DeviceRow) async throws(UploadError) -> UploadStanding {
        try await catalog.begin(manifest, from: device)
    }

    package func standing(of upload: UploadID, from device: DeviceID) async throws(UploadError) -> UploadStanding {
        try await catalog.standing(of: upload, from: device)
    }

    package func store(
        _ bytes: Data, chunk number: Int, of upload: UploadID, from device: DeviceID
    ) async throws(UploadError) -> UploadStanding {
        let expected: UploadCatalog.Expected
        switch try await catalog.admit(number, of: upload, from: device) {
        case .already(let standing): return standing
        case .take(let chunk): expected = chunk
        }
        if let free = files.directory.disk?.freeBytes, free < configuration.leastFreeBytes {
            throw .store(
                StoreError(
                    .diskFull,
                    "\(free) bytes are free; logs are taken while \(configuration.leastFreeBytes) are. Free disk space, or delete logs."
                ))
        }
        let writer = writers[Int(truncatingIfNeeded: device.low % UInt64(writers.count))]
        let (scan, partial) = try await writer.write(bytes, expected, to: files)
        return try await catalog.commit(
            number, of: upload, from: device, scan: scan, storedBytes: bytes.count, partial: partial)
    }

    package func complete(
        _ upload: UploadID, gone: [UploadStanding.GoneChunk], from device: DeviceID
    ) async throws(UploadError) -> UploadStanding {
        try await catalog.complete(upload, gone: gone, from: device)
    }

    package func chunks(_ query: LogQuery, below id: Int64?, limit: Int) async throws(StoreError) -> ChunkPage {
        try await catalog.chunks(query, below: id, limit: limit)
    }

    package func content(_ query: LogQuery, as form: LogForm) async throws(StoreError) -> any LogContent {
        try LogReader(try await catalog.segments(query), of: query, as: form, catalog: catalog)
    }

    package func deletion(_ query: LogQuery) async throws(StoreError) -> LogDeletion {
        try await catalog.deletion(query)
    }

    package func delete(_ query: LogQuery, confirmation: String, by actor: AuditActor) async throws(StoreError)
        -> LogDeletion?
    {
        try await catalog.delete(query, confirmation: confirmation, by: actor)
    }

    package func usage(organization: String?) async throws(StoreError) -> [LogUsageRow] {
        try await catalog.usage(organization: organization)
    }

    package func uploads(of device: DeviceID, command: CommandID?, limit: Int) async throws(StoreError) -> [UploadRow] {
        try await catalog.uploads(of: device, command: command, limit: limit)
    }

    package func notices(organization: String?, below id: Int64?, limit: Int) async throws(StoreError) -> NoticePage {
        try await catalog.noticePage(organization: organization, below: id, limit: limit)
    }

    package func shutDown() async {
        await catalog.close()
        lock.release()
    }
}
