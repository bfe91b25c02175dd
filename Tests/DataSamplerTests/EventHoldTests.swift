import DeviceTestKit
import Foundation
import Logging
import RecordStore
import StoreTestKit
import TestKit
import Testing
import Transmitter
import WireModel

@testable import DataSampler

/// The two-hour hold as an application sees it: from `recordEvent` to the collector.
@Suite(.timeLimit(.minutes(10))) struct SamplerEventHoldTests {
    private let store = InMemoryRecordStore()
    private let clock = ManualRecordClock()

    /// One run of a program: starts, does something, stops in order.
    private func run(
        _ directory: String, _ collector: LoopbackCollector, hold: Double = 7200,
        _ body: (DataSampler) async throws -> Void = { _ in }
    ) async throws -> [String] {
        var configuration = DataSamplerConfiguration(
            directory: directory, collectorURL: "https://collector.test", enrollmentToken: "enrollment-token")
        configuration.eventHold = hold
        configuration.sampleModules = .analytics
        configuration.traceLevel = .off
        configuration.lossWindow = 0
        var environment = SamplerEnvironment()
        environment.slot = ProcessSlot()
        environment.lockWait = .zero
        environment.machineHash = "machine"
        // What this machine is busy with puts nothing off.
        environment.conditions = { _, _ in UnknownConditions() }
        environment.clock = clock
        environment.detectors = { _, _, _ in [] }
        environment.connect = { _ in SamplerEnvironment.Connection(transport: collector) {} }
        let sampler = try DataSampler(
            configuration: configuration, environment: environment, logger: Logger(label: "test"))
        try await sampler.start()
        try await sampler.reloadProfile()
        try await body(sampler)
        await sampler.stop()
        let records = try await store.records(
            of: collector.device, stream: .event, kind: nil, module: nil, before: nil, limit: 1000
        )
        .records
        return try records.sorted { $0.header.number < $1.header.number }.map {
            try WireEvent.decode($0.header.body(of: $0.bytes)).name
        }
        .filter { !SamplerBench.usageEvents.contains($0) }
    }

    @Test func `An event goes with the first start after its two hours, and with none before`() async throws {
        let directory = try TemporaryDirectory()
        let collector = LoopbackCollector(store: store)
        #expect(
            try await run(directory.path, collector) {
                try await $0.recordEvent(eventName: "held", eventValue: .integer(1))
            } == [])
        clock.setWallClock(by: .seconds(1_000_000))
        #expect(try await run(directory.path, collector) == [])
        clock.setWallClock(by: .seconds(-2_000_000))
        clock.advance(by: .seconds(7199))
        #expect(try await run(directory.path, collector) == [])
        clock.advance(by: .seconds(1))
        #expect(try await run(directory.path, collector) == ["held"])
    }

    @Test func `Another hold at the next start holds for what waits`() async throws {
        let directory = try TemporaryDirectory()
        let collector = LoopbackCollector(store: store)
        #expect(
            try await run(directory.path, collector) {
                try await $0.recordEvent(eventName: "held", eventValue: .integer(1))
            } == [])
        clock.advance(by: .seconds(60))
        #expect(try await run(directory.path, collector, hold: 61) == [])
        #expect(try await run(directory.path, collector, hold: 60) == ["held"])
    }

    @Test func `Without a hold it goes at once`() async throws {
        let directory = try TemporaryDirectory()
        let collector = LoopbackCollector(store: store)
        let arrived = try await run(directory.path, collector, hold: 0) {
            try await $0.recordEvent(eventName: "now", eventValue: .integer(1))
        }
        #expect(arrived == ["now"])
    }
}
