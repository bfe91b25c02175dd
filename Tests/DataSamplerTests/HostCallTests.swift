import RecordStore
import StoreTestKit
import TestKit
import Testing
import Transmitter
import WireModel

@testable import DataSampler

/// The reports of a host about itself: the device was unlocked, the program goes to the background and comes back.
@Suite(.timeLimit(.minutes(10))) struct HostCallTests {
    private let bench = SamplerBench()

    /// One that makes no beacon because something changed: an unlock reported meanwhile would share it.
    private func sampler(
        _ directory: String, change: (inout DataSamplerConfiguration) -> Void = { _ in }
    ) throws -> DataSampler {
        try bench.sampler(directory, change: change, environment: { $0.beaconChangeDelay = .seconds(36_000) })
    }

    @Test func `An unlock that the host reports is a beacon that says so`() async throws {
        let directory = try TemporaryDirectory()
        let sampler = try sampler(directory.path)
        try await SamplerBench.start(sampler)
        try await sampler.unlocked()
        try await bench.arrived { try await bench.beacons().contains { $0.trigger == .unlock } }
        await sampler.stop()
        #expect(try await bench.beacons().count { $0.trigger == .unlock } == 1)
        #expect(
            await SamplerBench.code { () async throws(DataSamplerError) in try await sampler.unlocked() } == .notRunning
        )
    }

    @Test func `Suspended it samples and sends nothing and what is recorded waits, and resumed it goes on`()
        async throws
    {
        let directory = try TemporaryDirectory()
        let sampler = try sampler(directory.path) {
            $0.sampleModules = [.system, .analytics]
            // One sample is due at the start, and the next one only where sampling begins anew.
            $0.defaultSampleInterval = 86_400
            $0.beaconInterval = 900
        }
        try await SamplerBench.start(sampler)
        try await sampler.reloadProfile()
        try await bench.arrived {
            try await Set(bench.stored(.sample).map(\.header.module)) == ["system", "analytics"]
        }

        for _ in 1...2 { try await sampler.suspend() }
        let parts = try sampler.running().parts
        // A pass follows the one under way, so what began before the suspension has ended.
        _ = await parts.transmitter.pass()
        let batches = bench.collector.batches
        try await sampler.recordEvent(eventName: "meanwhile", eventValue: .integer(1), durability: .durable)
        try await sampler.sendBeacon()
        await parts.loop.sampleNow(customLimit: .zero)
        _ = await parts.transmitter.pass()
        #expect(bench.collector.batches == batches)
        let suspended = try await sampler.status()
        #expect(suspended.suspended && suspended.modules.isEmpty && suspended.beaconInterval == nil)
        #expect(suspended.holding.contains("the application has suspended it"), "\(suspended.holding)")
        let waiting = suspended.streams.filter { $0.waiting > 0 }.map(\.name)
        #expect(Set(waiting) == ["event", "status"])

        for _ in 1...2 { try await sampler.resume() }
        let resumed = try await sampler.status()
        #expect(
            !resumed.suspended && resumed.modules.map(\.name) == ["system", "analytics"]
                && resumed.beaconInterval == 900)
        try await bench.arrived {
            let hasEvent = try await bench.events().contains { $0.name == "meanwhile" }
            let triggers = try await bench.beacons().map(\.trigger)
            let samples = try await bench.stored(.sample).count { $0.header.module == "system" }
            return hasEvent && triggers.contains(.demand) && triggers.contains(.change) && samples == 2
        }
        await sampler.stop()
        #expect(try await bench.beacons().count { $0.trigger == .change } == 1, "resumed twice it is resumed once")
        #expect(
            await SamplerBench.code { () async throws(DataSamplerError) in try await sampler.suspend() } == .notRunning)
        #expect(
            await SamplerBench.code { () async throws(DataSamplerError) in try await sampler.resume() } == .notRunning)
    }
}
