import Crypto
import FoundationEssentials

/// A link of a stream's hash chain. `link(n)` is the first 16 bytes of SHA-256(`link(n-1)` || bytes of record n);
/// `link(0)` is zero.
///
/// Two histories with the same link at the same number are the same history, byte for byte.
package struct ChainLink: Hashable, Sendable {
    package let high: UInt64
    package let low: UInt64

    package static let byteCount = 16

    /// `link(0)`.
    package static let zero = ChainLink(high: 0, low: 0)

    package init(high: UInt64, low: UInt64) {
        self.high = high
        self.low = low
    }

    /// `nil` unless there are exactly 16 bytes.
    package init?(_ bytes: some Collection<UInt8>) {
        guard let identifier = Identifier<Never>(bytes) else { return nil }
        self.init(high: identifier.high, low: identifier.low)
    }

    /// The next link, computed over a record's bytes.
    package func appending(_ record: UnsafeRawBufferPointer) -> ChainLink {
        var hash = SHA256()
        withUnsafeBytes(of: (high.bigEndian, low.bigEndian)) { hash.update(bufferPointer: $0) }
        hash.update(bufferPointer: record)
        return hash.finalize().withUnsafeBytes { digest in
            ChainLink(
                high: UInt64(bigEndian: digest.loadUnaligned(fromByteOffset: 0, as: UInt64.self)),
                low: UInt64(bigEndian: digest.loadUnaligned(fromByteOffset: 8, as: UInt64.self)))
        }
    }

    package func appending(_ record: Data) -> ChainLink {
        record.withUnsafeBytes { appending($0) }
    }

    package var data: Data { Identifier<Never>(high: high, low: low).data }
}

extension ChainLink: CustomStringConvertible {
    /// 32 hexadecimal digits.
    package var description: String { data.hexadecimal }
}
