import ArgumentParser
import CollectorMaintenance
import RecordStore

/// The backup that a command reads.
struct BackupOptions: ParsableArguments {
    @Option(help: ArgumentHelp("The backup: its directory, or its encrypted file.", valueName: "path"))
    var from: String

    @Option(
        help: ArgumentHelp(
            "The file of an identity that the backup is encrypted to; only for an encrypted backup.",
            valueName: "file"))
    var identity: String?

    func source() throws -> BackupSource {
        try BackupSource(
            from, identities: try identity.map { path throws(StoreError) in try BackupIdentity.all(inFile: path) })
    }
}
