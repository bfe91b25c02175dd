import Foundation
import TestKit

extension Data {
    /// Bytes that no compression makes fewer, so that a record takes as much of a file as a test wants.
    package static func filler(_ count: Int, seed: UInt64) -> Data {
        var random = SplitMix64(seed: seed)
        var bytes = Data(capacity: count + 8)
        while bytes.count < count { Swift.withUnsafeBytes(of: random.next()) { bytes.append(contentsOf: $0) } }
        return bytes.prefix(count)
    }
}
