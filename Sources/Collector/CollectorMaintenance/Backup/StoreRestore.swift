import FoundationEssentials
import Glibc
import RecordStore
import Registry
import SQLite
import TelemetryBasics
import WireModel

/// Makes a data directory of a backup: a new incarnation of the collector, so that devices notice that what it knows is
/// of an earlier time.
///
/// `collector.sqlite` gets its name last. Until then the directory is none that a collector would start with.
package struct StoreRestore {
    package struct Report: Equatable, Sendable {
        package var summary: BackupManifest.Summary
        package var collector: String
        package var incarnation: IncarnationID
        /// Commands that had not ended, and are not given to devices again.
        package var endedCommands: Int
    }

    private let backup: String
    private let target: DataDirectory
    private let hasNewCredentialKey: Bool
    private let clock: any StoreClock

    /// - Parameter newCredentialKey: whether credentials issued since the backup prove nothing: for a backup that
    ///   others may have read.
    package init(from backup: String, to directory: String, newCredentialKey: Bool = false, clock: any StoreClock) {
        self.backup = backup
        hasNewCredentialKey = newCredentialKey
        target = DataDirectory(path: directory)
        self.clock = clock
    }

    /// Everything is on disk when it returns.
    /// - Throws: `.notFound`; `.corrupt` if the backup is not whole; `.conflict` if the directory is not empty; errors
    ///   of the disk.
    package func restore() throws(StoreError) -> Report {
        let manifest = try BackupManifestReader(directory: backup)
        try DataDirectory.makeEmpty(target.path)
        try target.prepare()
        let database = "\(target.databasePath).restoring"
        var parents: Set<String> = []
        var hasDatabase = false
        try manifest.forEachFile { file throws(StoreError) in
            let isDatabase = file.path == "collector.sqlite"
            let path = isDatabase ? database : "\(target.path)/\(file.path)"
            let parent = String(path.prefix(upTo: path.lastIndex(of: "/") ?? path.startIndex))
            if parents.insert(parent).inserted { try Files<StoreError>.makeDirectory(parent, syncing: true) }
            guard let digest = try FileDigest.copying("\(backup)/\(file.path)", to: path) else {
                throw StoreError(.corrupt, "\(backup)/\(file.path) is missing. Use another backup.")
            }
            guard digest.bytes == file.bytes, digest.sha256.hexadecimal == file.sha256 else {
                throw StoreError(
                    .corrupt,
                    "\(backup)/\(file.path) has changed: its SHA-256 differs. Use another backup.")
            }
            hasDatabase = hasDatabase || isDatabase
        }
        guard hasDatabase else { throw StoreError(.corrupt, "\(backup) has no collector.sqlite. Use another backup.") }
        for parent in parents { try Files<StoreError>.sync(directory: parent) }
        let incarnation = IncarnationID.random()
        let ended = try beginAnew(database, as: incarnation)
        try Files<StoreError>.rename(database, to: target.databasePath)
        try Files<StoreError>.sync(directory: target.path)
        return Report(
            summary: manifest.summary, collector: manifest.head.collector, incarnation: incarnation,
            endedCommands: ended)
    }

    /// - Returns: the number of commands that ended with it.
    private func beginAnew(_ path: String, as incarnation: IncarnationID) throws(StoreError) -> Int {
        let session = SQLiteRegistrySession(try CollectorDatabase.open(copy: path))
        let anew = Incarnation(session, because: "the collector was restored from a backup")
        let ended = try session.transaction { () throws(StoreError) in
            try anew.begin(incarnation, hasNewCredentialKey: hasNewCredentialKey, at: clock.now())
        }
        try session.close()
        return ended
    }
}
