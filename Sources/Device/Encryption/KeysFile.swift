import Crypto
import FoundationEssentials
import Glibc
import TelemetryBasics
import WireModel

/// `<data>/keys`: the data keys, wrapped. `Schemas/encryption/FORMAT.md` describes the form.
///
/// The content stands there twice, in two lines of one length, so that a flipped bit never costs the keys.
struct KeysFile: Sendable {
    static let name = "keys"
    private static let version = 1
    private static let maximumBytes = 1 << 20

    struct Content: Codable, Equatable, Sendable {
        /// Whose device key wraps.
        var provider: DeviceKeyProviderKind
        /// Fingerprint of the device key.
        var device: String
        var passcode: PasscodeParameters?
        /// The next key id; ids are never used twice.
        var next: UInt32
        var keys: [Entry]
    }

    struct Entry: Codable, Equatable, Sendable {
        var id: UInt32
        var purpose: String
        /// Seconds since 1970.
        var created: Int64
        /// No fewer than were made.
        var seals: UInt64
        var fingerprint: String
        var wrapped: String
    }

    /// Where a kill may come between two changes on the disk, for tests of what it leaves.
    enum Step: CaseIterable, Sendable {
        case writing, replaced, formerOverwritten
        case migrated, deviceKeyDestroyed, overwritten, unlinked
    }

    private struct Form: Codable {
        var content: Content
        var digest: String
        var version: Int
    }

    private struct Version: Codable { var version: Int }

    let path: String
    /// Called at each step; does nothing outside of tests.
    let reached: @Sendable (Step) -> Void

    init(directory: String, reached: @escaping @Sendable (Step) -> Void = { _ in }) {
        path = "\(directory)/\(Self.name)"
        self.reached = reached
    }

    /// Runs `body` while no other process changes the file or makes a device key. It must not be nested.
    func exclusively<Result>(_ body: () throws(EncryptionError) -> Result) throws(EncryptionError) -> Result {
        // The directory's own lock, so that there is no further file.
        var directory = try OpenFile<EncryptionError>(Paths.parent(of: path) ?? ".", O_RDONLY | O_DIRECTORY)
        try directory.waitForLock()
        return try body()
    }

    /// `nil` if there is no file.
    ///
    /// - Throws: `damaged` if neither half is what was written; `newerVersion`, `io`.
    func read() throws(EncryptionError) -> Content? {
        var stored = try bytes()
        while let bytes = stored {
            if let content = Self.halves(bytes).lazy.compactMap(Self.content).first { return content }
            stored = try self.bytes()
            // Otherwise another process replaced the file meanwhile, and what was read is overwritten.
            if stored == bytes { break }
        }
        guard let stored else { return nil }
        for bytes in Self.halves(stored) {
            guard let found = try? JSONDecoder().decode(Version.self, from: bytes), found.version > Self.version else {
                continue
            }
            throw EncryptionError(
                .newerVersion,
                "\(path) has version \(found.version), this program knows up to \(Self.version): update the program")
        }
        throw EncryptionError(
            .damaged,
            "\(path) is damaged. Restore it from a copy. Without one, what its keys sealed cannot be read any more; a "
                + "wipe begins with new keys.")
    }

    private func bytes() throws(EncryptionError) -> [UInt8]? {
        try Files<EncryptionError>.read(path, maximumBytes: Self.maximumBytes + 1, flags: O_NOFOLLOW)
    }

    private static func halves(_ bytes: [UInt8]) -> [Data] {
        let half = bytes.count / 2
        return [Data(bytes.prefix(half)), Data(bytes.dropFirst(half))]
    }

    private static func content(_ bytes: Data) -> Content? {
        guard let form = try? JSONDecoder().decode(Form.self, from: bytes), form.version == version,
            let digest = try? digest(form.content), digest == form.digest
        else { return nil }
        return form.content
    }

    /// Replaces the file in one step; on synced disk on return. The former file's blocks are overwritten.
    func write(_ content: Content) throws(EncryptionError) {
        let line: Data
        do {
            let form = Form(content: content, digest: try Self.digest(content), version: Self.version)
            line = try JSONEncoder.stable().encode(form) + Data("\n".utf8)
        } catch {
            throw EncryptionError(.invalid, "the keys cannot be encoded: \(error)", cause: error)
        }
        let former = try OpenFile<EncryptionError>.reading(path, flags: O_RDWR | O_NOFOLLOW)
        reached(.writing)
        try Files<EncryptionError>.replace(path, with: (line + line).bytes)
        reached(.replaced)
        // The new file counts already; what cannot be overwritten is wrapped.
        if let former { try? SecretFile.overwrite(former) }
        reached(.formerOverwritten)
    }

    /// Removes the file and what a crash left beside it, overwritten. Harmless where there is none.
    func destroy() throws(EncryptionError) {
        try SecretFile.overwrite(path)
        reached(.overwritten)
        try SecretFile.destroy(path)
        try SecretFile.destroy("\(path).new")
        reached(.unlinked)
    }

    private static func digest(_ content: Content) throws -> String {
        Data(SHA256.hash(data: try JSONEncoder.stable().encode(content))).hexadecimal
    }
}
