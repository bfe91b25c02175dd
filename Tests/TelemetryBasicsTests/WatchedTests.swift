import TestKit
import Testing

/// The tests of others wait by it.
@Suite(.timeLimit(.minutes(1))) struct WatchedTests {
    @Test func `A wait ends with the change that makes its condition hold`() async throws {
        let value = Watched(0)
        async let reached: Void = value.until { $0 == 3 }
        for _ in 1...3 { value.change { $0 += 1 } }
        try await reached
        #expect(value.value == 3)
        try await value.until { $0 == 3 }
    }

    @Test func `All who wait for one change go on`() async throws {
        let value = Watched(false)
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<20 { group.addTask { try await value.until { $0 } } }
            value.change { $0 = true }
            try await group.waitForAll()
        }
    }

    @Test(arguments: [false, true]) func `A cancelled wait ends, whether or not it has begun`(begins: Bool) async {
        let value = Watched(0)
        let waiting = Task {
            value.change { $0 = 1 }
            try await value.until { $0 == 2 }
        }
        if begins { try? await value.until { $0 == 1 } }
        waiting.cancel()
        await #expect(throws: CancellationError.self) { try await waiting.value }
    }

    @Test func `A condition on something else is looked at again with each count`() async throws {
        let (count, other) = (Watched(0), Watched(0))
        async let reached: Void = count.untilCounted { other.value == 2 }
        for _ in 1...2 {
            other.change { $0 += 1 }
            count.change { $0 += 1 }
        }
        try await reached
        #expect(other.value == 2)
    }
}
