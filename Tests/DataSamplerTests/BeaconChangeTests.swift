import RecordStore
import StoreTestKit
import TestKit
import Testing
import WireModel

@testable import DataSampler

/// A collector hears of a change without a schedule and without a call of the host.
@Suite(.timeLimit(.minutes(10))) struct BeaconChangeTests {
    private static func profile(revision: UInt64, applicationFrom version: String) -> WireProfile {
        var rule = WireComplianceRule()
        rule.id = "version"
        rule.subject = "application-version"
        rule.operator = ">="
        rule.version = version
        var profile = WireProfile.analyticsOn
        profile.revision = revision
        profile.compliance = [rule]
        return profile
    }

    @Test func `Start, enrollment, profile, verdict and wipe are reported without being asked for`() async throws {
        let directory = try TemporaryDirectory()
        let bench = SamplerBench(profile: Self.profile(revision: 1, applicationFrom: "2.0"))
        let sampler = try bench.sampler(directory.path) { $0.applicationVersion = "2.1" }
        try await sampler.start()
        try await bench.arrived {
            guard let reported = try await bench.beacons().last else { return false }
            return reported.enrollment == .enrolled && reported.managed == .yes && reported.profileRevision == 1
                && reported.applicationCompliance == .compliant
        }
        let first = try #require(try await bench.beacons().first)
        #expect(first.trigger == .start && first.nextBeaconSeconds == 0)

        bench.collector.setProfile(Self.profile(revision: 2, applicationFrom: "3.0"))
        try await sampler.reloadProfile()
        try await bench.arrived {
            guard let reported = try await bench.beacons().last else { return false }
            return reported.profileRevision == 2 && reported.applicationCompliance == .nonCompliant
        }

        try await sampler.wipe(reason: "test")
        let pending = try await bench.beacons().filter { $0.enrollment == .wipePending }
        #expect(pending.count == 1, "stored before anything was erased")
        let epoch = try await sampler.status().epoch
        try await bench.arrived {
            try await bench.stored(.status).contains { record in
                guard "\(record.epoch)" == epoch, record.header.kind == WireRecordKind.beacon.rawValue else {
                    return false
                }
                return try WireBeacon.decode(record.header.body(of: record.bytes)).enrollment == .enrolled
            }
        }
        await sampler.stop()
    }
}
