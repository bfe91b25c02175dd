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
    private let output: String
    private let recipients: [BackupRecipient]
    private let clock: any StoreClock
    private let logger: Logger

    private static let attempts = 5

    /// - Parameters:
    ///   - output: a directory, new or empty; with recipients, a file that does not exist.
    ///   - recipients: who can open the backup, at most 64; none: it is not encrypted.
    /// - Throws: `.notFound` if the directory has no collector's data.
    package init(
        of records: any RecordStore, directory path: String, output: String,
        encryptedTo recipients: [BackupRecipient] = [],
        clock: any StoreClock, logger: Logger
    ) throws(StoreError) {
        self.records = records
        directory = DataDirectory(path: path)
        self.output = output
        self.recipients = recipients
        self.clock = clock
        self.logger = logger
        guard Paths.exists(directory.databasePath) else { throw .noCollector(path) }
    }

    /// Everything is on disk when it returns. If it throws, it removes what it made.
    /// - Throws: `.conflict` if the output is in use; `.overloaded` if retention removes files as fast as they are
    ///   copied; `.inUse` if another encrypted backup is being written; errors of the disk.
    package func write() async throws(StoreError) -> Report {
        for _ in 0..<Self.attempts {
            let destination = try makeDestination()
            do throws(StoreError) {
                if let report = try await attempt(destination) { return report }
            } catch {
                destination.abandon()
                throw error
            }
            destination.abandon()
            logger.notice("a record file was removed or packed during the backup, which begins again")
        }
        throw StoreError(
            .overloaded,
            "record files were removed or packed during each of \(Self.attempts) attempts. Try again later.")
    }

    private func makeDestination() throws(StoreError) -> any BackupDestination {
        if recipients.isEmpty { return try BackupDirectory(output) }
        return try EncryptedBackupFile(output, of: directory, to: recipients)
    }

    /// - Returns: `nil` if a record file was removed during the copy.
    private func attempt(_ destination: any BackupDestination) async throws(StoreError) -> Report? {
        guard let live = try CollectorDatabase.openReading(directory) else { throw .noCollector(directory.path) }
        let copies = destination.directory
        let at = clock.now()
        // One step is one moment, and keeps no writer waiting.
        try StoreError.mapping(live.backup(to: copies.databasePath, pagesPerStep: 0))
        try destination.begin(try head(of: copies, at: at))
        let isWhole = try await records.backup(to: copies.path) { file throws(StoreError) in
            try destination.add(file)
        }
        guard isWhole else { return nil }
        let gone = try copyChunks(to: destination)
        let missing = try await forget(gone, in: copies, live)
        guard let digest = try FileDigest.of(copies.databasePath) else { throw .noCollector(copies.path) }
        try destination.add(BackupFile(path: "collector.sqlite", digest))
        return Report(summary: try destination.finish(), missingChunks: missing)
    }

    private func head(of copies: DataDirectory, at time: Int64) throws(StoreError) -> BackupManifest.Head {
        guard let connection = try CollectorDatabase.openReading(copies) else { throw .noCollector(copies.path) }
        func id(_ name: String) throws(StoreError) -> String {
            CollectorID(try CollectorDatabase.meta(name, connection))?.description ?? ""
        }
        return BackupManifest.Head(
            format: BackupManifest.format, collector: try id("collector_id"), incarnation: try id("incarnation_id"),
            at: time)
    }

    // MARK: Chunks

    /// - Returns: rows whose files were not there.
    private func copyChunks(to destination: any BackupDestination) throws(StoreError) -> [Int64] {
        let copies = destination.directory
        guard let copy = try CollectorDatabase.openReading(copies) else { throw .noCollector(copies.path) }
        var gone: [Int64] = []
        var last: Int64 = 0
        while true {
            let chunks = try chunks(after: last, copy)
            guard let newest = chunks.last else { return gone }
            for chunk in chunks where !(try destination.add("chunks/\(chunk.path)", from: directory)) {
                gone.append(chunk.row)
            }
            last = newest.row
        }
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
    private func forget(_ gone: [Int64], in copies: DataDirectory, _ live: Connection) async throws(StoreError) -> Int {
        var deleted: [Int64] = []
        for row in gone {
            let isKept = try StoreError.mapping(
                live.hasRow("SELECT 1 FROM chunk WHERE row = ? AND fate = \(ChunkFate.stored.rawValue)", row))
            if !isKept { deleted.append(row) }
        }
        guard !deleted.isEmpty else { return gone.count }
        let archive = LogArchive(
            metadata: try MetadataService.open(directory: copies.path, clock: clock, logger: logger, exclusive: false).0
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
