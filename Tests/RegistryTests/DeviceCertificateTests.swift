import CollectorAPI
import Foundation
import RegistryTestKit
import StoreTestKit
import TestKit
import Testing
import WireModel

@testable import RecordStore
@testable import Registry

/// Which client certificates the metadata holds for a device's.
@Suite(.eachRegistry) struct DeviceCertificateTests {
    private let directory: TemporaryDirectory
    private let clock = ManualStoreClock()
    private let metadata: MetadataService
    private let token: String

    init() throws {
        directory = try TemporaryDirectory()
        let (metadata, created) = try TestRegistry.open(
            directory: directory.path, clock: clock, logger: quietLogger)
        self.metadata = metadata
        token = try #require(created).enrollmentToken
    }

    private func certificate(_ number: UInt8) -> DeviceCertificate {
        DeviceCertificate(
            fingerprint: Data(repeating: number, count: 32), serial: Data(repeating: number, count: 16),
            issued: clock.now(),
            expires: clock.now() + 1_000_000)
    }

    private func held(_ enrolled: EnrollResult) async throws -> [UInt8] {
        guard case .device(let device) = try await metadata.authenticateDevice(credential: enrolled.credential) else {
            return []
        }
        let shown = try await metadata.device(enrolled.deviceID, organization: nil)
        #expect(shown?.certificates == device.certificates)
        return device.certificates.map { $0.fingerprint[0] }
    }

    @Test func `The first use of a certificate ends those before it and none after`() async throws {
        let enrolled = try await metadata.enroll(token: token, request: WireEnrollRequest())
        #expect(try await held(enrolled) == [])
        for number in 1...3 as ClosedRange<UInt8> {
            try await metadata.keepCertificate(certificate(number), device: enrolled.deviceID, reason: "renewal")
        }
        #expect(try await held(enrolled) == [1, 2, 3])
        try await metadata.recordCertificateUse(certificate(2).fingerprint, device: enrolled.deviceID)
        #expect(try await held(enrolled) == [2, 3])
        let row = try #require(try await metadata.device(enrolled.deviceID, organization: nil))
        #expect(row.certificates.map(\.used) == [clock.now(), nil])
        // One that is not the device's ends nothing.
        try await metadata.recordCertificateUse(certificate(9).fingerprint, device: enrolled.deviceID)
        #expect(try await held(enrolled) == [2, 3])
    }

    @Test func `Of the unused certificates, the newest few stay beside the one in use`() async throws {
        let enrolled = try await metadata.enroll(token: token, request: WireEnrollRequest())
        try await metadata.keepCertificate(certificate(1), device: enrolled.deviceID, reason: "enrollment")
        try await metadata.recordCertificateUse(certificate(1).fingerprint, device: enrolled.deviceID)
        for number in 2...9 as ClosedRange<UInt8> {
            try await metadata.keepCertificate(certificate(number), device: enrolled.deviceID, reason: "renewal")
        }
        #expect(try await held(enrolled) == [1, 6, 7, 8, 9])
    }

    @Test func `A device that has left or is deleted has no certificate`() async throws {
        let enrolled = try await metadata.enroll(token: token, request: WireEnrollRequest())
        try await metadata.keepCertificate(certificate(1), device: enrolled.deviceID, reason: "enrollment")
        try await metadata.unenroll(device: enrolled.deviceID)
        #expect(try await metadata.device(enrolled.deviceID, organization: nil)?.certificates == [])
        await #expect(throws: StoreError.self) {
            try await metadata.keepCertificate(certificate(2), device: enrolled.deviceID, reason: "renewal")
        }
        await metadata.close()
    }

    /// A device that renews as often as it can must not push out what people did.
    @Test func `What devices do does not push out what people did`() async throws {
        let enrolled = try await metadata.enroll(token: token, request: WireEnrollRequest())
        _ = try await metadata.createPersonToken(name: "someone", role: .viewer, organization: "default")
        await metadata.close()
        let connection = try TestRegistry.session(directory: directory.path)
        let table = AuditTable(connection: connection)
        let entry = AuditEntry(
            .certificateIssue, by: .device(enrolled.deviceID), organization: "default", subject: "\(enrolled.deviceID)")
        try connection.transaction { () throws(StoreError) in
            for _ in 0..<(AuditTable.kept + 200) { try table.append(entry, at: clock.now()) }
        }
        let issued = try table.page(
            AuditQuery(organization: "default", action: .certificateIssue), below: nil, limit: AuditTable.kept + 200)
        #expect(issued.rows.count >= AuditTable.kept && issued.rows.count < AuditTable.kept + 64)
        let made = try table.page(AuditQuery(organization: "default", action: .tokenCreate), below: nil, limit: 10)
        #expect(made.rows.count == 1)
        try connection.close()
    }
}
