import Foundation
import LogStore
import StoreTestKit
import TestKit
import Testing
import Transmitter
import WireModel

@testable import DataSampler

/// What a diagnosis must not show.
@Suite(.timeLimit(.minutes(5))) struct DiagnosisScrubberTests {
    private static let profile: WireProfile = {
        var profile = WireProfile.analyticsOn
        profile.customPayload = #"{"service": {"password": "payload-\"secret\""}, "on": "yes"}"#
        profile.logging.scrubValues = ["profile-word"]
        profile.logging.scrubPatterns = ["card \\d+"]
        profile.privacyKey = Data(repeating: 0xAB, count: 32)
        return profile
    }()

    @Test func `Credentials, tokens, payload, key and scrub words of an enrolled device are replaced`() async throws {
        let bench = SamplerBench(profile: Self.profile)
        let directory = try TemporaryDirectory()
        let sampler = try bench.sampler(directory.path)
        try await sampler.start()
        try await sampler.reloadProfile()
        try await sampler.setPushToken("push-token-1")
        _ = await (try sampler.running()).parts.transmitter.rotateCredential()
        let identity = try #require(try sampler.running().core.identity.load())
        await sampler.stop()

        var configuration = SamplerBench.configuration(directory.path)
        configuration.logScrubbing = LogScrubbing(values: ["local-word"])
        let scrubber = try DiagnosisScrubber(configuration)
        let secrets = [
            identity.credential, identity.formerCredential, identity.spareCredential, "enrollment-token",
            "push-token-1", "payload-\"secret\"", "profile-word", "local-word", "card 4711",
            Data(repeating: 0xAB, count: 32).hexadecimal, Data(repeating: 0xAB, count: 32).base64EncodedString(),
        ].compactMap { $0 }
        #expect(secrets.count >= 10)
        for secret in secrets {
            #expect(!scrubber.scrubbed("a \(secret) b\nc \(secret)").contains(secret), "\(secret)")
            // As JSON has it, quotation marks and slashes are escaped.
            let json = JSONValue.object(["key \(secret)": .array([.string("x\(secret)x")])])
            guard case .object(let members) = scrubber.scrubbed(json), let member = members.first else {
                Issue.record("no object")
                continue
            }
            #expect(!member.key.contains(secret) && !member.value.strings.contains { $0.contains(secret) })
        }
        #expect(scrubber.scrubbed("the answer is yes") == "the answer is yes", "short words of a payload stay")
    }

    @Test func `A directory without files has no secrets, and a damaged file has none that is used`() throws {
        let directory = try TemporaryDirectory()
        let configuration = DataSamplerConfiguration(directory: directory.path, collectorURL: "")
        #expect(try DiagnosisScrubber(configuration).scrubbed("text") == "text")
        for name in [IdentityFile.name, StoredProfile.fileName, PushTokenStore.fileName] {
            try Data("damaged".utf8).write(to: URL(fileURLWithPath: "\(directory.path)/\(name)"))
        }
        #expect(try DiagnosisScrubber(configuration).scrubbed("text") == "text")
    }

    @Test func `A file that cannot be read is an error, because its secrets are not known`() throws {
        let directory = try TemporaryDirectory()
        for name in [IdentityFile.name, StoredProfile.fileName, PushTokenStore.fileName] {
            let path = "\(directory.path)/\(name)"
            // Nobody reads a directory as a file, root neither.
            try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: false)
            let configuration = DataSamplerConfiguration(directory: directory.path, collectorURL: "")
            #expect(throws: DataSamplerError.self, "\(name)") { try DiagnosisScrubber(configuration) }
            try FileManager.default.removeItem(atPath: path)
        }
    }

    @Test func `Rules of the configuration add to the profile's and are in force before there is one`() {
        var local = DataSamplerConfiguration(directory: "/data", collectorURL: "https://collector.test")
        local.logScrubbing = LogScrubbing(values: ["mine", "both"], patterns: ["a+"])
        #expect(DeviceSettings.resolve(local: local, profile: nil).logging.scrubbing == local.logScrubbing)
        var profile = WireProfile()
        profile.logging.scrubValues = ["both", "theirs"]
        let settings = DeviceSettings.resolve(local: local, profile: profile)
        #expect(settings.logging.scrubbing == LogScrubbing(values: ["mine", "both", "theirs"], patterns: ["a+"]))
        #expect(settings.described["scrub"]?.value == "3 values, 1 pattern")
        #expect(!settings.described.values.contains { $0.value.contains("mine") })
        local.logScrubbing = LogScrubbing(patterns: ["("])
        #expect(throws: DataSamplerError.self) { try local.validate() }
    }
}
