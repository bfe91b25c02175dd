import Crypto
import FoundationEssentials
import Glibc
import TelemetryBasics
import WireModel

/// A key file of mode 0600: `ws1-device-key 1 <64 hexadecimal digits> <check>`.
///
/// A file that others could have read or replaced is refused, because then it is no secret any more.
package struct KeyFileProvider: DeviceKeyProvider {
    package static let defaultName = "device.key"
    package let kind = DeviceKeyProviderKind.file
    package let path: String
    private static let name = "ws1-device-key"
    private static let version = "1"

    package init(path: String) { self.path = path }

    package func load() throws(EncryptionError) -> SymmetricKey? {
        guard let file = try opened() else { return nil }
        try checkThatNobodyElse(file.descriptor)
        let text = String(decoding: try file.read(1024), as: UTF8.self)
        let fields = text.split(separator: " ", omittingEmptySubsequences: false)
        if fields.count > 2, fields[0] == Self.name, let found = Int(fields[1]), found > 1 {
            throw EncryptionError(
                .newerVersion,
                "the key file \(path) has version \(found), this program knows version 1: update the program")
        }
        guard fields.count == 4, let key = Data(hexadecimal: String(fields[2])), key.count == 32,
            text == Self.line(key)
        else {
            throw EncryptionError(
                .keyMissing,
                "the key file \(path) is damaged. Restore it from a copy, with mode 0600; nothing was changed.")
        }
        return SymmetricKey(data: key)
    }

    package func make() throws(EncryptionError) -> SymmetricKey {
        let key = SymmetricKey(size: .bits256)
        let line = key.withUnsafeBytes { Self.line(Data($0)) }
        try Files<EncryptionError>.replace(path, with: Data(line.utf8).bytes)
        return key
    }

    package func destroy() throws(EncryptionError) { try SecretFile.destroy(path) }

    package var remedy: String { "Restore the key file \(path) from a copy, with mode 0600." }

    private static func line(_ key: Data) -> String {
        let line = "\(name) \(version) \(key.hexadecimal)"
        return "\(line) \(Data(SHA256.hash(data: Data(line.utf8))).prefix(8).hexadecimal)\n"
    }

    private func opened() throws(EncryptionError) -> OpenFile<EncryptionError>? {
        do { return try OpenFile<EncryptionError>.reading(path) } catch {
            guard (error.cause as? FileError)?.systemError == ELOOP else { throw error }
            throw EncryptionError(
                .exposed, "the key file \(path) is a link. Put the key there as a file of its own; nothing was changed."
            )
        }
    }

    private func checkThatNobodyElse(_ descriptor: Int32) throws(EncryptionError) {
        var status = stat()
        guard fstat(descriptor, &status) == 0 else { throw EncryptionError(FileError("reading", path)) }
        let finding: String? =
            if status.st_mode & S_IFMT != S_IFREG {
                "is no regular file. Put the key there as a file of its own"
            } else if status.st_mode & 0o077 != 0 {
                "has mode 0\(String(status.st_mode & 0o7777, radix: 8)), so others may have read it. "
                    + "Run `chmod 600 \(path)`"
            } else if status.st_nlink != 1 {
                "has \(status.st_nlink) names. Remove the others"
            } else if !isOwnerTrusted(status.st_uid) {
                "belongs to user \(AccessDenial.userName(status.st_uid)). Run `chown \(geteuid()) \(path)`"
            } else {
                nil
            }
        if let finding { throw EncryptionError(.exposed, "the key file \(path) \(finding); nothing was changed.") }
    }

    /// Root may use what the owner of the directory keeps there, such as the key of a service with a user of its own.
    private func isOwnerTrusted(_ owner: uid_t) -> Bool {
        if owner == geteuid() || owner == 0 { return true }
        var directory = stat()
        return geteuid() == 0 && stat(Paths.parent(of: path) ?? ".", &directory) == 0 && directory.st_uid == owner
    }
}

/// Files whose old content must not stay on the disk, as far as a file system allows that.
package enum SecretFile {
    /// Overwrites, syncs and removes; harmless where there is none. A copy-on-write file system and a flash chip keep
    /// old blocks.
    static func destroy(_ path: String) throws(EncryptionError) {
        try overwrite(path)
        try Files<EncryptionError>.remove(path)
        try Files<EncryptionError>.syncDirectory(of: path)
    }

    static func overwrite(_ path: String) throws(EncryptionError) {
        guard Paths.exists(path) else { return }
        let file = try OpenFile<EncryptionError>(path, O_WRONLY | O_NOFOLLOW)
        try overwrite(file)
    }

    package static func overwrite(_ file: borrowing OpenFile<EncryptionError>) throws(EncryptionError) {
        guard lseek(file.descriptor, 0, SEEK_SET) == 0 else { throw file.failure("overwriting") }
        try file.write([UInt8](repeating: 0, count: try file.byteCount()))
        try file.sync()
    }
}
