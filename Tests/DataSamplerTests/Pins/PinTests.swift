import DeviceTestKit
import Foundation
import Logging
import RecordStore
import SampleModules
import StoreTestKit
import Synchronization
import TestKit
import Testing
import Transmitter
import WireModel

@testable import DataSampler

/// A data sampler whose profile has certificate pins, at a collector with a key.
@Suite(.timeLimit(.minutes(5))) struct PinTests {
    /// A collector behind a key, and the pins as a transport enforces them.
    private final class KeyedCollector: Transport {
        let base: LoopbackCollector
        private let state: Mutex<(key: Data, pins: [Data])>

        init(_ base: LoopbackCollector, key: Data) {
            self.base = base
            state = Mutex((key, []))
        }

        var serverKey: Data? { state.withLock { $0.key } }
        var pins: [Data] { state.withLock { $0.pins } }

        func setKey(_ key: Data) { state.withLock { $0.key = key } }

        func pin(to pins: [Data]) { state.withLock { $0.pins = pins } }

        func send(_ request: TransportRequest) async throws(TransportError) -> TransportResponse {
            let (key, pins) = state.withLock { $0 }
            guard pins.isEmpty || pins.contains(key) else { throw TransportError(.pinMismatch, "another key") }
            return try await base.send(request)
        }
    }

    private static func key(_ byte: UInt8) -> Data { Data(repeating: byte, count: 32) }

    private static func profile(_ revision: UInt64, pins: [Data], offline: UInt32 = 1) -> WireProfile {
        var profile = WireProfile.analyticsOn
        profile.revision = revision
        profile.certificatePins = pins
        profile.offlineTimeAllowedSeconds = offline
        return profile
    }

    private func sampler(
        _ directory: String, _ transport: any Transport, clock: ManualRecordClock, pins: [Data] = [],
        token: String = "enrollment-token"
    ) throws -> DataSampler {
        var configuration = DataSamplerConfiguration(
            sampleModules: .analytics, defaultSampleInterval: 60, defaultTransmitInterval: 1, traceLevel: .off,
            directory: directory,
            collectorURL: "https://collector.test", enrollmentToken: token)
        configuration.eventHold = 0
        configuration.certificatePins = pins.map { $0.base64EncodedString() }
        var environment = SamplerEnvironment()
        environment.slot = ProcessSlot()
        environment.clock = clock
        environment.machineHash = "machine"
        environment.conditions = { _, _ in UnknownConditions() }
        environment.detectors = { _, _, _ in [] }
        environment.connect = { _ in SamplerEnvironment.Connection(transport: transport) {} }
        return try DataSampler(configuration: configuration, environment: environment, logger: Logger(label: "test"))
    }

    @Test
    func `A profile whose pins the collector's key does not fit is applied but for its pins, and said everywhere`()
        async throws
    {
        let directory = try TemporaryDirectory()
        let store = InMemoryRecordStore()
        let base = LoopbackCollector(store: store, profile: Self.profile(1, pins: [Self.key(1)]))
        let collector = KeyedCollector(base, key: Self.key(1))
        let clock = ManualRecordClock()
        let sampler = try sampler(directory.path, collector, clock: clock)
        let notices = sampler.notices
        try await sampler.start()
        try await sampler.reloadProfile()
        #expect(collector.pins == [Self.key(1)])

        var wrong = Self.profile(2, pins: [Self.key(2)])
        wrong.customPayload = "applied"
        base.setProfile(wrong)
        try await sampler.reloadProfile()
        let status = try await sampler.status()
        #expect(status.profile.revision == 2)
        #expect(
            status.profile.findings?.count == 1 && status.profile.findings?.first?.contains("certificatePins") == true)
        #expect(collector.pins == [Self.key(1), Self.key(2)], "the former set, and the announced one beside it")
        for await notice in notices where notice.kind == .pinsRefused {
            #expect(notice.details["revision"] == "2")
            break
        }
        // The way to a correction is open.
        try await sampler.sendBeacon()
        base.setProfile(Self.profile(3, pins: [Self.key(1), Self.key(3)]))
        try await sampler.reloadProfile()
        #expect(try await sampler.status().profile.findings == nil)
        #expect(collector.pins == [Self.key(1), Self.key(3)])
        await sampler.stop()

        let beacons = try await store.records(
            of: base.device, stream: .status, kind: nil, module: nil, before: nil, limit: 100
        ).records
            .map { try WireBeacon.decode($0.header.body(of: $0.bytes)) }
        #expect(beacons.contains { $0.profileRevision == 2 && $0.profileFindings == ["certificate-pins-refused"] })
    }

    @Test func `What was refused and what worked survives a restart`() async throws {
        let directory = try TemporaryDirectory()
        let base = LoopbackCollector(store: InMemoryRecordStore(), profile: Self.profile(1, pins: [Self.key(1)]))
        let clock = ManualRecordClock()
        for restarts in 0..<2 {
            let collector = KeyedCollector(base, key: Self.key(1))
            let sampler = try sampler(directory.path, collector, clock: clock)
            try await sampler.start()
            try await sampler.reloadProfile()
            base.setProfile(Self.profile(2, pins: [Self.key(2)]))
            try await sampler.reloadProfile()
            #expect(collector.pins == [Self.key(1), Self.key(2)], "after \(restarts) restarts")
            #expect(try await sampler.status().profile.findings?.count == 1)
            await sampler.stop()
        }
    }

    @Test func `Pins that fail for longer than the offline time allowed fall back to those that worked`() async throws {
        let directory = try TemporaryDirectory()
        let base = LoopbackCollector(
            store: InMemoryRecordStore(), profile: Self.profile(1, pins: [Self.key(1)], offline: 3600))
        let collector = KeyedCollector(base, key: Self.key(1))
        let clock = ManualRecordClock()
        let sampler = try sampler(directory.path, collector, clock: clock)
        let notices = sampler.notices
        try await sampler.start()
        try await sampler.reloadProfile()
        let running = try sampler.running()
        // A set that fits when it comes and no connection after it: the collector goes back to the key that was pinned
        // before.
        base.setProfile(Self.profile(2, pins: [Self.key(2)], offline: 3600))
        running.core.pins.arrived([Self.key(2)], revision: 2, key: Self.key(2))
        await running.events.report(.profileArrived(Self.profile(2, pins: [Self.key(2)], offline: 3600)))
        #expect(collector.pins == [Self.key(2)])
        _ = try? await sampler.reloadProfile()
        #expect(collector.pins == [Self.key(2)], "one failure is none yet")
        clock.advance(by: .seconds(3600))
        _ = try? await sampler.reloadProfile()
        for await notice in notices where notice.kind == .pinsFallenBack { break }
        #expect(collector.pins == [Self.key(1), Self.key(2)])
        try await sampler.reloadProfile()
        let status = try await sampler.status()
        #expect(status.profile.findings?.first?.contains("longer than allowed") == true)
        await sampler.stop()
    }

    @Test func `Pins of the configuration hold from the first contact on, however long it fails`() async throws {
        let directory = try TemporaryDirectory()
        let base = LoopbackCollector(store: InMemoryRecordStore(), profile: Self.profile(1, pins: []))
        let collector = KeyedCollector(base, key: Self.key(9))
        let clock = ManualRecordClock()
        let sampler = try sampler(directory.path, collector, clock: clock, pins: [Self.key(1), Self.key(2)])
        try await sampler.start()
        for _ in 0..<3 {
            _ = try? await sampler.reloadProfile()
            clock.advance(by: .seconds(2 * 86_400))
        }
        #expect(collector.pins == [Self.key(1), Self.key(2)])
        #expect(base.enrollments == 0 && base.enrolledDevices.isEmpty, "the token did not leave the device")
        collector.setKey(Self.key(2))
        try await sampler.reloadProfile()
        #expect(base.enrolledDevices.count == 1)
        let setting = try await sampler.status().settings["certificatePins"]
        #expect(setting?.value == "2 keys" && setting?.source == "local", "a profile without pins leaves them in force")
        base.setProfile(Self.profile(2, pins: [Self.key(2), Self.key(3)]))
        try await sampler.reloadProfile()
        #expect(collector.pins == [Self.key(2), Self.key(3)], "those of the profile win")
        base.setProfile(Self.profile(3, pins: []))
        try await sampler.reloadProfile()
        #expect(collector.pins == [Self.key(1), Self.key(2)])
        await sampler.stop()
    }

    @Test func `A key that no configured pin fits does not cut off where the profile takes its pins back`() async throws
    {
        let directory = try TemporaryDirectory()
        let base = LoopbackCollector(store: InMemoryRecordStore(), profile: Self.profile(1, pins: []))
        let collector = KeyedCollector(base, key: Self.key(1))
        let sampler = try sampler(directory.path, collector, clock: ManualRecordClock(), pins: [Self.key(1)])
        try await sampler.start()
        try await sampler.reloadProfile()
        base.setProfile(Self.profile(2, pins: [Self.key(1), Self.key(3)]))
        try await sampler.reloadProfile()
        collector.setKey(Self.key(3))
        try await sampler.reloadProfile()
        base.setProfile(Self.profile(3, pins: []))
        try await sampler.reloadProfile()
        #expect(collector.pins.contains(Self.key(3)))
        try await sampler.reloadProfile()
        await sampler.stop()
    }

    @Test func `The pins of a former enrollment's profile do not stand in the way of the next`() async throws {
        let directory = try TemporaryDirectory()
        let profile = Self.profile(1, pins: [Self.key(1)])
        let base = LoopbackCollector(store: InMemoryRecordStore(), profile: profile)
        let clock = ManualRecordClock()
        let first = try sampler(directory.path, KeyedCollector(base, key: Self.key(1)), clock: clock)
        try await first.start()
        try await first.reloadProfile()
        #expect(try await first.unenroll())
        await first.stop()

        // The next collector has the same profile, and another key.
        let next = LoopbackCollector(store: InMemoryRecordStore(), profile: Self.profile(1, pins: [Self.key(7)]))
        let collector = KeyedCollector(next, key: Self.key(7))
        let second = try sampler(
            directory.path, collector, clock: clock, pins: [Self.key(7), Self.key(8)], token: "another-token")
        try await second.start()
        #expect(collector.pins == [Self.key(7), Self.key(8)])
        await second.stop()
    }
}
