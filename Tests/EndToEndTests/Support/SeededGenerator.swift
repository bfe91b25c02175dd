import Foundation

/// SplitMix64: the same numbers from the same seed. `WS1_TEST_SEED` repeats a run.
struct SeededGenerator: RandomNumberGenerator {
    let seed: UInt64
    private var state: UInt64

    init(seed: UInt64) {
        self.seed = seed
        state = seed
    }

    /// A new seed, or that of the environment; printed, so that a failure can be repeated.
    static func announced(for test: String) -> SeededGenerator {
        let seed =
            ProcessInfo.processInfo.environment["WS1_TEST_SEED"].flatMap { UInt64($0) } ?? .random(in: 1...UInt64.max)
        print("\(test): WS1_TEST_SEED=\(seed)")
        return SeededGenerator(seed: seed)
    }

    mutating func next() -> UInt64 {
        state &+= 0x9e37_79b9_7f4a_7c15
        var z = state
        z = (z ^ (z >> 30)) &* 0xbf58_476d_1ce4_e5b9
        z = (z ^ (z >> 27)) &* 0x94d0_49bb_1331_11eb
        return z ^ (z >> 31)
    }
}
