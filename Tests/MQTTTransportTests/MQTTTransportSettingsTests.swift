import FoundationEssentials
import MQTTClient
import TestKit
import Testing

@testable import MQTTTransport

@Suite struct MQTTTransportSettingsTests {
    private func settings(_ address: String = "mqtts://broker/ws1") throws -> MQTTTransportSettings {
        var settings = MQTTTransportSettings(address: try MQTTAddress(address, what: "collector URL"))
        settings.user = "device-1"
        return settings
    }

    private func refusal(_ settings: MQTTTransportSettings) -> String? {
        #expect(throws: MQTTError.self) { try settings.checkValues() }?.message
    }

    @Test func `The user names the device at the broker, or the name does`() throws {
        var settings = try settings()
        #expect(try settings.topics.requests == "ws1/v1/d/device-1/q")
        settings.name = "pump"
        #expect(try settings.topics.answers == "ws1/v1/d/pump/a")
        settings.name = nil
        settings.user = nil
        #expect(refusal(settings)?.contains("mqttName") == true)
    }

    @Test func `A name with a wildcard is refused by name`() throws {
        var settings = try settings()
        settings.user = "a+b"
        #expect(refusal(settings)?.contains("mqttUser") == true)
        settings.name = "#"
        #expect(refusal(settings)?.contains("mqttName") == true)
    }

    @Test func `Plain MQTT beyond this machine has to be allowed`() throws {
        var settings = try settings("mqtt://broker/ws1")
        #expect(refusal(settings)?.contains("mqtts://") == true)
        settings.allowsPlaintext = true
        try settings.checkValues()
        try self.settings("mqtt://127.0.0.1/ws1").checkValues()
    }

    @Test func `The password is the first line of its file, read each time`() throws {
        let folder = try TemporaryDirectory()
        var settings = try settings()
        settings.passwordFile = folder.file("password")
        #expect(throws: MQTTError.self) { try settings.clientSettings() }
        for password in ["one", "two"] {
            try Data("\(password)\nrest\n".utf8).write(to: URL(filePath: folder.file("password")))
            #expect(try settings.clientSettings().password == password)
        }
    }
}
