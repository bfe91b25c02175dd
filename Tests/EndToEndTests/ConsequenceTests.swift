import Foundation
import NIOHTTP1
import Testing

/// A broken compliance rule is reported, and wipes the device once if the profile asks for it.
@Suite(.timeLimit(.minutes(5)))
struct ConsequenceTests {
    private struct Items<Item: Decodable>: Decodable { var items: [Item] }
    private struct Command: Decodable {
        var kind: String
        var state: String
        var issuedBy: String
    }
    private struct Notice: Decodable {
        var code: String
        var endedAt: String?
    }
    private struct Status: Decodable {
        struct Verdicts: Decodable {
            struct Rule: Decodable { var state: String }
            var compromised: String
            var applicationCompliance: String
            var rules: [Rule]
        }
        var verdicts: Verdicts?
    }

    private func profile(_ version: String) -> String {
        """
        {"compliance": [{"id": "app", "subject": "application-version", "operator": ">=", "version": "\(version)",
                         "consequence": "wipe"}]}
        """
    }

    @Test func `Kills wipe the device neither twice nor never`() async throws {
        var dice = SeededGenerator.announced(for: "ConsequenceTests")
        try await Deployment.run { deployment in
            func start(_ deployment: Deployment) throws {
                try deployment.startAgent(environment: ["WS1_APPLICATION_VERSION": "1.0"])
            }
            try await deployment.startCollector()
            try start(deployment)
            try await deployment.waitUntilAgentAnswers()
            let id = try await deployment.deviceID()
            func wipes() async throws -> [String] {
                let commands = try JSONDecoder().decode(
                    Items<Command>.self, from: try await deployment.request("/devices/\(id)/commands"))
                return commands.items.filter { $0.kind == "wipe" }.map(\.state)
            }
            _ = try await deployment.request("/profiles/default", .PUT, body: profile("2"))
            try await deployment.kill(times: 12, using: &dice, startAgent: start)
            try await deployment.until("the device was wiped", while: deployment.agent) {
                try await wipes().first == "done"
            }
            for _ in 1...2 {
                try await deployment.waitUntilAgentAnswers()
                let beacon = try await Program.agent.run(["beacon", "--wait", "--data", deployment.agentData])
                #expect(beacon.succeeded, "\(beacon)")
                try await deployment.kill(times: 2, using: &dice, startAgent: start)
            }
            #expect(try await wipes() == ["done"])
        }
    }

    @Test func `A broken rule wipes the device once, and its notice ends with it`() async throws {
        try await Deployment.run { deployment in
            try await deployment.startCollector()
            try deployment.startAgent(environment: ["WS1_APPLICATION_VERSION": "1.0"])
            try await deployment.waitUntilAgentAnswers()
            let id = try await deployment.deviceID()
            func wipes() async throws -> [Command] {
                let commands = try JSONDecoder().decode(
                    Items<Command>.self, from: try await deployment.request("/devices/\(id)/commands"))
                return commands.items.filter { $0.kind == "wipe" }
            }
            func notices() async throws -> [Notice] {
                let notices = try JSONDecoder().decode(
                    Items<Notice>.self, from: try await deployment.request("/notices"))
                return notices.items.filter { $0.code == "device-non-compliant" }
            }
            _ = try await deployment.request("/profiles/default", .PUT, body: profile("2"))
            try await deployment.until("the device was wiped", while: deployment.agent) {
                try await wipes().first?.state == "done"
            }
            #expect(try await wipes().map(\.issuedBy) == ["consequence in the profile"])
            #expect(try await notices().map { $0.endedAt == nil } == [true])
            let status = try await Program.agent.run(["status", "--json", "--data", deployment.agentData])
            let verdicts = try JSONDecoder().decode(Status.self, from: Data(status.output.utf8)).verdicts
            #expect(verdicts?.applicationCompliance == "non-compliant")
            #expect(verdicts?.rules.map(\.state) == ["non-compliant"])

            for _ in 1...2 {
                let beacon = try await Program.agent.run(["beacon", "--wait", "--data", deployment.agentData])
                #expect(beacon.succeeded, "\(beacon)")
            }
            #expect(try await wipes().count == 1, "the same incident")
            _ = try await deployment.request("/profiles/default", .PUT, body: profile("1"))
            try await deployment.until("the notice has ended", while: deployment.agent) {
                try await notices().allSatisfy { $0.endedAt != nil }
            }
            #expect(try await notices().count == 1)
            #expect(try await wipes().count == 1)
        }
    }
}
