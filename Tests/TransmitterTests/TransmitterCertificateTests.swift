import DeviceTestKit
import Foundation
import Logging
import RecordQueue
import Testing
import WireModel
@testable import Transmitter

/// How a device comes to its client certificate, shows it and renews it.
@Suite(.timeLimit(.minutes(5))) struct TransmitterCertificateTests {
    private let bench = TransmitterBench()
    private let enrollments = InMemoryEnrollmentStore(token: "enrollment-token", signingRequest: Data("request".utf8))

    private func run(_ body: (CertifyingCollector, Transmitter, () async throws -> Void) async throws -> Void)
        async throws
    {
        let collector = CertifyingCollector(bench.collector)
        try await bench.run(enrollments: enrollments, transport: collector) { queue, transmitter in
            try await body(collector, transmitter) {
                try await bench.enqueue(1, to: queue)
                _ = await transmitter.pass()
            }
        }
    }

    private func life(_ collector: CertifyingCollector, seconds: Int64) {
        let now = bench.clock.now().wallTime
        collector.change { $0.life = CertificateLife(begins: now, ends: now + seconds * 1_000_000) }
    }

    @Test func `A certificate is asked for with the enrollment, kept with the identity, and shown`() async throws {
        try await run { collector, transmitter, send in
            collector.change { $0.isRequired = true }
            life(collector, seconds: 90 * 86_400)
            try await send()
            #expect(collector.now.issued.count == 1)
            #expect(enrollments.load()?.certificate == collector.now.issued.first)
            #expect(collector.now.requests.last?.shown == collector.now.issued.first)
            #expect(transmitter.status.certificateEnds == bench.clock.now().wallTime + 90 * 86_400 * 1_000_000)
            #expect(try await bench.stored() == [1])
        }
        // The next life of the program shows what is on disk.
        try await run { collector, _, send in
            collector.change { $0.isRequired = true }
            try await send()
            #expect(
                collector.now.issued.isEmpty && collector.now.requests.last?.shown == enrollments.load()?.certificate)
        }
    }

    @Test func `A third before its end, it is renewed with the credential`() async throws {
        try await run { collector, _, send in
            life(collector, seconds: 90 * 86_400)
            try await send()
            let first = try #require(enrollments.load())
            bench.clock.advance(by: .seconds(59 * 86_400))
            try await send()
            #expect(collector.now.issued.count == 1)
            bench.clock.advance(by: .seconds(86_400))
            life(collector, seconds: 90 * 86_400)
            try await send()
            let renewed = try #require(enrollments.load())
            #expect(collector.now.issued.count == 2 && renewed.certificate == collector.now.issued[1])
            #expect(
                renewed.credential != first.credential && renewed.formerCredential == nil
                    && renewed.formerCertificate.isEmpty)
            #expect(collector.now.requests.last?.shown == renewed.certificate)
        }
    }

    @Test func `A collector that issues none is sent records and asked again in a day`() async throws {
        try await run { collector, _, send in
            collector.change { $0.life = nil }
            try await send()
            try await send()
            #expect(collector.now.requests.filter { $0.path == WireNames.rotatePath }.isEmpty)
            bench.clock.advance(by: .seconds(86_400))
            life(collector, seconds: 86_400)
            try await send()
            #expect(collector.now.issued.count == 1 && enrollments.load()?.certificate == collector.now.issued.first)
            #expect(try await bench.stored() == [1, 2, 3])
        }
    }

    /// The former credential and certificate stay good while the new ones are not used.
    @Test func `A new one that cannot be used leaves the former in use`() async throws {
        try await run { collector, transmitter, send in
            life(collector, seconds: 90 * 86_400)
            try await send()
            let first = try #require(enrollments.load())
            bench.clock.advance(by: .seconds(61 * 86_400))
            // What is kept can be used; what comes cannot, such as one for a request of another key.
            collector.change {
                $0.life = CertificateLife(begins: 7, ends: 8)
                $0.isUnusable = { $0.hasSuffix(" 7 8") }
            }
            try await send()
            let kept = try #require(enrollments.load())
            #expect(kept.credential == first.credential && kept.certificate == first.certificate)
            #expect(collector.now.requests.last?.shown == first.certificate)
            #expect(transmitter.status.certificateProblem?.contains("cannot be used") == true)
            #expect(try await bench.stored() == [1, 2])
        }
    }

    @Test func `A certificate that the collector does not accept is replaced`() async throws {
        for isRequired in [false, true] {
            let enrollments = InMemoryEnrollmentStore(token: "enrollment-token", signingRequest: Data("request".utf8))
            let bench = TransmitterBench()
            let collector = CertifyingCollector(bench.collector)
            try await bench.run(enrollments: enrollments, transport: collector) { queue, transmitter in
                collector.change { $0.isRequired = isRequired }
                try await bench.enqueue(1, to: queue)
                _ = await transmitter.pass()
                let first = try #require(enrollments.load()?.certificate)
                collector.change { $0.refused = [first] }
                try await bench.enqueue(1, to: queue)
                for _ in 0..<4 { _ = await transmitter.pass() }
                bench.clock.advance(by: .seconds(3600))
                for _ in 0..<4 { _ = await transmitter.pass() }
                #expect(try await bench.stored() == [1, 2])
                try await bench.enqueue(1, to: queue)
                _ = await transmitter.pass()
                #expect(try await bench.stored() == [1, 2, 3])
                let second = try #require(enrollments.load()?.certificate)
                #expect(second != first && collector.now.requests.last?.shown == second)
            }
        }
    }

    /// Each other connection goes without it, and is refused as well.
    @Test func `A refused one fills two lines of the log an hour, however often it is tried`() async throws {
        let collector = CertifyingCollector(bench.collector)
        let log = RecordedLog()
        func refusals() -> [String] { log.lines.filter { $0.contains("cannot send") } }
        let logger = log.logger()
        try await bench.run(enrollments: enrollments, transport: collector, logger: logger) { queue, transmitter in
            #expect(await transmitter.pass() == .finished)
            let certificate = try #require(enrollments.load()?.certificate)
            collector.change { $0.refused = [certificate, ""] }
            try await bench.enqueue(1, to: queue)
            for _ in 1...20 {
                _ = await transmitter.pass()
                bench.clock.advance(by: .seconds(60))
            }
            #expect(refusals().count == 2, "\(log.lines)")
            for words in ["alert: bad certificate", "alert: certificate required"] {
                #expect(refusals().contains { $0.contains(words) }, "\(words): \(log.lines)")
            }
            bench.clock.advance(by: .seconds(3600))
            for _ in 1...2 { _ = await transmitter.pass() }
            #expect(refusals().count == 4, "\(log.lines)")
        }
    }

    /// Such as while the file of its key is away.
    @Test func `A certificate that can be used again is shown again`() async throws {
        try await run { collector, transmitter, send in
            collector.change {
                $0.isRequired = true
                $0.isUnusable = { _ in true }
            }
            try await send()
            #expect(try await bench.stored() == [])
            #expect(transmitter.status.state == .holding && transmitter.status.certificateProblem == "cannot be used")
            collector.change { $0.isUnusable = { _ in false } }
            #expect(await transmitter.pass() == .finished)
            #expect(try await bench.stored() == [1])
            #expect(transmitter.status.certificateProblem == nil)
        }
    }

    @Test func `After unenrolling, none is shown`() async throws {
        try await run { collector, transmitter, send in
            try await send()
            #expect(collector.now.shown != nil)
            _ = await transmitter.unenroll()
            #expect(collector.now.shown == nil && transmitter.status.certificateEnds == nil)
        }
    }
}
