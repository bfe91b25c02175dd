import CollectorMaintenance
import FoundationEssentials
import LogArchive
import RecordStore
import TelemetryBasics

/// Puts the stored chunks of a data directory into a bucket, under the paths that their rows have.
///
/// Each chunk is read back and compared with the digest of the received bytes, so the copy is its own proof. A chunk
/// that the bucket already has is only compared.
struct ChunkMove: Sendable {
    struct Report: Equatable, Sendable {
        var chunks = 0
        var bytes: Int64 = 0
        /// Those of the chunks that an earlier move had put there.
        var found = 0
    }

    let source: MoveSource
    let store: any ChunkStore

    /// Most of the time is waiting for the network.
    private static let carriers = 8
    private static let chunksTogether = 256

    /// - Parameter progress: is called after some chunks.
    func run(progress: (Report) throws(StoreError) -> Void) async throws(StoreError) -> Report {
        let carriers = (0..<Self.carriers).map { _ in ChunkCarrier(source: source, store: store) }
        let there = try await carriers[0].paths()
        var report = Report()
        var last: Int64 = 0
        while true {
            let chunks = try await source.chunks(after: last, limit: Self.chunksTogether)
            guard let end = chunks.last else { return report }
            let results = await withTaskGroup(of: Result<Int, StoreError>.self) { group in
                for (place, carrier) in carriers.enumerated() {
                    let own = stride(from: place, to: chunks.count, by: carriers.count).map { chunks[$0] }
                    group.addTask { await carrier.carry(own, there) }
                }
                return await group.reduce(into: []) { $0.append($1) }
            }
            for result in results { report.found += try result.get() }
            report.chunks += chunks.count
            report.bytes += chunks.reduce(0) { $0 + Int64($1.bytes) }
            last = end.row
            try progress(report)
        }
    }
}

/// Carries one chunk at a time. Chunk stores block, so it has a thread of its own.
private actor ChunkCarrier {
    private let source: MoveSource
    private let store: any ChunkStore
    private nonisolated let executor = BlockingExecutor(label: "ws1.collector.move.chunks")

    nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }

    init(source: MoveSource, store: any ChunkStore) {
        self.source = source
        self.store = store
    }

    /// The paths of all chunks in the store.
    func paths() throws(StoreError) -> Set<String> {
        var paths: Set<String> = []
        try store.list { entry throws(StoreError) in
            if case .chunk(let path, _, _, _, _) = entry { paths.insert(path) }
        }
        return paths
    }

    /// - Parameter there: paths that the store had before.
    /// - Returns: how many chunks the store had already.
    func carry(_ chunks: [MoveSource.Chunk], _ there: Set<String>) -> Result<Int, StoreError> {
        var found = 0
        for chunk in chunks {
            do throws(StoreError) {
                if there.contains(chunk.path), try isStored(chunk) {
                    found += 1
                    continue
                }
                guard let path = ChunkPath(chunk.path) else {
                    throw StoreError(.corrupt, "the row of a chunk has the path \(chunk.path), which no chunk has.")
                }
                try store.put(try source.read(chunk), at: path)
                guard try isStored(chunk) else {
                    throw StoreError(
                        .corrupt,
                        "the bucket has other bytes of \(chunk.path) than were put there. Look at the storage.")
                }
            } catch { return .failure(error) }
        }
        return .success(found)
    }

    private func isStored(_ chunk: MoveSource.Chunk) throws(StoreError) -> Bool {
        do throws(StoreError) {
            return try store.read(chunk.path, 0..<chunk.bytes).map(chunk.isWhole) ?? false
        } catch {
            // Shorter than it should be.
            guard error.code == .corrupt else { throw error }
            return false
        }
    }
}
