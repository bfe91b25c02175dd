import DeviceTestKit
import Foundation
import StoreTestKit
import Testing
import WireModel

@testable import Transmitter

/// A device renews its credential by itself before it is as old as it may become.
@Suite(.timeLimit(.minutes(5))) struct CredentialRenewalTests {
    private static let day: Int64 = 86_400 * 1_000_000
    private let bench = TransmitterBench()
    private let enrollments = InMemoryEnrollmentStore(token: "enrollment-token")

    private func run(
        lifetime: Duration? = .seconds(90 * 86_400), isTimeReported: Bool = true,
        _ body: (() async throws -> Enrollment) async throws -> Void
    ) async throws {
        var settings = TransmitterSettings(eventHold: .zero)
        settings.credentialLifetime = lifetime
        try await bench.run(enrollments: enrollments, settings: settings) { queue, transmitter in
            try await body {
                if isTimeReported { bench.collector.setNews(revision: 0, serverTime: bench.clock.now().wallTime) }
                try await bench.enqueue(1, to: queue)
                #expect(await transmitter.pass() == .finished)
                return try #require(enrollments.load())
            }
        }
    }

    @Test func `After its lifetime, a credential is followed by another`() async throws {
        try await run { send in
            let first = try await send()
            bench.clock.advance(by: .seconds(80 * 86_400))
            #expect(try await send().credential == first.credential)
            bench.clock.advance(by: .seconds(10 * 86_400))
            let second = try await send()
            #expect(second.credential != first.credential && second.formerCredential == nil)
            // Counted anew.
            bench.clock.advance(by: .seconds(80 * 86_400))
            #expect(try await send().credential == second.credential)
            #expect(try await bench.stored() == [1, 2, 3, 4])
        }
        // The age is on disk: a restart does not begin to count anew.
        bench.clock.advance(by: .seconds(11 * 86_400))
        let before = try #require(enrollments.load())
        try await run { send in
            let after = try await send()
            #expect(after.credential != before.credential)
        }
    }

    /// The clock of a device may be anything until the collector has said what time it is.
    @Test func `Without the collector's time, nothing is renewed`() async throws {
        try await run(isTimeReported: false) { send in
            let first = try await send()
            bench.clock.advance(by: .seconds(100 * 86_400))
            #expect(try await send().credential == first.credential)
        }
    }

    @Test func `Without a lifetime, it is never renewed`() async throws {
        try await run(lifetime: nil) { send in
            let first = try await send()
            bench.clock.advance(by: .seconds(3650 * 86_400))
            #expect(try await send().credential == first.credential)
        }
    }

    /// As an earlier version left it.
    @Test func `For a credential of unknown age, the count begins now`() async throws {
        try await run { send in
            var enrollment = try await send()
            enrollment.credentialSince = nil
            try enrollments.save(enrollment)
        }
        try await run { send in
            let kept = try await send()
            #expect(kept.credentialSince != nil)
            bench.clock.advance(by: .seconds(91 * 86_400))
            #expect(try await send().credential != kept.credential)
        }
    }

    @Test func `A failure is tried again in an hour, and a future time is not believed`() {
        var renewal = CredentialRenewal()
        var enrollment = Enrollment(
            deviceID: DeviceID(high: 1, low: 0), credential: "c", organization: "o", collectorID: .random(),
            incarnationID: .random())
        let lifetime = Duration.seconds(90 * 86_400)
        #expect(renewal.step(enrollment, lifetime: lifetime, at: 100 * Self.day, now: 0) == .beginCounting)
        enrollment.credentialSince = 10 * Self.day
        #expect(renewal.step(enrollment, lifetime: lifetime, at: 9 * Self.day, now: 0) == .beginCounting)
        #expect(renewal.step(enrollment, lifetime: lifetime, at: 99 * Self.day, now: 0) == .wait)
        #expect(renewal.step(enrollment, lifetime: lifetime, at: 100 * Self.day, now: 0) == .renew)
        enrollment.credentialSince = .min
        #expect(renewal.step(enrollment, lifetime: lifetime, at: 99 * Self.day, now: 0) == .renew)
        enrollment.credentialSince = 10 * Self.day
        renewal.failed(now: 5)
        #expect(renewal.step(enrollment, lifetime: lifetime, at: 100 * Self.day, now: 3_600_000_004) == .wait)
        #expect(renewal.step(enrollment, lifetime: lifetime, at: 100 * Self.day, now: 3_600_000_005) == .renew)
    }

    /// A fleet that was enrolled on one day.
    @Test func `Devices come at different times of the last tenth`() {
        let ages = (0..<1000).map {
            CredentialRenewal.age(of: DeviceID(high: 0, low: $0), lifetime: .seconds(90 * 86_400))
        }
        #expect(ages.allSatisfy { (81 * Self.day...90 * Self.day).contains($0) })
        #expect(Set(ages).count == 1000)
        #expect(CredentialRenewal.age(of: .random(), lifetime: .seconds(Int64.max)) > 0)
    }
}
