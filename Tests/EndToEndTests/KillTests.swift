import Foundation
import Glibc
import Synchronization
import Testing

/// Processes that die at any moment lose nothing and double nothing.
@Suite(.serialized, .timeLimit(.minutes(5)))
struct KillTests {
    /// The answers that the producers got.
    private final class Ledger: Sendable {
        struct Entries {
            var acknowledged: Set<String> = []
            var attempted: Set<String> = []
            var stop = false
        }
        let entries = Mutex(Entries())
    }

    @Test func `An agent told to stop while it starts ends in order`() async throws {
        var dice = SeededGenerator.announced(for: "KillTests")
        try await Deployment.run { deployment in
            try await deployment.startCollector()
            for round in 1...20 {
                try deployment.startAgent()
                let agent = try #require(deployment.agent)
                try await deployment.until("the agent has begun", within: .seconds(20)) {
                    agent.blocks(signal: SIGTERM)
                }
                #expect(await agent.ending(within: .milliseconds(Int.random(in: 0...50, using: &dice))) == nil)
                do { try await deployment.stopAgent() } catch { Issue.record("round \(round): \(error)") }
                try? FileManager.default.removeItem(atPath: deployment.agentData)
            }
        }
    }

    @Test func `What was acknowledged is stored exactly once through 40 kills`() async throws {
        var dice = SeededGenerator.announced(for: "KillTests")
        try await Deployment.run { deployment in
            try await deployment.startCollector()
            try deployment.startAgent()
            try await deployment.waitUntilAgentAnswers()
            let ledger = Ledger()
            try await withThrowingTaskGroup(of: Void.self) { tasks in
                for producer in 0..<2 {
                    let seed = dice.next()
                    tasks.addTask {
                        try await produce("kill.\(producer)", deployment, ledger, SeededGenerator(seed: seed))
                    }
                }
                defer { ledger.entries.withLock { $0.stop = true } }
                for round in 1...40 {
                    // Short and long lives alike: some die while they start, some in the middle of a batch.
                    let life = Duration.milliseconds(
                        Int.random(in: 0...(round.isMultiple(of: 4) ? 2000 : 500), using: &dice))
                    let victims = Int.random(in: 0..<5, using: &dice)
                    let agent = try #require(deployment.agent)
                    let collector = try #require(deployment.collector)
                    let early = await (victims < 3 ? agent : collector).ending(within: life)
                    #expect(early == nil, "round \(round): ended by itself")
                    if victims < 3 {
                        await agent.killAndReap()
                        if victims == 0 {
                            await collector.killAndReap()
                            try await deployment.startCollector()
                        }
                        try deployment.startAgent()
                    } else {
                        await collector.killAndReap()
                        try await deployment.startCollector()
                    }
                }
                ledger.entries.withLock { $0.stop = true }
                try await tasks.waitForAll()
            }
            let (acknowledged, attempted) = ledger.entries.withLock { ($0.acknowledged, $0.attempted) }
            print("KillTests: \(acknowledged.count) events acknowledged, \(attempted.count) not")
            #expect(acknowledged.count >= 40, "too little was produced to prove anything")
            try await deployment.expectExactlyOnce(acknowledged: acknowledged, attempted: attempted)
        }
    }

    /// Records events one after the other; now and then it is killed itself while it does.
    private func produce(_ prefix: String, _ deployment: Deployment, _ ledger: Ledger, _ seeded: SeededGenerator)
        async throws
    {
        var dice = seeded
        var number = 0
        while !ledger.entries.withLock({ $0.stop }) {
            number += 1
            let name = "\(prefix).\(number)"
            let killed = Int.random(in: 0..<8, using: &dice) == 0
            let limit = killed ? Duration.milliseconds(Int.random(in: 1...150, using: &dice)) : .seconds(60)
            let outcome = try await deployment.record(event: name, value: number, limit: limit)
            ledger.entries.withLock { entries in
                if outcome.succeeded { entries.acknowledged.insert(name) } else { entries.attempted.insert(name) }
                return
            }
        }
    }
}
