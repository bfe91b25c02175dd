import FoundationEssentials
import Glibc
import RecordStore
import Registry
import Synchronization
import TelemetryBasics

/// Where one attempt at a backup goes: a directory, or an encrypted file.
protocol BackupDestination: Sendable {
    /// Databases are copied to this directory first.
    var directory: DataDirectory { get }

    /// Begins the list.
    func begin(_ head: BackupManifest.Head) throws(StoreError)

    /// Takes a file that is whole in `directory`.
    func add(_ file: BackupFile) throws(StoreError)

    /// Takes a file of the data directory that is backed up.
    /// - Parameter path: below both directories.
    /// - Returns: `false` if there is no such file.
    func add(_ path: String, from data: DataDirectory) throws(StoreError) -> Bool

    /// The backup is whole, has its name, and is on disk when it returns.
    func finish() throws(StoreError) -> BackupManifest.Summary

    /// Removes what it has made. Errors are ignored in favour of the one that led here.
    func abandon()
}

/// A backup as a directory with the files of the data directory and a list of them.
final class BackupDirectory: BackupDestination {
    let directory: DataDirectory
    private let wasThere: Bool
    private let state: Mutex<State>

    private struct State: ~Copyable {
        var manifest: BackupManifestWriter
        /// The directory of chunks that was written to last.
        var parent = ""
    }

    /// - Throws: `.conflict` if it is not empty.
    init(_ path: String) throws(StoreError) {
        directory = DataDirectory(path: path)
        wasThere = Paths.exists(path)
        try DataDirectory.makeEmpty(path)
        try directory.prepare()
        state = Mutex(State(manifest: try BackupManifestWriter(directory: path)))
    }

    func begin(_ head: BackupManifest.Head) throws(StoreError) {
        try state.withLock { (state) throws(StoreError) in try state.manifest.write(head) }
    }

    func add(_ file: BackupFile) throws(StoreError) {
        try state.withLock { (state) throws(StoreError) in try state.manifest.add(file) }
    }

    func add(_ path: String, from data: DataDirectory) throws(StoreError) -> Bool {
        try state.withLock { (state) throws(StoreError) in
            let parent = Paths.parent(of: path) ?? ""
            if parent != state.parent {
                if !state.parent.isEmpty { try Files<StoreError>.sync(directory: "\(directory.path)/\(state.parent)") }
                state.parent = parent
                try Files<StoreError>.makeDirectory("\(directory.path)/\(parent)", syncing: true)
            }
            guard let digest = try FileDigest.copying("\(data.path)/\(path)", to: "\(directory.path)/\(path)") else {
                return false
            }
            try state.manifest.add(BackupFile(path: path, digest))
            return true
        }
    }

    func finish() throws(StoreError) -> BackupManifest.Summary {
        try state.withLock { (state) throws(StoreError) in
            if !state.parent.isEmpty { try Files<StoreError>.sync(directory: "\(directory.path)/\(state.parent)") }
            try Files<StoreError>.sync(directory: directory.path)
            try state.manifest.finish(in: directory.path)
            return state.manifest.summary
        }
    }

    func abandon() {
        try? directory.removeContent()
        if !wasThere { rmdir(directory.path) }
    }
}
