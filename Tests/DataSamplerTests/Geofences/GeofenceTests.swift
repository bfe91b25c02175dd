import Foundation
import Logging
import StoreTestKit
import SwiftProtobuf
import TestKit
import Testing
import WireModel

@testable import DataSampler

/// A receiver without a fix. Tests hand positions over themselves.
private struct SilentLocationSource: LocationSource {
    var name: String { "test" }
    func locate() async -> LocationObservation { .lost(LocationLoss("no fix", hasReceiver: true)) }
}

/// A receiver that knows one place.
private struct FixedLocationSource: LocationSource {
    var latitude: Double
    var name: String { "test" }

    func locate() async -> LocationObservation {
        .fix(LocationFix(latitude: latitude, longitude: 13.4, horizontalAccuracy: 5, time: 1))
    }
}

/// From positions to what the program hears, what the collector has and what is on disk.
@Suite(.timeLimit(.minutes(10))) struct GeofenceTests {
    private static let yard = WireGeofence.with {
        ($0.id, $0.name, $0.latitude, $0.longitude, $0.radiusMeters) = ("yard", "Yard", 52.5, 13.4, 200)
    }

    private static func profile(_ change: (inout WireProfile) -> Void = { _ in }) -> WireProfile {
        var profile = WireProfile.analyticsOn
        profile.revision = 1
        profile.geofences = [yard]
        profile.doNotDisturbAllowed = true
        profile.compliance = [
            .with {
                ($0.id, $0.subject, $0.operator, $0.geofence) = ("at-home", "location", "inside", "yard")
                $0.consequence = "block"
            }
        ]
        change(&profile)
        return profile
    }

    private let directory: TemporaryDirectory
    private let bench: SamplerBench
    private let delegate = RecordingDelegate()

    init() throws {
        directory = try TemporaryDirectory()
        bench = SamplerBench(profile: Self.profile())
    }

    private func sampler(_ source: any LocationSource = SilentLocationSource()) throws -> DataSampler {
        try bench.sampler(directory.path, delegate: delegate) { $0.locationSource = source }
    }

    /// Runs a sampler that has the profile, until `body` is done.
    private func run(_ body: (DataSampler) async throws -> Void) async throws {
        let sampler = try sampler()
        try await SamplerBench.start(sampler)
        try await SamplerBench.until { try await sampler.status().geofences != nil }
        try await body(sampler)
        await sampler.stop()
    }

    private static func located(_ sampler: DataSampler, latitude: Double, time: Int64) async throws {
        let fix = LocationFix(latitude: latitude, longitude: 13.4, horizontalAccuracy: 5, time: time)
        try await sampler.running().supervisor.located(.fix(fix))
    }

    private func fence(_ sampler: DataSampler) async throws -> DataSamplerStatus.Geofence {
        try #require(try await sampler.status().geofences?.first)
    }

    private func crossings() async throws -> [WireEvent] { try await bench.events().filter { $0.type == .geofence } }

    private var file: String { "\(directory.path)/geofences.json" }

    @Test func `Entering and leaving are events, notices, and a beacon at once with the rule's result`() async throws {
        try await run { sampler in
            let unknown = try await fence(sampler)
            #expect(unknown == .init(id: "yard", name: "Yard", state: "unknown", isConfirmed: false))
            let first = try await sampler.status().verdicts
            #expect(first?.rules.first?.actual == "unknown" && first?.deviceCompliance == "unknown")

            try await Self.located(sampler, latitude: 52.5, time: 1)
            try await delegate.untilReported(.geofenceEntered)
            try await bench.arrived { try await bench.beacons().last?.deviceCompliance == .compliant }
            #expect(try await bench.beacons().last?.rules.first?.actual == "inside")
            let inside = try await fence(sampler)
            #expect(inside.state == "inside" && inside.isConfirmed && inside.since != nil)

            try await Self.located(sampler, latitude: 52.6, time: 2)
            try await delegate.untilReported(.geofenceLeft)
            try await delegate.untilReported(.blocked)
            try await bench.arrived { try await bench.beacons().last?.deviceCompliance == .nonCompliant }
            let broken = try await bench.beacons().last?.rules.first
            #expect(broken?.actual == "outside" && broken?.expected == "inside yard")
            try await bench.arrived { try await crossings().count == 2 }
        }
        #expect(
            delegate.reported(.geofenceEntered, .geofenceLeft).map { $0.details } == [
                ["geofence": "yard"], ["geofence": "yard"],
            ])
        let events = try await crossings()
        #expect(events.map(\.name) == ["geofence.enter", "geofence.leave"])
        #expect(events.map(\.hasDurationMicroseconds) == [false, true])
        for event in events {
            // The id and nothing else: no position leaves through events.
            #expect(event.attributes.mapValues(\.text) == ["id": "yard"] && !event.hasValue)
        }
    }

    @Test func `A device that is inside when the profile comes enters once, also over restarts`() async throws {
        for _ in 1...2 {
            let sampler = try sampler(FixedLocationSource(latitude: 52.5))
            try await SamplerBench.start(sampler)
            try await SamplerBench.until {
                let fence = try await sampler.status().geofences?.first
                return fence?.state == "inside" && fence?.isConfirmed == true
            }
            try await delegate.untilReported(1, .geofenceEntered)
            await sampler.stop()
        }
        #expect(try await crossings().map(\.name) == ["geofence.enter"])
        #expect(delegate.reported(.geofenceEntered).count == 1)
    }

    @Test func `During do-not-disturb and without consent no position counts, and the state stays`() async throws {
        try await run { sampler in
            try await Self.located(sampler, latitude: 52.5, time: 1)
            let changes: [(forbid: () async throws -> Void, allow: () async throws -> Void)] = [
                ({ try await sampler.setDoNotDisturb(true) }, { try await sampler.setDoNotDisturb(false) }),
                ({ try await sampler.setConsent(.denied) }, { try await sampler.setConsent(.granted) }),
                ({ try await sampler.setConsent(.pending) }, { try await sampler.setConsent(.granted) }),
            ]
            for (forbid, allow) in changes {
                try await forbid()
                try await Self.located(sampler, latitude: 52.6, time: 2)
                let kept = try await fence(sampler)
                #expect(kept.state == "inside" && !kept.isConfirmed)
                let rule = try await sampler.status().verdicts?.rules.first
                #expect(rule?.actual == "unknown" && rule?.state == "unknown")
                try await allow()
                try await Self.located(sampler, latitude: 52.5, time: 3)
                #expect(try await fence(sampler).isConfirmed)
            }
        }
        #expect(delegate.reported(.geofenceEntered).count == 1 && delegate.reported(.geofenceLeft).isEmpty)
    }

    @Test func `A wipe removes the states, and the device enters again`() async throws {
        try await run { sampler in
            try await Self.located(sampler, latitude: 52.5, time: 1)
            #expect(FileManager.default.fileExists(atPath: file))
            try await sampler.wipe(reason: "test")
            #expect(!FileManager.default.fileExists(atPath: file))
            #expect(try await fence(sampler).state == "unknown")
            try await SamplerBench.until {
                try await Self.located(sampler, latitude: 52.5, time: 2)
                return try await fence(sampler).state == "inside"
            }
            try await delegate.untilReported(2, .geofenceEntered)
        }
    }

    @Test func `A damaged file is set aside, and the states are decided anew`() async throws {
        try await run { try await Self.located($0, latitude: 52.5, time: 1) }
        var bytes = try Data(contentsOf: URL(filePath: file))
        #expect(!String(decoding: bytes, as: UTF8.self).contains("52.5"), "no position is on disk")
        bytes[bytes.count / 2] ^= 1
        try bytes.write(to: URL(filePath: file))
        try await run { sampler in
            try await delegate.untilReported(.fileSetAside)
            #expect(try await fence(sampler).state == "unknown")
            try await Self.located(sampler, latitude: 52.5, time: 2)
            #expect(try await fence(sampler).state == "inside")
        }
    }

    @Test func `With analytics off the program hears of it, and nothing is recorded`() async throws {
        bench.collector.setProfile(Self.profile { $0.analytics.enabled = false })
        try await run { sampler in
            try await Self.located(sampler, latitude: 52.5, time: 1)
            try await delegate.untilReported(.geofenceEntered)
        }
        #expect(try await bench.events().isEmpty)
    }

    @Test func `Without an agent the directory shows the states`() async throws {
        try await run { try await Self.located($0, latitude: 52.5, time: 1) }
        let core = try await SamplerCore.open(
            SamplerBench.configuration(directory.path), environment: SamplerBench.environment(bench.collector),
            logger: Logger(label: "test"))
        let fence = try #require(try await core.status(nil).geofences?.first)
        #expect(fence.state == "inside" && !fence.isConfirmed && fence.since != nil)
        await core.close()
    }
}
