import DeviceTestKit
import Foundation
import Logging
import RecordStore
import StoreTestKit
import Synchronization
import TestKit
import Testing
import Transmitter
import WireModel

@testable import DataSampler

/// Push token, user, findings and usage, from the public calls to what the collector has.
@Suite(.timeLimit(.minutes(10))) struct DataSamplerDeviceStatusTests {
    private struct SwitchedDetector: CompromiseDetector {
        let name = "switched"
        let isOn: SharedFlag

        func examine() -> CompromiseFinding? {
            CompromiseFinding(isOn.value ? .yes : .no, evidence: "the test's switch")
        }
    }

    private final class SharedFlag: Sendable {
        private let flag = Mutex(false)

        var value: Bool { flag.withLock { $0 } }

        func raise() { flag.withLock { $0 = true } }
    }

    private let store = InMemoryRecordStore()
    private let compromised = SharedFlag()

    private func run(
        _ directory: String, _ transport: any Transport, modules: DataSamplerModules = [],
        sleeper: (any Clock<Duration>)? = nil,
        _ body: (DataSampler) async throws -> Void
    ) async throws {
        var configuration = DataSamplerConfiguration(
            directory: directory, collectorURL: "https://collector.test", enrollmentToken: "enrollment-token")
        configuration.eventHold = 0
        configuration.sampleModules = modules
        configuration.defaultSampleInterval = 1
        configuration.traceLevel = .off
        configuration.lossWindow = 0
        configuration.builtInDetectors = []
        configuration.detectors = [SwitchedDetector(isOn: compromised)]
        var environment = SamplerEnvironment()
        environment.slot = ProcessSlot()
        environment.lockWait = .zero
        environment.drainTime = .seconds(600)
        environment.machineHash = "machine"
        // Only beacons that a test asks for, and those of start and stop.
        environment.beaconChangeDelay = .seconds(36_000)
        // What this machine is busy with puts nothing off.
        environment.conditions = { _, _ in UnknownConditions() }
        environment.connect = { _ in SamplerEnvironment.Connection(transport: transport) {} }
        if let sleeper { environment.sleeper = sleeper }
        let sampler = try DataSampler(
            configuration: configuration, environment: environment, logger: Logger(label: "test"))
        try await SamplerBench.start(sampler)
        try await body(sampler)
        await sampler.stop()
    }

    private func bodies(_ collector: LoopbackCollector, _ stream: StreamName) async throws -> [Data] {
        let records = try await store.records(
            of: collector.device, stream: stream, kind: nil, module: nil, before: nil, limit: 1000
        )
        .records
        return records.sorted { $0.header.number < $1.header.number }.map { $0.header.body(of: $0.bytes) }
    }

    /// Without those of starts.
    private func beacons(_ collector: LoopbackCollector) async throws -> [WireBeacon] {
        try await bodies(collector, .status).map { try WireBeacon.decode($0) }.filter { $0.trigger != .start }
    }

    @Test func `A device that was revoked says so and what to do, and is back at once where a person sends its beacon`()
        async throws
    {
        let directory = try TemporaryDirectory()
        let collector = LoopbackCollector(store: store)
        try await run(directory.path, collector) { _ in }
        let problem = Problem(
            status: 403, code: Problem.Code.revoked, title: "Revoked",
            detail: "This device's enrollment was revoked by an administrator.",
            scope: .device)
        let headers = TransportResponse.collectorHeaders(collector.collectorID, collector.incarnationID)
        let revoked = TransportResponse(
            status: 403, headers: headers.merging(["content-type": WireNames.problem]) { $1 },
            body: try JSONEncoder().encode(problem))
        collector.setFaults { _, _ in .answered(revoked) }
        // Its waits never end by themselves.
        try await run(directory.path, collector, sleeper: ManualSleeper()) { sampler in
            try await sampler.sendBeacon()
            while try await sampler.status().collector.state != "holding" { await Task.yield() }
            let status = try await sampler.status()
            #expect(status.collector.reachable == true, "a refusal is an answer")
            #expect(
                status.holding.contains { $0.contains("HTTP 403 revoked") && $0.contains("reinstate") },
                "\(status.holding)")
            collector.setFaults { _, _ in nil }
            try await sampler.sendBeacon()
            while let stream = try await sampler.status().streams.first(where: { $0.name == "status" }),
                stream.acknowledged < stream.lastNumber
            { await Task.yield() }
            #expect(try await sampler.status().collector.reachable == true)
            #expect(try await beacons(collector).count >= 2)
        }
    }

    @Test func `A push token stays in every beacon until one is acknowledged, over a restart, and then in none`()
        async throws
    {
        let directory = try TemporaryDirectory()
        let unreachable = ScriptedTransport { _ throws(TransportError) in
            throw TransportError(.connectionRefused, "nobody listens")
        }
        try await run(directory.path, unreachable) { sampler in
            try await sampler.setPushToken("token")
            try await sampler.setPushToken("token")
            try await sampler.sendBeacon()
        }
        try await run(directory.path, unreachable) { try await $0.sendBeacon() }
        let collector = LoopbackCollector(store: store)
        // Sends what waits.
        try await run(directory.path, collector) { _ in }
        try await run(directory.path, collector) { sampler in
            try await sampler.sendBeacon()
            try await sampler.setPushToken("token")
        }
        let reported = try await beacons(collector)
        #expect(reported.map(\.pushToken.token) == ["token", "token", "token", ""])
        #expect(reported.map(\.hasPushToken) == [true, true, true, false])
        #expect(reported.first?.trigger == .change)
        try await run(directory.path, collector) { try await $0.setPushToken(nil) }
        let last = try #require(try await beacons(collector).last)
        #expect(last.pushToken.cleared && last.trigger == .change)
    }

    @Test func `The user and a changed verdict go at once, and what is unchanged does not`() async throws {
        let directory = try TemporaryDirectory()
        let collector = LoopbackCollector(store: store)
        try await run(directory.path, collector) { sampler in
            // Before it, no beacon names a user.
            _ = try await sampler.firstProfile(within: .seconds(300))
            for _ in 1...2 { try await sampler.setUser(DeviceUser(displayName: "A")) }
            #expect(try await sampler.refreshDeviceCompromisedStatus().verdict == .no)
            compromised.raise()
            let status = try await sampler.refreshDeviceCompromisedStatus()
            #expect(status.verdict == .yes && status.findings["switched"]?.evidence == "the test's switch")
            _ = try await sampler.refreshDeviceCompromisedStatus()
        }
        let reported = try await beacons(collector)
        #expect(reported.map(\.trigger) == [.change, .change])
        #expect(reported.map(\.compromised) == [.no, .yes])
        #expect(reported.allSatisfy { $0.userDisplayName == "A" && !$0.hasUserEmail })
        #expect(reported.last?.findings.map(\.detector) == ["switched"])
    }

    @Test func `Without a network signs of compromise are found all the same`() async throws {
        let directory = try TemporaryDirectory()
        let unreachable = ScriptedTransport { _ throws(TransportError) in
            throw TransportError(.connectionRefused, "nobody listens")
        }
        try await run(directory.path, unreachable) { sampler in
            let before = try await sampler.refreshDeviceCompromisedStatus().verdict
            #expect(before == .no)
            compromised.raise()
            let after = try await sampler.refreshDeviceCompromisedStatus().verdict
            #expect(after == .yes)
        }
    }

    @Test func `A beacon that is asked for looks for signs of compromise first`() async throws {
        let directory = try TemporaryDirectory()
        let collector = LoopbackCollector(store: store)
        try await run(directory.path, collector) { sampler in
            try await sampler.sendBeacon()
            compromised.raise()
            try await sampler.sendBeacon()
        }
        #expect(try await beacons(collector).map(\.compromised).prefix(2) == [.no, .yes])
    }

    @Test func `Usage, sessions and their sample arrive`() async throws {
        let directory = try TemporaryDirectory()
        let collector = LoopbackCollector(store: store)
        try await run(directory.path, collector, modules: .analytics) { sampler in
            try await sampler.reloadProfile()
            try sampler.beginSession()
            try await sampler.recordUsage(.sdkAction("kiosk.restart", .failed, duration: .seconds(2)))
            try sampler.endSession()
            try await sampler.recordEvent(eventName: "outside", eventValue: .integer(1))
        }
        // The second run's first sample reports what the first run's had not reported yet.
        try await run(directory.path, collector, modules: .analytics) { sampler in
            // Made after the sample that is due at the start: the loop does one after the other.
            try await sampler.sendBeacon()
            try await sampler.sendBeacon()
        }
        let all = try await bodies(collector, .event).map { try WireEvent.decode($0) }
        #expect(all.map(\.type).count { $0 == .enrollmentCall } == 1)
        let events = all.filter { $0.type != .enrollmentCall && !["profile.reload", "beacon.force"].contains($0.name) }
        #expect(events.first?.attributes["managementType"] != nil)
        #expect(events.last?.attributes["managementType"]?.text == "managed", "enrolled since the first run")
        #expect(events.map(\.type) == [.launch, .sdkAction, .custom, .launch])
        let action = events[1]
        #expect(action.hasSucceeded && !action.succeeded && action.durationMicroseconds == 2_000_000)
        #expect(events[0].sessionID == events[2].sessionID && events[1].sessionID != events[0].sessionID)
        #expect(events[3].sessionID != events[0].sessionID)
        let samples = try await bodies(collector, .sample).map { try WireAnalyticsSample.decode($0) }
        #expect(samples.reduce(0) { $0 + $1.launches } == 2)
        #expect(samples.reduce(0) { $0 + $1.sessions } == 1)
        #expect(samples.reduce(0) { $0 + $1.eventsRecorded } >= 6)
    }
}
