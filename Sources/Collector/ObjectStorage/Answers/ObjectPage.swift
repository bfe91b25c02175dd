import FoundationEssentials
import TelemetryBasics

/// A page of a bucket's list, in the order of the keys.
package struct ObjectPage: Equatable, Sendable {
    package struct Entry: Equatable, Sendable {
        /// Below the configured prefix.
        package let key: String
        /// The size in bytes.
        package let size: Int
        /// When it was stored, in microseconds since 1970 by the storage's clock.
        package let modified: Int64
        /// How long before the list it was stored. Both times are by the storage's clock, so this machine's does not
        /// matter.
        package let age: Duration
    }

    package let entries: [Entry]
    /// Gets the next page; `nil` if this is the last one.
    package let next: String?
}

extension ObjectPage {
    /// Reads an answer to ListObjectsV2 with `encoding-type=url`.
    /// - Parameters:
    ///   - listed: when the list was made, in microseconds since 1970 by the storage's clock.
    ///   - key: translates a name in the bucket; `nil` for one that was not asked for.
    /// - Throws: `.corrupt` for anything else.
    init(_ body: [UInt8], listed: Int64, key: (String) -> String?) throws(ObjectStorageError) {
        func corrupt(_ reason: String, _ cause: (any Error)? = nil) -> ObjectStorageError {
            ObjectStorageError(
                .corrupt,
                """
                the object storage answered with something else than a list of objects: \(reason). Is something \
                between that answers in its place?
                """,
                cause: cause)
        }
        let root: XMLElement
        do throws(XMLElement.Fault) { root = try XMLElement(body) } catch {
            throw corrupt("\(error.reason) (byte \(error.offset))", error)
        }
        guard root.name == "ListBucketResult", let isTruncated = root.text(of: "IsTruncated"),
            ["true", "false"].contains(isTruncated)
        else { throw corrupt("its elements are others") }
        let isEncoded = root.text(of: "EncodingType") == "url"
        var entries: [Entry] = []
        for element in root.children where element.name == "Contents" {
            guard let text = element.text(of: "Key"), let name = isEncoded ? Self.decoded(text) : text,
                let key = key(name), let size = element.text(of: "Size").flatMap({ Int($0) }), size >= 0,
                let modified = element.text(of: "LastModified").flatMap({ Timestamp.parse($0, []) })
            else { throw corrupt("one of its objects is incomplete") }
            entries.append(
                Entry(
                    key: key, size: size, modified: modified,
                    age: .microseconds(listed.subtractingReportingOverflow(modified).partialValue)))
        }
        self.entries = entries
        next = isTruncated == "true" ? root.text(of: "NextContinuationToken") : nil
        guard isTruncated == "false" || next?.isEmpty == false else { throw corrupt("it does not say how it goes on") }
    }

    /// Undoes the encoding of a URL's query, where a blank is `+` or `%20`.
    static func decoded(_ text: String) -> String? {
        var bytes: [UInt8] = []
        var rest = Array(text.utf8)[...]
        while let byte = rest.popFirst() {
            switch byte {
            case UInt8(ascii: "+"): bytes.append(0x20)
            case UInt8(ascii: "%"):
                guard rest.count >= 2, let value = UInt8(String(decoding: rest.prefix(2), as: UTF8.self), radix: 16)
                else { return nil }
                bytes.append(value)
                rest = rest.dropFirst(2)
            default: bytes.append(byte)
            }
        }
        return String(validating: bytes, as: UTF8.self)
    }
}
