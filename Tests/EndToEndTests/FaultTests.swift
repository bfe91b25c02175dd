import Foundation
import NIOHTTP1
import Testing

/// A network that is cut, loses answers or lies costs time, never a record; and `status` says what is wrong.
@Suite(.serialized, .timeLimit(.minutes(5)))
struct FaultTests {
    private struct Fault: Sendable {
        let name: String
        let behaviour: FaultyProxy.Behaviour
        /// What `ws1agent status` must say while it lasts.
        let cause: String
        var isReachable = false
        /// Requests that have to meet it.
        var requests = 2
    }

    private static let faults = [
        Fault(name: "cut", behaviour: .cut, cause: "closed the connection"),
        Fault(name: "lost-answer", behaviour: .loseAnswer, cause: "closed the connection"),
        Fault(name: "500", behaviour: .answer(.internalServerError, body: "oops"), cause: "500"),
        Fault(name: "429", behaviour: .answer(.tooManyRequests, headers: ["retry-after": "1"]), cause: "429"),
        Fault(
            name: "captive-portal",
            behaviour: .answer(.ok, headers: ["content-type": "text/html"], body: "<html>Please sign in</html>"),
            cause: "captive portal"),
        // So many that each record has been refused alone.
        Fault(
            name: "413", behaviour: .answer(.payloadTooLarge),
            cause: """
                such as a proxy, answered HTTP 413
                """, requests: 8),
        Fault(
            name: "forged-400", behaviour: .forge(.badRequest), cause: "the collector answered HTTP 400",
            isReachable: true, requests: 8),
    ]

    @Test func `Nothing is lost or doubled by what stands between`() async throws {
        var dice = SeededGenerator.announced(for: "FaultTests")
        try await Deployment.run { deployment in
            try await deployment.startCollector()
            try await FaultyProxy.run(upstreamPort: deployment.collectorPort) { proxy in
                try deployment.startAgent(port: proxy.port)
                try await deployment.waitUntilAgentAnswers()
                var acknowledged: Set<String> = []
                func produce(_ prefix: String, _ count: Int) async throws {
                    acknowledged.formUnion(try await deployment.record(events: count, prefix: prefix))
                }
                try await produce("before", 2)
                try await deployment.waitUntilSent()
                for fault in Self.faults {
                    proxy.behave(fault.behaviour)
                    try await produce(fault.name, 3)
                    try await proxy.faultsMet(fault.requests)
                    let status = try await Program.agent.run(["status", "--data", deployment.agentData])
                    #expect(status.succeeded, "\(status)")
                    #expect(
                        status.output.contains(fault.cause)
                            && status.output.contains("not reachable") != fault.isReachable,
                        "under \(fault.name) status does not name \(fault.cause): \(status)")
                    proxy.behave(.forward)
                    try await deployment.waitUntilSent()
                }
                // Large bodies are refused by something in between: parts are halved until they pass.
                proxy.behave(.cut)
                acknowledged.formUnion(
                    try await Self.record(events: 30, bytes: 2000, prefix: "large", deployment, &dice))
                let passedBefore = proxy.counters.passed
                proxy.behave(.refuseBodies(above: 16_000))
                try await deployment.waitUntilSent()
                #expect(proxy.counters.faulted > 0, "no body was refused, so nothing was tested")
                #expect(proxy.counters.passed > passedBefore + 1)
                proxy.behave(.forward)
                try await deployment.expectExactlyOnce(acknowledged: acknowledged)
            }
        }
    }

    @Test func `A collector that takes only small bodies gets small ones`() async throws {
        var dice = SeededGenerator.announced(for: "FaultTests")
        try await Deployment.run { deployment in
            try await deployment.startCollector(["--maximum-body-bytes", "65536"])
            try deployment.startAgent()
            try await deployment.waitUntilAgentAnswers()
            // A backlog far over the limit, of texts that do not compress.
            try await deployment.stopCollector()
            let acknowledged = try await Self.record(events: 40, bytes: 8000, prefix: "big", deployment, &dice)
            try await deployment.startCollector(["--maximum-body-bytes", "65536"])
            try await deployment.expectExactlyOnce(acknowledged: acknowledged)
        }
    }

    /// Records events whose value is text that does not compress.
    private static func record(
        events count: Int, bytes: Int, prefix: String, _ deployment: Deployment, _ dice: inout SeededGenerator
    ) async throws -> Set<String> {
        var names: Set<String> = []
        for number in 1...count {
            let text = String(
                (0..<bytes).map { _ in Character(Unicode.Scalar(UInt8.random(in: 48...122, using: &dice))) })
            let outcome = try await Program.agent.run([
                "event", "\(prefix).\(number)", "--data", deployment.agentData, "--", text,
            ])
            try #require(outcome.succeeded, "\(outcome)")
            names.insert("\(prefix).\(number)")
        }
        return names
    }
}
