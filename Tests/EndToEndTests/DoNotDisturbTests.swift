import Foundation
import NIOHTTP1
import Testing

/// Device and collector agree on do-not-disturb, also after both were started again.
@Suite(.timeLimit(.minutes(5)))
struct DoNotDisturbTests {
    private struct Decision: Decodable {
        var on: Bool
        var setBy: String?
        var setAt: String?
    }

    private struct Status: Decodable { var doNotDisturb: Bool }

    private static func decision(_ deployment: Deployment) async throws -> Decision {
        let id = try await deployment.deviceID()
        return try JSONDecoder().decode(
            Decision.self, from: try await deployment.request("/devices/\(id)/do-not-disturb"))
    }

    private static func isOn(_ deployment: Deployment) async throws -> Bool {
        let outcome = try await Program.agent.run(["status", "--json", "--data", deployment.agentData])
        return try JSONDecoder().decode(Status.self, from: Data(outcome.output.utf8)).doNotDisturb
    }

    @Test func `It is set on both sides and kept over restarts of both`() async throws {
        try await Deployment.run { deployment in
            func dnd(_ state: String) async throws -> Program.Outcome {
                try await Program.agent.run(["dnd", state, "--data", deployment.agentData])
            }
            try await deployment.startCollector()
            try deployment.startAgent()
            try await deployment.waitUntilAgentAnswers()
            let refused = try await dnd("on")
            #expect(!refused.succeeded && refused.errors.contains("doNotDisturbAllowed"), "\(refused)")
            _ = try await deployment.request(
                "/profiles/default", .PUT, body: #"{"doNotDisturbAllowed": true}"#)
            try await deployment.until("the agent follows the profile", while: deployment.agent) {
                try await dnd("on").succeeded
            }
            try await deployment.until("the collector knows", while: deployment.agent) {
                try await Self.decision(deployment).setBy == "device"
            }
            #expect(try await Self.decision(deployment).on)

            try await deployment.stopAgent()
            try await deployment.stopCollector()
            try deployment.startAgent()
            try await deployment.waitUntilAgentAnswers()
            #expect(try await Self.isOn(deployment), "without the collector")
            try await deployment.startCollector()
            let kept = try await Self.decision(deployment)
            #expect(kept.on && kept.setBy == "device" && kept.setAt != nil)

            let id = try await deployment.deviceID()
            _ = try await deployment.request("/devices/\(id)/do-not-disturb", .PUT, body: #"{"on": false}"#)
            try await deployment.until("the agent asks the collector", while: deployment.agent) {
                let reported = try await dnd("status")
                return reported.succeeded && reported.output.contains("off, decided by ")
            }
            #expect(try await !Self.isOn(deployment))
        }
    }

    /// Whoever heard that the decision is made finds it made, and the collector hears of it.
    @Test func `Kills lose no decision`() async throws {
        var dice = SeededGenerator.announced(for: "DoNotDisturbTests")
        try await Deployment.run { deployment in
            try await deployment.startCollector()
            _ = try await deployment.request("/profiles/default", .PUT, body: #"{"doNotDisturbAllowed": true}"#)
            try deployment.startAgent()
            for round in 1...4 {
                try await deployment.waitUntilAgentAnswers()
                let isOn = !round.isMultiple(of: 2)
                let state = isOn ? "on" : "off"
                try await deployment.until("the agent takes \(state)", while: deployment.agent) {
                    try await Program.agent.run(["dnd", state, "--data", deployment.agentData]).succeeded
                }
                try await deployment.kill(times: 3, using: &dice)
                try await deployment.waitUntilAgentAnswers()
                #expect(try await Self.isOn(deployment) == isOn, "round \(round)")
                try await deployment.until("the collector knows \(state)", while: deployment.agent) {
                    try await Self.decision(deployment).on == isOn
                }
            }
        }
    }
}
