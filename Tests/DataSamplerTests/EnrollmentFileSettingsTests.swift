import FoundationEssentials
import SampleModules
import TestKit
import Testing
import WireModel

@testable import DataSampler

/// What a configuration adopts from an enrollment file.
@Suite struct EnrollmentFileSettingsTests {
    private static let expires: Int64 = 1_798_718_400_000_000
    private static let pin = Data(repeating: 1, count: 32)

    /// A class, because a suite is copied.
    private final class Directory {
        private let temporary: TemporaryDirectory
        var path: String { temporary.path }

        init() throws { temporary = try TemporaryDirectory() }
    }

    private let directory: Directory
    private var file: String { directory.path + "/enrollment.json" }

    init() throws { directory = try Directory() }

    private func write(_ text: String? = nil) throws {
        let whole = EnrollmentFile(
            collector: "https://collector.test", certificatePins: [Self.pin], token: "token", expires: Self.expires)
        try Data((try text ?? whole.text).utf8).write(to: URL(filePath: file))
    }

    private func taken(now: Int64 = expires - 1) throws -> (DataSamplerConfiguration, remark: String?) {
        var configuration = DataSamplerConfiguration(directory: directory.path + "/data", collectorURL: "")
        let remark = try configuration.apply(enrollment: file, now: now)
        return (configuration, remark)
    }

    private func refusal(now: Int64 = expires - 1) -> String {
        let error = #expect(throws: DataSamplerError.self) { _ = try taken(now: now) }
        #expect(error?.code == .invalidConfiguration)
        return error?.message ?? ""
    }

    /// An identity of an enrolled device, as far as a start looks at it.
    private func enroll(keeping last: LastCollector?) throws {
        let data = directory.path + "/data"
        try FileManager.default.createDirectory(atPath: data, withIntermediateDirectories: true)
        // An identity that cannot be read counts as one.
        try Data("{}".utf8).write(to: URL(filePath: data + "/identity"))
        if let last { try LastCollector.file(in: data).save(last) }
    }

    @Test func `It gives address, pins and token`() throws {
        try write()
        let (configuration, remark) = try taken()
        #expect(remark == nil)
        #expect(configuration.collectorURL == "https://collector.test" && configuration.enrollmentToken == "token")
        #expect(configuration.certificatePins == [Self.pin.base64EncodedString()])
        try configuration.validate()
        let text = try String(contentsOfFile: file, encoding: .utf8)
        try write("\u{FEFF}" + text.replacing("\n", with: "\r\n"))
        #expect(try taken().0.enrollmentToken == "token")
    }

    @Test func `Its certificate authorities are trusted, also by a later start without it`() throws {
        let authority = Data([0x30, 0x01])
        let whole = EnrollmentFile(
            collector: "https://collector.test", certificatePins: [], certificateAuthorities: [authority],
            token: "token", expires: Self.expires)
        try write(try whole.text)
        let (configuration, _) = try taken()
        #expect(configuration.certificateAuthorities == [authority.base64EncodedString()])
        let error = #expect(throws: DataSamplerError.self) { try configuration.validateFiles() }
        #expect(error?.message.contains("certificateAuthorities[0]") == true, "it is no certificate")

        try enroll(
            keeping: LastCollector(
                url: "https://last.test", certificatePins: [], certificateAuthorities: ["MAE="]))
        var known = DataSamplerConfiguration(directory: directory.path + "/data", collectorURL: "https://last.test")
        #expect(known.applyLastCollector() == nil && known.certificateAuthorities == ["MAE="])
        try write("cut o")
        #expect(try taken().0.certificateAuthorities == ["MAE="])
    }

    @Test func `A file that does not enroll is refused with what to do`() throws {
        #expect(refusal().contains("does not exist") && refusal().contains("ws1collector enrollment-file"))
        try write("token-alone")
        #expect(refusal().contains("another file") && refusal().contains("ws1collector enrollment-file"))
        try write()
        #expect(refusal(now: Self.expires).contains("expired at 2026-12-31T12:00:00.000000Z"))
        #expect(refusal(now: Self.expires).contains("clock"))
    }

    @Test func `An enrolled device needs it no longer`() throws {
        let last = LastCollector(url: "https://last.test", certificatePins: ["pin"])
        try enroll(keeping: last)
        for content in [nil, "cut o"] {
            if let content { try write(content) }
            let (configuration, remark) = try taken()
            #expect(configuration.collectorURL == last.url && configuration.certificatePins == last.certificatePins)
            #expect(configuration.enrollmentToken == nil && remark?.contains("last start") == true)
        }
        // One that is there and has expired names the collector all the same.
        try write()
        let (configuration, remark) = try taken(now: Self.expires + 1)
        #expect(configuration.collectorURL == "https://collector.test" && remark == nil)
    }

    @Test func `An enrolled device of an earlier version has nothing to fall back to`() throws {
        try enroll(keeping: nil)
        #expect(refusal().contains("does not exist"))
    }

    @Test func `Pins need TLS, and are SHA-256 digests`() {
        var configuration = DataSamplerConfiguration(directory: "/data", collectorURL: "http://localhost")
        configuration.certificatePins = [Self.pin.base64EncodedString()]
        #expect(throws: DataSamplerError.self) { try configuration.validate() }
        configuration.collectorURL = "https://localhost"
        #expect(throws: Never.self) { try configuration.validate() }
        configuration.certificatePins = ["AQ=="]
        #expect(throws: DataSamplerError.self) { try configuration.validate() }
    }
}
