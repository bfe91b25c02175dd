import ArgumentParser
import CollectorMaintenance
import CommandKit
import Foundation
import Logging
import RecordStore
import SQLiteRecordStore
import TelemetryBasics
import WireModel

struct BackupCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "backup",
        abstract: "Copy all data of a collector while it runs, for `restore`.",
        discussion: """
            The backup is a directory of SQLite files and log chunks. The list of their digests (manifest.ndjson) is \
            written last, so a directory without it is no backup. The backup contains hashes of credentials and \
            everything that devices have sent: keep it as safe as the collector's own data. It does not contain tokens \
            and certificates that are kept in separate files.

            Example:
              ws1collector backup --data /var/lib/ws1collector --output /backup/2026-03-01
            """)

    @OptionGroup var data: DataOptions

    @Option(help: ArgumentHelp("The backup's directory, new or empty.", valueName: "dir"))
    var output: String

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
        let directory = try data.directory(otherwise: Self.backupOfCluster)
        let backup = try StoreBackup(
            of: try SQLiteRecordStore.openReading(directory: directory), directory: directory, output: output,
            clock: SystemStoreClock(), logger: logger)
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

struct RestoreCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "restore",
        abstract: "Make a data directory from a backup.",
        discussion: """
            Compares every file with its digest. The collector keeps its identity and gets a new incarnation. Devices \
            go on sending. Records that they sent since the backup count as lost at the collector, and unfinished \
            commands are not given again. Tokens and devices that were revoked since the backup are valid again: check \
            them.

            A device that enrolled or renewed its credential since the backup enrolls again by itself, if its \
            enrollment token is still valid, and keeps its id, because its credential proves that this collector \
            issued it. The key to that proof is in the backup. If others may have read the backup, give \
            --new-credential-key.

            Examples:
              ws1collector restore --data /var/lib/ws1collector --from /backup/2026-03-01
              ws1collector restore --data /var/lib/ws1collector --from /backup/2026-03-01 --new-credential-key
            """)

    @OptionGroup var data: DataOptions

    @Option(help: ArgumentHelp("The backup's directory.", valueName: "dir"))
    var from: String

    @Flag(help: "Trust no credential issued since the backup. Devices that enrolled since then become new devices.")
    var newCredentialKey = false

    @Flag(help: "Print JSON.")
    var json = false

    func run() async throws {
        let directory = try data.directory(
            otherwise: "restore makes a data directory. A cluster is restored with the tools of its servers.")
        let report = try StoreRestore(
            from: from, to: directory, newCredentialKey: newCredentialKey, clock: SystemStoreClock()
        ).restore()
        if json { return try Output.json(RestoreView(report)) }
        try Output.line(
            """
            \(CountText.of(report.summary.files, "file")), \(CountText.of(report.summary.bytes, "byte")) in \
            \(directory); \(CountText.of(report.endedCommands, "command")) ended.
            """
        )
    }
}

private struct RestoreView: Encodable {
    var files: Int
    var bytes: Int64
    var collector: String
    var incarnation: String
    var endedCommands: Int

    init(_ report: StoreRestore.Report) {
        files = report.summary.files
        bytes = report.summary.bytes
        collector = report.collector
        incarnation = report.incarnation.description
        endedCommands = report.endedCommands
    }
}
