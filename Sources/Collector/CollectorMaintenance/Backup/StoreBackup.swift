import FoundationEssentials
import Glibc
import LogArchive
import Logging
import RecordStore
import Registry
import SQLite
import TelemetryBasics
import WireModel

/// Copies a data directory while a collector uses it.
///
/// It copies `collector.sqlite` first, then the record files, each as of one moment, then the chunks that the copied
/// `collector.sqlite` lists. So every history in the copy is whole, with or without the records that arrive during the
/// copy. If retention removes a record file during the copy, the copy begins anew, because neither the copied files nor
/// the copied baseline would have its marks. Chunks deleted during the copy are deleted in the copy, too.
package struct StoreBackup: Sendable {
    package struct Report: Equatable, Sendable {
        package var summary: BackupManifest.Summary
        /// Chunks whose files were missing before: `verify` reports them.
        package var missingChunks: Int
    }

    private let records: any RecordStore
    private let directory: DataDirectory
    private let output: DataDirectory
    private let clock: any StoreClock
    private let logger: Logger

    private static let attempts = 5

    /// - Throws: `.notFound` if the directory has no collector's data.
    package init(
        of records: any RecordStore, directory path: String, output: String, clock: any StoreClock, logger: Logger
    ) throws(StoreError) {
        self.records = records
        directory = DataDirectory(path: path)
        self.output = DataDirectory(path: output)
        self.clock = clock
        self.logger = logger
        guard Paths.exists(directory.databasePath) else { throw .noCollector(path) }
    }

    /// Everything is on disk when it returns. If it throws, it removes what it made.
    /// - Throws: `.conflict` if the output is not empty; `.overloaded` if retention removes files as fast as they are
    ///   copied; errors of the disk.
    package func write() async throws(StoreError) -> Report {
        let wasThere = Paths.exists(output.path)
        try DataDirectory.makeEmpty(output.path)
        do throws(StoreError) { return try await copied() } catch {
            // The next attempt may use the same output. An error here is ignored in favour of the first one.
            try? output.removeContent()
            if !wasThere { rmdir(output.path) }
            throw error
        }
    }

    private func copied() async throws(StoreError) -> Report {
        for _ in 0..<Self.attempts {
            if let report = try await attempt() { return report }
            logger.notice("a record file was removed during the backup, which begins again")
            try output.removeContent()
        }
        throw StoreError(
            .overloaded, "record files were removed during each of \(Self.attempts) attempts. Try again later.")
    }

    /// - Returns: `nil` if a record file was removed during the copy.
    private func attempt() async throws(StoreError) -> Report? {
        guard let live = try CollectorDatabase.openReading(directory) else { throw .noCollector(directory.path) }
        try output.prepare()
        var manifest = try BackupManifestWriter(directory: output.path)
        let at = clock.now()
        // One step is one moment, and keeps no writer waiting.
        try StoreError.mapping(live.backup(to: output.databasePath, pagesPerStep: 0))
        try manifest.write(try head(at: at))
        guard let files = try await records.backup(to: output.path) else { return nil }
        for file in files { try manifest.add(file) }
        let gone = try copyChunks(&manifest)
        let missing = try await forget(gone, live)
        guard let digest = try FileDigest.of(output.databasePath) else { throw .noCollector(output.path) }
        try manifest.add(BackupFile(path: "collector.sqlite", digest))
        try Files<StoreError>.sync(directory: output.path)
        try manifest.finish(in: output.path)
        return Report(summary: manifest.summary, missingChunks: missing)
    }

    private func head(at time: Int64) throws(StoreError) -> BackupManifest.Head {
        guard let connection = try CollectorDatabase.openReading(output) else { throw .noCollector(output.path) }
        func id(_ name: String) throws(StoreError) -> String {
            CollectorID(try CollectorDatabase.meta(name, connection))?.description ?? ""
        }
        return BackupManifest.Head(
            format: BackupManifest.format, collector: try id("collector_id"), incarnation: try id("incarnation_id"),
            at: time)
    }

    // MARK: Chunks

    /// - Returns: rows whose files were not there.
    private func copyChunks(_ manifest: inout BackupManifestWriter) throws(StoreError) -> [Int64] {
        guard let copy = try CollectorDatabase.openReading(output) else { throw .noCollector(output.path) }
        var gone: [Int64] = []
        var last: Int64 = 0
        var parent = ""
        while true {
            let chunks = try chunks(after: last, copy)
            guard let newest = chunks.last else { break }
            for chunk in chunks {
                let path = "chunks/\(chunk.path)"
                let directory = String(path.prefix(upTo: path.lastIndex(of: "/") ?? path.startIndex))
                if directory != parent {
                    if !parent.isEmpty { try Files<StoreError>.sync(directory: "\(output.path)/\(parent)") }
                    parent = directory
                    try Files<StoreError>.makeDirectory("\(output.path)/\(parent)", syncing: true)
                }
                if let digest = try FileDigest.copying("\(self.directory.path)/\(path)", to: "\(output.path)/\(path)") {
                    try manifest.add(BackupFile(path: path, digest))
                } else {
                    gone.append(chunk.row)
                }
            }
            last = newest.row
        }
        if !parent.isEmpty { try Files<StoreError>.sync(directory: "\(output.path)/\(parent)") }
        return gone
    }

    private func chunks(
        after row: Int64, _ connection: Connection
    ) throws(StoreError) -> [(row: Int64, path: String)] {
        let sql =
            "SELECT row, path FROM chunk WHERE fate = \(ChunkFate.stored.rawValue) AND row > ? ORDER BY row LIMIT 256"
        return try StoreError.mapping(connection.rows(sql, row) { ($0.int64(0), $0.string(1)) })
    }

    /// Deletes the chunks in the copy that were deleted during it.
    /// - Returns: the number of chunks that are missing without having been deleted.
    private func forget(_ gone: [Int64], _ live: Connection) async throws(StoreError) -> Int {
        var deleted: [Int64] = []
        for row in gone {
            let isKept = try StoreError.mapping(
                live.hasRow("SELECT 1 FROM chunk WHERE row = ? AND fate = \(ChunkFate.stored.rawValue)", row))
            if !isKept { deleted.append(row) }
        }
        guard !deleted.isEmpty else { return gone.count }
        let archive = LogArchive(
            metadata: try MetadataService.open(directory: output.path, clock: clock, logger: logger, exclusive: false).0
        )
        let result: Result<Void, StoreError>
        do throws(StoreError) {
            for start in stride(from: 0, to: deleted.count, by: 1000) {
                let query = LogQuery(withTest: true, chunks: Array(deleted[start..<min(start + 1000, deleted.count)]))
                let confirmation = try await archive.metadata.deletion(query).confirmation
                _ = try await archive.delete(query, confirmation: confirmation, by: .commandLine)
            }
            result = .success(())
        } catch { result = .failure(error) }
        await archive.metadata.close()
        try result.get()
        return gone.count - deleted.count
    }
}
