import CommandKit
import Foundation
import Testing
import Transmitter
import WireModel

@testable import AgentCommands
@testable import DataSampler

@Suite struct AgentSettingsTests {
    private func settings(
        flags: [String: String] = [:], environment: [String: String] = [:], file: String? = nil
    ) throws -> DataSamplerConfiguration {
        var flags = flags
        if flags["data"] == nil { flags["data"] = "/data" }
        if flags["collector"] == nil { flags["collector"] = "http://localhost:8420" }
        let given = try file.map { try ConfigurationFile.parse(Data($0.utf8), path: "agent.json5") }
        let layers = SettingLayers<AgentSettings>(
            flags: flags, environment: environment, file: given)
        return try AgentSettings(layers, needsCollector: true).configuration
    }

    @Test func `Defaults are those of the agent`() throws {
        let settings = try settings()
        // What nobody gave is left to the profile.
        #expect(settings.defaultSampleInterval == nil)
        #expect(settings.defaultTransmitInterval == nil)
        #expect(settings.beaconInterval == 900)
        #expect(settings.eventHold == nil)
        #expect(settings.lossWindow == 10)
        #expect(settings.sampleModules == nil)
        #expect(settings.traceLevel == .information)
        #expect(settings.enrollmentToken == nil)
    }

    @Test func `What help calls the default is what the sampler runs with`() throws {
        let running = DeviceSettings.resolve(local: try settings(), profile: nil)
        let standing = { name in AgentSettings.declarations.first { $0.name == name }?.defaultText ?? "" }
        #expect(running.modules.map { "\($0)" }.joined(separator: ",") == standing("modules"))
        #expect(Set(running.sampleIntervals.values.map(SettingRange.text)) == [standing("sample-interval")])
        #expect(running.transmitInterval == Double(standing("transmit-interval")).map { .seconds($0) })
        #expect(running.eventHold == Double(standing("event-hold")).map { .seconds($0) })
        #expect(running.beaconInterval == Double(standing("beacon-interval")))
        #expect(running.credentialLifetime == Double(standing("credential-days")).map { .seconds($0 * 86_400) })
        #expect(running.offlineTimeAllowed == nil && running.budgets == DataSamplerBudgets())
    }

    @Test func `A flag beats the variable, which beats the file`() throws {
        let file = "{ sampleInterval: 10, /* JSON5 */ transmitInterval: '20', eventHold: 30, modules: ['system'], }"
        let environment = ["WS1_TRANSMIT_INTERVAL": "21", "WS1_EVENT_HOLD": "31"]
        let settings = try settings(flags: ["event-hold": "32"], environment: environment, file: file)
        #expect(settings.defaultSampleInterval == 10)
        #expect(settings.defaultTransmitInterval == 21)
        #expect(settings.eventHold == 32)
    }

