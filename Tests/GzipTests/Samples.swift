/// Bytes for these tests, the same in every run.
enum Samples {
    /// Half text that repeats, half noise.
    static func mixed(_ count: Int) -> [UInt8] {
        var generator = SplitMix(state: UInt64(count))
        let text = Array("2026-01-02T03:04:05.678901Z information queue batch stored ".utf8)
        return (0..<count).map {
            ($0 / 64).isMultiple(of: 2) ? text[$0 % text.count] : UInt8.random(in: 0...255, using: &generator)
        }
    }
}

/// The same numbers in every run.
struct SplitMix: RandomNumberGenerator {
    var state: UInt64

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var value = state
        value = (value ^ (value >> 30)) &* 0xBF58_476D_1CE4_E5B9
        value = (value ^ (value >> 27)) &* 0x94D0_49BB_1331_11EB
        return value ^ (value >> 31)
    }
}
