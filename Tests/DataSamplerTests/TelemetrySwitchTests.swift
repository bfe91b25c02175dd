import Foundation
import RecordQueue
import RecordStore
import StoreTestKit
import Synchronization
import TestKit
import Testing
import Transmitter
import WireModel

@testable import DataSampler

/// A profile switches telemetry off, and on again.
@Suite(.timeLimit(.minutes(10))) struct TelemetrySwitchTests {
    private let bench = SamplerBench()

    /// With it events are not held any more, so only the switch keeps them from being sent.
    private static func profile(revision: UInt64, isOff: Bool) -> WireProfile {
        var profile = WireProfile.analyticsOn
        profile.revision = revision
        profile.telemetryDisabled = isOff
        profile.analytics.holdSeconds = 0
        return profile
    }

    /// Records of each stream that wait on disk.
    private func waiting(_ sampler: DataSampler) async throws -> [String: UInt64] {
        try await sampler.running().core.queue.flush()
        let streams = try await sampler.status().streams
        return Dictionary(uniqueKeysWithValues: streams.map { ($0.name, $0.waiting) })
    }

    @Test func `A running sampler that is switched off records and sends nothing, and goes on once it is switched on`()
        async throws
    {
        let directory = try TemporaryDirectory()
        let sampler = try bench.sampler(
            directory.path,
            change: {
                $0.sampleModules = [.system, .analytics, .custom]
                $0.eventHold = 7200
            },
            // No beacon of a change is in flight at the switch, which a request for another one would share.
            environment: { $0.beaconChangeDelay = .seconds(36_000) })
        let notices = sampler.notices
        try await SamplerBench.start(sampler)
        try await sampler.reloadProfile()
        try await sampler.recordEvent(eventName: "before", eventValue: .integer(1), durability: .durable)
        try await bench.arrived { try await !bench.stored(.sample).isEmpty }

        bench.collector.setProfile(Self.profile(revision: 2, isOff: true))
        #expect(try await sampler.reloadProfile())
        let parts = try sampler.running().parts
        // Who asks for a beacon is answered between two samples, and a pass follows the one under way. So both wait for
        // what began before the switch.
        #expect(
            await SamplerBench.code { () async throws(DataSamplerError) in try await sampler.sendBeacon() }
                == .telemetryDisabled)
        _ = await parts.transmitter.pass()
        let waiting = try await waiting(sampler)
        #expect(waiting["event"] ?? 0 >= 1)
        let requests = Mutex<[String]>([])
        bench.collector.setFaults { request, _ in
            requests.withLock { $0.append(request.path) }
            return nil
        }

        #expect(
            await SamplerBench.code { () async throws(DataSamplerError) in
                try await sampler.recordEvent(eventName: "meanwhile", eventValue: .integer(1))
            } == .telemetryDisabled)
        #expect(
            await SamplerBench.code { () async throws(DataSamplerError) in
                try await sampler.recordSample(
                    module: "door", measurements: [SampleMeasurement(name: "open", value: .integer(1))])
            } == .telemetryDisabled)
        await parts.loop.sampleNow(customLimit: .zero)
        _ = await parts.transmitter.pass()
        #expect(try await self.waiting(sampler) == waiting)
        #expect(requests.withLock { $0 } == [])
        let status = try await sampler.status()
        #expect(status.telemetryDisabled && status.modules.isEmpty)
        #expect(status.holding.contains("telemetry is switched off by the profile"), "\(status.holding)")
        #expect(status.streams.first { $0.name == "event" }?.dropped["disabled"] == 1)

        let samples = try await bench.stored(.sample).count
        bench.collector.setProfile(Self.profile(revision: 3, isOff: false))
        #expect(try await sampler.reloadProfile())
        try await sampler.recordEvent(eventName: "after", eventValue: .integer(1))
        try await sampler.sendBeacon()
        try await bench.arrived {
            let names = try await bench.events().map(\.name)
            let beacon = try await bench.beacons().last
            let isSampled = try await bench.stored(.sample).count > samples
            return names.contains("before") && names.contains("after") && beacon?.profileRevision == 3 && isSampled
        }
        await sampler.stop()
        #expect(try await !bench.events().contains { $0.name == "meanwhile" })
        var reported: [DataSamplerNotice.Kind] = []
        for await notice in notices where [.telemetryDisabled, .telemetryEnabled].contains(notice.kind) {
            reported.append(notice.kind)
            if reported.count == 2 { break }
        }
        #expect(reported == [.telemetryDisabled, .telemetryEnabled])
    }

    @Test func `Switched off it stays off over a restart, until a profile switches it on`() async throws {
        let directory = try TemporaryDirectory()
        let first = try bench.sampler(directory.path) { $0.eventHold = 7200 }
        try await SamplerBench.start(first)
        try await first.reloadProfile()
        try await first.recordEvent(eventName: "before", eventValue: .integer(1), durability: .durable)
        bench.collector.setProfile(Self.profile(revision: 2, isOff: true))
        try await first.reloadProfile()
        await first.stop()
        let batches = bench.collector.batches

        let second = try bench.sampler(directory.path) { $0.beaconInterval = 900 }
        try await second.start()
        #expect(
            await SamplerBench.code { () async throws(DataSamplerError) in try await second.sendBeacon() }
                == .telemetryDisabled)
        _ = try await second.running().parts.transmitter.pass()
        #expect(bench.collector.batches == batches)
        bench.collector.setProfile(Self.profile(revision: 3, isOff: false))
        try await second.reloadProfile()
        try await bench.arrived {
            let hasEvent = try await bench.events().contains { $0.name == "before" }
            let hasBeacon = try await bench.beacons().contains { $0.profileRevision == 3 }
            return hasEvent && hasBeacon
        }
        await second.stop()
    }

    /// A sampler whose telemetry the profile switched off.
    private func switchedOff(_ directory: String) async throws -> DataSampler {
        let sampler = try bench.sampler(directory) {
            $0.eventHold = 7200
            $0.beaconInterval = 900
        }
        try await SamplerBench.start(sampler)
        try await sampler.reloadProfile()
        bench.collector.setProfile(Self.profile(revision: 2, isOff: true))
        try await sampler.reloadProfile()
        return sampler
    }

    private func command(_ sampler: DataSampler, _ change: (inout WireCommand) -> Void) throws -> WireCommand {
        var command = WireCommand()
        command.id = Data(repeating: 1, count: 16)
        command.expires = 3_600_000_000
        command.enrollmentID = try #require(try sampler.running().core.identity.load()).enrollmentID
        change(&command)
        return command
    }

    @Test func `Switched off it reports so with one beacon without personal data, and of no schedule any more`()
        async throws
    {
        let directory = try TemporaryDirectory()
        let sampler = try await switchedOff(directory.path)
        try await bench.arrived { try await bench.beacons().contains { $0.telemetryDisabled } }
        await sampler.stop()
        let again = try bench.sampler(directory.path) { $0.beaconInterval = 900 }
        try await again.start()
        try await again.reloadProfile()
        await again.stop()

        let reported = try await bench.beacons().filter(\.telemetryDisabled)
        #expect(reported.count == 1, "neither the stop nor the next start repeats it")
        #expect(reported.allSatisfy { $0.nextBeaconSeconds == 0 && $0.deviceName.isEmpty && !$0.hasOperatingSystem })
    }

    @Test func `Switched off by its own configuration from the first start on, it reports so`() async throws {
        let directory = try TemporaryDirectory()
        let sampler = try bench.sampler(directory.path) { $0.telemetryDisabled = true }
        try await sampler.start()
        try await bench.arrived { try await bench.beacons().contains { $0.telemetryDisabled } }
        await sampler.stop()
        #expect(try await bench.beacons().count == 1)
    }

    @Test func `A wipe arrives with the look for the profile although telemetry is off, and its result goes`()
        async throws
    {
        let directory = try TemporaryDirectory()
        let sampler = try await switchedOff(directory.path)
        let former = try sampler.running().core.queue.epoch
        let wipe = try command(sampler) { $0.wipe.reason = "lost" }
        bench.collector.setNews(revision: 2, commands: [wipe], serverTime: 1)
        try await sampler.reloadProfile()
        try await bench.arrived { try await bench.results().contains { $0.result.state == .done } }
        // What a wipe ends may have been the beacon that reports it, so there is another one.
        try await bench.arrived {
            let stored = try await bench.stored(.status)
            return stored.contains { $0.epoch != former && $0.header.kind == WireRecordKind.beacon.rawValue }
        }
        await sampler.stop()
        #expect(try await bench.beacons().last?.telemetryDisabled == true)
    }

    @Test
    func `An enterprise wipe ends the enrollment of a device whose telemetry is off, and the collector learns it`()
        async throws
    {
        let directory = try TemporaryDirectory()
        let sampler = try await switchedOff(directory.path)
        let core = try sampler.running().core
        let wipe = try command(sampler) { $0.enterpriseWipe.reason = "lost" }
        bench.collector.setNews(revision: 2, commands: [wipe], serverTime: 1)
        try await sampler.reloadProfile()
        try await SamplerBench.until { core.gate.isUnenrolled && !core.gate.isLeaving && !core.gate.isWiping }
        await sampler.stop()
        #expect(try await bench.results().contains { $0.result.state == .done })
        #expect(try await bench.beacons().contains { $0.trigger == .unenroll })
        #expect(!FileManager.default.fileExists(atPath: "\(directory.path)/\(ReportedOff.fileName)"))
    }

    @Test func `The result of a command goes although the application has suspended the sampler`() async throws {
        let directory = try TemporaryDirectory()
        let sampler = try bench.sampler(directory.path)
        try await SamplerBench.start(sampler)
        try await sampler.reloadProfile()
        try await sampler.suspend()
        let wipe = try command(sampler) { $0.wipe.reason = "lost" }
        bench.collector.setNews(revision: 1, commands: [wipe], serverTime: 1)
        _ = try await sampler.requery()
        try await bench.arrived { try await bench.results().contains { $0.result.state == .done } }
        await sampler.stop()
    }
}
