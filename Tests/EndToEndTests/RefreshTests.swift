import Foundation
import NIOHTTP1
import Testing

/// What a device asks its collector for at once.
@Suite(.timeLimit(.minutes(5)))
struct RefreshTests {
    private struct Answer: Decodable {
        var information: [String: String]
        var applications: [String]?
    }

    @Test func `The collector's word on the device is shown`() async throws {
        try await Deployment.run { deployment in
            func refresh() async throws -> Answer {
                let outcome = try await Program.agent.run(["refresh", "--json", "--data", deployment.agentData])
                guard outcome.succeeded else { throw EndToEndError("refresh: \(outcome)") }
                return try JSONDecoder().decode(Answer.self, from: Data(outcome.output.utf8))
            }
            try await deployment.startCollector()
            try deployment.startAgent()
            try await deployment.waitUntilAgentAnswers()
            let first = try await refresh()
            #expect(first.information["enrollment"] == "enrolled" && first.information["organization"] == "default")
            #expect(first.information["supported"] == "true" && first.information["sharedDevice"] == "not applicable")
            #expect(first.applications == nil, "the organization keeps no list")

            let id = try await deployment.deviceID()
            _ = try await deployment.request(
                "/assignments/default", .PUT,
                body: """
                    {"groups": [{"name": "tills", "devices": ["\(id)"]}, {"name": "others"}],
                     "applications": [{"application": "com.example.till", "group": "tills"},
                                      {"application": "com.example.other", "group": "others"}]}
                    """)
            #expect(try await refresh().applications == ["com.example.till"])

            try await deployment.stopCollector()
            let failed = try await Program.agent.run(["refresh", "--data", deployment.agentData])
            #expect(!failed.succeeded && failed.errors.contains("could not be fetched"), "\(failed)")
        }
    }
}
