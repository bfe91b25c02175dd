import Crypto
import FoundationEssentials
import Glibc
import WireModel

/// The SHA-256 of a file of any size, read in pieces.
enum FileDigest {
    private static let pieceBytes = 256 * 1024

    /// In hexadecimal; `nil` where the file cannot be read to its end.
    static func sha256(_ path: String) -> String? {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { return nil }
        defer { close(descriptor) }
        var hash = SHA256()
        return withUnsafeTemporaryAllocation(byteCount: pieceBytes, alignment: 16) { piece -> String? in
            while true {
                let count = read(descriptor, piece.baseAddress, piece.count)
                if count < 0, errno == EINTR { continue }
                guard count >= 0 else { return nil }
                if count == 0 { return Data(hash.finalize()).hexadecimal }
                hash.update(bufferPointer: UnsafeRawBufferPointer(rebasing: piece[..<count]))
            }
        }
    }
}
