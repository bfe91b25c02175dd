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

/// A data sampler whose profile has certificate authorities, at a collector with a certificate of one of them.
@Suite(.timeLimit(.minutes(5))) struct AuthorityTests {
    /// A collector whose certificate an authority issued, and a transport that trusts the ones it is told.
    private final class IssuedCollector: Transport {
        private struct State {
            var issuer: Data?
            var trusted: [Data] = []
            /// Whether something on the way shows a certificate of its own.
            var isIntercepted = false
            var interceptsAfterProfile = false
        }

        let base: LoopbackCollector
        private let state: Mutex<State>

        /// - Parameter issuer: `nil` for an authority of the system.
        init(_ base: LoopbackCollector, issuer: Data?) {
            self.base = base
            state = Mutex(State(issuer: issuer))
        }

        var trusted: [Data] { state.withLock { $0.trusted } }

        func setIssuer(_ issuer: Data) { state.withLock { $0.issuer = issuer } }

        /// Something intercepts TLS from the answer with the next profile on.
        func interceptAfterProfile() { state.withLock { $0.interceptsAfterProfile = true } }

        func endInterception() { state.withLock { $0.isIntercepted = false } }

        func trust(_ authorities: [Data]) { state.withLock { $0.trusted = authorities } }

        func send(_ request: TransportRequest) async throws(TransportError) -> TransportResponse {
            let isTrusted = state.withLock { state in
                return !state.isIntercepted && (state.issuer.map(state.trusted.contains) ?? true)
            }
            guard isTrusted else { throw TransportError(.tls, "not trusted") }
            let response = try await base.send(request)
            state.withLock { state in
                guard state.interceptsAfterProfile, request.path == WireNames.profilePath else { return }
                (state.interceptsAfterProfile, state.isIntercepted) = (false, true)
            }
            return response
        }
    }

    private static func profile(_ revision: UInt64, _ authorities: [Data]) -> WireProfile {
        var profile = WireProfile.analyticsOn
        profile.revision = revision
        profile.certificateAuthorities = authorities
        return profile
    }

    private func sampler(
        _ directory: String, _ transport: any Transport, clock: ManualRecordClock
    ) throws -> DataSampler {
        var configuration = DataSamplerConfiguration(
            sampleModules: .analytics, defaultSampleInterval: 60, defaultTransmitInterval: 3600, traceLevel: .off,
            directory: directory, collectorURL: "https://collector.test", enrollmentToken: "enrollment-token")
        configuration.eventHold = 0
        var environment = SamplerEnvironment()
        environment.slot = ProcessSlot()
        environment.clock = clock
        environment.machineHash = "machine"
        environment.conditions = { _, _ in UnknownConditions() }
        environment.detectors = { _, _, _ in [] }
        environment.connect = { _ in SamplerEnvironment.Connection(transport: transport) {} }
        return try DataSampler(configuration: configuration, environment: environment, logger: Logger(label: "test"))
    }

    private static func der(_ pem: String) throws -> Data {
        let lines = pem.split(separator: "\n").filter { !$0.hasPrefix("-----") }
        return try #require(Data(base64Encoded: lines.joined()))
    }

    /// Any certificates will do, as the transport compares them.
    private let (old, new): (Data, Data)

    init() throws {
        old = try Self.der(ServerCertificates.authority)
        new = try Self.der(ServerCertificates.one.certificate)
    }

    @Test func `The old authority is trusted until the profile drops it, and the new one from its profile on`()
        async throws
    {
        let directory = try TemporaryDirectory()
        let base = LoopbackCollector(store: InMemoryRecordStore(), profile: Self.profile(1, [old]))
        let collector = IssuedCollector(base, issuer: nil)
        let sampler = try sampler(directory.path, collector, clock: ManualRecordClock())
        try await sampler.start()
        try await sampler.reloadProfile()
        collector.setIssuer(old)
        base.setProfile(Self.profile(2, [old, new]))
        try await sampler.reloadProfile()
        #expect(try await sampler.status().settings["certificateAuthorities"]?.source == "profile")
        try await sampler.reloadProfile()
        #expect(collector.trusted == [old, new])
        collector.setIssuer(new)
        base.setProfile(Self.profile(3, [new]))
        try await sampler.reloadProfile()
        try await sampler.reloadProfile()
        #expect(collector.trusted == [new])
        #expect(try await sampler.status().profile.findings == nil)
        collector.setIssuer(old)
        await #expect(throws: DataSamplerError.self) { try await sampler.reloadProfile() }
        #expect(collector.trusted == [new], "the former one vouches for nothing any more")
        await sampler.stop()
    }

    @Test
    func `A profile that drops the authority in use cuts nobody off, and is said everywhere, also after a restart`()
        async throws
    {
        let directory = try TemporaryDirectory()
        let store = InMemoryRecordStore()
        let base = LoopbackCollector(store: store, profile: Self.profile(1, [old]))
        let collector = IssuedCollector(base, issuer: nil)
        let clock = ManualRecordClock()
        let first = try sampler(directory.path, collector, clock: clock)
        let notices = first.notices
        try await first.start()
        try await first.reloadProfile()
        collector.setIssuer(old)
        try await first.reloadProfile()
        base.setProfile(Self.profile(2, [new]))
        try await first.reloadProfile()
        try await first.reloadProfile()
        for await notice in notices where notice.kind == .authoritiesFallenBack {
            #expect(notice.details["revision"] == "2")
            break
        }
        #expect(collector.trusted == [new, old])
        try await first.sendBeacon()
        await first.stop()
        let beacons = try await store.records(
            of: base.device, stream: .status, kind: nil, module: nil, before: nil, limit: 100
        ).records
            .map { try WireBeacon.decode($0.header.body(of: $0.bytes)) }
        #expect(beacons.contains { $0.profileFindings == ["certificate-authorities-failed"] })

        let second = try sampler(directory.path, collector, clock: clock)
        let taken = second.notices
        try await second.start()
        try await second.reloadProfile()
        #expect(collector.trusted == [new, old])
        #expect(
            try await second.status().profile.findings?.first?.contains("certificateAuthorities in the profile") == true
        )
        collector.setIssuer(new)
        clock.advance(by: .seconds(AuthorityPolicy.trialSeconds))
        try await second.reloadProfile()
        for await notice in taken where notice.kind == .authoritiesApplied { break }
        #expect(collector.trusted == [new])
        #expect(try await second.status().profile.findings == nil)
        await second.stop()
    }

    @Test func `A network that intercepts TLS changes nothing`() async throws {
        let directory = try TemporaryDirectory()
        let base = LoopbackCollector(store: InMemoryRecordStore(), profile: Self.profile(1, [old]))
        let collector = IssuedCollector(base, issuer: nil)
        let sampler = try sampler(directory.path, collector, clock: ManualRecordClock())
        try await sampler.start()
        try await sampler.reloadProfile()
        try await sampler.reloadProfile()
        base.setProfile(Self.profile(2, [new]))
        collector.interceptAfterProfile()
        try await sampler.reloadProfile()
        let core = try sampler.running().core
        await #expect(throws: DataSamplerError.self) { try await sampler.reloadProfile() }
        #expect(core.authorities.finding == nil && core.authorities.inForce(now: core.queueTime) == [new])
        collector.setIssuer(old)
        collector.endInterception()
        try await sampler.reloadProfile()
        #expect(core.authorities.finding != nil, "what worked before is known on")
        await sampler.stop()
    }

    @Test func `A profile with what is no certificate is refused, and the last one stays`() async throws {
        let directory = try TemporaryDirectory()
        let base = LoopbackCollector(store: InMemoryRecordStore(), profile: Self.profile(1, [old]))
        let collector = IssuedCollector(base, issuer: nil)
        let sampler = try sampler(directory.path, collector, clock: ManualRecordClock())
        try await sampler.start()
        try await sampler.reloadProfile()
        base.setProfile(Self.profile(2, [old, Data([1, 2, 3])]))
        let error = await #expect(throws: DataSamplerError.self) { try await sampler.reloadProfile() }
        #expect(error?.message.contains("certificateAuthorities[1]") == true, "\(error?.message ?? "")")
        #expect(try await sampler.status().profile.revision == 1)
        await sampler.stop()
    }
}
