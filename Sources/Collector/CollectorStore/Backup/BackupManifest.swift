import FoundationEssentials
import Glibc
import WireModel

/// The list of a backup's files: `<backup>/manifest.ndjson`, one JSON object a line, written when everything else is on disk. A backup without it, or
/// whose last line does not say that it is complete, is none.
///
///     {"format":1,"collector":"...","incarnation":"...","at":1790000000000000}
///     {"path":"records/2026-03-01/sample.sqlite","bytes":40960,"sha256":"..."}
///     {"complete":true,"files":1,"bytes":40960}
package enum BackupManifest {
    static let name = "manifest.ndjson"
    static let format = 1

    struct Head: Codable, Equatable {
        var format: Int
        var collector: String
        var incarnation: String
        /// When it was begun, microseconds since 1970.
        var at: Int64
    }

    struct File: Codable, Equatable {
        /// Below the data directory.
        var path: String
        var bytes: Int64
        /// Hexadecimal.
        var sha256: String
    }

    package struct Summary: Codable, Equatable, Sendable {
        var complete = true
        package var files = 0
        package var bytes: Int64 = 0
    }

    /// Whether a path is one that a backup may hold: a file of ours, below the directory and nowhere else.
    static func isSafe(_ path: String) -> Bool {
        let parts = path.split(separator: "/", omittingEmptySubsequences: false)
        guard parts.allSatisfy({ !$0.isEmpty && !$0.hasPrefix(".") }) else { return false }
        switch parts.first {
        case "collector.sqlite": return parts.count == 1
        case "records": return parts.count == 3 && UTCDay(String(parts[1])) != nil && parts[2].hasSuffix(".sqlite")
        case "chunks": return parts.count == 5
        default: return false
        }
    }
}

/// Writes the list as the files are copied.
struct BackupManifestWriter: ~Copyable {
    private let descriptor: Int32
    private let path: String
    private(set) var summary = BackupManifest.Summary()

    /// Written beside its name, so that it has that only when it is whole.
    init(directory: String) throws(StoreError) {
        path = "\(directory)/\(BackupManifest.name)"
        descriptor = open("\(path).partial", O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0o600)
        guard descriptor >= 0 else { throw DataDirectory.failure("make", "\(path).partial") }
    }

    deinit { close(descriptor) }

    func write(_ head: BackupManifest.Head) throws(StoreError) { try write(line: head) }

    mutating func add(_ path: String, _ digest: FileDigest) throws(StoreError) {
        try write(line: BackupManifest.File(path: path, bytes: digest.bytes, sha256: digest.sha256.hexadecimal))
        summary.files += 1
        summary.bytes += digest.bytes
    }

    /// Everything else is on disk.
    func finish(in directory: String) throws(StoreError) {
        try write(line: summary)
        guard fsync(descriptor) == 0, rename("\(path).partial", path) == 0 else { throw DataDirectory.failure("finish", path) }
        try DataDirectory.synchronize(directory)
    }

    private func write(line: some Encodable) throws(StoreError) {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        guard var bytes = try? encoder.encode(line) else { throw StoreError(.internalFault, "\(path): a line cannot be written.") }
        bytes.append(UInt8(ascii: "\n"))
        if let failure = bytes.withUnsafeBytes({ DataDirectory.write($0, to: descriptor, path) }) { throw failure }
    }
}
