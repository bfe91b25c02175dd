import CommandKit
import Foundation
import Testing

@testable import AgentCommands
@testable import DataSampler

/// The agent's settings of a message broker.
@Suite("Settings of the agent for a message broker") struct BrokerSettingsTests {
    private func settings(
        _ flags: [String: String], environment: [String: String] = [:], file: String? = nil
    ) throws -> DataSamplerConfiguration {
        let given = try file.map { try ConfigurationFile.parse(Data($0.utf8), path: "agent.json5") }
        let layers = SettingLayers<AgentSettings>(
            flags: flags.merging(["data": "/data", "enrollment-token": "token"]) { given, _ in given },
            environment: environment, file: given)
        return try AgentSettings(layers, needsCollector: true).configuration
    }

    @Test func `Flags, variables and the file name the broker`() throws {
        let given = try settings(
            ["collector": "mqtt://localhost/ws1", "mqtt-user": "kiosk-7"],
            environment: ["WS1_MQTT_NAME": "kiosk"], file: "{ mqttUser: 'other' }")
        #expect(given.collectorURL == "mqtt://localhost/ws1" && given.mqttUser == "kiosk-7")
        #expect(given.mqttName == "kiosk" && given.mqttPasswordFile == nil)
    }

    @Test func `A refusal names where the value is from`() {
        let missing = #expect(throws: CommandError.self) { try settings(["collector": "mqtts://broker.example/ws1"]) }
        #expect(missing?.code == .usage && missing?.message.contains("--collector: ") == true)
        #expect(missing?.message.contains("mqttUser") == true)
        let plain = #expect(throws: CommandError.self) {
            try settings(["collector": "mqtt://broker.example/ws1", "mqtt-user": "kiosk-7"])
        }
        #expect(plain?.code == .usage && plain?.message.contains("--allow-plaintext") == true)
        let stray = #expect(throws: CommandError.self) {
            try settings(["collector": "http://localhost:8420"], environment: ["WS1_MQTT_KEY": "/key"])
        }
        #expect(stray?.message.contains("WS1_MQTT_KEY") == true && stray?.message.contains("mqttKey") == true)
    }
}
