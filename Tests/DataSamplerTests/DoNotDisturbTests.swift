import Foundation
import StoreTestKit
import TestKit
import Testing
import WireModel

@testable import DataSampler

@Suite struct DoNotDisturbStateTests {
    private static let first = Data(repeating: 1, count: 16)
    private static let second = Data(repeating: 2, count: 16)

    private static func said(_ revision: UInt64, _ isOn: Bool, by person: String = "") -> WireDoNotDisturb {
        var message = WireDoNotDisturb()
        (message.revision, message.on, message.person, message.setAt) = (revision, isOn, person, Int64(revision))
        return message
    }

    /// The state of do-not-disturb that is on by a decision of this device that the collector has as its third.
    private static var reported: DoNotDisturbState {
        var state = DoNotDisturbState()
        state.decided(true, request: first, at: 7)
        state.answered(said(3, true), to: first)
        return state
    }

    @Test func `A decision of the device waits until the collector answers it, and nothing older replaces it`() {
        var state = DoNotDisturbState()
        state.decided(true, request: Self.first, at: 7)
        #expect(state.unreported?.on == true && state.unreported?.requestID == Self.first)
        state.heard(Self.said(2, false, by: "ann"))
        #expect(state.isOn && state.unreported != nil)
        state.answered(Self.said(3, true), to: Self.second)
        #expect(state.unreported != nil, "the answer to another decision")
        state.answered(Self.said(3, true), to: Self.first)
        #expect(state == Self.reported && state.unreported == nil && state.revision == 3 && state.decision?.at == 3)
    }

    @Test func `The same decision again is none, unless a person made it`() {
        var state = Self.reported
        state.decided(true, request: Self.second, at: 9)
        #expect(state == Self.reported)
        state.heard(Self.said(4, true, by: "ann"))
        #expect(state.decision?.person == "ann")
        state.decided(true, request: Self.second, at: 9)
        #expect(state.unreported?.requestID == Self.second && state.decision?.person == nil)
    }

    @Test func `A newer decision at the collector holds, also where it answers a repeat`() {
        var state = Self.reported
        state.heard(Self.said(4, false, by: "ann"))
        #expect(!state.isOn && state.decision?.person == "ann" && state.revision == 4 && state.unreported == nil)
        state = DoNotDisturbState()
        state.decided(true, request: Self.first, at: 7)
        state.answered(Self.said(4, false, by: "ann"), to: Self.first)
        #expect(!state.isOn && state.unreported == nil)
    }

    @Test(arguments: [0, 2]) func `A collector that lost the device's decision is reported it again`(revision: UInt64) {
        var state = Self.reported
        state.heard(Self.said(revision, false, by: revision == 0 ? "" : "ann"))
        #expect(state.isOn && state.unreported?.requestID == Self.first)
        state.answered(Self.said(revision + 1, true), to: Self.first)
        #expect(state.isOn && state.unreported == nil && state.revision == revision + 1)
    }

    @Test func `A person's decision that the collector lost is lost here too`() {
        var state = Self.reported
        state.heard(Self.said(5, true, by: "ann"))
        state.heard(Self.said(0, false))
        #expect(state == DoNotDisturbState())
    }

    @Test func `A refused decision is forgotten, and a later one is not`() {
        var state = DoNotDisturbState()
        state.decided(true, request: Self.first, at: 7)
        state.refused(Self.second)
        #expect(state.isOn)
        state.refused(Self.first)
        #expect(state == DoNotDisturbState())
    }
}

