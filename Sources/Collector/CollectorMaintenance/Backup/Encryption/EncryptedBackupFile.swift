import FoundationEssentials
import Glibc
import RecordStore
import Registry
import Synchronization
import TelemetryBasics

/// A backup as one encrypted file (`EncryptedBackupFormat`).
///
/// Databases must be copied before they can be read as of one moment. The copies go to `<data>/backup/`, where they are
/// as safe as the data themselves, and each is removed once it is encrypted. So nothing unencrypted is ever written
/// where the backup goes. The file is `<output>.partial` until it is whole.
final class EncryptedBackupFile: BackupDestination {
    let directory: DataDirectory
    private let output: String
    private let partial: String
    private let state: Mutex<State>

    private struct State: ~Copyable {
        var writer: EncryptedBackupWriter
        var summary = BackupManifest.Summary()
        /// Held while the backup is written: another one would remove our copies.
        let lock: OpenFile<StoreError>
        let identity: FileIdentity
    }

    /// - Throws: `.conflict` if the output exists; `.inUse` if another encrypted backup of the data is being written;
    ///   `.invalid` for the recipients; errors of the disk.
    init(_ output: String, of data: DataDirectory, to recipients: [BackupRecipient]) throws(StoreError) {
        self.output = output
        partial = "\(output).partial"
        directory = DataDirectory(path: data.copiesPath)
        try Self.requireNone(output)
        try Files<StoreError>.makeDirectory(directory.path, syncing: false)
        var lock = try OpenFile<StoreError>(directory.path, O_RDONLY | O_DIRECTORY)
        guard try lock.lock() else {
            throw StoreError(
                .inUse, "Another encrypted backup of \(data.path) is being written. Wait until it has ended.")
        }
        // What a backup left that was killed.
        try directory.removeContent()
        do throws(StoreError) {
            try directory.prepare()
            if let parent = Paths.parent(of: output) { try Files<StoreError>.makeDirectory(parent, syncing: true) }
            try Files<StoreError>.remove(partial)
            let file = try OpenFile<StoreError>(creating: partial)
            let identity = FileIdentity(path: partial)
            state = Mutex(
                State(
                    writer: try EncryptedBackupWriter(file, recipients: recipients), lock: lock, identity: identity))
        } catch {
            unlink(partial)
            Self.remove(directory)
            throw error
        }
    }

    private static func requireNone(_ output: String) throws(StoreError) {
        guard Paths.exists(output) else { return }
        throw StoreError(
            .conflict, "\(output) exists. An encrypted backup is one file: name one that does not exist.")
    }

    private static func remove(_ directory: DataDirectory) {
        try? directory.removeContent()
        rmdir(directory.path)
    }

    func begin(_ head: BackupManifest.Head) throws(StoreError) {
        let line = try BackupManifest.line(head, of: output)
        try state.withLock { (state) throws(StoreError) in try state.writer.write(line) }
    }

    func add(_ file: BackupFile) throws(StoreError) {
        let path = "\(directory.path)/\(file.path)"
        guard let content = try OpenFile<StoreError>.reading(path) else {
            throw StoreError(FileError("opening", path, ENOENT))
        }
        try add(file, content)
        try Files<StoreError>.remove(path)
    }

    func add(_ path: String, from data: DataDirectory) throws(StoreError) -> Bool {
        guard let content = try OpenFile<StoreError>.reading("\(data.path)/\(path)") else { return false }
        try add(BackupFile(path: path, FileDigest(reading: content)), content)
        return true
    }

    private func add(_ file: BackupFile, _ content: borrowing OpenFile<StoreError>) throws(StoreError) {
        let line = try BackupManifest.line(file, of: output)
        let bytes = Int(file.bytes)
        try state.withLock { (state) throws(StoreError) in try state.writer.write(line) }
        let count = try content.forEachBlock(of: 0..<bytes) { (block) throws(StoreError) in
            try state.withLock { (state) throws(StoreError) in try state.writer.write(block) }
        }
        guard count == bytes else {
            throw StoreError(
                .io, "\(content.path) had \(bytes) bytes and now has \(count): something else has cut it. Try again.")
        }
        state.withLock { $0.summary.add(file) }
    }

    func finish() throws(StoreError) -> BackupManifest.Summary {
        try state.withLock { (state) throws(StoreError) in
            try state.writer.write(try BackupManifest.line(state.summary, of: output))
            try state.writer.finish()
            guard state.identity.isInPlace else {
                throw StoreError(
                    .conflict, "\(partial) was removed or replaced while it was written. Try again, under another name."
                )
            }
            try Self.requireNone(output)
            try Files<StoreError>.rename(partial, to: output)
            do throws(StoreError) { try Files<StoreError>.syncDirectory(of: output) } catch {
                unlink(output)
                throw error
            }
            Self.remove(directory)
            return state.summary
        }
    }

    func abandon() {
        unlink(partial)
        Self.remove(directory)
    }
}
