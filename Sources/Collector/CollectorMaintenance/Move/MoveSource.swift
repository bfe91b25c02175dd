import Crypto
import FoundationEssentials
import LogArchive
import Logging
import RecordStore
import Registry
import SQLite
import SQLiteRecordStore
import TelemetryBasics
import WireModel

/// A data directory that moves to a cluster: everything in it, in an order that another store can import.
///
/// It is held as a serving collector holds it, so nothing changes while it is read. It reads on a queue of its own,
/// because that may last long.
package actor MoveSource {
    package nonisolated let path: String
    package nonisolated let collectorID: CollectorID
    /// Whether an earlier move has ended, or was about to.
    package nonisolated let moved: MovedMarker?

    private nonisolated let directory: DataDirectory
    private let locks: [FileLock]
    private let records: SQLiteRecordStore
    private let connection: Connection
    private let moving: MovingRecords
    private nonisolated let executor = BlockingExecutor(label: "ws1.collector.move")

    package nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }

    /// - Parameter exclusive: holds the directory until `close`, and brings it up to date as `serve` does. `false` is
    ///   for looking at it beside a running collector.
    /// - Throws: `.inUse` if a collector holds it, `.notFound`, `.newerVersion`, `.corrupt`, `.io`.
    package static func open(
        directory path: String, exclusive: Bool = true, clock: any StoreClock = SystemStoreClock(), logger: Logger
    ) throws(StoreError) -> MoveSource {
        let directory = DataDirectory(path: path)
        guard Paths.exists(directory.databasePath) else { throw .noCollector(path) }
        let moved = try MovedMarker.read(in: directory)
        var locks: [FileLock] = []
        if exclusive {
            locks.append(try DataDirectory.lock(directory.lockPath))
            try directory.prepare()
            locks.append(try DataDirectory.lock(directory.chunksLockPath))
        }
        // Both bring what is older up to date, which a directory that has moved is already.
        let writes = exclusive && moved == nil
        let records =
            writes
            ? try SQLiteRecordStore.open(directory: path, clock: clock, logger: logger)
            : try SQLiteRecordStore.openReading(directory: path)
        if writes { try CollectorDatabase.requireWhole(try CollectorDatabase.open(directory), in: directory) }
        guard let connection = try CollectorDatabase.openReading(directory),
            let collector = CollectorID(try CollectorDatabase.meta("collector_id", connection))
        else { throw .noCollector(path) }
        return MoveSource(
            directory, collector: collector, moved: moved, locks: locks, records: records, connection: connection)
    }

    private init(
        _ directory: DataDirectory, collector: CollectorID, moved: MovedMarker?, locks: [FileLock],
        records: SQLiteRecordStore, connection: sending Connection
    ) {
        path = directory.path
        self.directory = directory
        collectorID = collector
        self.moved = moved
        self.locks = locks
        self.records = records
        self.connection = connection
        moving = MovingRecords(connection, in: directory)
    }

    /// Proves that records and chunks are whole and unaltered.
    package nonisolated func verify() async throws(StoreError) -> VerifyReport {
        try await StoreVerifier(
            records: records, chunks: DirectoryChunkStore(directory: directory), registry: SQLiteRegistry(directory)
        ).verify()
    }

    // MARK: Records

    /// Record files with their sizes, oldest first.
    package nonisolated func partitions() async throws(StoreError) -> [PartitionList.Item] {
        try await records.partitions().kept
    }

    /// Days whose files retention has removed.
    package func removedDays(of stream: StreamName) throws(StoreError) -> [UTCDay] {
        try moving.removedDays(of: stream)
    }

    /// Each chain's state at the end of the removed files.
    package func removedChains(of stream: StreamName) throws(StoreError) -> [MovingChain] {
        try moving.removedChains(of: stream)
    }

    /// Every chain with its newest state, in the order of devices.
    package func chains(of stream: StreamName) async throws(StoreError) -> [MovingChain] {
        let partitions = try await partitions().map(\.partition).filter { $0.stream == stream }
        return try moving.chains(of: stream, in: partitions)
    }

    /// A partition's slices in the order of receipt.
    /// - Parameters:
    ///   - id: of the last slice before them; 0 for the first ones.
    ///   - bytes: the most bytes of records. The slice that exceeds them is still returned.
    package func slices(
        in partition: Partition, after id: Int64, count: Int, bytes: Int
    ) throws(StoreError) -> [MovingSlice] {
        try moving.slices(in: partition, after: id, count: count, bytes: bytes)
    }

    // MARK: Registry and logs

    /// A session that only reads `collector.sqlite`, for the thread that asks.
    package nonisolated func openRegistry() throws(StoreError) -> any RegistrySession {
        try SQLiteRegistry(directory).openReading()
    }

    /// A stored chunk of logs.
    package struct Chunk: Sendable {
        package var row: Int64
        package var path: String
        package var bytes: Int
        /// SHA-256 of the stored bytes.
        package var digest: Data

        /// Whether these are its bytes.
        package func isWhole(_ found: Data) -> Bool {
            found.count == bytes && Data(SHA256.hash(data: found)) == digest
        }
    }

    /// Chunks in the order of their rows.
    package func chunks(after row: Int64, limit: Int) throws(StoreError) -> [Chunk] {
        let sql = """
            SELECT row, path, stored_bytes, stored_digest FROM chunk WHERE fate = \(ChunkFate.stored.rawValue) \
            AND row > ?
            ORDER BY row LIMIT ?
            """
        return try StoreError.mapping(
            connection.rows(sql, row, limit) {
                Chunk(row: $0.int64(0), path: $0.string(1), bytes: $0.int(2), digest: $0.data(3))
            })
    }

    /// The number of stored chunks and their bytes.
    package func chunkTotals() throws(StoreError) -> (chunks: Int, bytes: Int64) {
        let sql = "SELECT count(*), coalesce(sum(stored_bytes), 0) FROM chunk WHERE fate = \(ChunkFate.stored.rawValue)"
        return try StoreError.mapping(connection.first(sql) { ($0.int(0), $0.int64(1)) } ?? (0, 0))
    }

    /// The chunk's bytes. It blocks.
    /// - Throws: `.corrupt` if they are missing, or not those that were received.
    package nonisolated func read(_ chunk: Chunk) throws(StoreError) -> Data {
        let found = try DirectoryChunkStore(directory: directory).read(chunk.path, 0..<chunk.bytes)
        guard let found, chunk.isWhole(found) else {
            throw StoreError(
                .corrupt, "chunks/\(chunk.path) is missing or altered. `ws1collector verify` tells more.")
        }
        return found
    }

    // MARK: End

    /// Refuses the directory to every later writer. The marker is on synced disk when it returns.
    package nonisolated func mark(_ marker: MovedMarker) throws(StoreError) { try marker.write(in: directory) }

    /// Lets the directory go.
    package func close() async {
        moving.close()
        await records.shutDown()
        for lock in locks { lock.release() }
    }
}
