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

    private let backup: BackupSource
    private let target: DataDirectory
    private let hasNewCredentialKey: Bool
    private let clock: any StoreClock

    /// - Parameter newCredentialKey: whether credentials issued since the backup prove nothing: for a backup that
    ///   others may have read.
    package init(
        from backup: BackupSource, to directory: String, newCredentialKey: Bool = false, clock: any StoreClock
    ) {
        self.backup = backup
        hasNewCredentialKey = newCredentialKey
        target = DataDirectory(path: directory)
        self.clock = clock
    }

    /// Everything is on disk when it returns. If it throws, it removes what it made.
    /// - Throws: `.notFound`; `.corrupt` if the backup is not whole; `.invalid` if the identity is not one of its
    ///   recipients'; `.conflict` if the directory is not empty; errors of the disk.
    package func restore() throws(StoreError) -> Report {
        try backup.requireReadable()
        let wasThere = Paths.exists(target.path)
        try DataDirectory.makeEmpty(target.path)
        do throws(StoreError) { return try restored() } catch {
            // An error here is ignored in favour of the first one.
            try? target.removeContent()
            if !wasThere { rmdir(target.path) }
            throw error
        }
    }

    private func restored() throws(StoreError) -> Report {
        try target.prepare()
        let database = "\(target.databasePath).restoring"
        var parents: Set<String> = []
        var hasDatabase = false
        let (head, summary) = try backup.read { file throws(StoreError) in
            let isDatabase = file.path == "collector.sqlite"
            let path = isDatabase ? database : "\(target.path)/\(file.path)"
            let parent = Paths.parent(of: path) ?? ""
            if parents.insert(parent).inserted { try Files<StoreError>.makeDirectory(parent, syncing: true) }
            hasDatabase = hasDatabase || isDatabase
            return path
        }
        guard hasDatabase else {
            throw StoreError(.corrupt, "\(backup.path) has no collector.sqlite. Use another backup.")
        }
        for parent in parents { try Files<StoreError>.sync(directory: parent) }
        let incarnation = IncarnationID.random()
        let ended = try beginAnew(database, as: incarnation)
        try Files<StoreError>.rename(database, to: target.databasePath)
        try Files<StoreError>.sync(directory: target.path)
        return Report(summary: summary, collector: head.collector, incarnation: incarnation, endedCommands: ended)
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
