import Crypto
import FoundationEssentials
import WireModel

/// SHA-256, counted by the test itself.
enum Digest {
    static func of(_ bytes: some Sequence<UInt8>) -> Data { Data(SHA256.hash(data: Array(bytes))) }

    static func hexadecimal(_ bytes: [UInt8]) -> String { of(bytes).hexadecimal }
}
