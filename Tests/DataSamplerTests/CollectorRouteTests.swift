import MQTTClient
import MQTTTransport
import TestKit
import Testing

@testable import DataSampler

/// The way to the collector that a configuration names.
@Suite struct CollectorRouteTests {
    private static let pin = "AQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQE="

    private func configuration(
        _ url: String = "mqtts://broker.example/fleet/ws1",
        change: (inout DataSamplerConfiguration) -> Void = { _ in }
    ) -> DataSamplerConfiguration {
        var configuration = DataSamplerConfiguration(directory: "/data", collectorURL: url)
        configuration.mqttUser = "kiosk-7"
        change(&configuration)
        return configuration
    }

    private func refusal(
        _ url: String = "mqtts://broker.example/ws1", change: (inout DataSamplerConfiguration) -> Void = { _ in }
    ) -> String {
        do throws(DataSamplerError) {
            try configuration(url, change: change).validate()
            return ""
        } catch {
            #expect(error.code == .invalidConfiguration)
            return error.message
        }
    }

    @Test func `An address of a broker leads through it, with what is set for it`() throws {
        let configuration = configuration {
            $0.mqttName = "kiosk"
            $0.mqttPasswordFile = "/password"
            $0.mqttCertificate = "/certificate"
            $0.mqttKey = "/key"
            $0.certificateAuthorityFile = "/ca"
            $0.certificatePins = [Self.pin]
        }
        try configuration.validate()
        guard case .broker(let settings) = try configuration.collectorRoute else {
            Issue.record("not through the broker")
            return
        }
        #expect(settings.address.description == "mqtts://broker.example:8883/fleet/ws1")
        #expect(settings.name == "kiosk" && settings.user == "kiosk-7" && settings.passwordFile == "/password")
        #expect(settings.security.certificateFile == "/certificate" && settings.security.keyFile == "/key")
        #expect(settings.security.authorityFile == "/ca" && settings.security.trustsSystem)
        #expect(CollectorRoute.normalized("MQTTS://broker.example/fleet/ws1/") == settings.address.description)
    }

    @Test func `Plain MQTT stays on this machine, unless that is allowed`() throws {
        try configuration("mqtt://127.0.0.1/ws1").validate()
        #expect(refusal("mqtt://broker.example/ws1").contains("--allow-plaintext"))
        try configuration("mqtt://broker.example/ws1") { $0.allowsPlaintext = true }.validate()
        #expect(refusal("mqtt://127.0.0.1/ws1") { $0.certificatePins = [Self.pin] }.contains("mqtts://"))
    }

    @Test(
        arguments: [
            ("mqtts://broker.example", "no prefix"), ("mqtts://broker.example/a+b", "wildcard"),
            ("mqtts://broker.example/a/#", "fragment"), ("mqtts://user:hunter2@broker.example/ws1", "mqttUser"),
        ])
    func `An address that no topic can be below is refused by name`(url: String, why: String) {
        let message = refusal(url)
        #expect(message.contains(why) && !message.contains("hunter2"), "\(message)")
    }

    private static let misfits: [(@Sendable (inout DataSamplerConfiguration) -> Void, String)] = [
        ({ $0.mqttUser = nil }, "mqttName"), ({ $0.mqttName = "a/b" }, "mqttName"),
        ({ $0.mqttUser = "a#" }, "mqttUser"),
        (
            {
                $0.mqttUser = nil
                $0.mqttName = "kiosk"
                $0.mqttPasswordFile = "/password"
            }, "mqttPasswordFile"
        ),
        ({ $0.mqttCertificate = "/certificate" }, "mqttKey"), ({ $0.mqttKey = "/key" }, "mqttCertificate"),
        ({ $0.proxyURL = "http://proxy:3128" }, "proxyURL"),
        (
            {
                $0.clientKeyFile = "/key"
                $0.clientSigningRequestFile = "/request"
            }, "mqttCertificate"
        ),
    ]

    @Test(arguments: misfits)
    func `What does not fit to a broker is refused by name`(
        change: @Sendable (inout DataSamplerConfiguration) -> Void, name: String
    ) {
        let message = refusal(change: change)
        #expect(message.contains(name), "\(message)")
    }

    private static let orphans: [(@Sendable (inout DataSamplerConfiguration) -> Void, String)] = [
        ({ $0.mqttPasswordFile = "/p" }, "mqttPasswordFile"), ({ $0.mqttName = "n" }, "mqttName"),
        ({ $0.mqttCertificate = "/c" }, "mqttCertificate"), ({ $0.mqttKey = "/k" }, "mqttKey"),
        ({ $0.mqttUser = "u" }, "mqttUser"),
    ]

    @Test(arguments: orphans)
    func `Settings of a broker need its address`(
        change: @Sendable (inout DataSamplerConfiguration) -> Void, name: String
    ) {
        let message = refusal("https://collector.example") {
            $0.mqttUser = nil
            change(&$0)
        }
        #expect(message.contains("\(name) is given") && message.contains("mqtts://"), "\(message)")
    }

    @Test func `Files are checked before a start`() throws {
        let directory = try TemporaryDirectory()
        let error = #expect(throws: DataSamplerError.self) {
            try configuration { $0.mqttPasswordFile = directory.file("missing") }.validateFiles()
        }
        #expect(error?.message.contains("missing") == true)
        let authority = #expect(throws: DataSamplerError.self) {
            try configuration { $0.certificateAuthorities = ["AQ=="] }.validateFiles()
        }
        #expect(authority?.message.contains("certificateAuthorities[0]") == true)
    }
}
