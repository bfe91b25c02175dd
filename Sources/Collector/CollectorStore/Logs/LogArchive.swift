import FoundationEssentials
import Logging
import SQLite
import Synchronization
import TelemetryBasics
import WireModel

/// Keeps the bytes of chunks (`ChunkStore`) and their rows (`MetadataService`) together: stores, reads and deletes
/// chunks. The metadata service alone answers everything else about logs.
///
/// A call that changes something returns once the change is on synced disk, or throws and has changed nothing. Safe to
/// call from any number of tasks. The caller has checked who asks: a device by its credential, an organization by a
/// person's token.
package final class LogArchive: Sendable {
    package struct Configuration: Sendable {
        package var quotas = LogQuotas()
        /// Below so many free bytes no chunk is taken: logs must not take the last room from records.
        package var leastFreeBytes: UInt64 = 256 << 20

        package init() {}
    }

    package let metadata: MetadataService
    let chunks: any ChunkStore
    private let leastFreeBytes: UInt64
    private let lock: FileLock?
    /// Chunks are inflated and written on a few queues, one device's always on the same.
    private let writers = (0..<4).map { ChunkWriter(number: $0) }
    /// Chunks that are being put. The same chunk in a second request would take the place of bytes that are indexed
    /// already.
    private let beingPut = Mutex<Set<ChunkPath>>([])

    /// Opens the archive and removes what an earlier process left unfinished.
    /// - Parameter chunks: `nil`: the data directory's.
    /// - Throws: `.inUse` where another collector holds it, `.newerVersion`, `.corrupt`, `.diskFull`, `.io`.
    package static func open(
        metadata: MetadataService, chunks: (any ChunkStore)? = nil, configuration: Configuration = Configuration(),
        logger: Logger
    ) throws(StoreError) -> LogArchive {
        let lock = try DataDirectory.lock(metadata.directory.chunksLockPath)
        let archive = LogArchive(metadata: metadata, chunks: chunks, configuration: configuration, lock: lock)
        let leftovers = try archive.removeLeftovers()
        if leftovers.removed > 0 {
            logger.notice("files of unfinished chunks removed", metadata: ["store.files": "\(leftovers.removed)"])
        }
        if let first = leftovers.strangers.first {
            logger.warning(
                "unknown files among the chunks are left alone",
                metadata: ["store.files": "\(leftovers.strangers.count)", "store.file": "\(first)"])
        }
        if let first = leftovers.unknown.first {
            logger.error(
                "chunks of unknown uploads are left alone and not listed",
                metadata: ["store.files": "\(leftovers.unknown.count)", "store.file": "\(first)"])
        }
        return archive
    }

    /// Beside the collector that holds the archive, for who deletes: locks order the two.
    init(
        metadata: MetadataService, chunks: (any ChunkStore)? = nil, configuration: Configuration = Configuration(),
        lock: FileLock? = nil
    ) {
        self.metadata = metadata
        self.chunks = chunks ?? DirectoryChunkStore(directory: metadata.directory)
        self.lock = lock
        leastFreeBytes = configuration.leastFreeBytes
        metadata.logQuotas.set(configuration.quotas)
    }

    /// What is kept from now on.
    package func setQuotas(_ quotas: LogQuotas) { metadata.logQuotas.set(quotas) }

    // MARK: Bytes

    /// Keeps a chunk if its bytes are what the manifest says. A repeat changes nothing.
    /// - Parameter bytes: gzip members.
    package func store(
        _ bytes: Data, chunk number: Int, of upload: UploadID, from device: DeviceID
    ) async throws(UploadError) -> UploadStanding {
        let expected: MetadataService.ExpectedChunk
        switch try await metadata.admit(number, of: upload, from: device) {
        case .already(let standing): return standing
        case .take(let chunk): expected = chunk
        }
        if let free = chunks.freeBytes, free < leastFreeBytes {
            throw .store(
                StoreError(
                    .diskFull,
                    "\(free) bytes are free; logs are accepted only with \(leastFreeBytes) free. Free disk space, or delete logs."
                ))
        }
        guard beingPut.withLock({ $0.insert(expected.path).inserted }) else {
            throw .store(StoreError(.overloaded, "another request is storing the chunk. Try again."))
        }
        defer { beingPut.withLock { _ = $0.remove(expected.path) } }
        let writer = writers[Int(truncatingIfNeeded: device.low % UInt64(writers.count))]
        let scan = try await writer.put(bytes, expected, in: chunks)
        do throws(UploadError) {
            let noted = try await metadata.noteStored(
                number, of: upload, from: device, scan: scan, storedBytes: bytes.count)
            if !noted.isTaken { await writer.delete([expected.path.text], in: chunks) }
            return noted.standing
        } catch {
            // A failed commit may have reached the disk nevertheless.
            if (try? await metadata.isStored(number, of: upload, from: device)) == false {
                await writer.delete([expected.path.text], in: chunks)
            }
            throw error
        }
    }

    /// The lines that match a query, each once however often it was sent. Lines that arrive or are deleted during the
    /// call may be missing.
    package func content(_ query: LogQuery, as form: LogForm) async throws(StoreError) -> LogReader {
        try LogReader(try await metadata.segments(query), of: query, as: form, metadata: metadata, chunks: chunks)
    }

    // MARK: Lines

    /// A page of the lines that match a query, each once, in an order by time.
    /// - Parameters:
    ///   - start: an earlier page's `next`, of the same query and order; `nil` from the first line.
    ///   - limit: 1 to 1,000.
    /// - Throws: `.invalid` if more overlaps in time than one page may read; `.corrupt`, `.io`.
    package func lines(
        _ query: LogQuery, _ order: LogLineOrder, from start: LogLinePosition?, limit: Int
    ) async throws(StoreError) -> LogLinePage {
        try await LogLinePager(metadata: metadata, chunks: chunks).page(query, order, from: start, limit: limit)
    }

    /// From where lines arrive that are not there yet.
    package func arrival() async throws(StoreError) -> LogArrival {
        try await metadata.readers.read { connection throws(SQLiteError) in
            LogArrival(run: try LogRunRows.next(connection))
        }
    }

    /// Lines that arrived since, in chunk after chunk. A line that had come before in another chunk comes again; its
    /// id tells.
    /// - Parameters:
    ///   - start: from an earlier answer.
    ///   - limit: 1 to 1,000.
    package func lines(
        _ query: LogQuery, arrivedSince start: LogArrival, limit: Int
    ) async throws(StoreError) -> ArrivedLogLines {
        try await LogLinePager(metadata: metadata, chunks: chunks).arrived(query, since: start, limit: limit)
    }

    /// A line with those before and after it in the log of its device and application, of all types and levels.
    /// - Parameters:
    ///   - organization: the line's; `nil` for any.
    ///   - count: lines on each side, 1 to 1,000.
    /// - Returns: `nil` if the line is not stored.
    package func lines(
        around line: LogLineID, organization: String?, count: Int
    ) async throws(StoreError) -> LogLineContext? {
        let application = try await metadata.application(ofLine: line, organization: organization)
        guard let application, let predecessor = line.predecessor else { return nil }
        let query = LogQuery(
            organization: organization, device: line.device, application: application, withTest: true)
        let pager = LogLinePager(metadata: metadata, chunks: chunks)
        let later = try await pager.page(query, .oldest, from: .after(predecessor), limit: count + 1)
        guard later.lines.first?.id == line else { return nil }
        let earlier = try await pager.page(query, .newest, from: .after(line), limit: count)
        return LogLineContext(
            lines: earlier.lines.reversed() + later.lines, hasEarlier: earlier.next != nil,
            hasLater: later.next != nil, scannedBytes: earlier.scannedBytes + later.scannedBytes)
    }

    /// Counts the lines that match a query by level and time, each once.
    /// - Parameter isExact: reads text where the index does not tell a line's bucket. Without it such lines are spread
    ///   evenly over the time of their piece. A filter by words or categories reads text in any case.
    /// - Throws: `.invalid` if more may match than can be counted; `.corrupt`, `.io`.
    package func histogram(
        _ query: LogQuery, in buckets: LogBuckets, isExact: Bool
    ) async throws(StoreError) -> LogHistogram {
        try await LogHistogramCounter(metadata: metadata, chunks: chunks).count(query, in: buckets, isExact: isExact)
    }

    /// Deletes the chunks that `MetadataService.deletion` lists. A deleted chunk is not accepted again.
    /// - Parameters:
    ///   - confirmation: as `deletion` gave it. If the chunks have changed since, nothing is deleted and the answer is
    ///     `nil`.
    ///   - actor: for the audit trail of every organization that loses logs.
    package func delete(
        _ query: LogQuery, confirmation: String, by actor: AuditActor
    ) async throws(StoreError) -> LogDeletion? {
        let forgotten = try await metadata.forgetChunks(query, confirmation: confirmation, by: actor)
        guard let forgotten else { return nil }
        // What cannot be removed now is removed at the next start, as nothing refers to it.
        await writers[0].delete(forgotten.paths, in: chunks)
        return forgotten.deletion
    }

    /// Lets the archive go. The metadata service stays open.
    package func shutDown() { lock?.release() }

    // MARK: Leftovers

    /// The remains of a killed process, and chunks of unknown uploads.
    struct Leftovers {
        /// What was removed.
        var removed = 0
        /// Whole chunks of uploads that `collector.sqlite` has never heard of; they are left alone.
        var unknown: [String] = []
        /// Not ours, or not to be looked into; left alone.
        var strangers: [String] = []
    }

    /// Removes the remains of a killed process: unfinished files, and chunks that `collector.sqlite` does not keep.
    /// Files with other names are left alone.
    func removeLeftovers() throws(StoreError) -> Leftovers {
        let snapshot = MetadataSnapshot(directory: metadata.directory.path)
        let kept = try snapshot.keptChunks()
        var found = Leftovers()
        try chunks.list { entry throws(StoreError) in
            func remove(_ path: String) {
                if chunks.delete(path) { found.removed += 1 } else { found.strangers.append(path) }
            }
            switch entry {
            case .stranger(let path): found.strangers.append(path)
            case .unfinished(let path): remove(path)
            case .chunk(let path, _, _) where kept.contains(path): break
            case .chunk(let path, let upload, let number):
                switch try snapshot.fate(ofLeftover: number, of: upload) {
                case .awaited: break
                case .unknown: found.unknown.append(path)
                case .over: remove(path)
                }
            }
        }
        return found
    }
}

/// What is to become of a chunk's bytes that are not kept.
enum LeftoverFate {
    /// It may come again, and takes the place of these bytes then.
    case awaited
    /// Deleted, lost by its device, or of an upload that has ended.
    case over
    case unknown
}

/// Looks at chunks and puts them, one at a time, off the cooperative pool.
private actor ChunkWriter {
    private nonisolated let executor: BlockingExecutor

    nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }

    init(number: Int) {
        executor = BlockingExecutor(label: "ws1.collector.chunks.\(number)")
    }

    /// - Returns: what the chunk holds.
    func put(
        _ bytes: Data, _ expected: MetadataService.ExpectedChunk, in chunks: any ChunkStore
    ) throws(UploadError) -> ChunkScan {
        let scan = try ChunkScan(bytes, rawBytes: expected.rawBytes, rawDigest: expected.rawDigest)
        do throws(StoreError) { try chunks.put(bytes, at: expected.path) } catch { throw .store(error) }
        return scan
    }

    func delete(_ paths: [String], in chunks: any ChunkStore) { for path in paths { chunks.delete(path) } }
}
