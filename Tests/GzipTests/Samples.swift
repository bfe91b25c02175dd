import TestKit

/// Bytes for these tests, the same in every run.
enum Samples {
    /// Half text that repeats, half noise.
    static func mixed(_ count: Int) -> [UInt8] {
        var generator = SplitMix64(seed: UInt64(count))
        let text = Array("2026-01-02T03:04:05.678901Z information queue batch stored ".utf8)
        return (0..<count).map {
            ($0 / 64).isMultiple(of: 2) ? text[$0 % text.count] : UInt8.random(in: 0...255, using: &generator)
        }
    }
}