/// Do-not-disturb of a running device, and what it and the collector send each other.
@Suite(.timeLimit(.minutes(10))) struct DoNotDisturbTests {
    private static let allowing: WireProfile = {
        var profile = WireProfile.analyticsOn
        profile.doNotDisturbAllowed = true
        return profile
    }()

    private let bench = SamplerBench(profile: Self.allowing)

    private func started(_ directory: String) async throws -> DataSampler {
        let sampler = try bench.sampler(directory)
        try await SamplerBench.start(sampler)
        try await sampler.reloadProfile()
        return sampler
    }

    private func person(_ revision: UInt64, _ isOn: Bool) {
        var said = WireDoNotDisturb()
        (said.revision, said.on, said.person, said.setAt) = (revision, isOn, "ann", 5)
        bench.collector.setDoNotDisturb(said)
    }

    @Test func `A decision of the device is reported to the collector and kept over a restart`() async throws {
        let directory = try TemporaryDirectory()
        var sampler = try await started(directory.path)
        let status = try await sampler.setDeviceDNDStatus(true)
        #expect(status.isOn && status.isAllowed && status.isReported && status.setBy == .device && status.person == nil)
        #expect(bench.collector.doNotDisturbSaid?.on == true && bench.collector.doNotDisturbSaid?.revision == 1)
        await sampler.stop()
        sampler = try bench.sampler(directory.path)
        try await sampler.start()
        let kept = try await sampler.status()
        #expect(kept.doNotDisturb && kept.doNotDisturbDecision?.setBy == .device)
        await sampler.stop()
    }

    @Test func `A person's decision arrives with the next contact and is kept over a restart`() async throws {
        let directory = try TemporaryDirectory()
        var sampler = try await started(directory.path)
        person(1, true)
        try await sampler.sendBeacon()
        try await SamplerBench.until { try await sampler.status().doNotDisturb }
        #expect(try await sampler.status().doNotDisturbDecision?.person == "ann")
        try await bench.arrived { try await bench.beacons().last?.doNotDisturb == .yes }
        await sampler.stop()
        bench.collector.setFaults { _, _ in .requestLost }
        sampler = try bench.sampler(directory.path) { $0.beaconInterval = nil }
        try await sampler.start()
        #expect(try await sampler.status().doNotDisturb)
        bench.collector.setFaults { _, _ in nil }
        person(2, false)
        let status = try await sampler.fetchDeviceDNDStatus()
        #expect(!status.isOn && status.setBy == .person && status.setAt == 5)
        #expect(try await !sampler.status().doNotDisturb)
        await sampler.stop()
    }

    @Test func `A device that decided offline reports it with the next contact, and is then the newest`() async throws {
        let directory = try TemporaryDirectory()
        let sampler = try await started(directory.path)
        bench.collector.setFaults { request, _ in request.path == WireNames.doNotDisturbPath ? .requestLost : nil }
        person(1, false)
        let failure = await SamplerBench.code { () async throws(DataSamplerError) in
            _ = try await sampler.setDeviceDNDStatus(true)
        }
        #expect(failure == .collector)
        let waiting = try await sampler.status()
        #expect(waiting.doNotDisturb && waiting.doNotDisturbDecision?.isReported == false)
        bench.collector.setFaults { _, _ in nil }
        try await sampler.sendBeacon()
        try await bench.arrived { bench.collector.doNotDisturbSaid?.revision == 2 }
        #expect(bench.collector.doNotDisturbSaid?.on == true)
        try await SamplerBench.until { try await sampler.status().doNotDisturbDecision?.isReported == true }
        await sampler.stop()
    }

    @Test func `After a lost answer the repeat does not override a person`() async throws {
        let directory = try TemporaryDirectory()
        let sampler = try await started(directory.path)
        bench.collector.setFaults { request, _ in request.path == WireNames.doNotDisturbPath ? .answerLost : nil }
        try await sampler.setDoNotDisturb(true)
        try await bench.arrived { bench.collector.doNotDisturbSaid?.revision == 1 }
        person(2, false)
        bench.collector.setFaults { _, _ in nil }
        let status = try await sampler.fetchDeviceDNDStatus()
        #expect(!status.isOn && status.person == "ann" && status.isReported)
        #expect(bench.collector.doNotDisturbSaid?.revision == 2)
        await sampler.stop()
    }

    @Test func `What the collector's profile does not allow is given up`() async throws {
        let directory = try TemporaryDirectory()
        let sampler = try await started(directory.path)
        bench.collector.allowDoNotDisturb(false)
        let failure = await SamplerBench.code { () async throws(DataSamplerError) in
            _ = try await sampler.setDeviceDNDStatus(true)
        }
        // The background may have reported it first; then the collector is only asked.
        #expect(failure == .notAllowed || failure == nil)
        try await SamplerBench.until { try await !sampler.status().doNotDisturb }
        await sampler.stop()
    }

    @Test func `With a collector that does not know do-not-disturb the device alone decides`() async throws {
        let directory = try TemporaryDirectory()
        bench.collector.setDoNotDisturb(nil)
        let sampler = try await started(directory.path)
        try await sampler.setDoNotDisturb(true)
        try await sampler.sendBeacon(deliveredWithin: .seconds(300))
        #expect(try await sampler.status().doNotDisturb)
        await sampler.stop()
    }
}
