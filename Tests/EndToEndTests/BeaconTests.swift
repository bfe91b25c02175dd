import Foundation
import NIOHTTP1
import Testing

/// What a device reports is with the collector at once, and whoever waits for it hears when.
@Suite(.timeLimit(.minutes(5)))
struct BeaconTests {
    private struct Device: Decodable {
        struct Beacon: Decodable {
            struct PushToken: Decodable { var token: String? }
            var enrollment: String?
            var pushToken: PushToken?
            var userDisplayName: String?
        }
        struct Verdicts: Decodable {
            var applicationCompliance: String
            var reportedAt: String
        }
        var beacon: Beacon?
        var verdicts: Verdicts?
        var profileRevision: UInt64?
    }

    private struct Beacons: Decodable {
        struct Item: Decodable {
            var beacon: Device.Beacon?
        }
        var items: [Item]
    }

    private static func beacons(_ deployment: Deployment) async throws -> [Device.Beacon] {
        let id = try await deployment.deviceID()
        return try JSONDecoder().decode(Beacons.self, from: try await deployment.request("/devices/\(id)/beacons"))
            .items.compactMap(\.beacon)
    }

    private static func device(_ deployment: Deployment) async throws -> Device {
        let id = try await deployment.deviceID()
        return try JSONDecoder().decode(Device.self, from: try await deployment.request("/devices/\(id)"))
    }

    @Test func `Whoever waits learns when the collector has it`() async throws {
        try await Deployment.run { deployment in
            func run(_ arguments: String...) async throws -> Program.Outcome {
                try await Program.agent.run(arguments + ["--data", deployment.agentData])
            }
            try await deployment.startCollector()
            try deployment.startAgent()
            try await deployment.waitUntilAgentAnswers()
            // Before the agent is enrolled, a beacon rightly reports no enrollment.
            try await deployment.until("the collector knows that the device is enrolled", while: deployment.agent) {
                try await Self.device(deployment).beacon?.enrollment == "enrolled"
            }
            let beacon = try await run("beacon", "--wait")
            #expect(beacon.succeeded && beacon.output.contains("stored by the collector"), "\(beacon)")
            #expect(try await Self.device(deployment).verdicts != nil)

            try await deployment.stopCollector()
            let late = try await run("push-token", "one", "--wait", "--wait-limit", "2s")
            #expect(late.ending == .exited(75) && late.errors.contains("was not acknowledged within 2"), "\(late)")
            try await deployment.startCollector()
            let token = try await run("push-token", "one", "--wait", "--wait-limit", "60s")
            #expect(token.succeeded, "\(token)")
            #expect(try await Self.device(deployment).beacon?.pushToken?.token == "one")
            let user = try await run("user", "--display-name", "Ada")
            #expect(user.succeeded, "\(user)")
            try await deployment.until("the collector knows the user", while: deployment.agent) {
                try await Self.device(deployment).beacon?.userDisplayName == "Ada"
            }
            let unsaid = try await run("user")
            #expect(unsaid.ending == .exited(64) && unsaid.errors.contains("--clear"), "\(unsaid)")
            let unlocked = try await run("unlock")
            #expect(unlocked.succeeded && unlocked.output.contains("beacon"), "\(unlocked)")
            for limit in ["30", "0s", "2h"] {
                let refused = try await run("beacon", "--wait", "--wait-limit", limit)
                #expect(refused.ending == .exited(64) && refused.errors.contains("--wait-limit"), "\(refused)")
            }

            try await deployment.stopAgent()
            let nobody = try await run("beacon", "--wait")
            #expect(nobody.ending == .exited(75) && nobody.errors.contains("no agent runs"), "\(nobody)")
        }
    }

    /// The schedule is 900 s, so that none of this waits for it.
    @Test func `Changes are reported without being asked for`() async throws {
        try await Deployment.run { deployment in
            try await deployment.startCollector()
            try deployment.startAgent(["--beacon-interval", "900"])
            try await deployment.waitUntilAgentAnswers()
            try await deployment.until("the collector knows that the device is enrolled", while: deployment.agent) {
                try await Self.device(deployment).beacon?.enrollment == "enrolled"
            }
            let wipe = try await Program.agent.run(["wipe", "--yes", "--data", deployment.agentData])
            #expect(wipe.succeeded, "\(wipe)")
            #expect(
                try await Self.beacons(deployment).contains { $0.enrollment == "wipe-pending" },
                "acknowledged before the wipe went on")
            try await deployment.until("the collector knows that the wipe is over", while: deployment.agent) {
                try await Self.device(deployment).beacon?.enrollment == "enrolled"
            }
        }
    }

    /// The schedule is 900 s, so that only the change itself, kept over the kills, brings the beacon.
    @Test func `Kills hide no change of compliance`() async throws {
        var dice = SeededGenerator.announced(for: "BeaconTests")
        try await Deployment.run { deployment in
            func start(_ deployment: Deployment) throws {
                try deployment.startAgent(
                    ["--beacon-interval", "900"], environment: ["WS1_APPLICATION_VERSION": "1.0"])
            }
            try await deployment.startCollector()
            try start(deployment)
            try await deployment.waitUntilAgentAnswers()
            for (version, verdict) in [("2", "non-compliant"), ("1", "compliant")] {
                _ = try await deployment.request(
                    "/profiles/default", .PUT,
                    body: #"{"compliance": [{"id": "app", "subject": "application-version", "operator": ">=", "#
                        + #""version": "\#(version)", "consequence": "report"}]}"#)
                try await deployment.kill(times: 8, using: &dice, startAgent: start)
                try await deployment.until("the collector shows \(verdict)", while: deployment.agent) {
                    try await Self.device(deployment).verdicts?.applicationCompliance == verdict
                }
            }
        }
    }

    @Test func `Whoever got the answer that it is stored can rely on it, whatever is killed`() async throws {
        var dice = SeededGenerator.announced(for: "BeaconTests")
        try await Deployment.run { deployment in
            func push(_ token: String) async throws -> Program.Outcome {
                try await Program.agent.run([
                    "push-token", token, "--wait", "--wait-limit", "30s", "--data", deployment.agentData,
                ])
            }
            try await deployment.startCollector()
            try deployment.startAgent()
            for round in 1...8 {
                try await deployment.waitUntilAgentAnswers()
                async let reported = push("token-\(round)")
                try await deployment.kill(times: 1, using: &dice)
                let outcome = try await reported
                if outcome.succeeded {
                    // The newest beacon has it no more if the agent was started again meanwhile.
                    #expect(try await Self.beacons(deployment).contains { $0.pushToken?.token == "token-\(round)" })
                } else {
                    #expect(outcome.ending == .exited(75) && !outcome.errors.isEmpty, "round \(round): \(outcome)")
                }
            }
            try await deployment.waitUntilAgentAnswers()
            let last = try await push("last")
            #expect(last.succeeded, "\(last)")
            #expect(try await Self.device(deployment).beacon?.pushToken?.token == "last")
        }
    }
}
