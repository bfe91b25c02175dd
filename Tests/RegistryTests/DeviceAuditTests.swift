import Foundation
import RegistryTestKit
import StoreTestKit
import TestKit
import Testing
import WireModel

@testable import RecordStore
@testable import Registry

@Suite("What devices do, in the audit trail", .eachRegistry) struct DeviceAuditTests {
    private typealias Limit = AuditRepeatLimit<DeviceID>
    private static let hour = Limit.intervalMicroseconds

    @Test func `There is one entry an hour for each device and action, and the rest are counted`() {
        var limit = Limit()
        let (one, two) = (DeviceID.random(), DeviceID.random())
        let steps: [(at: Int64, action: AuditEntry.Action, device: DeviceID, expected: Int?)] = [
            (0, .deviceRotate, one, 0), (1, .deviceRotate, one, nil), (2, .deviceRotate, two, 0),
            (3, .deviceReenroll, one, 0),
            (Self.hour - 1, .deviceRotate, one, nil), (Self.hour, .deviceRotate, one, 2),
            (Self.hour + 1, .deviceRotate, one, nil),
            // Set back: reported at once.
            (-5, .deviceRotate, one, 1), (Self.hour - 5, .deviceRotate, one, 0),
        ]
        for step in steps {
            let admitted = limit.admit(step.action, of: step.device, organization: "o", at: step.at)
            #expect(admitted == step.expected, "at \(step.at)")
        }
    }

    @Test func `What is remembered is bounded and makes room by the hour`() {
        var limit = Limit()
        let reported = (0..<Limit.maximum + 10).count { _ in
            limit.admit(.deviceEnroll, of: .random(), organization: "o", at: 0) != nil
        }
        #expect(reported == Limit.maximum)
        let afterAnHour = limit.admit(.deviceEnroll, of: .random(), organization: "o", at: Self.hour)
        #expect(afterAnHour == 0)
    }

    @Test func `An organization's storm of enrollments silences no other`() {
        var limit = Limit()
        for _ in 0..<Limit.maximum { _ = limit.admit(.deviceEnroll, of: .random(), organization: "noisy", at: 0) }
        let (noisy, quiet) = (
            limit.admit(.deviceEnroll, of: .random(), organization: "noisy", at: 1),
            limit.admit(.deviceEnroll, of: .random(), organization: "quiet", at: 1)
        )
        #expect(noisy == nil && quiet == 0)
    }

    @Test func `What a device does about its identity is reported as its own`() async throws {
        let directory = try TemporaryDirectory()
        let clock = ManualStoreClock()
        let (metadata, created) = try TestRegistry.open(
            directory: directory.path, clock: clock, logger: quietLogger)
        let token = try #require(created).enrollmentToken
        var request = WireEnrollRequest()
        request.deviceName = "kiosk"
        let device = try await metadata.enroll(token: token, request: request)
        for _ in 0..<5 { _ = try await metadata.rotateCredential(device: device.deviceID) }
        (request.deviceID, request.previousCredential) = (device.deviceID.data, "ws1d_guessed")
        for _ in 0..<3 {
            await #expect(throws: EnrollError.deviceConflict) {
                _ = try await metadata.enroll(token: token, request: request)
            }
        }
        request.previousCredential = device.credential
        _ = try await metadata.enroll(token: token, request: request)
        try await metadata.unenroll(device: device.deviceID)
        _ = try await metadata.revokeDevice(device.deviceID, organization: nil, by: .commandLine)
        clock.advance(seconds: 3600)
        await #expect(throws: EnrollError.deviceRevoked) {
            _ = try await metadata.enroll(token: token, request: request)
        }
        let actor = "device \(device.deviceID)"
        let rows = try await metadata.audit(AuditQuery(organization: "default", actor: actor), below: nil, limit: 100)
            .rows.reversed()
        #expect(
            rows.map(\.entry.action) == [
                .deviceEnroll, .deviceRotate, .deviceConflict, .deviceReenroll, .deviceUnenroll, .deviceReenroll,
            ])
        #expect(rows.map(\.entry.outcome) == [.done, .done, .refused, .done, .done, .refused])
        #expect(rows.allSatisfy { $0.entry.subject == device.deviceID.description && $0.entry.actor.token == nil })
        let tokens = try await metadata.tokens().filter { $0.kind == .enrollment }.map(\.id)
        #expect(rows.first?.entry.detail == ["enrollmentToken": tokens[0], "name": "kiosk"])
        #expect(
            !rows.contains {
                "\($0)".contains(device.credential) || "\($0)".contains(token) || "\($0)".contains("guessed")
            })
        await metadata.close()
    }

    @Test func `Another organization's token is not named to the organization of the device`() async throws {
        let directory = try TemporaryDirectory()
        let (metadata, created) = try TestRegistry.open(
            directory: directory.path, clock: ManualStoreClock(), logger: quietLogger)
        let device = try await metadata.enroll(
            token: try #require(created).enrollmentToken, request: WireEnrollRequest())
        try await metadata.createOrganization("west")
        let west = try await metadata.createEnrollmentToken(organization: "west")
        var request = WireEnrollRequest()
        (request.deviceID, request.previousCredential) = (device.deviceID.data, device.credential)
        await #expect(throws: EnrollError.deviceConflict) {
            _ = try await metadata.enroll(token: west.token, request: request)
        }
        let query = AuditQuery(action: .deviceConflict)
        let rows = try await metadata.audit(query, below: nil, limit: 10).rows
        #expect(rows.map(\.entry.organization) == ["default"])
        #expect(rows.map(\.entry.detail) == [["reason": "credential-not-proved"]])
        await metadata.close()
    }

    @Test func `What devices do never pushes out what people do`() throws {
        let directory = try TemporaryDirectory()
        let connection = try TestRegistry.session(directory: directory.path)
        let table = AuditTable(connection: connection)
        try connection.transaction { () throws(StoreError) in
            for _ in 0..<10 {
                try table.append(AuditEntry(.tokenCreate, by: .commandLine, organization: "o", subject: ""), at: 5)
            }
            for _ in 0..<AuditTable.kept + 200 {
                try table.append(.ofDevice(.deviceRotate, .random(), organization: "o", [:], leftOut: 0), at: 5)
            }
        }
        let rows = try table.page(AuditQuery(organization: "o"), below: nil, limit: 100_000).rows
        #expect(rows.count { $0.entry.action == .tokenCreate } == 10)
        #expect((AuditTable.kept...AuditTable.kept + 64).contains(rows.count - 10))
    }
}
