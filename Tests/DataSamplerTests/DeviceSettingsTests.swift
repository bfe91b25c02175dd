import Foundation
import Privacy
import SampleModules
import Testing
import WireModel

@testable import DataSampler

@Suite struct DeviceSettingsTests {
    private func local(_ change: (inout DataSamplerConfiguration) -> Void = { _ in }) -> DataSamplerConfiguration {
        var configuration = DataSamplerConfiguration(directory: "/nonexistent", collectorURL: "http://localhost:8420")
        change(&configuration)
        return configuration
    }

    private func profile(_ change: (inout WireProfile) -> Void = { _ in }) -> WireProfile {
        var profile = WireProfile()
        profile.revision = 7
        change(&profile)
        return profile
    }

    @Test func `Without any layer the compiled defaults hold, and no profile was checked`() {
        let settings = DeviceSettings.resolve(local: local(), profile: nil)
        #expect(settings.modules == [.system, .analytics, .custom])
        #expect(settings.sampleIntervals[.system] == 60)
        #expect(settings.transmitInterval == .seconds(300))
        #expect(settings.eventHold == .seconds(7200))
        #expect(settings.beaconInterval == nil)
        #expect(settings.analyticsEnabled && settings.logging.enabled && !settings.telemetryDisabled)
        #expect(!settings.profileChecked && settings.profileRevision == 0)
        #expect(settings.privacy[.ssid] == .drop)
        #expect(Set(settings.sources.values) == [.compiled])
    }

    /// What one setting is under each combination of layers.
    struct Row: Sendable, CustomTestStringConvertible {
        var name: String
        var localChange: @Sendable (inout DataSamplerConfiguration) -> Void
        var profileChange: @Sendable (inout WireProfile) -> Void
        var value: @Sendable (DeviceSettings) -> String
        /// The expected values with neither, local alone, profile alone, both.
        var expected: [String]

        var testDescription: String { name }
    }

