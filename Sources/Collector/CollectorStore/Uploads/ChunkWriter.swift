import FoundationEssentials

/// Looks at chunks and writes them, one at a time, off the cooperative pool.
actor ChunkWriter {
    private nonisolated let executor: BlockingExecutor

    nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }

    init(number: Int) {
        executor = BlockingExecutor(label: "ws1.collector.chunks.\(number)")
    }

    /// - Returns: what the chunk holds, and the synced file that waits for its name.
    func write(
        _ bytes: Data, _ expected: UploadCatalog.Expected, to files: ChunkFiles
    ) throws(UploadError) -> (scan: ChunkScan, partial: String) {
        let scan = try ChunkScan(bytes, rawBytes: expected.rawBytes, rawDigest: expected.rawDigest)
        do throws(StoreError) { return (scan, try files.write(bytes, for: expected.path)) } catch { throw .store(error) }
    }
}
