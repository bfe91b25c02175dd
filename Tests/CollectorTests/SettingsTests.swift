import CollectorStore
import Foundation
import Logging
import Testing
import WireModel

@testable import Collector
@testable import CollectorCommands

@Suite("Settings of the collector")
struct SettingsTests {
    @Test func flagsBeatEnvironmentBeatsFileBeatsDefaults() throws {
        let file = try ConfigurationFile(
            text: "data: /file\nlisten: 127.0.0.1:1\nlog-level: error\nmaximum-connections: 7\n", path: "c.yaml")
        let settings = try Settings(
            flags: [.data: "/flag"], environment: ["WS1_DATA": "/environment", "WS1_LISTEN": "[::1]:2", "WS1_LOG_LEVEL": ""], file: file)
        #expect(settings.data == "/flag")
        #expect(settings.listen == ListenAddress(host: "::1", port: 2))
        #expect(settings.logLevel == .error, "an empty variable is not set")
        #expect(settings.maximumConnections == 7)
        #expect(settings.maximumBodyBytes == 4 * 1024 * 1024)
    }

    @Test func retentionIsSetByStream() throws {
        let file = try ConfigurationFile(text: "data: /d\nretention-sample-days: 7\nretention-event-bytes: 5000000\n", path: "c.yaml")
        let settings = try Settings(flags: [.retentionStatusDays: "365"], environment: ["WS1_DISK_NOTICE_BYTES": "0"], file: file)
        var expected = RetentionLimits()
        expected[.status].days = 365
        expected[.event].bytes = 5_000_000
        expected[.sample].days = 7
        #expect(settings.retention == expected && settings.diskNoticeBytes == 0)
        #expect(try Settings(flags: [.data: "/d"], environment: [:], file: nil).retention == RetentionLimits())
    }

    @Test(arguments: [(2048, 20_000, 2048), (2048, 1024, 512), (1, 1024, 1), (2048, 1, 1)])
    func connectionsLeaveDescriptorsForTheRest(wanted: Int, limit: Int, expected: Int) {
        #expect(OpenFiles.connections(wanted: wanted, limit: limit) == expected)
    }

    /// `validate` prints them all; only what may hold a secret is not shown as it is.
    @Test func everySettingIsShownAsItWouldBeUsed() throws {
        let file = try ConfigurationFile(
            text: "data: /d\nretention-sample-bytes: 7000000000\nnotice-webhook: https://hooks.example/s3cret\n", path: "c.yaml")
        let settings = try Settings(flags: [:], environment: [:], file: file)
        let unset: Set<Setting> = [
            .tlsCertificate, .tlsKey, .clientCA, .deviceCACertificate, .deviceCAKey, .retentionStatusBytes, .retentionEventBytes,
        ]
        for setting in Setting.allCases { #expect((settings.shown(setting) == nil) == unset.contains(setting), "\(setting)") }
        #expect(settings.shown(.retentionSampleBytes) == "7000000000" && settings.shown(.logQuotaBytes) == "200000000")
        #expect(settings.shown(.noticeWebhook) == "at hooks.example")
        let other = try ConfigurationFile(
            text: "data: /d\nretention-sample-bytes: 7000000000\nnotice-webhook: https://hooks.example/other\n", path: "c.yaml")
        #expect(try Settings(flags: [:], environment: [:], file: other).changes(from: settings) == [.noticeWebhook])
    }

    @Test(arguments: Setting.allCases)
    func everySettingIsReadFromItsVariable(setting: Setting) {
        let given = GivenSettings(flags: [:], environment: [setting.environmentName: "value"], file: nil)
        #expect(given.text(setting) == "value")
        #expect(given.invalid(setting, "is wrong").message.contains(setting.environmentName))
    }

    @Test(arguments: [
        ("data: a\nlissten: b\n", "`lissten` in line 2"), ("- a\n", "mapping"), ("data: [a]\n", "`data` in line 1"), ("data: {", "c.yaml"),
        ("data:\n", "no single value"),
    ])
    func aFileThatIsWrongIsRefusedByKeyAndLine(text: String, names: String) {
        let error = #expect(throws: CommandError.self) { try ConfigurationFile(text: text, path: "c.yaml") }
        #expect(error?.code == .usage)
        #expect(error?.message.contains(names) == true, "\(error?.message ?? "")")
    }

    @Test func anEmptyFileSetsNothing() throws {
        #expect(try ConfigurationFile(text: "", path: "c.yaml").values.isEmpty)
        #expect(try ConfigurationFile(text: "# only a comment\n", path: "c.yaml").values.isEmpty)
    }

    @Test(arguments: [
        ([Setting.listen: "0.0.0.0:1"], "--allow-plaintext"), ([.listen: "nowhere"], "nowhere"), ([.listen: "1.2.3.4:99999"], "99999"),
        ([.tlsCertificate: "a"], "--tls-key"), ([.tlsKey: "a"], "--tls-certificate"), ([.clientCA: "a"], "--client-ca"),
        ([.deviceCertificates: "required"], "--device-ca-certificate"), ([.deviceCertificates: "perhaps"], "perhaps"),
        ([.deviceCACertificate: "a"], "--device-ca-key"), ([.deviceCAKey: "a"], "--device-ca-certificate"),
        ([.deviceCACertificate: "a", .deviceCAKey: "b"], "--tls-certificate"),
        ([.deviceCertificateDays: "1096"], "device-certificate-days"),
        ([.logLevel: "loud"], "loud"), ([.maximumBodyBytes: "1"], "maximum-body-bytes"), ([.allowPlaintext: "perhaps"], "perhaps"),
        ([.retentionSampleDays: "0"], "retention-sample-days"), ([.retentionEventBytes: "12"], "retention-event-bytes"),
    ])
    func whatDoesNotFitIsRefusedWithWhatToDo(flags: [Setting: String], names: String) {
        let error = #expect(throws: CommandError.self) {
            try Settings(flags: flags.merging([.data: "/d"]) { $1 }, environment: [:], file: nil)
        }
        #expect(error?.code == .usage)
        #expect(error?.message.contains(names) == true, "\(error?.message ?? "")")
    }

    @Test func plaintextBeyondThisMachineNeedsToBeSaid() throws {
        let flags: [Setting: String] = [.data: "/d", .listen: "0.0.0.0:1"]
        #expect(throws: CommandError.self) { try Settings(flags: flags, environment: [:], file: nil) }
        #expect(try Settings(flags: flags.merging([.allowPlaintext: "true"]) { $1 }, environment: [:], file: nil).allowPlaintext)
        let tls = try Settings(flags: flags.merging([.tlsCertificate: "c", .tlsKey: "k"]) { $1 }, environment: [:], file: nil)
        #expect(tls.tls == TLSFiles(certificate: "c", key: "k"))
    }

    @Test(arguments: [
        ("127.0.0.1:1", true), ("127.9.9.9:1", true), ("localhost:1", true), ("[::1]:1", true), ("0.0.0.0:1", false), ("[::]:1", false),
        ("127.0.0.1.example.com:1", false), ("192.168.0.1:1", false), ("127.0.0.256:1", false),
    ])
    func onlyLoopbackIsLoopback(text: String, expected: Bool) throws {
        #expect(try #require(ListenAddress(text)).isLoopback == expected)
    }

    @Test(arguments: ["", ":1", "a", "a:b", "a:-1", "a:65536", "::1:8420"])
    func whatIsNoAddressIsNone(text: String) {
        #expect(ListenAddress(text) == nil)
    }
}
