import ArgumentParser
import CollectorMaintenance
import CommandKit
import Foundation
import RecordStore
import TelemetryBasics

struct BackupIdentityCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "backup-identity",
        abstract: "Make an identity that can open encrypted backups, and print its recipient.",
        discussion: """
            The file holds the identity, which is secret: only its owner can read it (0600). Keep it, and a copy, in \
            safe places away from the collector. Without it nobody can read the backups that are encrypted to it. The \
            recipient that the command prints is no secret: give it to `backup --encrypt-to`.

            Make it on another machine than the collector's if you can. Then a stolen collector cannot read its own \
            older backups.

            With --recipient-of the command prints the recipients of a file that is there, and makes nothing.

            Examples:
              ws1collector backup-identity --output backup-identity
              ws1collector backup-identity --recipient-of backup-identity
            """)

    @Option(help: ArgumentHelp("The file to write; it must not exist.", valueName: "file"))
    var output: String?

    @Option(help: ArgumentHelp("Print the recipients of this file.", valueName: "file"))
    var recipientOf: String?

    func run() async throws {
        switch (output, recipientOf) {
        case (let output?, nil):
            guard !Paths.exists(output) else {
                throw CommandError(.failed, "\(output) exists. Name another file, or move it away.")
            }
            let identity = BackupIdentity()
            try OwnerFile(path: output).create(
                with: identity.fileText(created: SystemStoreClock().now()), remedy: "Fix that, and try again.")
            try Output.line("\(identity.recipient)")
        case (nil, let path?):
            for identity in try BackupIdentity.all(inFile: path) { try Output.line("\(identity.recipient)") }
        default:
            throw CommandError(.usage, "give either --output FILE or --recipient-of FILE.")
        }
    }
}
