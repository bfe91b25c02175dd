import Crypto
import FoundationEssentials
import Glibc
import RecordStore
import TelemetryBasics

/// A backup to be read: a directory, or an encrypted file.
package enum BackupSource {
    case directory(String)
    case encrypted(String, [BackupIdentity])

    /// - Parameters:
    ///   - path: a directory or a file.
    ///   - identities: who reads it; `nil` for a backup that is not encrypted.
    /// - Throws: `.notFound`; `.invalid` if identities are given without need, or not given where they are needed.
    package init(_ path: String, identities: [BackupIdentity]?) throws(StoreError) {
        var status = stat()
        guard stat(path, &status) == 0 else { throw StoreError(FileError("opening", path)) }
        if status.st_mode & S_IFMT == S_IFDIR {
            guard identities == nil else {
                throw StoreError(
                    .invalid, "\(path) is a directory: such a backup is not encrypted. Leave out --identity.")
            }
            self = .directory(path)
            return
        }
        guard status.st_mode & S_IFMT == S_IFREG, try EncryptedBackupReader.isEncrypted(path) else {
            throw StoreError(
                .invalid,
                "\(path) is no backup: neither a directory nor a file that begins like an encrypted backup.")
        }
        guard let identities else {
            guard let file = try OpenFile<StoreError>.reading(path, flags: 0) else {
                throw StoreError(.notFound, "\(path) does not exist.")
            }
            let recipients = try EncryptedBackupHeader(file).recipients
            throw StoreError(
                .invalid,
                "\(path) is encrypted to \(EncryptedBackupHeader.list(recipients)). Give the identity of one with "
                    + "--identity FILE.")
        }
        self = .encrypted(path, identities)
    }

    /// Reads everything and writes nothing.
    /// - Returns: what the backup has.
    /// - Throws: as `StoreRestore` does.
    package func verify() throws(StoreError) -> BackupManifest.Summary { try read { _ in nil }.summary }

    var path: String {
        switch self {
        case .directory(let path), .encrypted(let path, _): path
        }
    }

    /// Reads everything once, and compares each file with its digest.
    /// - Parameter place: is asked for each file where to put it: a name that does not exist, in a directory that does.
    ///   `nil`: the file is only checked. What is there is proven only when this returns.
    /// - Throws: `.notFound`, `.invalid`, `.corrupt`, `.newerVersion`; errors of the disk and of `place`.
    func read(
        _ place: (BackupFile) throws(StoreError) -> String?
    ) throws(StoreError) -> (head: BackupManifest.Head, summary: BackupManifest.Summary) {
        switch self {
        case .directory(let path): try Self.read(directory: path, place)
        case .encrypted(let path, let identities): try Self.read(encrypted: path, identities, place)
        }
    }

    /// Fails now rather than after something was made for it.
    func requireReadable() throws(StoreError) {
        switch self {
        case .directory(let path): _ = try BackupManifestReader(directory: path)
        case .encrypted(let path, let identities): _ = try EncryptedBackupReader(path, identities: identities)
        }
    }

    private static func read(
        directory: String, _ place: (BackupFile) throws(StoreError) -> String?
    ) throws(StoreError) -> (head: BackupManifest.Head, summary: BackupManifest.Summary) {
        let manifest = try BackupManifestReader(directory: directory)
        try manifest.forEachFile { file throws(StoreError) in
            let path = "\(directory)/\(file.path)"
            let digest =
                if let target = try place(file) {
                    try FileDigest.copying(path, to: target)
                } else {
                    try FileDigest.of(path)
                }
            guard let digest else { throw StoreError(.corrupt, "\(path) is missing. Use another backup.") }
            guard file.matches(digest) else {
                throw StoreError(.corrupt, "\(path) has changed: its SHA-256 differs. Use another backup.")
            }
        }
        return (manifest.head, manifest.summary)
    }

    private static func read(
        encrypted path: String, _ identities: [BackupIdentity], _ place: (BackupFile) throws(StoreError) -> String?
    ) throws(StoreError) -> (head: BackupManifest.Head, summary: BackupManifest.Summary) {
        var reader = try EncryptedBackupReader(path, identities: identities)
        var parser = BackupManifestParser(path: path)
        while !parser.isComplete {
            let line = try reader.readLine(maximumBytes: BackupManifestParser.lineBytesMaximum)
            guard let file = try parser.take(line) else { continue }
            let digest: FileDigest
            if let target = try place(file) {
                let copy = try OpenFile<StoreError>(creating: target)
                digest = try reader.readFile(file) { block throws(StoreError) in try copy.write(block.bytes) }
                try copy.sync()
            } else {
                digest = try reader.readFile(file) { _ in }
            }
            guard file.matches(digest) else {
                throw StoreError(
                    .corrupt,
                    "\(path): \(file.path) changed while the backup was made: its SHA-256 differs. Use another backup.")
            }
        }
        guard try reader.read(1).isEmpty else {
            throw StoreError(.corrupt, "\(path): there is more behind the end of its list. Use another backup.")
        }
        return try parser.finished()
    }
}

extension EncryptedBackupReader {
    /// Reads the bytes after the line of a file.
    fileprivate mutating func readFile(
        _ file: BackupFile, _ body: (Data) throws(StoreError) -> Void
    ) throws(StoreError) -> FileDigest {
        var hash = SHA256()
        var rest = file.bytes
        while rest > 0 {
            let block = try read(Int(min(rest, Int64(EncryptedBackupFormat.blockBytes))))
            if block.isEmpty { break }
            hash.update(data: block)
            try body(block)
            rest -= Int64(block.count)
        }
        return FileDigest(bytes: file.bytes - rest, sha256: Data(hash.finalize()))
    }
}
