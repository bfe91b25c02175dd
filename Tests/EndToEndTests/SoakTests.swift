import Foundation
import NIOHTTP1
import Synchronization
import Testing

/// Everything that goes wrong in the field, at random, for as long as one likes: afterwards the balance closes.
///
/// `WS1_SOAK_SECONDS` says how long (20 unless set; `Tools/soak` asks for twenty minutes); `WS1_TEST_SEED` repeats the
/// choice of faults.
@Suite(.serialized, .timeLimit(.minutes(240)), .enabled(if: SmallDisk.canMount, "mounting a tmpfs needs root"))
struct SoakTests {
    private static let seconds = ProcessInfo.processInfo.environment["WS1_SOAK_SECONDS"].flatMap { Int($0) } ?? 20

    /// The answers that the producers got.
    private final class Ledger: Sendable {
        struct Entries {
            var acknowledged: Set<String> = []
            var attempted: Set<String> = []
            var stop = false
        }
        let entries = Mutex(Entries())
    }

    private enum Fault: CaseIterable {
        case killAgent, killCollector, killBoth, stopAgent
        case cut, loseAnswers, serverError, tooManyRequests, tooLarge, captivePortal
        case fullDisk
        case clockForward, clockBack, clockRight
        case nothing
    }

    @Test func `After everything that can go wrong, the balance closes`() async throws {
        var dice = SeededGenerator.announced(for: "SoakTests")
        let disk = try SmallDisk(megabytes: 24)
        defer { disk.remove() }
        try await Deployment.run(agentData: disk.path + "/agent") { deployment in
            let clock = try FakeClock(directory: deployment.directory)
            try await deployment.startCollector()
            let ledger = Ledger()
            var counts: [Fault: Int] = [:]
            try await FaultyProxy.run(upstreamPort: deployment.collectorPort) { proxy in
                try startAgent(deployment, proxy, clock)
                try await deployment.waitUntilAgentAnswers()
                let producers = Task {
                    try await withThrowingTaskGroup(of: Void.self) { producers in
                        for producer in 0..<2 {
                            producers.addTask { try await produce("soak.\(producer)", deployment, ledger) }
                        }
                        try await producers.waitForAll()
                    }
                }
                let end = ContinuousClock.now + .seconds(Self.seconds)
                while ContinuousClock.now < end {
                    let fault = Fault.allCases.randomElement(using: &dice) ?? .nothing
                    counts[fault, default: 0] += 1
                    try await meet(fault, deployment, proxy, clock, disk, &dice)
                }
                proxy.behave(.forward)
                ledger.entries.withLock { $0.stop = true }
                try await producers.value
                try await deployment.waitUntilSent(within: .seconds(420))
                // The proxy goes with the next line; what is left goes past it. An agent that has only just been
                // started has no first line yet.
                try await deployment.waitUntilAgentAnswers()
                try await deployment.stopAgent()
            }
            try deployment.startAgent()
            let (acknowledged, attempted) = ledger.entries.withLock { ($0.acknowledged, $0.attempted) }
            let met = counts.map { "\($0.value) x \($0.key)" }.sorted().joined(separator: ", ")
            print(
                """
                SoakTests: \(Self.seconds) s, \(acknowledged.count) events acknowledged, \(attempted.count) not; \(met)
                """
            )
            #expect(acknowledged.count >= Self.seconds / 2, "too little was produced to prove anything")
            try await deployment.expectExactlyOnce(
                acknowledged: acknowledged, attempted: attempted,
                droppedOnlyFor: ["disk-full", "byte-cap", "buffer-full"])
        }
    }

    /// Lets a fault happen, for a while where it lasts, and mends it.
    private func meet(
        _ fault: Fault, _ deployment: Deployment, _ proxy: FaultyProxy, _ clock: FakeClock, _ disk: SmallDisk,
        _ dice: inout SeededGenerator
    ) async throws {
        let lasting = Duration.milliseconds(Int.random(in: 100...4000, using: &dice))
        func startAgent() throws { try self.startAgent(deployment, proxy, clock) }
        switch fault {
        case .nothing: try await live(deployment, for: lasting)
        case .killAgent:
            await deployment.agent?.killAndReap()
            try startAgent()
            try await live(deployment, for: lasting)
        case .killCollector:
            await deployment.collector?.killAndReap()
            try await live(deployment, for: lasting)
            try await deployment.startCollector()
        case .killBoth:
            await deployment.agent?.killAndReap()
            await deployment.collector?.killAndReap()
            try startAgent()
            try await deployment.startCollector()
        case .stopAgent:
            try await deployment.waitUntilAgentAnswers()
            try await deployment.stopAgent()
            try startAgent()
        case .cut, .loseAnswers, .serverError, .tooManyRequests, .tooLarge, .captivePortal:
            proxy.behave(behaviour(fault))
            try await live(deployment, for: lasting)
            proxy.behave(.forward)
        case .fullDisk:
            let filler = try disk.fill()
            try await live(deployment, for: lasting)
            try FileManager.default.removeItem(atPath: filler)
        case .clockForward: clock.set(offsetSeconds: Int.random(in: 1...(3 * 86_400), using: &dice))
        case .clockBack: clock.set(offsetSeconds: -Int.random(in: 1...(400 * 86_400), using: &dice))
        case .clockRight: clock.set(offsetSeconds: 0)
        }
    }

    private func startAgent(_ deployment: Deployment, _ proxy: FaultyProxy, _ clock: FakeClock) throws {
        try deployment.startAgent(port: proxy.port, environment: clock.environment)
    }

    private func behaviour(_ fault: Fault) -> FaultyProxy.Behaviour {
        switch fault {
        case .loseAnswers: .loseAnswer
        case .serverError: .answer(.internalServerError)
        case .tooManyRequests: .answer(.tooManyRequests, headers: ["retry-after": "1"])
        case .tooLarge: .refuseBodies(above: 4000)
        case .captivePortal: .answer(.ok, headers: ["content-type": "text/html"], body: "<html>Please sign in</html>")
        default: .cut
        }
    }

    /// Returns after this time; an agent that ends by itself meanwhile is a failure.
    private func live(_ deployment: Deployment, for duration: Duration) async throws {
        let agent = try #require(deployment.agent)
        if let ending = await agent.ending(within: duration) {
            throw EndToEndError("the agent ended by itself: \(ending)")
        }
    }

    private func produce(_ prefix: String, _ deployment: Deployment, _ ledger: Ledger) async throws {
        var number = 0
        while !ledger.entries.withLock({ $0.stop }) {
            number += 1
            let name = "\(prefix).\(number)"
            let outcome = try await deployment.record(event: name, value: number)
            ledger.entries.withLock { entries in
                if outcome.succeeded { entries.acknowledged.insert(name) } else { entries.attempted.insert(name) }
                return
            }
        }
    }
}
