import Testing

@testable import Collector

/// Which requests of OTLP the store has before it.
@Suite struct OTLPTurnsTests {
    /// Requests that are in their turn until they are let go.
    private actor Store {
        private(set) var begun: [String] = []
        private var open: [String: CheckedContinuation<Void, Never>] = [:]

        func hold(_ name: String) async {
            begun.append(name)
            await withCheckedContinuation { open[name] = $0 }
        }

        func finish(_ name: String) { open.removeValue(forKey: name)?.resume() }
    }

    private func begin(
        _ name: String, of token: String, items: Int, _ turns: OTLPTurns, _ store: Store
    ) async throws -> Task<Void, any Error> {
        let (begun, waiting) = (await store.begun.count, await turns.waiting)
        let task = Task {
            try await turns.inTurn(of: token, items: items, since: .now) { await store.hold(name) }
        }
        while await store.begun.count == begun, await turns.waiting == waiting { await Task.yield() }
        return task
    }

    @Test func `A token's small requests are stored together, a large one alone, and no other token waits`()
        async throws
    {
        let (turns, store) = (OTLPTurns(most: 100, longestWait: .seconds(600)), Store())
        var tasks: [Task<Void, any Error>] = []
        for (name, token, items) in [
            ("a1", "a", 40), ("a2", "a", 60), ("large", "a", 5000), ("a3", "a", 1), ("b1", "b", 5000),
        ] {
            tasks.append(try await begin(name, of: token, items: items, turns, store))
        }
        #expect(await store.begun == ["a1", "a2", "b1"])
        await store.finish("a1")
        try await tasks[0].value
        #expect(await store.begun == ["a1", "a2", "b1"])
        await store.finish("a2")
        while await store.begun.last != "large" { await Task.yield() }
        #expect(await turns.waiting == 1)
        await store.finish("large")
        while await store.begun.last != "a3" { await Task.yield() }
        for name in ["a3", "b1"] { await store.finish(name) }
        for task in tasks { try await task.value }
    }

    @Test func `A request whose turn does not come is refused, and the next one goes on`() async throws {
        let (turns, store) = (OTLPTurns(most: 100, longestWait: .milliseconds(200)), Store())
        let first = try await begin("first", of: "a", items: 90, turns, store)
        let large = try await begin("large", of: "a", items: 5000, turns, store)
        await #expect(throws: OTLPTurns.Refusal.self) { try await large.value }
        let small = try await begin("small", of: "a", items: 10, turns, store)
        #expect(await store.begun == ["first", "small"])
        for name in ["first", "small"] { await store.finish(name) }
        try await first.value
        try await small.value
    }

    @Test func `A request that was slow before waits no more, and is not refused if it need not wait`() async throws {
        let (turns, store) = (OTLPTurns(most: 100, longestWait: .seconds(60)), Store())
        let longAgo = ContinuousClock.now - .seconds(61)
        let first = Task { try await turns.inTurn(of: "a", items: 90, since: longAgo) { await store.hold("first") } }
        while await store.begun.isEmpty { await Task.yield() }
        await #expect(throws: OTLPTurns.Refusal.self) {
            try await turns.inTurn(of: "a", items: 90, since: longAgo) { await store.hold("second") }
        }
        await store.finish("first")
        try await first.value
    }

    @Test func `A request that fails ends its turn`() async throws {
        let turns = OTLPTurns(most: 1, longestWait: .seconds(600))
        struct Failure: Error {}
        for _ in 0..<3 {
            await #expect(throws: Failure.self) {
                try await turns.inTurn(of: "a", items: 5, since: .now) { throw Failure() }
            }
        }
        #expect(await turns.waiting == 0)
    }
}
