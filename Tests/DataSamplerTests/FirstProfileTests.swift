import StoreTestKit
import TestKit
import Testing
import Transmitter
import WireModel

@testable import DataSampler

/// A program that waits for what may be recorded waits for a bounded time, and learns why there is nothing yet.
@Suite(.timeLimit(.minutes(5))) struct FirstProfileTests {
    /// Longer than the suite may last: an outcome that comes did not come from the limit.
    private static let longTime = Duration.seconds(3600)

    private func outcome(
        _ bench: SamplerBench, in directory: String, within limit: Duration = longTime
    ) async throws -> FirstProfile {
        let sampler = try bench.sampler(directory)
        try await sampler.start()
        let outcome = try await sampler.firstProfile(within: limit)
        await sampler.stop()
        return outcome
    }

    @Test func `A new device hears what may be recorded, and knows it at the next start without a network`()
        async throws
    {
        let directory = try TemporaryDirectory()
        let bench = SamplerBench()
        let revision = WireProfile.analyticsOn.revision
        #expect(try await outcome(bench, in: directory.path) == .atHand(revision: revision))
        bench.collector.setFaults { _, _ in .requestLost }
        #expect(try await outcome(bench, in: directory.path, within: .zero) == .atHand(revision: revision))
    }

    @Test func `Before the first profile neither the enrollment nor a beacon names the machine`() async throws {
        let directory = try TemporaryDirectory()
        let bench = SamplerBench(profile: nil)
        let sampler = try bench.sampler(directory.path)
        try await sampler.start()
        try await sampler.sendBeacon()
        try await bench.arrived { try await !bench.beacons().isEmpty }
        let request = try sampler.running().core.identity.enrollRequest(as: .new)
        #expect(request.deviceName.isEmpty && request.hasOperatingSystem)
        #expect(try await bench.beacons().allSatisfy { $0.deviceName.isEmpty })

        bench.collector.setProfile(.analyticsOn)
        try await sampler.reloadProfile()
        try await sampler.sendBeacon()
        try await bench.arrived { try await bench.beacons().contains { !$0.deviceName.isEmpty } }
        await sampler.stop()
    }

    @Test func `Without a network the wait ends, and the sampler runs on`() async throws {
        let directory = try TemporaryDirectory()
        let bench = SamplerBench()
        bench.collector.setFaults { _, _ in .requestLost }
        let sampler = try bench.sampler(directory.path)
        try await sampler.start()
        guard case .notReached(let why) = try await sampler.firstProfile(within: .zero) else {
            Issue.record("there is no profile")
            return
        }
        #expect(!why.isEmpty)
        #expect(try await sampler.status().running)
        // Once the network is there, so is the profile.
        bench.collector.setFaults { _, _ in nil }
        _ = try? await sampler.reloadProfile()
        guard case .atHand = try await sampler.firstProfile(within: Self.longTime) else {
            Issue.record("the collector answers")
            return
        }
        await sampler.stop()
    }

    @Test func `A profile that cannot be run ends the wait at once`() async throws {
        let directory = try TemporaryDirectory()
        var profile = WireProfile.analyticsOn
        profile.sampling.sampleSeconds = -1
        guard case .refused(let why) = try await outcome(SamplerBench(profile: profile), in: directory.path) else {
            Issue.record("the profile was taken")
            return
        }
        #expect(why.contains("sampleSeconds"), "\(why)")
    }

    @Test func `A profile that cannot be run is a notice`() async throws {
        let directory = try TemporaryDirectory()
        var profile = WireProfile.analyticsOn
        profile.sampling.sampleSeconds = -1
        let delegate = RecordingDelegate()
        let sampler = try SamplerBench(profile: profile).sampler(directory.path, delegate: delegate)
        try await sampler.start()
        try await delegate.untilReported(.profileRefused)
        #expect(delegate.reported(.profileRefused).first?.message.contains("sampleSeconds") == true)
        await sampler.stop()
    }

    @Test func `Before the start and after the stop there is nothing to wait for`() async throws {
        let directory = try TemporaryDirectory()
        let sampler = try SamplerBench().sampler(directory.path)
        let error = await #expect(throws: DataSamplerError.self) {
            try await sampler.firstProfile(within: Self.longTime)
        }
        #expect(error?.code == .notRunning)
    }
}
