import RecordStore
import StoreTestKit
import TestKit
import Testing
import WireModel

@testable import DataSampler

/// The location from its source to the collector, and to nobody who may not have it.
@Suite(.timeLimit(.minutes(10))) struct LocationSamplerTests {
    private static let fix = LocationFix(
        latitude: 52.516279, longitude: 13.377703, altitude: 34, horizontalAccuracy: 4, verticalAccuracy: 9, speed: 1.5,
        course: 84, mode: .threeDimensional, satellites: .init(visible: 12, used: 9), time: 1_750_000_000_000_000)

    private static func profile(_ action: WirePrivacyAction?, grid: Double? = nil) -> WireProfile {
        var profile = WireProfile.analyticsOn
        profile.sampling.modulesGiven = true
        profile.sampling.modules = ["analytics", "gps"]
        profile.beaconSeconds = 60
        profile.doNotDisturbAllowed = true
        if let action { profile.privacy["position"] = action }
        if let grid { profile.positionGridDegrees = grid }
        return profile
    }

    private static func samples(_ bench: SamplerBench) async throws -> [WireGPSSample] {
        try await bench.stored(.sample).filter { $0.header.kind == WireRecordKind.sampleGps.rawValue }.map {
            try WireGPSSample.decode($0.header.body(of: $0.bytes))
        }
    }

    @Test func `Module gps samples the position, and beacons carry it`() async throws {
        let bench = SamplerBench(profile: Self.profile(.send))
        let directory = try TemporaryDirectory()
        let source = ScriptedLocationSource { _ in .fix(Self.fix) }
        let sampler = try bench.sampler(directory.path) { $0.locationSource = source }
        try await SamplerBench.start(sampler)
        try await bench.arrived { try await !Self.samples(bench).isEmpty }
        let sample = try #require(try await Self.samples(bench).first)
        #expect(sample.location == WireLocation(Self.fix) && sample.fix == 3)
        #expect(sample.speedMetersPerSecond == 1.5 && sample.courseDegrees == 84)
        #expect(sample.verticalAccuracyMeters == 9 && sample.satellitesVisible == 12 && sample.satellitesUsed == 9)
        try await sampler.sendBeacon()
        try await bench.arrived { try await bench.beacons().contains { $0.location == WireLocation(Self.fix) } }
        let status = try await sampler.status()
        #expect(status.location?.source == "a scripted receiver" && status.location?.hasFix == true)
        #expect(status.profile.findings == nil)
        await sampler.stop()
        try await source.rests.until { $0 > 0 }
    }

    @Test func `A coarse position is on the profile's grid in every record, without what would contradict it`()
        async throws
    {
        let bench = SamplerBench(profile: Self.profile(.coarsen, grid: 0.5))
        let directory = try TemporaryDirectory()
        let sampler = try bench.sampler(directory.path) {
            $0.locationSource = ScriptedLocationSource { _ in .fix(Self.fix) }
        }
        try await SamplerBench.start(sampler)
        try await bench.arrived { try await !Self.samples(bench).isEmpty }
        try await sampler.sendBeacon()
        try await bench.arrived { try await bench.beacons().contains { $0.hasLocation } }
        let sample = try #require(try await Self.samples(bench).first)
        let locations = [sample.location] + (try await bench.beacons().filter(\.hasLocation).map(\.location))
        for location in locations {
            #expect(location.latitude == 52.5 && location.longitude == 13.5)
            #expect(!location.hasAltitudeMeters && !location.hasAccuracyMeters)
        }
        #expect(!sample.hasSpeedMetersPerSecond && !sample.hasCourseDegrees && !sample.hasVerticalAccuracyMeters)
        #expect(sample.fix == 3 && sample.satellitesUsed == 9)
        await sampler.stop()
    }

    @Test func `A lost fix is a sample without a position`() async throws {
        let bench = SamplerBench(profile: Self.profile(.send))
        let directory = try TemporaryDirectory()
        let sampler = try bench.sampler(directory.path) {
            $0.locationSource = ScriptedLocationSource { _ in
                .lost(
                    LocationLoss("the receiver has no fix", hasReceiver: true, satellites: .init(visible: 3, used: 0)))
            }
        }
        try await SamplerBench.start(sampler)
        try await bench.arrived { try await !Self.samples(bench).isEmpty }
        let sample = try #require(try await Self.samples(bench).first)
        #expect(sample.fix == 1 && !sample.hasLocation && sample.satellitesVisible == 3)
        #expect(try await sampler.status().location?.reason == "the receiver has no fix")
        await sampler.stop()
    }

    @Test func `A source that ends is told by one sample without a position, and its return by the next one`()
        async throws
    {
        let bench = SamplerBench(profile: Self.profile(.send))
        let directory = try TemporaryDirectory()
        let hasEnded = Watched(false)
        let source = ScriptedLocationSource { _ in
            hasEnded.value ? .lost(LocationLoss("the program ended it", hasReceiver: false)) : .fix(Self.fix)
        }
        let sampler = try bench.sampler(directory.path) { $0.locationSource = source }
        try await SamplerBench.start(sampler)
        try await bench.arrived { try await Self.samples(bench).last?.hasLocation == true }
        hasEnded.change { $0 = true }
        try await bench.arrived { try await Self.samples(bench).last?.fix == 1 }
        let asked = source.locates.value
        try await source.locates.until { $0 > asked + 2 }
        #expect(try await sampler.status().modules.first { $0.name == "gps" }?.reason == "the program ended it")
        hasEnded.change { $0 = false }
        try await bench.arrived { try await Self.samples(bench).last?.hasLocation == true }
        let lost = try await Self.samples(bench).filter { !$0.hasLocation }
        #expect(lost.count == 1 && lost.first?.fix == 1 && lost.first?.hasSatellitesVisible == false)
        await sampler.stop()
    }

    @Test func `Without a receiver there is no sample, and a finding says what is missing`() async throws {
        let bench = SamplerBench(profile: Self.profile(.send))
        let directory = try TemporaryDirectory()
        let sampler = try bench.sampler(directory.path) {
            $0.locationSource = ScriptedLocationSource { _ in .lost(LocationLoss("plug one in", hasReceiver: false)) }
        }
        try await SamplerBench.start(sampler)
        try await bench.arrived {
            try await bench.beacons().contains { $0.profileFindings == ["module-not-sampled-gps"] }
        }
        let status = try await sampler.status()
        #expect(status.profile.findings?.first?.hasSuffix("plug one in") == true)
        #expect(status.modules.first { $0.name == "gps" }?.reason == "plug one in")
        #expect(try await Self.samples(bench).isEmpty)
        await sampler.stop()
    }

    /// Who forbids it: the default of the class, the class as hash, the device's own setting.
    @Test(arguments: [(nil, nil), (.hash, nil), (.send, .drop)] as [(WirePrivacyAction?, PersonalFieldAction?)])
    func `Where the class position is dropped the source is never asked`(
        action: WirePrivacyAction?, local: PersonalFieldAction?
    ) async throws {
        let bench = SamplerBench(profile: Self.profile(action))
        let directory = try TemporaryDirectory()
        let source = ScriptedLocationSource()
        let sampler = try bench.sampler(directory.path) {
            $0.locationSource = source
            if let local { $0.privacy = ["position": local] }
        }
        try await SamplerBench.start(sampler)
        try await bench.arrived { try await bench.beacons().contains { $0.profileRevision > 0 } }
        try await sampler.sendBeacon()
        #expect(source.locates.value == 0)
        #expect(try await sampler.status().unavailableModules["gps"]?.contains("position is dropped") == true)
        #expect(try await sampler.status().location?.isWanted == false)
        await sampler.stop()
    }

    @Test(arguments: [DataSamplerConsent.denied, .pending])
    func `Without consent the source is never asked`(consent: DataSamplerConsent) async throws {
        let bench = SamplerBench(profile: Self.profile(.send))
        let directory = try TemporaryDirectory()
        let source = ScriptedLocationSource()
        let sampler = try bench.sampler(directory.path) {
            $0.locationSource = source
            $0.initialConsent = consent
        }
        try await SamplerBench.start(sampler)
        try await sampler.reloadProfile()
        #expect(source.locates.value == 0)
        try await sampler.setConsent(.granted)
        try await source.locates.until { $0 > 0 }
        await sampler.stop()
    }

    @Test func `During do-not-disturb the source rests and is not asked`() async throws {
        let bench = SamplerBench(profile: Self.profile(.send))
        let directory = try TemporaryDirectory()
        let source = ScriptedLocationSource()
        let sampler = try bench.sampler(directory.path) { $0.locationSource = source }
        try await SamplerBench.start(sampler)
        try await source.locates.until { $0 > 0 }
        try await sampler.setDeviceDNDStatus(true)
        try await source.rests.until { $0 > 0 }
        let asked = source.locates.value
        try await sampler.sendBeacon()
        #expect(source.locates.value == asked)
        #expect(try await sampler.status().location?.isWanted == false)
        await sampler.stop()
    }
}
