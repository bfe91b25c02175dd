import ArgumentParser
import CollectorStore
import Foundation
import WireModel

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
        try await perform {
            let directory = try data.directory()
            let report = try StoreRestore(
                from: from, to: directory, newCredentialKey: newCredentialKey, clock: SystemStoreClock()
            ).restore()
            if json { return try Output.json(RestoreView(report)) }
            try Output.line(
                "\(report.summary.files) files, \(report.summary.bytes) bytes in \(directory); \(report.endedCommands) commands ended.")
        }
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
