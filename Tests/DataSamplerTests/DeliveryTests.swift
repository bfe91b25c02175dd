import DeviceTestKit
import Foundation
import LogStore
import Logging
import RecordQueue
import RecordStore
import StoreTestKit
import TestKit
import Testing
import WireModel
@testable import Transmitter

@testable import DataSampler

/// Calls that return once the collector has what they sent, or say why it has not.
@Suite(.timeLimit(.minutes(10))) struct DeliveryTests {
    private let bench = SamplerBench()
    private let conditions = SetConditions()

    private func started(
        _ directory: String, _ change: (inout DataSamplerConfiguration) -> Void = { _ in }
    ) async throws -> DataSampler {
        var configuration = SamplerBench.configuration(directory)
        change(&configuration)
        var environment = SamplerBench.environment(bench.collector)
        environment.conditions = { [conditions] _, _ in conditions }
        environment.drainTime = .zero
        let sampler = try DataSampler(
            configuration: configuration, environment: environment, logger: Logger(label: "test"))
        try await SamplerBench.start(sampler)
        return sampler
    }

    private func waiting(_ sampler: DataSampler) async throws -> UInt64 {
        try await sampler.status().streams.first { $0.name == "status" }?.waiting ?? 0
    }

    private static func failure(_ body: () async throws(DataSamplerError) -> Void) async -> DeliveryFailure? {
        do throws(DataSamplerError) {
            try await body()
            return nil
        } catch {
            #expect(error.code == .notDelivered, "\(error)")
            return error.cause as? DeliveryFailure
        }
    }

    @Test func `A beacon, a push token and logs are with the collector when the call returns`() async throws {
        let directory = try TemporaryDirectory()
        let sampler = try await started(directory.path)
        try await sampler.sendBeacon(deliveredWithin: .seconds(300))
        // It may share the beacon that reports the new profile.
        #expect(try await bench.beacons().contains { [.demand, .change].contains($0.trigger) })
        try await sampler.setPushToken("token", deliveredWithin: .seconds(300))
        #expect(try await bench.beacons().contains { $0.pushToken.token == "token" })
        let beacons = try await bench.beacons().count
        try await sampler.setPushToken("token", deliveredWithin: .seconds(300))
        #expect(try await bench.beacons().count == beacons, "unchanged")

        try sampler.logs().log(.error, "the door is stuck")
        let bytes = try await sampler.sendLogs(deliveredWithin: .seconds(300))
        #expect(bytes > 0)
        #expect(try await sampler.logUploads().allSatisfy { $0.phase == .done })
        await sampler.stop()
    }

    @Test func `What the library was asked to do is reported as usage events`() async throws {
        let directory = try TemporaryDirectory()
        let sampler = try await started(directory.path)
        // It erases what was recorded before, so it comes first.
        try await sampler.wipe(reason: "a test")
        try await sampler.reloadProfile()
        try await sampler.sendBeacon()
        try sampler.logs().log(.error, "the door is stuck")
        try await sampler.sendLogs(deliveredWithin: .seconds(300))
        bench.collector.setFaults { _, _ in .requestLost }
        _ = try? await sampler.reloadProfile()
        bench.collector.setFaults { _, _ in nil }
        await sampler.stop()
        let actions = try await bench.stored(.event).map { try WireEvent.decode($0.header.body(of: $0.bytes)) }
            .filter { $0.type == .sdkAction }
        #expect(
            Set(actions.map { "\($0.name) \($0.succeeded)" }) == [
                "wipe true", "profile.reload true", "beacon.force true", "logs.send true", "profile.reload false",
            ])
        #expect(actions.filter { $0.name == "beacon.force" }.allSatisfy { $0.hasDurationMicroseconds })
    }

    @Test func `A device without an enrollment token is not enrolled`() async throws {
        let directory = try TemporaryDirectory()
        let sampler = try await started(directory.path) { $0.enrollmentToken = nil }
        #expect(
            await Self.failure { () async throws(DataSamplerError) in
                try await sampler.sendBeacon(deliveredWithin: .milliseconds(300))
            } == .notEnrolled)
        await sampler.stop()
    }

    @Test func `What was not delivered in time is delivered later`() async throws {
        bench.collector.setFaults { _, _ in .requestLost }
        let directory = try TemporaryDirectory()
        let sampler = try await started(directory.path)
        #expect(
            await Self.failure { () async throws(DataSamplerError) in
                try await sampler.sendBeacon(deliveredWithin: .seconds(5))
            } == .offline)
        bench.collector.setFaults { _, _ in nil }
        try await sampler.sendBeacon(deliveredWithin: .seconds(300))

        bench.collector.setFaults { _, _ in .requestLost }
        #expect(
            await Self.failure { () async throws(DataSamplerError) in
                try await sampler.setPushToken("token", deliveredWithin: .seconds(5))
            } == .offline)
        bench.collector.setFaults { _, _ in nil }
        try await sampler.setPushToken("token", deliveredWithin: .seconds(300))
        #expect(try await bench.beacons().contains { $0.pushToken.token == "token" })
        await sampler.stop()
    }

    @Test func `The gate that holds a beacon back is named`() async throws {
        var profile = WireProfile.analyticsOn
        profile.transmission = ["status", "log"].map { data in
            var rule = WireTransmissionRule()
            rule.data = data
            rule.metered = false
            return rule
        }
        bench.collector.setProfile(profile)
        let directory = try TemporaryDirectory()
        let sampler = try await started(directory.path)
        try await sampler.sendBeacon(deliveredWithin: .seconds(300))
        try await SamplerBench.until { try await sampler.profile()?.revision == 1 }
        conditions.set { $0.metered = true }
        #expect(
            await Self.failure { () async throws(DataSamplerError) in
                try await sampler.sendBeacon(deliveredWithin: .milliseconds(300))
            } == .gateClosed(.metered))
        try sampler.logs().log(.error, "the door is stuck")
        #expect(
            await Self.failure { () async throws(DataSamplerError) in
                try await sampler.sendLogs(whenAllowed: true, deliveredWithin: .milliseconds(300))
            } == .gateClosed(.metered))
        await sampler.stop()
    }

    @Test func `A collector that rejects the device has refused`() async throws {
        let directory = try TemporaryDirectory()
        let sampler = try await started(directory.path)
        try await sampler.sendBeacon(deliveredWithin: .seconds(300))
        let problem = Problem(
            status: 403, code: Problem.Code.revoked, title: "Revoked", detail: "An administrator revoked this device.",
            scope: .device)
        let headers = TransportResponse.collectorHeaders(bench.collector.collectorID, bench.collector.incarnationID)
        let revoked = TransportResponse(
            status: 403, headers: headers.merging(["content-type": WireNames.problem]) { $1 },
            body: try JSONEncoder().encode(problem))
        bench.collector.setFaults { _, _ in .answered(revoked) }
        #expect(
            await Self.failure { () async throws(DataSamplerError) in
                try await sampler.sendBeacon(deliveredWithin: .seconds(2))
            } == .refused)
        await sampler.stop()
    }

    @Test func `A record that a wipe erases is not delivered`() async throws {
        bench.collector.setFaults { _, _ in .requestLost }
        let directory = try TemporaryDirectory()
        let sampler = try await started(directory.path)
        let before = try await waiting(sampler)
        async let failure = Self.failure { () async throws(DataSamplerError) in
            try await sampler.sendBeacon(deliveredWithin: .seconds(300))
        }
        try await SamplerBench.until { try await waiting(sampler) > before }
        try await sampler.wipe(reason: "test")
        #expect(await failure == .refused)
        await sampler.stop()
    }
}
