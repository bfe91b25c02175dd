import Collector
import Foundation
import MQTTClient
import TestKit
import Testing

@testable import CollectorCommands
@testable import CommandKit

@Suite("Settings of the message broker")
struct BrokerSettingsTests {
    private func settings(_ flags: [String: String]) throws(CommandError) -> Settings {
        try Settings(SettingLayers(flags: flags.merging(["data": "/d"]) { $1 }, environment: [:], file: nil))
    }

    private func refusal(_ flags: [String: String]) -> String {
        do throws(CommandError) {
            _ = try settings(flags)
            return ""
        } catch { return error.message }
    }

    @Test func `An address has a broker, a port and a prefix`() throws {
        let settings = try settings(["mqtt-broker": "mqtts://broker.example/fleet/ws1", "mqtt-user": "collector"])
        #expect(settings.broker.address?.description == "mqtts://broker.example:8883/fleet/ws1")
        #expect(try self.settings([:]).broker == BrokerSettings())
    }

    @Test func `Enrollment URLs may name the broker by another name, and its topics only`() throws {
        #expect(try settings([:]).broker.enrollment == nil)
        let broker = try #require(try settings(["mqtt-broker": "mqtt://127.0.0.1/fleet"]).broker.enrollment)
        #expect(broker.objection("mqtts://broker.example/fleet") == nil)
        #expect(broker.objection("mqtts://broker.example/other")?.contains("this collector serves `fleet`") == true)
        let secret = broker.objection("mqtts://u:hunter2@broker.example/fleet")
        #expect(secret?.contains("user name or password") == true && secret?.contains("hunter2") == false)
        #expect(broker.authorities().isEmpty)
    }

    @Test(arguments: [
        "mqtts://broker.example", "mqtts://broker.example/a+", "mqtts://broker.example/a/#",
        "mqtts://broker.example/a//b",
        "mqtts://broker.example/$SYS", "https://broker.example/ws1", "mqtts://u:hunter2@broker.example/ws1", "broker",
    ])
    func `An address that no topic can be below is refused, without what may be secret`(address: String) {
        let message = refusal(["mqtt-broker": address])
        #expect(message.contains("mqtt-broker") && !message.contains("hunter2"), "\(message)")
    }

    @Test func `Plain MQTT stays on this machine, unless that is allowed`() throws {
        #expect(refusal(["mqtt-broker": "mqtt://broker.example/ws1"]).contains("--allow-plaintext"))
        _ = try settings(["mqtt-broker": "mqtt://127.0.0.1/ws1"])
        _ = try settings(["mqtt-broker": "mqtt://broker.example/ws1", "allow-plaintext": "true"])
    }

    @Test func `Settings that belong together are asked for`() {
        for name in ["mqtt-user", "mqtt-password-file", "mqtt-ca", "mqtt-certificate", "mqtt-key"] {
            #expect(refusal([name: "x"]).contains("give --mqtt-broker too"), "\(name)")
        }
        let broker = ["mqtt-broker": "mqtts://broker.example/ws1"]
        for (name, missing) in [
            ("mqtt-password-file", "mqtt-user"), ("mqtt-certificate", "mqtt-key"), ("mqtt-key", "mqtt-certificate"),
        ] {
            #expect(refusal(broker.merging([name: "x"]) { $1 }).contains("give --\(missing) too"), "\(name)")
        }
        let required = broker.merging([
            "device-certificates": "required", "device-ca-certificate": "c", "device-ca-key": "k",
            "tls-certificate": "t", "tls-key": "k",
        ]) { $1 }
        #expect(refusal(required).contains("the broker ends TLS"))
    }

    @Test func `The password is the first line of its file`() throws {
        let directory = try TemporaryDirectory()
        var broker = try settings([
            "mqtt-broker": "mqtts://broker.example/ws1", "mqtt-user": "collector",
            "mqtt-password-file": "\(directory.path)/password",
        ]).broker
        #expect(throws: MQTTError.self) { try broker.connection(clientID: "c") }
        try Data("secret\r\nremark\n".utf8).write(to: URL(filePath: "\(directory.path)/password"))
        let connection = try #require(try broker.connection(clientID: "c"))
        #expect(connection.password == "secret" && connection.user == "collector" && connection.clientID == "c")
        #expect(connection.security.trustsSystem)
        broker.ca = "/ca.pem"
        #expect(try broker.connection(clientID: "c")?.security.trustsSystem == false)
    }
}
