import Crypto
import FoundationEssentials
import Glibc

/// How long a file is, and its SHA-256.
struct FileDigest: Equatable, Sendable {
    var bytes: Int64
    var sha256: Data

    /// - Returns: `nil` where there is no such file.
    /// - Throws: what the disk says.
    static func of(_ path: String) throws(StoreError) -> FileDigest? { try read(path, to: nil) }

    /// Copies a file to a new one (0600), synced; its name is on disk once its directory is synced.
    /// - Returns: of what was copied; `nil` where there is no such file.
    /// - Throws: what the disk says; the new file must not be there yet.
    static func copying(_ path: String, to target: String) throws(StoreError) -> FileDigest? {
        let descriptor = open(target, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0o600)
        guard descriptor >= 0 else { throw DataDirectory.failure("make", target) }
        defer { close(descriptor) }
        guard let digest = try read(path, to: (descriptor, target)) else {
            unlink(target)
            return nil
        }
        guard fsync(descriptor) == 0 else { throw DataDirectory.failure("sync", target) }
        return digest
    }

    private static func read(_ path: String, to target: (descriptor: Int32, path: String)?) throws(StoreError)
        -> FileDigest?
    {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW)
        guard descriptor >= 0 else {
            if errno == ENOENT { return nil }
            throw DataDirectory.failure("open", path)
        }
        defer { close(descriptor) }
        var hash = SHA256()
        var total: Int64 = 0
        var buffer = [UInt8](repeating: 0, count: 256 << 10)
        while true {
            let count = buffer.withUnsafeMutableBytes { Glibc.read(descriptor, $0.baseAddress, $0.count) }
            if count < 0, errno == EINTR { continue }
            guard count >= 0 else { throw DataDirectory.failure("read", path) }
            if count == 0 { return FileDigest(bytes: total, sha256: Data(hash.finalize())) }
            let failure: StoreError? = buffer.withUnsafeBytes { bytes in
                let bytes = UnsafeRawBufferPointer(rebasing: bytes[..<count])
                hash.update(bufferPointer: bytes)
                guard let target else { return nil }
                return DataDirectory.write(bytes, to: target.descriptor, target.path)
            }
            if let failure { throw failure }
            total += Int64(count)
        }
    }
}
