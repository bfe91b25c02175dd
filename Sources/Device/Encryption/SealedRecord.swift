import Crypto
import FoundationEssentials
import WireModel

/// The sealed body of a row of the queue: `nonce (12) | ciphertext of link (16) and bytes | tag (16)`.
///
/// The key id stands in a column of the row. A nonce is never made from a number: an image of the disk that is brought
/// back would use the number once more for another record. `Schemas/encryption/FORMAT.md` describes the form.
package enum SealedRecord {
    /// What stays plain in the row, and is authenticated with the body.
    package struct Place: Equatable, Sendable {
        package var stream: StreamName
        package var number: UInt64
        /// The queue's clock, microseconds.
        package var queueTime: Int64
        /// Bytes of the record without its link.
        package var size: Int

        package init(stream: StreamName, number: UInt64, queueTime: Int64, size: Int) {
            self.stream = stream
            self.number = number
            self.queueTime = queueTime
            self.size = size
        }
    }

    private static let version: UInt8 = 1
    private static let headBytes = 30
    /// How much longer a sealed body is than the record's bytes: nonce, link, tag.
    package static let overhead = 12 + ChainLink.byteCount + 16

    /// - Parameter place: its size is that of `bytes`.
    package static func seal(
        link: ChainLink, bytes: Data, at place: Place, with key: DataKey
    ) throws(EncryptionError) -> Data {
        guard bytes.count == place.size else {
            throw EncryptionError(.invalid, "a body of \(bytes.count) bytes is not that of the row")
        }
        // Arrays: this runs for each record, and appending little to `Data` costs as much as sealing it.
        var plain: [UInt8] = []
        plain.reserveCapacity(ChainLink.byteCount + bytes.count)
        plain.append(bigEndian: link.high)
        plain.append(bigEndian: link.low)
        plain.append(contentsOf: bytes)
        return try GCM.seal(plain, authenticating: try head(place, key), with: key.secret)
    }

    /// - Throws: `altered` unless all of it is what was sealed for this row.
    package static func open(
        _ sealed: Data, at place: Place, with key: DataKey
    ) throws(EncryptionError) -> (link: ChainLink, bytes: Data) {
        let plain = try GCM.open(sealed, authenticating: try head(place, key), with: key.secret)
        guard plain.count == ChainLink.byteCount + place.size else {
            throw EncryptionError(.altered, "the row says \(place.size) bytes, its body has another size")
        }
        let link = ChainLink(
            high: plain.bigEndian(at: 0, as: UInt64.self), low: plain.bigEndian(at: 8, as: UInt64.self))
        return (link, Data(plain.dropFirst(ChainLink.byteCount)))
    }

    private static func head(_ place: Place, _ key: DataKey) throws(EncryptionError) -> [UInt8] {
        guard let size = UInt32(exactly: place.size) else {
            throw EncryptionError(.invalid, "a record of \(place.size) bytes cannot be sealed")
        }
        var head: [UInt8] = []
        head.reserveCapacity(headBytes)
        head.append(contentsOf: "WS1R".utf8)
        head.append(version)
        head.append(bigEndian: key.id)
        head.append(UInt8(place.stream.rawValue))
        head.append(bigEndian: place.number)
        head.append(bigEndian: place.queueTime)
        head.append(bigEndian: size)
        return head
    }
}
