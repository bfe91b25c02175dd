import Crypto
import FoundationEssentials
import Glibc
import TelemetryBasics

/// A file's length and SHA-256.
package struct FileDigest: Equatable, Sendable {
    package var bytes: Int64
    package var sha256: Data

    /// Creates the digest of a file that is in memory.
    package init(of content: Data) {
        self.init(bytes: Int64(content.count), sha256: Data(SHA256.hash(data: content)))
    }

    package init(bytes: Int64, sha256: Data) {
        self.bytes = bytes
        self.sha256 = sha256
    }

    /// - Returns: `nil` if there is no such file.
    /// - Throws: errors of the disk.
    package static func of(_ path: String) throws(StoreError) -> FileDigest? { try read(path) }

    /// Copies a file to a new one (0600) and syncs it. Its name is on disk after its directory is synced.
    /// - Returns: length and digest of the copy; `nil` if there is no such file.
    /// - Throws: errors of the disk. The new file must not exist.
    package static func copying(_ path: String, to target: String) throws(StoreError) -> FileDigest? {
        let copy = try OpenFile<StoreError>(creating: target)
        guard let digest = try read(path, { (block) throws(StoreError) in try copy.write(block.bytes) }) else {
            unlink(target)
            return nil
        }
        try copy.sync()
        return digest
    }

    private static func read(
        _ path: String, _ body: (UnsafeRawBufferPointer) throws(StoreError) -> Void = { _ in }
    ) throws(StoreError) -> FileDigest? {
        guard let file = try OpenFile<StoreError>.reading(path) else { return nil }
        return try FileDigest(reading: file, body)
    }

    /// Reads a file from its beginning, and gives every block to `body`.
    package init(
        reading file: borrowing OpenFile<StoreError>,
        _ body: (UnsafeRawBufferPointer) throws(StoreError) -> Void = { _ in }
    ) throws(StoreError) {
        var hash = SHA256()
        let bytes = try file.forEachBlock(of: 0..<Int.max) { (block) throws(StoreError) in
            hash.update(bufferPointer: block)
            try body(block)
        }
        self.init(bytes: Int64(bytes), sha256: Data(hash.finalize()))
    }
}
