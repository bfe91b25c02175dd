import DeviceTestKit
import Foundation
import HTTPConnection
import HTTPTransport
import Logging
import RecordQueue
import Registry
import Testing
import Transmitter
import WireModel

@testable import Collector

/// A device's own transmitter and transport at a collector that issues client certificates, over TLS.
@Suite("A device with a client certificate", .timeLimit(.minutes(2)))
struct DeviceOverTLSTests {
    private struct Device: Sendable {
        let clock = ManualRecordClock()
        let enrollments: InMemoryEnrollmentStore
        let queue: RecordQueue
        let transport: HTTPTransport
        let transmitter: Transmitter

        /// - Parameter key: PEM.
        init(_ scene: CertificateScene, key: String = TestSigningRequests.firstKey) throws {
            let logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
            enrollments = InMemoryEnrollmentStore(
                token: scene.harness.enrollmentToken, signingRequest: TestSigningRequests.der(TestSigningRequests.first)
            )
            var queueConfiguration = RecordQueue.Configuration()
            queueConfiguration.keepFreeBytes = 0
            queue = try RecordQueue.open(
                directory: scene.files.directory.appendingPathComponent("queue-\(UUID())").path,
                configuration: queueConfiguration,
                clock: clock, logger: logger)
            var configuration = ConnectionSettings(
                collector: try EndpointURL(collector: "https://127.0.0.1:\(scene.port)"),
                certificateAuthorityFile: try scene.files.write("authority.pem", TestCertificates.authority))
            configuration.clientKeyFile = try scene.files.write("client.key", key)
            transport = try HTTPTransport(configuration)
            transmitter = Transmitter(
                queue: queue, transport: transport, enrollments: enrollments,
                settings: TransmitterSettings(eventHold: .zero), agentVersion: "test/1",
                clock: clock, logger: logger)
        }

        /// Records an event and sends what waits, at most so many times over, an hour apart.
        /// - Returns: whether all of it went.
        func send(passes: Int = 1) async throws -> Bool {
            try queue.enqueue(NewRecord(stream: .event, kind: .event, stamp: clock.now(), body: Data("event".utf8)))
            try await queue.flush()
            for _ in 0..<passes {
                if await transmitter.pass() == .finished { return true }
                clock.advance(by: .seconds(3601))
            }
            return false
        }

        func close() async {
            await queue.close()
            await transport.shutdown()
        }
    }

    private static func play(
        _ mode: CertificateScene.Mode, now: Int64 = CertificateScene.presentTime,
        key: String = TestSigningRequests.firstKey,
        _ body: @escaping @Sendable (CertificateScene, Device) async throws -> Void
    ) async throws {
        try await CertificateScene.play(mode, now: now) { scene in
            let device = try Device(scene, key: key)
            let result: Result<Void, any Error>
            do { result = .success(try await body(scene, device)) } catch { result = .failure(error) }
            await device.close()
            try result.get()
        }
    }

    private static func certificates(_ scene: CertificateScene, _ device: Device) async throws -> [DeviceCertificate] {
        let id = try #require(device.enrollments.load()).deviceID
        return try #require(try await scene.harness.metadata.device(id, organization: nil)).certificates
    }

    @Test func `It enrolls, is served, and renews before the end`() async throws {
        try await Self.play(.required) { scene, device in
            #expect(try await device.send())
            let first = try await Self.certificates(scene, device)
            #expect(first.count == 1 && first[0].used != nil)
            #expect(
                device.transmitter.status.certificateEnds == first[0].expires
                    && device.transmitter.status.certificateProblem == nil)
            device.clock.advance(by: .seconds(61 * 86_400))
            #expect(try await device.send())
            let second = try await Self.certificates(scene, device)
            #expect(second.count == 1 && second != first && second[0].used != nil)
            #expect(device.transmitter.status.certificateEnds == second[0].expires)
        }
    }

    /// The collector's clock is of long ago: what it issues has ended by the machine's, by which the handshake goes.
    @Test func `One that the handshake does not accept is not in the way where it is optional`() async throws {
        try await Self.play(.optional, now: Harness.now) { _, device in
            let isSent = try await device.send(passes: 6)
            #expect(isSent)
        }
    }

    /// Superseded, or of a time that the collector was restored to before: with its token the device is let in again,
    /// as the same one.
    @Test func `One that the collector does not remember is replaced by enrolling again`() async throws {
        try await Self.play(.required) { scene, device in
            #expect(try await device.send())
            let id = try #require(device.enrollments.load()).deviceID
            let other = DeviceCertificate(
                fingerprint: Data(count: 32), serial: Data(count: 16), issued: 1, expires: .max)
            try await scene.harness.metadata.keepCertificate(other, device: id, reason: "renewal")
            try await scene.harness.metadata.recordCertificateUse(other.fingerprint, device: id)
            #expect(try await device.send(passes: 6))
            #expect(try #require(device.enrollments.load()).deviceID == id)
            #expect(try await Self.certificates(scene, device).contains { $0.used != nil && $0 != other })
        }
    }

    @Test func `A key that does not belong to the request is reported and shows nothing`() async throws {
        try await Self.play(.optional, key: TestSigningRequests.secondKey) { _, device in
            let isSent = try await device.send()
            #expect(isSent)
            #expect(device.transmitter.status.certificateProblem?.contains("client.key") == true)
            #expect(device.transmitter.status.certificateEnds == nil)
        }
    }
}
