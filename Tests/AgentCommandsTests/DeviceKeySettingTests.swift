import DataSampler
import Testing

@testable import AgentCommands

/// The forms of the setting `device-key`.
@Suite struct DeviceKeySettingTests {
    @Test(arguments: ["file", "file:/etc/key", "systemd:ws1-device-key", "passcode", "none"])
    func `Each form is read and shown as it was given`(_ text: String) {
        #expect(DeviceKeySetting(text)?.text == text)
    }

    @Test(arguments: ["", "File", "file:", "file:key", "systemd", "systemd:", "systemd:a/b", "systemd:.a", "tpm2"])
    func `What is no form is refused`(_ text: String) { #expect(DeviceKeySetting(text) == nil) }

    @Test func `Only none switches encryption off`() {
        for (text, isOn) in [("file", true), ("passcode", true), ("systemd:a", true), ("none", false)] {
            var configuration = DataSamplerConfiguration(directory: "/data", collectorURL: "https://collector.test")
            DeviceKeySetting(text)?.apply(to: &configuration)
            #expect(configuration.encryptsAtRest == isOn)
        }
    }
}
