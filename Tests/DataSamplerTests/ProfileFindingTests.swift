import FoundationEssentials
import StoreTestKit
import TestKit
import Testing
import WireModel

@testable import DataSampler

/// Everything in a profile is applied, or there is a finding.
@Suite struct ProfileFindingTests {
    private func findings(
        calls: DeviceSettings.Calls = .init(), local change: (inout DataSamplerConfiguration) -> Void = { _ in },
        _ fill: (inout WireProfile) -> Void
    ) -> [String] {
        var configuration = SamplerBench.configuration("/nonexistent")
        change(&configuration)
        var profile = WireProfile()
        profile.revision = 3
        fill(&profile)
        return DeviceSettings.resolve(local: configuration, profile: profile, calls: calls).findings.map(\.name)
    }

    @Test func `A profile that is applied whole has no finding`() {
        #expect(findings { _ in }.isEmpty)
        #expect(
            findings {
                $0.sampling.modules = ["system", "analytics", "networkData", "networkAdapter", "wlan2", "custom"]
                $0.sampling.modulesGiven = true
                $0.analytics.enabled = true
                $0.logging.enabled = true
                $0.privacy = ["ssid": .drop]
                $0.detection.detectors = BuiltInDetector.allCases.map(\.rawValue)
                $0.detection.detectorsGiven = true
                $0.detection.consequence = "wipe"
            }.isEmpty)
    }

    @Test func `What this version does not offer is named`() {
        #expect(
            findings {
                $0.sampling.modules = ["system", "gps"]
                $0.sampling.modulesGiven = true
            } == ["module-not-sampled-gps"])
        #expect(findings { $0.geofences = [WireGeofence()] } == ["geofences-not-available"])
        #expect(findings(local: { $0.gpsd = "127.0.0.1:2947" }) { $0.geofences = [WireGeofence()] }.isEmpty)
        #expect(
            findings {
                $0.detection.detectors = ["tracer-attached", "of-a-later-version"]
                $0.detection.detectorsGiven = true
            } == ["detectors-not-available"])
        #expect(findings { $0.privacy = ["mac": .hash] } == ["privacy-key-missing"])
    }

    @Test func `Settings of a later version are reported of`() throws {
        let later = try WireProfile.decode(Data([0xA0, 0x38, 1]))
        #expect(findings { $0 = later } == ["unknown-settings"])
    }

    @Test func `Pins and authorities without TLS have a finding`() {
        let pins = [Data(repeating: 1, count: 32)]
        #expect(
            findings(local: { $0.collectorURL = "http://127.0.0.1:8420" }) { $0.certificatePins = pins }
                == ["certificate-pins-without-tls"])
        #expect(findings { $0.certificatePins = pins }.isEmpty)
        #expect(
            findings(local: { $0.collectorURL = "http://127.0.0.1:8420" }) { $0.certificateAuthorities = pins }
                == ["certificate-authorities-without-tls"])
    }

    @Test func `A stricter setting of the device is reported of where the profile says otherwise`() {
        #expect(
            findings(local: {
                $0.analyticsEnabled = false
                $0.loggingEnabled = false
                $0.logsOverWiFiOnly = true
                $0.privacy = ["mac": .drop]
            }) {
                $0.analytics.enabled = true
                $0.logging.enabled = true
                $0.logging.wifiOnly = false
                $0.privacy = ["mac": .send]
            } == [
                "analytics-off-locally", "logging-off-locally", "logs-wifi-only-locally", "privacy-stricter-locally",
            ])
        #expect(findings(local: { $0.analyticsEnabled = false }) { _ in }.isEmpty, "the profile says nothing of it")
        #expect(
            findings(calls: .init(beacons: .every(60))) { $0.beaconSeconds = 900 } == ["beacon-interval-of-program"])
    }

    @Test func `Beacons and status report the findings`() async throws {
        var profile = WireProfile.analyticsOn
        var fence = WireGeofence()
        (fence.id, fence.radiusMeters) = ("office", 10)
        profile.geofences = [fence]
        let bench = SamplerBench(profile: profile)
        let directory = try TemporaryDirectory()
        let sampler = try bench.sampler(directory.path)
        try await SamplerBench.start(sampler)
        try await bench.arrived {
            try await bench.beacons().contains { $0.profileFindings == ["geofences-not-available"] }
        }
        #expect(try await sampler.status().profile.findings?.count == 1)
        await sampler.stop()
    }
}
