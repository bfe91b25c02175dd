import LogArchive
import RecordStore
import Registry
import SQLiteRecordStore
import TelemetryBasics

/// Proves that a collector's data are whole and unaltered: the records through their store, then every chunk by the
/// digest of the received bytes. It only reads and acquires no lock, so it works beside a running collector.
package struct StoreVerifier: Sendable {
    private let records: any RecordStore
    private let chunks: any ChunkStore
    private let registry: any Registry

    package init(records: any RecordStore, chunks: any ChunkStore, registry: any Registry) {
        self.records = records
        self.chunks = chunks
        self.registry = registry
    }

    /// All of it in a data directory.
    package init(directory path: String) throws(StoreError) {
        let directory = DataDirectory(path: path)
        self.init(
            records: try SQLiteRecordStore.openReading(directory: path),
            chunks: DirectoryChunkStore(directory: directory), registry: SQLiteRegistry(directory))
    }

    /// - Throws: if the records or the registry cannot be read at all. Any other error is a finding.
    package func verify() async throws(StoreError) -> VerifyReport {
        let report = try await records.verify()
        return try await ChunkVerifier().check(chunks, registry, report)
    }
}

/// Reads chunks on a queue of its own, because a disk or a network may block it.
private actor ChunkVerifier {
    private nonisolated let executor = BlockingExecutor(label: "ws1.collector.verify")

    nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }

    /// - Returns: the report of the records, with what is found of the chunks.
    func check(
        _ chunks: any ChunkStore, _ registry: any Registry, _ former: VerifyReport
    ) throws(StoreError) -> VerifyReport {
        var report = former
        let session: any RegistrySession
        do throws(StoreError) { session = try registry.openReading() } catch {
            guard error.code == .notFound else { throw error }
            report.add(
                .init(
                    code: .missing, file: "collector.sqlite",
                    message: "it is missing or empty, so removed record files and logs cannot be checked."))
            return report
        }
        try ChunkVerification(chunks: chunks, session: session).check(&report)
        return report
    }
}
