import ArgumentParser
import CollectorMaintenance
import CommandKit
import Foundation
import RecordStore
import TelemetryBasics
import WireModel

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
              ws1collector restore --from /backup/2026-03-01
              ws1collector restore --from /backup/2026-03-01 --new-credential-key
              ws1collector restore --from /backup/2026-03-01.ws1backup \
            --identity /media/safe/backup-identity
            """)

    @OptionGroup var data: DataOptions

    @OptionGroup var backup: BackupOptions

    @Flag(help: "Trust no credential issued since the backup. Devices that enrolled since then become new devices.")
    var newCredentialKey = false

    @Flag(help: "Print JSON.")
    var json = false

    func run() async throws {
        let directory = try data.directory(
            otherwise: "restore makes a data directory. A cluster is restored with the tools of its servers.")
        let report = try StoreRestore(
            from: try backup.source(), to: directory, newCredentialKey: newCredentialKey, clock: SystemStoreClock()
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
