import DeviceTestKit
import Foundation
import Testing

/// An agent on a machine with logind: a message bus and a logind of the test's own.
@Suite(.timeLimit(.minutes(5)))
struct LogindTests {
    private struct Beacons: Decodable {
        struct Item: Decodable {
            struct Beacon: Decodable {
                var trigger: String?
                var userDisplayName: String?
            }
            var beacon: Beacon?
        }
        var items: [Item]
    }

    @Test func `An unlock is reported, and sleep waits`() async throws {
        let bus = try PrivateBus()
        let logind = try ScriptedLogind(on: bus, session: .init(name: "kiosk-user"))
        defer { logind.stop() }
        try await Deployment.run { deployment in
            func status() async throws -> String {
                try await Program.agent.run(["status", "--data", deployment.agentData]).output
            }
            try await deployment.startCollector()
            try deployment.startAgent(environment: ["DBUS_SYSTEM_BUS_ADDRESS": bus.address])
            try await deployment.waitUntilAgentAnswers()
            try await deployment.until("the agent follows logind", while: deployment.agent) {
                try await status().contains("logind       connected\n") && logind.heldInhibitors == 1
            }
            logind.unlock()
            let id = try await deployment.deviceID()
            try await deployment.until("the collector knows of the unlock", while: deployment.agent) {
                let beacons = try JSONDecoder().decode(
                    Beacons.self, from: try await deployment.request("/devices/\(id)/beacons"))
                return beacons.items.contains {
                    $0.beacon?.trigger == "unlock" && $0.beacon?.userDisplayName == "kiosk-user"
                }
            }
            logind.sleep(true)
            try await deployment.until("the machine may sleep", while: deployment.agent) { logind.heldInhibitors == 0 }
            logind.sleep(false)
            try await deployment.until("the next sleep waits too", while: deployment.agent) {
                logind.heldInhibitors == 1
            }
            try await deployment.stopAgent()
            #expect(logind.heldInhibitors == 0)
        }
    }

    @Test func `Without logind, the agent says why`() async throws {
        try await Deployment.run { deployment in
            func status() async throws -> String {
                try await Program.agent.run(["status", "--data", deployment.agentData]).output
            }
            let bus = ["DBUS_SYSTEM_BUS_ADDRESS": "unix:path=\(deployment.directory)/no-bus"]
            try await deployment.startCollector()
            try deployment.startAgent(environment: bus)
            try await deployment.waitUntilAgentAnswers()
            try await deployment.until("status says why", while: deployment.agent) {
                try await status().contains("logind       not available: nobody answers at unix:path=")
            }
            try await deployment.stopAgent()
            try deployment.startAgent(environment: bus.merging(["WS1_LOGIND": "false"]) { first, _ in first })
            try await deployment.waitUntilAgentAnswers()
            #expect(try await !status().contains("logind"))
        }
    }
}
