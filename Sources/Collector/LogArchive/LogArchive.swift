import FoundationEssentials
import Logging
import RecordStore
import Registry
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
        /// Below so many free bytes no chunk is accepted: logs must not use the last room of records.
        package var leastFreeBytes: UInt64 = 256 << 20

        package init() {}
    }

    package let metadata: MetadataService
    let chunks: any ChunkStore
    private let leastFreeBytes: UInt64
    private let lock: FileLock?
    /// Chunks are inflated and written on a few queues, one device's always on the same. A disk gains nothing from
    /// more; over a network most of the time is waiting.
    private let writers: [ChunkWriter]
    /// Deletes, so that no device waits behind it.
    let remover = ChunkWriter(label: "remover")
    /// Chunks that are being put. In a store of one collector, the same chunk in a second request would replace bytes
    /// that are indexed already.
    private let beingPut = Mutex<Set<ChunkKey>>([])

    private struct ChunkKey: Hashable {
        var device: DeviceID
        var upload: UploadID
        var number: Int
    }

    /// The most chunks that wait for a shared store, in memory. If its network is slow, devices that send records must
    /// still find places for their requests.
    private static let maximumWaiting = 64
    /// An attempt at a chunk in a shared store must be registered so soon after it began.
    static let attemptSeconds: Int64 = 3600
    /// Attempts that are not registered are removed from a shared store at this age. It is far above `attemptSeconds`,
    /// so no attempt is removed that another collector may still register.
    package static let leftoverAge: Duration = .seconds(86_400)

    /// Opens the archive, and removes what an earlier process left unfinished in a directory. A shared store is not
    /// touched: it need not answer now, and others may use it; `cleanUp` removes leftovers there.
    /// - Parameter chunks: `nil`: the data directory's.
    /// - Throws: `.inUse` where another collector holds it, `.newerVersion`, `.corrupt`, `.diskFull`, `.io`.
    package static func open(
        metadata: MetadataService, chunks: (any ChunkStore)? = nil, configuration: Configuration = Configuration(),
        logger: Logger
    ) throws(StoreError) -> LogArchive {
        if let chunks, chunks.isShared {
            return LogArchive(metadata: metadata, chunks: chunks, configuration: configuration)
        }
        try metadata.directory.prepare()
        let lock = try DataDirectory.lock(metadata.directory.chunksLockPath)
        let archive = LogArchive(metadata: metadata, chunks: chunks, configuration: configuration, lock: lock)
        try archive.removeLeftovers(leastAge: .zero).log(to: logger)
        return archive
    }

    /// Beside the collector that holds the archive, for who deletes: locks order the two.
    package init(
        metadata: MetadataService, chunks: (any ChunkStore)? = nil, configuration: Configuration = Configuration(),
        lock: FileLock? = nil
    ) {
        self.metadata = metadata
        let chunks = chunks ?? DirectoryChunkStore(directory: metadata.directory)
        self.chunks = chunks
        writers = (0..<(chunks.isShared ? 16 : 4)).map { ChunkWriter(label: "\($0)") }
        self.lock = lock
        leastFreeBytes = configuration.leastFreeBytes
        metadata.logQuotas.set(configuration.quotas)
    }

    /// Sets the quotas that hold from now on.
    package func setQuotas(_ quotas: LogQuotas) { metadata.logQuotas.set(quotas) }

    // MARK: Bytes

    /// Keeps a chunk if its bytes are what the manifest says. A repeat changes nothing.
    /// - Parameter bytes: gzip members.
    package func store(
        _ bytes: Data, chunk number: Int, of upload: UploadID, from device: DeviceID
    ) async throws(UploadError) -> UploadStanding {
        let key = ChunkKey(device: device, upload: upload, number: number)
        let waiting = chunks.isShared ? Self.maximumWaiting : .max
        let refusal: String? = beingPut.withLock { beingPut in
            guard beingPut.count < waiting else { return "too many chunks are being stored. Try again." }
            return beingPut.insert(key).inserted ? nil : "another request is storing the chunk. Try again."
        }
        if let refusal { throw .store(StoreError(.overloaded, refusal)) }
        defer { beingPut.withLock { _ = $0.remove(key) } }
        let deadline =
            chunks.isShared ? SystemClock.bootMicroseconds() + Self.attemptSeconds * 1_000_000 : nil
        let expected: MetadataService.ExpectedChunk
        switch try await metadata.admit(number, of: upload, from: device) {
        case .already(let standing): return standing
        case .accept(let chunk): expected = chunk
        }
        if let free = chunks.freeBytes, free < leastFreeBytes {
            throw .store(
                StoreError(
                    .diskFull,
                    """
                    \(free) bytes are free; logs are accepted only with \(leastFreeBytes) free. Free disk space, or \
                    delete logs.
                    """
                ))
        }
        let path = expected.path(attempt: chunks.isShared ? .random(in: .min ... .max) : nil)
        let writer = writers[Int(truncatingIfNeeded: device.low % UInt64(writers.count))]
        let scan = try await writer.put(bytes, expected, at: path, in: chunks)
        do throws(UploadError) {
            let recorded = try await metadata.recordStored(
                number, of: upload, from: device, scan: scan, path: path, storedBytes: bytes.count, before: deadline)
            // Another collector was faster, or the device has deleted the chunk meanwhile.
            if !recorded.isKept { await writer.delete([path.text], in: chunks) }
            return recorded.standing
        } catch {
            // A failed commit may have reached the disk nevertheless.
            let isUnused =
                if chunks.isShared {
                    // Where that is not known, `cleanUp` decides later.
                    error.isRefusal
                } else {
                    (try? await metadata.isStored(number, of: upload, from: device)) == false
                }
            if isUnused { await writer.delete([path.text], in: chunks) }
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

    /// The place from which lines arrive that were not there yet.
    package func arrival() async throws(StoreError) -> LogArrival {
        try await metadata.readers.read { connection throws(StoreError) in
            LogArrival(run: try LogRunRows.next(connection))
        }
    }

    /// The place from which lines arrive that came since a time, microseconds since 1970 by the collector's clock.
    package func arrival(since time: Int64) async throws(StoreError) -> LogArrival {
        LogArrival(run: try await metadata.firstRun(receivedSince: time))
    }

    /// Lines that arrived since, in chunk after chunk. A line that had come before in another chunk comes again; its id
    /// shows it.
    /// - Parameters:
    ///   - start: from an earlier answer.
    ///   - limit: from 1 on.
    ///   - passesDamage: whether damaged bytes are passed over and counted, not thrown.
    package func lines(
        _ query: LogQuery, arrivedSince start: LogArrival, limit: Int, passesDamage: Bool = false
    ) async throws(StoreError) -> ArrivedLogLines {
        try await LogLinePager(metadata: metadata, chunks: chunks)
            .arrived(query, since: start, limit: limit, passesDamage: passesDamage)
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
    /// - Parameter isExact: reads text where the index does not say a line's bucket. Without it such lines are spread
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
        // What cannot be removed now is removed with the leftovers, as nothing refers to it.
        await remover.delete(forgotten.paths, in: chunks)
        return forgotten.deletion
    }

    /// Lets the archive go. The metadata service stays open.
    package func shutDown() { lock?.release() }
}

/// Looks at chunks and puts them, one at a time, off the cooperative pool.
actor ChunkWriter {
    private nonisolated let executor: BlockingExecutor

    nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }

    init(label: String) {
        executor = BlockingExecutor(label: "ws1.collector.chunks.\(label)")
    }

    /// - Returns: what the chunk holds.
    func put(
        _ bytes: Data, _ expected: MetadataService.ExpectedChunk, at path: ChunkPath, in chunks: any ChunkStore
    ) throws(UploadError) -> ChunkScan {
        let scan = try ChunkScan(bytes, rawBytes: expected.rawBytes, rawDigest: expected.rawDigest)
        do throws(StoreError) { try chunks.put(bytes, at: path) } catch { throw .store(error) }
        return scan
    }

    func removeLeftovers(of archive: LogArchive, leastAge: Duration) throws(StoreError) -> LogArchive.Leftovers {
        try archive.removeLeftovers(leastAge: leastAge)
    }

    func delete(_ paths: [String], in chunks: any ChunkStore) { for path in paths { chunks.delete(path) } }
}
