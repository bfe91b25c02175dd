import Foundation
import TestKit

extension Data {
    /// Bytes that no compression makes fewer, so that a record takes as much of a file as a test wants.
    package static func filler(_ count: Int, seed: UInt64) -> Data {
        var random = SplitMix64(seed: seed)
        return Data((0..<count).map { _ in UInt8.random(in: .min ... .max, using: &random) })
    }
}
