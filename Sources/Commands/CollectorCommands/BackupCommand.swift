import ArgumentParser
import CollectorStore
import Foundation
import Logging

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
        try await perform {
            let logger = Logger.ofCommand
            let backup = try StoreBackup(directory: try data.directory(), output: output, clock: SystemStoreClock(), logger: logger)
            let report = try await backup.write()
            if json {
                try Output.json(BackupView(report))
            } else {
                try Output.line("\(report.summary.files) files, \(report.summary.bytes) bytes in \(output).")
            }
            if report.missingChunks > 0 {
                FileHandle.standardError.write(
                    Data(
                        "ws1collector: \(report.missingChunks) chunks of logs were missing already; `ws1collector verify` tells which.\n"
                            .utf8))
            }
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
