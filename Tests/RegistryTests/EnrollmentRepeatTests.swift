import Foundation
import Registry
import RegistryTestKit
import StoreTestKit
import TestKit
import Testing
import WireModel

@Suite(.eachRegistry) struct EnrollmentRepeatTests {
    private let directory: TemporaryDirectory
    private let clock = ManualStoreClock()
    private let metadata: MetadataService

    init() throws {
        directory = try TemporaryDirectory()
        (metadata, _) = try TestRegistry.open(directory: directory.path, clock: clock, logger: quietLogger)
    }

    private func request(_ id: UInt8 = 1, machine: String = "m", previous: EnrollResult? = nil) -> WireEnrollRequest {
        var request = WireEnrollRequest()
        request.requestID = Data(repeating: id, count: 16)
        request.machineHash = machine
        request.deviceID = previous?.deviceID.data ?? Data()
        request.previousCredential = previous?.credential ?? ""
        return request
    }

    private func token(uses: Int? = nil) async throws -> (id: String, token: String) {
        try await metadata.createEnrollmentToken(organization: "default", maximumUses: uses)
    }

    private func isKnown(_ credential: String) async throws -> Bool {
        if case .device = try await metadata.authenticateDevice(credential: credential) { true } else { false }
    }

    @Test func `Asked again, it is the same device with a fresh credential and no second use`() async throws {
        let token = try await token(uses: 1)
        let first = try await metadata.enroll(token: token.token, request: request())
        try await metadata.checkEnrollmentToken(token.token)
        let second = try await metadata.enroll(token: token.token, request: request())
        #expect(
            second.deviceID == first.deviceID && second.enrollmentID == first.enrollmentID
                && first.enrollmentID.count == 16)
        #expect(second.credential != first.credential)
        #expect(try await isKnown(second.credential))
        #expect(try await !isKnown(first.credential))
        #expect(try await metadata.tokens().first { $0.id == token.id }?.uses == 1)
        #expect(try await metadata.devices(organization: nil, after: nil, limit: 10).devices.count == 1)
        // Someone else with the token that is used up.
        await #expect(throws: EnrollError.tokenUsedUp) {
            _ = try await metadata.enroll(token: token.token, request: request(2))
        }
    }

    @Test func `Another request, machine or token is another device`() async throws {
        let (one, other) = (try await token(), try await token())
        let first = try await metadata.enroll(token: one.token, request: request())
        let ids = [
            first.deviceID,
            try await metadata.enroll(token: one.token, request: request(2)).deviceID,
            try await metadata.enroll(token: one.token, request: request(machine: "n")).deviceID,
            try await metadata.enroll(token: other.token, request: request()).deviceID,
        ]
        #expect(Set(ids).count == 4)
        #expect(try await isKnown(first.credential))
    }

    @Test func `A week later it is a new request`() async throws {
        let token = try await token()
        let first = try await metadata.enroll(token: token.token, request: request())
        clock.advance(seconds: 7 * 86_400 - 1)
        #expect(try await metadata.enroll(token: token.token, request: request()).deviceID == first.deviceID)
        clock.advance(seconds: 1)
        #expect(try await metadata.enroll(token: token.token, request: request()).deviceID != first.deviceID)
    }

    @Test func `Without a request ID, every request is new`() async throws {
        let token = try await token()
        var plain = request()
        plain.requestID = Data()
        let first = try await metadata.enroll(token: token.token, request: plain)
        #expect(try await metadata.enroll(token: token.token, request: plain).deviceID != first.deviceID)
    }

    @Test func `Re-enrollment is another enrollment of the same device, and its repeat is the same`() async throws {
        let token = try await token()
        let first = try await metadata.enroll(token: token.token, request: request())
        let second = try await metadata.enroll(token: token.token, request: request(2, previous: first))
        #expect(second.deviceID == first.deviceID && second.deviceKept && second.enrollmentID != first.enrollmentID)
        let third = try await metadata.enroll(token: token.token, request: request(2, previous: first))
        #expect(third.enrollmentID == second.enrollmentID && third.deviceKept && third.deviceID == first.deviceID)
    }

    @Test func `A device that left is not brought back by a repeat`() async throws {
        let token = try await token()
        let first = try await metadata.enroll(token: token.token, request: request())
        try await metadata.unenroll(device: first.deviceID)
        #expect(try await metadata.device(first.deviceID, organization: nil)?.left == clock.now())
        #expect(try await metadata.enroll(token: token.token, request: request()).deviceID != first.deviceID)
        let back = try await metadata.enroll(token: token.token, request: request(3, previous: first))
        #expect(back.deviceID == first.deviceID)
        #expect(try await metadata.device(first.deviceID, organization: nil)?.left == nil)
    }

    @Test func `A device that asks for its former id, becomes a new one and hears no answer is no replaced device`()
        async throws
    {
        let former = try await metadata.enroll(token: try await token().token, request: request())
        try await metadata.unenroll(device: former.deviceID)
        let token = try await token()
        var asking = request(2)
        asking.deviceID = former.deviceID.data
        let returning = asking
        await #expect(throws: EnrollError.deviceConflict) {
            _ = try await metadata.enroll(token: token.token, request: returning)
        }
        let new = try await metadata.enroll(token: token.token, request: request(2))
        // The answer was lost. The next start asks for the former id first.
        let repeated = try await metadata.enroll(token: token.token, request: returning)
        #expect(repeated.deviceID == new.deviceID && repeated.enrollmentID == new.enrollmentID && !repeated.deviceKept)
        #expect(try await metadata.devices(organization: nil, after: nil, limit: 10).devices.count == 2)
        let notices = try await NoticeService(metadata: metadata).page(organization: "default", below: nil, limit: 10)
        #expect(!notices.rows.contains { $0.code == .deviceReplaced })
    }

    @Test func `A revoked token is refused for a repeat, too`() async throws {
        let token = try await token()
        _ = try await metadata.enroll(token: token.token, request: request())
        try await metadata.revokeToken(token.id)
        await #expect(throws: EnrollError.tokenRevoked) {
            _ = try await metadata.enroll(token: token.token, request: request())
        }
    }

    @Test func `Long texts are cut at the end of a character`() async throws {
        var long = request()
        long.deviceName = "a" + String(repeating: "ü", count: 10_000)
        long.application = String(repeating: "x", count: 255)
        let device = try await metadata.enroll(token: try await token().token, request: long)
        let row = try #require(try await metadata.device(device.deviceID, organization: nil))
        #expect(row.name == "a" + String(repeating: "ü", count: 127) && row.application == long.application)
    }
}
