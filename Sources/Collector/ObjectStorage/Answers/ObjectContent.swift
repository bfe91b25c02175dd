import FoundationEssentials
import WireModel

/// Bytes of an object, with what the storage says of it.
package struct ObjectContent: Equatable, Sendable {
    /// The whole object, or what there is of the range that was asked for.
    package let bytes: Data
    /// The size of the whole object, in bytes.
    package let size: Int
}

/// The storage's summary of an object.
package struct ObjectSummary: Equatable, Sendable {
    /// The size in bytes.
    package let size: Int
    /// SHA-256 as the writer stored it beside the object, in hexadecimal; `nil` if it did not.
    package let digest: String?
}

/// `bytes 0-9/100`, and `bytes */100` where nothing of the range is there.
struct ContentRange: Equatable {
    /// Empty: nothing.
    let range: Range<Int>
    let size: Int

    init?(_ header: String?) {
        guard let header, header.hasPrefix("bytes ") else { return nil }
        let parts = header.dropFirst(6).split(separator: "/", omittingEmptySubsequences: false)
        guard parts.count == 2, let size = Int(parts[1]), size >= 0 else { return nil }
        self.size = size
        if parts[0] == "*" {
            range = size..<size
            return
        }
        let ends = parts[0].split(separator: "-", omittingEmptySubsequences: false).map { Int($0) }
        guard ends.count == 2, let first = ends[0], let last = ends[1], 0 <= first, first <= last, last < size else {
            return nil
        }
        range = first..<last + 1
    }
}

/// The MD5 in an answer's ETag.
enum EntityTag {
    /// - Returns: in lower-case hexadecimal; `nil` where the tag is no MD5 of the bytes: with several parts, or where
    ///   the storage encrypts with keys of KMS or of the client.
    static func md5(_ headers: [String: String]) -> String? {
        guard headers["x-amz-server-side-encryption-customer-algorithm"] == nil,
            [nil, "AES256"].contains(headers["x-amz-server-side-encryption"]), let tag = headers["etag"]
        else { return nil }
        let text = tag.filter { $0 != "\"" }.lowercased()
        guard text.utf8.count == 32, text.utf8.allSatisfy({ (0x30...0x39).contains($0) || (0x61...0x66).contains($0) })
        else { return nil }
        return text
    }
}
