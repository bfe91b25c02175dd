import FoundationEssentials
import WireModel

/// A file of a backup: a line of its manifest.
package struct BackupFile: Codable, Equatable, Sendable {
    /// Below the data directory.
    package var path: String
    package var bytes: Int64
    /// Hexadecimal.
    package var sha256: String

    package init(path: String, _ digest: FileDigest) {
        self.path = path
        bytes = digest.bytes
        sha256 = digest.sha256.hexadecimal
    }

    /// Whether a file is the one that the line names.
    package func matches(_ digest: FileDigest) -> Bool {
        digest.bytes == bytes && digest.sha256.hexadecimal == sha256
    }
}
