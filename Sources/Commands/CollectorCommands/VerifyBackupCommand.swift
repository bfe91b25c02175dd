import ArgumentParser
import CollectorMaintenance
import CommandKit
import Foundation
import TelemetryBasics

struct VerifyBackupCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "verify-backup",
        abstract: "Check that a backup is whole, without restoring it.",
        discussion: """
            Reads the whole backup and compares every file with its digest. Nothing is written. An encrypted backup \
            that was changed or cut off is refused at the block where that begins. `verify` checks the records \
            themselves, in the data directory that `restore` makes.

            Examples:
              ws1collector verify-backup --from /backup/2026-03-01
              ws1collector verify-backup --from /backup/2026-03-01.ws1backup --identity /media/safe/backup-identity
            """)

    @OptionGroup var backup: BackupOptions

    @Flag(help: "Print JSON.")
    var json = false

    func run() async throws {
        let summary = try backup.source().verify()
        if json { return try Output.json(VerifiedBackupView(files: summary.files, bytes: summary.bytes)) }
        try Output.line(
            "\(CountText.of(summary.files, "file")), \(CountText.of(summary.bytes, "byte")): the backup is whole.")
    }
}

private struct VerifiedBackupView: Encodable {
    var files: Int
    var bytes: Int64
}