    static let rows: [Row] = [
        Row(
            name: "modules", localChange: { $0.sampleModules = .networkData },
            profileChange: {
                $0.sampling.modulesGiven = true
                $0.sampling.modules = ["wlan2"]
            }, value: { "\($0.modules.map(\.rawValue))" },
            expected: [#"["system", "analytics", "custom"]"#, #"["networkData"]"#, #"["wlan2"]"#, #"["wlan2"]"#]),
        Row(
            name: "sample interval", localChange: { $0.defaultSampleInterval = 10 },
            profileChange: { $0.sampling.sampleSeconds = 20 },
            value: { "\($0.sampleIntervals[.system] ?? 0)" }, expected: ["60.0", "10.0", "20.0", "20.0"]),
        Row(
            name: "a module's interval yields to what the profile says of all",
            localChange: { $0.moduleIntervals = ["system": .init(sampleInterval: 5)] },
            profileChange: { $0.sampling.sampleSeconds = 20 },
            value: { "\($0.sampleIntervals[.system] ?? 0)" }, expected: ["60.0", "5.0", "20.0", "20.0"]),
        Row(
            name: "a module's interval in the profile", localChange: { $0.defaultSampleInterval = 10 },
            profileChange: {
                var own = WireModuleIntervals()
                own.module = "system"
                own.sampleSeconds = 30
                $0.sampling.overrides = [own]
            }, value: { "\($0.sampleIntervals[.system] ?? 0) \($0.sampleIntervals[.analytics] ?? 0)" },
            expected: ["60.0 60.0", "10.0 10.0", "30.0 60.0", "30.0 10.0"]),
        Row(
            name: "transmit interval", localChange: { $0.defaultTransmitInterval = 100 },
            profileChange: { $0.sampling.transmitSeconds = 200 }, value: { "\($0.transmitInterval)" },
            expected: ["300.0 seconds", "100.0 seconds", "200.0 seconds", "200.0 seconds"]),
        Row(
            name: "event hold", localChange: { $0.eventHold = 0 }, profileChange: { $0.analytics.holdSeconds = 60 },
            value: { "\($0.eventHold)" }, expected: ["7200.0 seconds", "0.0 seconds", "60.0 seconds", "60.0 seconds"]),
        Row(
            name: "beacon interval", localChange: { $0.beaconInterval = 900 },
            profileChange: { $0.beaconSeconds = 120 },
            value: { "\($0.beaconInterval ?? 0)" }, expected: ["0.0", "900.0", "120.0", "120.0"]),
        Row(
            name: "offline time", localChange: { $0.offlineTimeAllowed = 10 },
            profileChange: { $0.offlineTimeAllowedSeconds = 20 },
            value: { "\($0.offlineTimeAllowed ?? 0)" }, expected: ["0.0", "10.0", "20.0", "20.0"]),
        Row(
            name: "budgets", localChange: { $0.budgets = DataSamplerBudgets(sentBytesPerDay: 5, processorShare: 0.5) },
            profileChange: { $0.budgets.sentBytesPerDay = 9 },
            value: { "\($0.budgets.sentBytesPerDay ?? 0) \($0.budgets.processorShare ?? 0)" },
            expected: ["0 0.0", "5 0.5", "9 0.0", "9 0.5"]),
        Row(
            name: "no budget, said by the profile",
            localChange: { $0.budgets = DataSamplerBudgets(sentBytesPerDay: 5) },
            profileChange: { $0.budgets.sentBytesPerDay = 0 }, value: { "\($0.budgets.sentBytesPerDay ?? 0)" },
            expected: ["0", "5", "0", "0"]),
        Row(
            name: "analytics off", localChange: { $0.analyticsEnabled = false },
            profileChange: { $0.analytics.enabled = true },
            value: { "\($0.analyticsEnabled)" }, expected: ["true", "false", "true", "false"]),
        Row(
            name: "logging off", localChange: { $0.loggingEnabled = false },
            profileChange: { $0.logging.enabled = true },
            value: { "\($0.logging.enabled)" }, expected: ["true", "false", "true", "false"]),
        Row(
            name: "telemetry off locally", localChange: { $0.telemetryDisabled = true },
            profileChange: { $0.telemetryDisabled = false },
            value: { "\($0.telemetryDisabled)" }, expected: ["false", "true", "false", "true"]),
        Row(
            name: "telemetry off by the profile", localChange: { $0.telemetryDisabled = false },
            profileChange: { $0.telemetryDisabled = true }, value: { "\($0.telemetryDisabled)" },
            expected: ["false", "false", "true", "true"]),
        Row(
            name: "Wi-Fi only", localChange: { $0.logsOverWiFiOnly = true },
            profileChange: { $0.logging.wifiOnly = false },
            value: { "\($0.logging.wifiOnly)" }, expected: ["false", "true", "false", "true"]),
        Row(
            name: "a disabled module", localChange: { $0.disabledModules = ["system"] },
            profileChange: {
                $0.sampling.modulesGiven = true
                $0.sampling.modules = ["system", "analytics"]
            }, value: { "\($0.modules.map(\.rawValue)) \($0.unavailable.keys.sorted())" },
            expected: [
                #"["system", "analytics", "custom"] []"#, #"["analytics", "custom"] ["system"]"#,
                #"["system", "analytics"] []"#,
                #"["analytics"] ["system"]"#,
            ]),
        Row(
            name: "privacy is the stricter", localChange: { $0.privacy = ["mac": .drop] },
            profileChange: { $0.privacy["mac"] = .send },
            value: { "\($0.privacy[.mac])" }, expected: ["send", "drop", "send", "drop"]),
        Row(
            name: "test", localChange: { $0.isTest = true }, profileChange: { $0.test = false },
            value: { "\($0.test)" },
            expected: ["false", "true", "false", "true"]),
    ]

    @Test(arguments: rows) func `Compiled, then local, then profile; what disables or protects is only ever tightened`(
        row: Row
    ) {
        let withLocal = local { row.localChange(&$0) }
        let withProfile = profile { row.profileChange(&$0) }
        let found = [
            DeviceSettings.resolve(local: local(), profile: profile()),
            DeviceSettings.resolve(local: withLocal, profile: profile()),
            DeviceSettings.resolve(local: local(), profile: withProfile),
            DeviceSettings.resolve(local: withLocal, profile: withProfile),
        ].map(row.value)
        #expect(found == row.expected)
    }

    @Test func `An explicit call beats the profile, and less than 60 s becomes 60`() {
        let profile = profile { $0.beaconSeconds = 900 }
        var calls = DeviceSettings.Calls()
        calls.beacons = .every(5)
        let called = DeviceSettings.resolve(local: local(), profile: profile, calls: calls)
        #expect(called.beaconInterval == 60 && called.sources["beaconInterval"] == .call)
        calls.beacons = .stopped
        #expect(DeviceSettings.resolve(local: local(), profile: profile, calls: calls).beaconInterval == nil)
        calls.logLevel = .verbose
        let level = DeviceSettings.resolve(local: local(), profile: profile, calls: calls)
        #expect(level.logging.level == .verbose && level.sources["logLevel"] == .command)
    }

    @Test func `With the hub as telecom source NetworkData is masked even where the profile names it, and says why`() {
        let profile = profile {
            $0.sampling.modulesGiven = true
            $0.sampling.modules = ["system", "networkData"]
        }
        let settings = DeviceSettings.resolve(local: local { $0.telecomSource = .hub }, profile: profile)
        #expect(settings.modules == [.system])
        #expect(settings.unavailable["networkData"]?.contains("hub") == true)
    }

    @Test func `The profile decides which detectors run, and what they look for`() {
        let profile = profile {
            $0.detection.detectorsGiven = true
            $0.detection.detectors = ["system-path-writable", "kernel-module-unsigned"]
            $0.detection.systemPaths = ["/opt/kiosk"]
            $0.detection.kernelModules = ["ext4"]
            $0.detection.unsignedKernelModules = ["nvidia"]
        }
        let detection = DeviceSettings.resolve(local: local(), profile: profile).detection
        #expect(detection.detectors == [.systemPathWritable, .kernelModuleUnsigned])
        #expect(detection.systemPaths == ["/opt/kiosk"])
        #expect(detection.kernelModules == ["ext4"] && detection.unsignedKernelModules == ["nvidia"])
        #expect(DeviceSettings.resolve(local: local(), profile: self.profile()).detection == DetectionRules())
    }

    @Test func `Module gps is sampled where there is a source of a position that may be sent, and else says why not`() {
        func settings(gpsd: String?, _ action: WirePrivacyAction?, local given: PersonalFieldAction? = nil)
            -> DeviceSettings
        {
            DeviceSettings.resolve(
                local: local {
                    $0.gpsd = gpsd
                    if let given { $0.privacy = ["position": given] }
                },
                profile: profile {
                    $0.sampling.modulesGiven = true
                    $0.sampling.modules = ["system", "gps"]
                    if let action { $0.privacy = ["position": action] }
                })
        }
        for action in [WirePrivacyAction.send, .coarsen] {
            let sampled = settings(gpsd: "127.0.0.1:2947", action)
            #expect(sampled.modules == [.system, .gps] && sampled.unavailable.isEmpty)
        }
        #expect(settings(gpsd: nil, .send).unavailable["gps"]?.contains("no source of the location") == true)
        let forbidden = [
            settings(gpsd: "127.0.0.1:2947", nil), settings(gpsd: "127.0.0.1:2947", .drop),
            settings(gpsd: "127.0.0.1:2947", .hash), settings(gpsd: "127.0.0.1:2947", .send, local: .drop),
        ]
        for settings in forbidden {
            #expect(settings.modules == [.system])
            #expect(settings.unavailable["gps"]?.contains("class position is dropped") == true)
        }
    }

    @Test func `The grid of coarse positions is the profile's, else a hundredth of a degree`() {
        let named = DeviceSettings.resolve(local: local(), profile: profile { $0.positionGridDegrees = 0.5 })
        #expect(named.positionGrid == 0.5 && named.sources["positionGrid"] == .profile)
        #expect(DeviceSettings.resolve(local: local(), profile: profile()).positionGrid == 0.01)
    }

    @Test func `An empty list of modules is none, not undecided`() {
        let settings = DeviceSettings.resolve(
            local: local { $0.sampleModules = .system }, profile: profile { $0.sampling.modulesGiven = true })
        #expect(settings.modules.isEmpty && settings.sources["modules"] == .profile)
    }

    @Test func `Intervals of modules that are not sampled make nothing go sooner`() {
        let given = local {
            $0.sampleModules = .system
            $0.moduleIntervals = ["system": .init(transmitInterval: 30), "networkData": .init(transmitInterval: 1)]
        }
        #expect(DeviceSettings.resolve(local: given, profile: nil).moduleTransmitIntervals == ["system": .seconds(30)])
    }
}
