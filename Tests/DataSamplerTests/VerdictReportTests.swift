import SampleModules
import StoreTestKit
import Synchronization
import TestKit
import Testing
import WireModel

@testable import DataSampler

/// Both verdicts with evidence, and the consequence "block".
@Suite(.timeLimit(.minutes(10))) struct VerdictReportTests {
    private struct Switch: CompromiseDetector {
        let name = "switch"
        let isOn: @Sendable () -> Bool

        func examine() -> CompromiseFinding? { CompromiseFinding(isOn() ? .yes : .no, evidence: "it was looked at") }
    }

    private func report(
        consequence: String, rule: String = "", verdict: CompromiseFinding.Verdict = .yes
    ) -> VerdictReport {
        var settings = DeviceSettings()
        settings.compromiseConsequence = VerdictConsequence(profile: consequence)
        var asked = WireComplianceRule()
        (asked.id, asked.subject, asked.operator, asked.version) = ("os", "operating-system-version", ">=", "12")
        asked.consequence = rule
        settings.compliance = [asked]
        let finding = CompromiseReport.Finding(
            detector: "switch", finding: CompromiseFinding(verdict, evidence: "seen"))
        return VerdictReport(
            compromise: CompromiseReport(findings: [finding]),
            compliance: ComplianceRules.evaluate(
                settings.compliance, applicationVersion: "", operatingSystemVersion: "11"),
            settings: settings)
    }

    @Test func `Only what the profile asks to block blocks`() {
        #expect(report(consequence: "block").blocks == ["the device is compromised: switch"])
        #expect(report(consequence: "wipe", rule: "wipe").blocks.isEmpty, "a device never acts on that by itself")
        #expect(report(consequence: "report").blocks.isEmpty && report(consequence: "").blocks.isEmpty)
        #expect(report(consequence: "block", verdict: .unknown).blocks.isEmpty)
        #expect(report(consequence: "", rule: "block").blocks == ["rule os is broken: 11 is not >= 12"])
    }

    @Test func `The status has both verdicts with their evidence`() {
        let status = report(consequence: "block").status
        #expect(status.compromised == "yes" && status.findings.map(\.evidence) == ["seen"])
        #expect(status.deviceCompliance == "non-compliant" && status.applicationCompliance == "unknown")
        #expect(status.rules.map(\.expected) == [">= 12"] && status.blocks.count == 1)
    }

    @Test func `The program gets a notice to block, and one to block no more`() async throws {
        let isOn = SharedFlag()
        var profile = WireProfile.analyticsOn
        profile.detection.consequence = "block"
        let bench = SamplerBench(profile: profile)
        let directory = try TemporaryDirectory()
        let listener = RecordingDelegate()
        let sampler = try bench.sampler(
            directory.path, delegate: listener,
            environment: { $0.detectors = { _, _, _ in [Switch { isOn.value.withLock { $0 } }] } })
        try await SamplerBench.start(sampler)
        try await SamplerBench.until { try await sampler.status().profile.revision > 0 }
        isOn.value.withLock { $0 = true }
        #expect(try await sampler.refreshDeviceCompromisedStatus().verdict == .yes)
        try await listener.untilReported(1, .blocked)
        #expect(listener.reported(.blocked).first?.details["reasons"]?.contains("switch") == true)
        #expect(try await sampler.status().verdicts?.blocks.count == 1)
        isOn.value.withLock { $0 = false }
        _ = try await sampler.refreshDeviceCompromisedStatus()
        try await listener.untilReported(1, .unblocked)

        // An update mends what was wrong, and needs a start.
        isOn.value.withLock { $0 = true }
        _ = try await sampler.refreshDeviceCompromisedStatus()
        try await listener.untilReported(2, .blocked)
        await sampler.stop()

        /// - Returns: whether a start reports of it what is asked for, and nothing else.
        func start(isOn now: Bool, reports kind: DataSamplerNotice.Kind) async throws -> Bool {
            isOn.value.withLock { $0 = now }
            let listener = RecordingDelegate()
            let sampler = try bench.sampler(
                directory.path, delegate: listener,
                environment: { $0.detectors = { _, _, _ in [Switch { isOn.value.withLock { $0 } }] } })
            try await sampler.start()
            try await listener.untilReported(1, kind)
            await sampler.stop()
            return listener.reported(kind == .blocked ? .unblocked : .blocked).isEmpty
        }
        #expect(try await start(isOn: false, reports: .unblocked))
        // The run before may have been killed before anybody heard it, so the next one says it again.
        #expect(try await start(isOn: false, reports: .unblocked))
        #expect(try await start(isOn: true, reports: .blocked))
        #expect(try await start(isOn: true, reports: .blocked))
    }

    private final class SharedFlag: Sendable {
        let value = Mutex(false)
    }
}
