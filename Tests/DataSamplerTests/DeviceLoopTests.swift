import DeviceTestKit
import Foundation
import Logging
import RecordStore
import StoreTestKit
import Synchronization
import TestKit
import Testing
import WireModel

@testable import DataSampler

/// What is sampled while the device runs, and what pauses or disturbs it.
///
/// The time limit ends what hangs; nothing here is measured by it, and all tests at once may keep one of them waiting
/// for minutes.
@Suite(.timeLimit(.minutes(10))) struct DeviceLoopTests {
    private struct BrokenSensor: Error {}

    private struct ThrowingModule: CustomSampleModule {
        let name = "throwing"

        func sample() async throws -> [SampleMeasurement] { throw BrokenSensor() }
    }

    private struct WorkingModule: CustomSampleModule {
        let name = "working"

        func sample() async throws -> [SampleMeasurement] { [SampleMeasurement(name: "value", value: .integer(1))] }
    }

    /// Returns when the test says so, and not when it is cancelled.
    private final class StuckModule: CustomSampleModule {
        let name = "stuck"
        private let waiting = Mutex<[CheckedContinuation<Void, Never>]>([])

        var calls: Int { waiting.withLock { $0.count } }

        func sample() async throws -> [SampleMeasurement] {
            await withCheckedContinuation { continuation in waiting.withLock { $0.append(continuation) } }
            return []
        }

        func release() {
            for continuation in waiting.withLock({ $0 }) { continuation.resume() }
        }
    }

    private static let disturbable: WireProfile = {
        var profile = WireProfile.analyticsOn
        profile.doNotDisturbAllowed = true
        return profile
    }()

    @Test func `A custom module that throws and one that never returns delay nobody, not even a stop`() async throws {
        let bench = SamplerBench()
        let directory = try TemporaryDirectory()
        let sampler = try bench.sampler(directory.path) { $0.sampleModules = [.system, .custom] }
        let stuck = StuckModule()
        try await sampler.register(ThrowingModule())
        try await sampler.register(stuck)
        try await sampler.register(WorkingModule())
        try await sampler.start()
        func module(_ name: String) async throws -> DataSamplerStatus.Module? {
            try await sampler.status().modules.first { $0.name == name }
        }
        try await SamplerBench.until { stuck.calls == 1 }
        try await SamplerBench.until {
            let working = try await module("working")?.samples ?? 0
            let system = try await module("system")?.samples ?? 0
            return working >= 2 && system >= 2
        }
        #expect(stuck.calls == 1, "never twice at a time")
        #expect(try await module("throwing")?.reason?.contains("BrokenSensor") == true)
        #expect(try await module("stuck")?.samples == 0)
        try await sampler.sendBeacon()
        // The stuck one is let go only afterwards: a stop that waited for it would not return.
        await sampler.stop()
        #expect(Set(try await bench.stored(.sample).map(\.header.module)) == ["system", "working"])
        stuck.release()
    }

    @Test func `Why a module takes no samples stands in the status`() async throws {
        let bench = SamplerBench()
        let directory = try TemporaryDirectory()
        let sampler = try bench.sampler(
            directory.path, change: { $0.sampleModules = [.system, .wlan2] },
            environment: { $0.host = CapturedMachine.server.host() })
        try await sampler.start()
        func module(_ name: String) async throws -> DataSamplerStatus.Module? {
            try await sampler.status().modules.first { $0.name == name }
        }
        try await SamplerBench.until {
            let isSampled = try await module("system")?.samples ?? 0 > 0
            let isExplained = try await module("wlan2")?.reason != nil
            return isSampled && isExplained
        }
        let wireless = try #require(try await module("wlan2"))
        #expect(wireless.reason == "this machine has no wireless interface")
        #expect(wireless.samples == 0 && wireless.lastSample == nil)
        #expect(try await module("system")?.reason == nil)
        await sampler.stop()
    }

    @Test func `How long each module took is reported to the host's metrics, of one that fails too`() async throws {
        let bench = SamplerBench()
        let directory = try TemporaryDirectory()
        let recorded = RecordingMetrics()
        var configuration = SamplerBench.configuration(directory.path)
        configuration.sampleModules = [.system, .custom]
        var environment = SamplerBench.environment(bench.collector)
        environment.metrics = { SelfMetrics(factory: recorded) }
        let sampler = try DataSampler(
            configuration: configuration, environment: environment, logger: Logger(label: "test"))
        try await sampler.register(WorkingModule())
        try await sampler.register(ThrowingModule())
        try await sampler.start()
        func durations(_ module: String) -> [Double] {
            recorded["ws1_sampler_sample_duration{module=\(module)}"]?.all ?? []
        }
        try await SamplerBench.until { ["system", "working", "throwing"].allSatisfy { durations($0).count >= 2 } }
        await sampler.stop()
        #expect(durations("system").allSatisfy { $0 > 0 }, "in nanoseconds, and reading a machine takes some")
        let samples = try await bench.stored(.sample)
        for module in ["system", "working"] {
            #expect(
                durations(module).count >= samples.count { $0.header.module == module }, "one for each sample at least")
        }
    }

    @Test func `Under do-not-disturb no samples are taken, events wait, and beacons say only who the device is`()
        async throws
    {
        let bench = SamplerBench(profile: Self.disturbable)
        let directory = try TemporaryDirectory()
        let sampler = try bench.sampler(directory.path) { $0.sampleModules = [.system, .analytics] }
        try await sampler.start()
        try await sampler.reloadProfile()
        try await sampler.setDoNotDisturb(true)
        let running = try sampler.running()
        #expect(await running.parts.loop.plan.intervals.isEmpty)
        try await sampler.recordEvent(eventName: "meanwhile", eventValue: .integer(1), durability: .durable)
        try await sampler.sendBeacon()
        try await bench.arrived { try await bench.beacons().contains { $0.doNotDisturb == .yes } }
        let beacon = try #require(try await bench.beacons().last)
        #expect(
            beacon.doNotDisturb == .yes && beacon.modules.isEmpty && beacon.queue.isEmpty && !beacon.deviceName.isEmpty)
        #expect(try await bench.events().contains { $0.name == "meanwhile" } == false)
        #expect(try await sampler.status().streams.first { $0.name == "event" }?.waiting ?? 0 >= 1)
        try await sampler.setDoNotDisturb(false)
        #expect(await running.parts.loop.plan.intervals.count == 2)
        try await bench.arrived { try await bench.events().contains { $0.name == "meanwhile" } }
        await sampler.stop()
        #expect(try await bench.beacons().last?.doNotDisturb == .no)
    }

    @Test func `When a profile changes what is sampled, a beacon reports of it at once`() async throws {
        let bench = SamplerBench(profile: nil)
        let directory = try TemporaryDirectory()
        let sampler = try bench.sampler(directory.path) {
            $0.sampleModules = .system
            $0.beaconInterval = 86_400
        }
        try await sampler.start()
        try await bench.arrived { try await bench.beacons().contains { $0.trigger == .start } }
        #expect(try await bench.beacons().allSatisfy { $0.modules == ["system"] })
        var profile = WireProfile.analyticsOn
        profile.sampling.modulesGiven = true
        profile.sampling.modules = ["system", "networkData", "networkAdapter"]
        let modules = profile.sampling.modules
        bench.collector.setProfile(profile)
        try await sampler.reloadProfile()
        try await bench.arrived { try await bench.beacons().contains { $0.modules == modules } }
        #expect(try await bench.beacons().first { $0.modules == modules }?.trigger == .change)
        await sampler.stop()
    }

    @Test func `Without the profile's leave there is no do-not-disturb`() async throws {
        let bench = SamplerBench()
        let directory = try TemporaryDirectory()
        let sampler = try bench.sampler(directory.path)
        try await sampler.start()
        try await sampler.reloadProfile()
        #expect(
            await SamplerBench.code { () async throws(DataSamplerError) in try await sampler.setDoNotDisturb(true) }
                == .notAllowed)
        await sampler.stop()
    }

    @Test func `Enrolling is reported as a usage event with outcome and duration, once the profile lets events in`()
        async throws
    {
        let bench = SamplerBench(profile: nil)
        let directory = try TemporaryDirectory()
        let sampler = try bench.sampler(directory.path)
        try await sampler.start()
        try await bench.arrived { bench.collector.enrollments == 1 }
        // Fetched in vain: nothing may be recorded yet.
        _ = try? await sampler.reloadProfile()
        bench.collector.setProfile(.analyticsOn)
        try await sampler.reloadProfile()
        try await bench.arrived { try await bench.events().contains { $0.type == .enrollmentCall } }
        await sampler.stop()
        let calls = try await bench.events().filter { $0.type == .enrollmentCall }
        #expect(calls.count == 1)
        #expect(calls.first?.succeeded == true && calls.first?.hasDurationMicroseconds == true)
    }
}
