import ArgumentParser
import CollectorMaintenance
import CommandKit
import Foundation
import Logging
import RecordStore
import SQLiteRecordStore
import TelemetryBasics

struct BackupCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "backup",
        abstract: "Copy all data of a collector while it runs, for `restore`.",
        discussion: """
            The backup is a directory of SQLite files and log chunks. The list of their digests (manifest.ndjson) is \
            written last, so a directory without it is no backup. The backup contains hashes of credentials and \
            everything that devices have sent: keep it as safe as the collector's own data. It does not contain tokens \
            and certificates that are kept in separate files.

            With --encrypt-to the backup is one encrypted file, and only owners of an identity can read it: see \
            `ws1collector backup-identity`. Nothing unencrypted is written where the file goes. Until a database is \
            encrypted, a copy of it is in the data directory (backup/), which needs room for collector.sqlite and for \
            the largest file of records.

            Examples:
              ws1collector backup --output /backup/2026-03-01
              ws1collector backup --output /backup/2026-03-01.ws1backup \
            --encrypt-to ws1backup1...
            """)

    @OptionGroup var data: DataOptions

    @Option(
        help: ArgumentHelp(
            "The backup's directory, new or empty; with --encrypt-to a file, which must not exist.", valueName: "path"))
    var output: String

    @Option(
        help: ArgumentHelp(
            """
            Encrypt the backup to this recipient, as `backup-identity` printed it. Give it several times, up to 64, \
            for several: each can open it alone.
            """, valueName: "recipient"))
    var encryptTo: [String] = []

    @Flag(help: "Print JSON.")
    var json = false

    /// PostgreSQL comes first: what it counts is in ClickHouse by then, and what it names is in the bucket.
    private static let backupOfCluster = """
        a cluster is backed up with the tools of its servers, in this order: first PostgreSQL, then ClickHouse, then \
        the bucket. After a restore of PostgreSQL run `ws1collector cluster recover --restored`. \
        Documentation/scale.md says more
        """

    func run() async throws {
        let logger = Logger.ofCommand
        let recipients = try encryptTo.map { text throws(StoreError) in try BackupRecipient(text) }
        let directory = try data.directory(otherwise: Self.backupOfCluster)
        let backup = try StoreBackup(
            of: try SQLiteRecordStore.openReading(directory: directory), directory: directory, output: output,
            encryptedTo: recipients, clock: SystemStoreClock(), logger: logger)
        let report = try await backup.write()
        if json {
            try Output.json(BackupView(report))
        } else {
            try Output.line(
                """
                \(CountText.of(report.summary.files, "file")), \(CountText.of(report.summary.bytes, "byte")) in \
                \(output).
                """
            )
        }
        if report.missingChunks > 0 {
            StandardError.line(
                """
                ws1collector: already missing: \(CountText.of(report.missingChunks, "log chunk")); `ws1collector \
                verify` lists them.
                """
            )
        }
    }
}

private struct BackupView: Encodable {
    var files: Int
    var bytes: Int64
    var missingChunks: Int

    init(_ report: StoreBackup.Report) {
        files = report.summary.files
        bytes = report.summary.bytes
        missingChunks = report.missingChunks
    }
}