    @Test func `An enrollment file gives address, pins and token`() throws {
        let directory = FileManager.default.temporaryDirectory.appendingPathComponent("enrollment-\(UUID())")
        try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: directory) }
        let path = directory.appendingPathComponent("enrollment.json").path
        let pin = Data(repeating: 1, count: 32)
        func write(expires: Int64, _ address: String = "https://collector.test") throws {
            let file = EnrollmentFile(collector: address, certificatePins: [pin], token: "token", expires: expires)
            try Data(try file.text.utf8).write(to: URL(fileURLWithPath: path))
        }
        func read(_ flags: [String: String] = [:], environment: [String: String] = [:], file: String? = nil) throws
            -> DataSamplerConfiguration
        {
            let flags = flags.merging(["data": directory.path + "/data", "enrollment": path]) { given, _ in given }
            let given = try file.map { try ConfigurationFile.parse(Data($0.utf8), path: "agent.json5") }
            let layers = SettingLayers<AgentSettings>(
                flags: flags, environment: environment, file: given)
            return try AgentSettings(layers, needsCollector: true).configuration
        }
        func refusal(_ flags: [String: String] = [:], file: String? = nil) -> String {
            let error = #expect(throws: CommandError.self) { _ = try read(flags, file: file) }
            #expect(error?.code == .usage)
            return error?.message ?? ""
        }
        #expect(refusal().contains("--enrollment") && refusal().contains("does not exist"))
        try write(expires: .max / 2)
        let configuration = try read()
        #expect(configuration.collectorURL == "https://collector.test" && configuration.enrollmentToken == "token")
        #expect(configuration.certificatePins == [pin.base64EncodedString()])
        // Another token replaces one that is used up. Under systemd a file is always named.
        #expect(try read(["enrollment-token": "other"]).enrollmentToken == "other")
        let none = directory.appendingPathComponent("none").path
        #expect(try read(["enrollment-token-file": none]).enrollmentToken == "token")
        try Data("none".utf8).write(to: URL(fileURLWithPath: none))
        #expect(try read(["enrollment-token-file": none]).enrollmentToken == "token")
        for refused in [refusal(["collector": "https://other"]), refusal(file: "{ collector: 'https://other' }")] {
            #expect(refused.contains("both given"))
        }
        try write(expires: 1)
        #expect(refusal().contains("expired at 1970-01-01T00:00:00.000001Z"))
        try write(expires: .max / 2, "http://localhost")
        #expect(refusal().contains("certificatePins need an https"))
    }

    @Test func `The environment names the proxy unless a setting does`() throws {
        let environment = ["HTTPS_PROXY": "http://proxy.test:3128"]
        let flags = ["collector": "https://collector.test"]
        let named = try settings(flags: flags, environment: environment).connectionSettings
        #expect("\(named)".contains("http://proxy.test:3128"))
        let given = flags.merging(["proxy": "http://other.test:1"]) { $1 }
        let other = try settings(flags: given, environment: environment).connectionSettings
        #expect("\(other)".contains("http://other.test:1") && !"\(other)".contains("proxy.test"))
        let error = #expect(throws: CommandError.self) {
            try settings(flags: flags, environment: ["https_proxy": "socks5://u:secret@proxy.test"])
        }
        #expect(error?.code == .usage && error?.message.contains("https_proxy") == true)
        #expect(error?.message.contains("secret") == false)
    }

    @Test func `Names follow from the flag`() throws {
        let setting = try #require(AgentSettings.declarations.first { $0.name == "enrollment-token-file" })
        #expect(setting.flag == "--enrollment-token-file")
        #expect(setting.variable == "WS1_ENROLLMENT_TOKEN_FILE")
        #expect(setting.key(.camelCase) == "enrollmentTokenFile")
    }

    @Test func `An empty variable counts as not set`() throws {
        let environment = ["WS1_MODULES": "", "WS1_SAMPLE_INTERVAL": "", "WS1_ANALYTICS": ""]
        let settings = try settings(environment: environment, file: "{ sampleInterval: 10 }")
        #expect(settings.sampleModules == nil && settings.defaultSampleInterval == 10 && settings.analyticsEnabled)
    }

    @Test(arguments: [
        ("sample-interval", "0", "1 to 86400 seconds"), ("sample-interval", "abc", "1 to 86400 seconds"),
        ("sample-interval", "nan", "1 to 86400 seconds"), ("transmit-interval", "inf", "1 to 86400 seconds"),
        ("transmit-interval", "86401", "1 to 86400 seconds"), ("event-hold", "-1", "0 to 259200 seconds"),
        ("beacon-interval", "59", "60 to 86400 seconds"), ("loss-window", "61", "0 to 60 seconds"),
        ("log-level", "loud", "off, error"),
        ("modules", "1", "by name, never by number"), ("modules", "system,callLog", "not offered by this platform"),
        ("modules", "systm", "There is no sample module"), ("collector", "localhost", "collector URL"),
        ("data", "", "not empty"),
        ("proxy", "socks://x", "proxy URL"),
    ]) func `A value that cannot be is an error naming flag or variable and what is allowed`(
        name: String, value: String, expected: String
    ) {
        let byFlag = #expect(throws: CommandError.self) { try settings(flags: [name: value]) }
        #expect(byFlag?.exitCode == 64)
        #expect(byFlag?.message.contains("--\(name)") == true)
        #expect(byFlag?.message.contains(expected) == true)
        guard name != "data", name != "collector" else { return }
        guard let variable = AgentSettings.declarations.first(where: { $0.name == name })?.variable else { return }
        let byVariable = #expect(throws: CommandError.self) { try settings(environment: [variable: value]) }
        #expect(byVariable?.message.contains(variable) == true)
    }

    @Test(arguments: [
        ("{ sampelInterval: 5 }", "sampelInterval"), ("{ sampleInterval: 0 }", "sampleInterval in agent.json5"),
        ("{ modules: 1 }", "modules in agent.json5"), ("{ modules: ['callLog'] }", "not offered by this platform"),
        ("{ sampleInterval: true }", "sampleInterval"), ("[]", "agent.json5"), ("{", "agent.json5"),
        ("", "agent.json5"),
        ("{ moduleIntervals: { system: { sampleInterval: 0.5 } } }", "system.sampleInterval"),
        ("{ moduleIntervals: { system: { interval: 5 } } }", "system.interval"),
        ("{ moduleIntervals: { systm: { sampleInterval: 5 } } }", "systm"), ("{ data: 5 }", "data in agent.json5"),
    ]) func `What is wrong in a file is an error naming its key`(file: String, expected: String) {
        let error = #expect(throws: CommandError.self) {
            let given = try ConfigurationFile.parse(Data(file.utf8), path: "agent.json5")
            let flags: [String: String] = given.values["data"] == nil ? ["data": "/d"] : [:]
            let layers = SettingLayers<AgentSettings>(
                flags: flags, environment: ["WS1_COLLECTOR": "http://localhost"], file: given)
            _ = try AgentSettings(layers, needsCollector: true)
        }
        #expect(error?.exitCode == 64)
        #expect(error?.message.contains(expected) == true)
    }

    @Test func `Intervals of single modules come from the file`() throws {
        let settings = try settings(file: "{ moduleIntervals: { system: { sampleInterval: 5, transmitInterval: 7 } } }")
        #expect(settings.moduleIntervals == ["system": .init(sampleInterval: 5, transmitInterval: 7)])
    }

    @Test func `The token comes from a flag or from a file's first line, not from both`() throws {
        let path = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString).path
        try Data("token-in-file \n".utf8).write(to: URL(filePath: path))
        defer { try? FileManager.default.removeItem(atPath: path) }
        let byFlag = try settings(flags: ["enrollment-token": "t"])
        #expect(byFlag.enrollmentToken == "t")
        let byFile = try settings(flags: ["enrollment-token-file": path])
        #expect(byFile.enrollmentToken == "token-in-file")
        try Data("\u{FEFF}token-in-file\r\n".utf8).write(to: URL(filePath: path))
        #expect(try settings(flags: ["enrollment-token-file": path]).enrollmentToken == "token-in-file")
        #expect(throws: CommandError.self) {
            try settings(flags: ["enrollment-token": "t", "enrollment-token-file": path])
        }
        let missing = #expect(throws: CommandError.self) {
            try settings(flags: ["enrollment-token-file": "/nonexistent/token"])
        }
        #expect(missing?.message.contains("/nonexistent/token") == true)
    }

    @Test func `Plain http beyond this machine has to be asked for, by flag, variable or file`() throws {
        let far: [String: String] = ["collector": "http://collector.example:8420"]
        let error = #expect(throws: CommandError.self) { try settings(flags: far) }
        #expect(error?.exitCode == 64 && error?.message.contains("--allow-plaintext") == true)
        let proxied = #expect(throws: CommandError.self) { try settings(flags: ["proxy": "http://proxy.example:3128"]) }
        #expect(proxied?.message.contains("proxy.example") == true)
        #expect(try settings(flags: far.merging(["allow-plaintext": "true"]) { $1 }).allowsPlaintext)
        #expect(try settings(flags: far, environment: ["WS1_ALLOW_PLAINTEXT": "1"]).allowsPlaintext)
        #expect(try settings(flags: far, file: "{ allowPlaintext: true }").allowsPlaintext)
        #expect(throws: CommandError.self) { try settings(flags: far, file: "{ allowPlaintext: false }") }
    }

    @Test func `A file of authorities that run could not use is refused where settings are checked`() {
        let error = #expect(throws: CommandError.self) { try settings(flags: ["ca": "/nope"]) }
        #expect(error?.exitCode == 64)
        #expect(error?.message.contains("--ca") == true && error?.message.contains("/nope") == true)
    }

    @Test func `A text that no token can be is refused and not shown`() throws {
        let path = FileManager.default.temporaryDirectory.appending(path: "token-\(UUID())").path
        defer { try? FileManager.default.removeItem(atPath: path) }
        for text in ["secret\0word", "secret word", "secr\u{e9}t", String(repeating: "secret", count: 100)] {
            try Data("\(text)\n".utf8).write(to: URL(filePath: path))
            let byFile = #expect(throws: CommandError.self) { try settings(flags: ["enrollment-token-file": path]) }
            #expect(byFile?.code == .usage && byFile?.message.contains(path) == true)
            #expect(byFile?.message.contains("secr") == false)
            let byVariable = #expect(throws: CommandError.self) {
                try settings(environment: ["WS1_ENROLLMENT_TOKEN": text])
            }
            #expect(byVariable?.message.contains("WS1_ENROLLMENT_TOKEN") == true)
            #expect(byVariable?.message.contains("secr") == false)
        }
    }

    @Test func `A missing token file stops only a device that is not enrolled`() throws {
        let directory = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString).path
        try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: directory) }
        let flags: [String: String] = [
            "data": directory, "collector": "http://localhost", "enrollment-token-file": "/nonexistent/token",
        ]
        let layers = SettingLayers<AgentSettings>(flags: flags, environment: [:], file: nil)
        let refused = #expect(throws: CommandError.self) { try AgentSettings(layers, needsCollector: true) }
        #expect(refused?.exitCode == 64 && refused?.message.contains("not enrolled") == true)
        // A command that asks the collector nothing needs no token.
        #expect(try AgentSettings(layers, needsCollector: false).configuration.enrollmentToken == nil)

        let enrollment = Enrollment(
            deviceID: .random(), credential: "c", organization: "default", collectorID: .random(),
            incarnationID: .random())
        let identity = IdentityFile(directory: directory)
        try identity.save(.enrolled(enrollment, machineHash: nil))
        let settings = try AgentSettings(layers, needsCollector: true)
        #expect(settings.configuration.enrollmentToken == nil)
        #expect(settings.remarks.count == 1 && settings.remarks[0].contains("/nonexistent/token"))
        try identity.save(.unenrolled(enrollment.deviceID, tokenDigest: nil))
        #expect(throws: CommandError.self) { try AgentSettings(layers, needsCollector: true) }
    }

    @Test func `An enrolled device starts with the address it knows, and keeps its pins at any address`() throws {
        let directory = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString).path
        try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: directory) }
        func read(_ flags: [String: String] = [:]) throws -> AgentSettings {
            let flags = flags.merging(["data": directory]) { given, _ in given }
            return try AgentSettings(
                SettingLayers<AgentSettings>(flags: flags, environment: [:], file: nil), needsCollector: true)
        }
        let pins = [Data(repeating: 1, count: 32).base64EncodedString()]
        try LastCollector.file(in: directory).save(
            LastCollector(url: "https://last.test", certificatePins: pins))
        let refused = #expect(throws: CommandError.self) { try read() }
        #expect(refused?.exitCode == 64 && refused?.message.contains("collector is not given") == true)

        let enrollment = Enrollment(
            deviceID: .random(), credential: "c", organization: "default", collectorID: .random(),
            incarnationID: .random())
        let identity = IdentityFile(directory: directory)
        try identity.save(.enrolled(enrollment, machineHash: nil))
        let known = try read()
        #expect(known.configuration.collectorURL == "https://last.test" && known.configuration.certificatePins == pins)
        #expect(known.remarks.count == 1 && known.remarks[0].contains("https://last.test"))
        for url in ["https://last.test", "https://last.test/", "https://other.test"] {
            let settings = try read(["collector": url])
            #expect(settings.configuration.collectorURL == url && settings.configuration.certificatePins == pins)
            #expect(settings.remarks.isEmpty)
        }
        let plain = #expect(throws: CommandError.self) { try read(["collector": "http://localhost"]) }
        #expect(plain?.message.contains("certificatePins need an https") == true, "pins are not lost on the way")

        try identity.save(.unenrolled(enrollment.deviceID, tokenDigest: nil))
        #expect(try read(["collector": "https://last.test"]).configuration.certificatePins == [])
    }

    @Test func `A data directory that cannot be written is reported before anything starts`() throws {
        let file = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString).path
        try Data().write(to: URL(filePath: file))
        defer { try? FileManager.default.removeItem(atPath: file) }
        for path in [file, "\(file)/below/it"] {
            let layers = SettingLayers<AgentSettings>(
                flags: ["data": path, "collector": "http://localhost"], environment: [:], file: nil)
            let error = #expect(throws: CommandError.self) {
                try AgentSettings(layers, needsCollector: true).checkDirectory()
            }
            #expect(error?.exitCode == 1 && error?.message.contains(file) == true)
        }
        let layers = SettingLayers<AgentSettings>(
            flags: ["data": "\(file)-other/deep", "collector": "http://localhost"], environment: [:], file: nil)
        try AgentSettings(layers, needsCollector: true).checkDirectory()
        #expect(!FileManager.default.fileExists(atPath: "\(file)-other"), "a check makes nothing")
    }

    @Test func `What must be given and is not names all three places`() {
        let error = #expect(throws: CommandError.self) {
            try AgentSettings(SettingLayers(flags: [:], environment: [:]), needsCollector: true)
        }
        for place in ["--collector", "WS1_COLLECTOR", "collector in the configuration file"] {
            #expect(error?.message.contains(place) == true)
        }
    }
}
