import Foundation
import TestKit

/// A generator that knows its seed. `WS1_TEST_SEED` repeats a run.
struct SeededGenerator: RandomNumberGenerator {
    let seed: UInt64
    private var generator: SplitMix64

    init(seed: UInt64) {
        self.seed = seed
        generator = SplitMix64(seed: seed)
    }

    /// A new seed, or that of the environment; printed, so that a failure can be repeated.
    static func announced(for test: String) -> SeededGenerator {
        let seed =
            ProcessInfo.processInfo.environment["WS1_TEST_SEED"].flatMap { UInt64($0) } ?? .random(in: 1...UInt64.max)
        print("\(test): WS1_TEST_SEED=\(seed)")
        return SeededGenerator(seed: seed)
    }

    mutating func next() -> UInt64 { generator.next() }
}
