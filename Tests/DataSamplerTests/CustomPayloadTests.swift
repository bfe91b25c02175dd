import Foundation
import Logging
import StoreTestKit
import TestKit
import Testing
import WireModel

@testable import DataSampler

/// The profile's raw text, whole and by key.
@Suite(.timeLimit(.minutes(5))) struct CustomPayloadTests {
    private func profile(_ payload: String?) throws -> DataSamplerProfile {
        var settings = DeviceSettings()
        settings.profileChecked = true
        settings.customPayload = payload
        return try #require(DataSamplerProfile(settings, fetched: nil))
    }

    @Test(arguments: [
        ("name", "Kiosk \u{E4}"), ("count", "3"), ("share", "0.5"), ("isOn", "true"), ("nothing", "null"),
        ("list", #"["a",1]"#), ("door", #"{"opening":"8:00","url":"https://a/b"}"#), ("door.opening", "8:00"),
        ("a.b", "with a dot"), ("large", "9007199254740993"),
    ]) func `A member of a JSON object is found by its name`(key: String, value: String) throws {
        let profile = try profile(
            #"""
            {"name": "Kiosk ä", "count": 3, "share": 0.5, "isOn": true, "nothing": null, "list": ["a", 1],
             "door": {"opening": "8:00", "url": "https://a/b"}, "a.b": "with a dot", "a": {"b": "other"},
             "large": 9007199254740993}
            """#)
        #expect(profile.customPayloadValue(key) == value)
    }

    @Test func `What is not there is nothing`() throws {
        for payload in [nil, "", "{}", #"{"a": 1}"#, "a = 1", "[1]", "<xml/>", #"{"a": "#] {
            #expect(try profile(payload).customPayloadValue("b") == nil, "\(payload ?? "none")")
            #expect(try profile(payload).customPayloadValue("b.c") == nil)
        }
        #expect(try profile(#"{"a": {"b": 1}}"#).customPayloadValue("a.b.c") == nil)
    }

    @Test func `Lines of keys and values are found by key`() throws {
        let profile = try profile("# door = no\r\n door = open = wide \nurl: https://a/b\n\ndoor = later\n")
        #expect(profile.customPayloadValue("door") == "open = wide")
        #expect(profile.customPayloadValue("url") == "https://a/b")
        #expect(profile.customPayloadValue("# door") == nil)
    }

    @Test func `It is there with and without a running sampler`() async throws {
        var wire = WireProfile.analyticsOn
        wire.customPayload = #"{"door": "open"}"#
        let bench = SamplerBench(profile: wire)
        let directory = try TemporaryDirectory()
        let sampler = try bench.sampler(directory.path)
        try await sampler.start()
        try await sampler.reloadProfile()
        #expect(try await sampler.profile()?.customPayload == wire.customPayload)
        #expect(try await sampler.profile()?.customPayloadValue("door") == "open")
        await sampler.stop()
        let offline = try await OfflineSampler.open(
            SamplerBench.configuration(directory.path), logger: .init(label: "test"))
        #expect(offline.profile()?.customPayloadValue("door") == "open")
        await offline.close()
    }
}
