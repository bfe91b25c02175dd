import CollectorAPI
import TelemetryBasics
import WireModel

extension CollectorClient {
    /// Bounds the memory that a list uses.
    private static let maximumChunks = 200_000
    /// Chunk ids in one request's URL.
    package static let idsPerRequest = 400
    private static let route = "/api/v1/logs"

    /// All chunks that may hold matching lines, newest first.
    /// - Throws: also if the list is empty and the collector does not know the device.
    package func chunks(_ query: LogQuery) async throws(CollectorClientError) -> [ChunkView] {
        var chunks: [ChunkView] = []
        var cursor: String?
        repeat {
            let paged = query.with("limit", "1000")
            let page: Page<ChunkView> = try await get(
                (cursor.map { paged.with("cursor", $0) } ?? paged).path(Self.route))
            for chunk in page.items {
                guard let fault = chunk.fault else { continue }
                throw CollectorClientError(
                    .failed,
                    "\(name) lists a chunk \(chunk.id.fromPeer) of \(fault), which no chunk has: its list is wrong")
            }
            chunks += page.items
            guard chunks.count <= Self.maximumChunks else {
                throw CollectorClientError(
                    .failed, "\(name) lists more than \(Self.maximumChunks) chunks: give --since or --until")
            }
            guard page.next == nil || page.next != cursor && !page.items.isEmpty else {
                throw CollectorClientError(.failed, "\(name) repeats a page of its list for ever")
            }
            cursor = page.next
        } while cursor != nil
        if chunks.isEmpty { try await requireDevice(query.scope) }
        return chunks
    }

    /// Those of these chunks that the collector still has.
    package func present(_ ids: [String]) async throws(CollectorClientError) -> Set<String> {
        var present: Set<String> = []
        for batch in ids.batches(of: Self.idsPerRequest) {
            let query = LogQuery(LogScope(ids: batch)).with("limit", "1000")
            let page: Page<ChunkView> = try await get(query.path(Self.route))
            present.formUnion(page.items.map(\.id))
        }
        return present
    }

    /// Deletes these chunks, in the two steps of the collector: it says what it would delete, then deletes exactly
    /// that.
    /// - Returns: how many chunks and lines were deleted.
    package func delete(_ ids: [String]) async throws(CollectorClientError) -> (chunks: Int, lines: UInt64) {
        var result: (chunks: Int, lines: UInt64) = (0, 0)
        for batch in ids.batches(of: Self.idsPerRequest) {
            let query = LogQuery(LogScope(ids: batch))
            let reported: LogDeletionView = try await delete(query.path(Self.route))
            // Others may have deleted some meanwhile; more than was agreed to it cannot be.
            guard !reported.deleted, reported.chunks <= batch.count, let word = reported.confirm else {
                throw CollectorClientError(
                    .failed,
                    """
                    \(name) would delete other chunks than it was asked to; \(CountText.of(result.lines, "line")) \
                    deleted
                    """
                )
            }
            guard reported.chunks > 0 else { continue }
            let done: LogDeletionView = try await delete(query.with("confirm", word).path(Self.route))
            result.chunks += min(max(0, done.chunks), batch.count)
            result.lines.addSaturating(done.lines)
        }
        return result
    }

    /// An empty answer may mean that the collector has no logs of the scope's device, or that it does not know the
    /// device: throws in the second case.
    package func requireDevice(_ scope: LogScope) async throws(CollectorClientError) {
        struct Known: Decodable {}
        guard let device = scope.device else { return }
        let _: Known = try await get("/api/v1/devices/\(device)")
    }
}

extension ChunkView {
    /// `.max` for more than can be counted.
    package var lines: UInt64 { ([otherLines ?? 0] + levels.list).saturatingSum }

    /// More of it cannot be in a chunk, however badly it is compressed.
    private static let maximumStoredBytes = LogLimits.chunkBytes + 1 << 20

    /// The fault because of which this is no chunk; `nil` for one that can be. Total: what a collector says is not
    /// believed where sums are made of it.
    fileprivate var fault: String? {
        if !(0...LogLimits.chunkBytes).contains(rawBytes) { return "\(rawBytes) bytes of text" }
        if !(0...Self.maximumStoredBytes).contains(storedBytes) { return "\(storedBytes) bytes stored" }
        // A line has one byte at least: its end.
        if lines > UInt64(rawBytes) { return "\(lines) lines in \(rawBytes) bytes of text" }
        return nil
    }
}

extension [String] {
    fileprivate func batches(of count: Int) -> [[String]] {
        stride(from: 0, to: self.count, by: count).map { Array(self[$0..<Swift.min($0 + count, self.count)]) }
    }
}
