import ArgumentParser
import CollectorStore
import CommandKit
import Foundation
import Logging
import WireModel

struct BackupCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "backup",
        abstract: "Copy everything a collector keeps, while it goes on; restore makes a collector of it.",
        discussion: """
            The copy is a directory of plain SQLite files and chunks with a list of their digests (manifest.ndjson), written last: a directory without
            it is no backup. It holds credentials as hashes, and all that devices have sent: keep it as safe as the collector's own data. Tokens and
            certificates in files of their own are not in it.

            Example:
              ws1collector backup --data /var/lib/ws1collector --output /backup/2026-03-01
            """)

    @OptionGroup var data: DataOptions

    @Option(help: ArgumentHelp("Where to; made, or empty.", valueName: "dir"))
    var output: String

    @Flag(help: "Print JSON.")
    var json = false

    func run() async throws {
        let logger = Logger.ofCommand
        let directory = try data.directory()
        let backup = try StoreBackup(
            of: try SQLiteRecordStore.openReading(directory: directory), directory: directory, output: output,
            clock: SystemStoreClock(), logger: logger)
        let report = try await backup.write()
        if json {
            try Output.json(BackupView(report))
        } else {
            try Output.line("\(report.summary.files) files, \(report.summary.bytes) bytes in \(output).")
        }
        if report.missingChunks > 0 {
            StandardError.line(
                "ws1collector: \(report.missingChunks) chunks of logs were missing already; `ws1collector verify` tells which."
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
        abstract: "Make a data directory of a backup.",
        discussion: """
            Every file is held against its digest. The collector is the same one with a new incarnation: devices go on where they are, what they had
            sent since the backup counts as lost at the collector, and commands that had not ended are not given again. What was revoked since the
            backup is not: look at tokens and devices.

            A device that enrolled since the backup, or renewed its credential, enrolls again by itself if its enrollment
            token is still good, and keeps its id: its credential proves that this collector issued it. The key to that
            proof is in the backup. If others may have read the backup, say --new-credential-key.

            Examples:
              ws1collector restore --data /var/lib/ws1collector --from /backup/2026-03-01
              ws1collector restore --data /var/lib/ws1collector --from /backup/2026-03-01 --new-credential-key
            """)

    @OptionGroup var data: DataOptions

    @Option(help: ArgumentHelp("The backup.", valueName: "dir"))
    var from: String

    @Flag(help: "Trust no credential that was issued since the backup: devices enrolled since then become new ones.")
    var newCredentialKey = false

    @Flag(help: "Print JSON.")
    var json = false

    func run() async throws {
        let directory = try data.directory()
        let report = try StoreRestore(
            from: from, to: directory, newCredentialKey: newCredentialKey, clock: SystemStoreClock()
        ).restore()
        if json { return try Output.json(RestoreView(report)) }
        try Output.line(
            "\(report.summary.files) files, \(report.summary.bytes) bytes in \(directory); \(report.endedCommands) commands ended."
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
