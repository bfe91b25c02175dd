import CollectorAPI
import Foundation
import RegistryTestKit
import StoreTestKit
import TestKit
import Testing
import WireModel

@testable import RecordStore
@testable import Registry

@Suite("Devices of OTLP", .eachRegistry) struct OTLPDeviceTests {
    private let directory: TemporaryDirectory
    private let clock = ManualStoreClock()
    private let metadata: MetadataService
    private let enrollmentToken: String

    init() throws {
        directory = try TemporaryDirectory()
        let (metadata, created) = try TestRegistry.open(
            directory: directory.path, clock: clock, logger: quietLogger)
        self.metadata = metadata
        enrollmentToken = try #require(created).enrollmentToken
    }

    private func sender(organization: String = "default", expiresInSeconds: Int64? = nil) async throws -> OTLPSender {
        let made = try await metadata.createOTLPToken(organization: organization, expiresInSeconds: expiresInSeconds)
        return try await metadata.authenticateOTLP(token: made.token)
    }

    private func device(_ number: UInt64, name: String = "web") -> OTLPDevice {
        var system = WireOperatingSystem()
        system.name = "linux"
        return OTLPDevice(
            id: DeviceID(high: 7, low: number), name: name, operatingSystem: system, agentVersion: "opentelemetry 1",
            application: "shop")
    }

    private func refusal<Value>(_ body: () async throws(EnrollError) -> Value) async -> EnrollError? {
        do throws(EnrollError) { _ = try await body() } catch { return error }
        return nil
    }

    @Test func `A token for OTLP sends and does not enroll; no other token sends`() async throws {
        let made = try await metadata.createOTLPToken(organization: "default", note: "shop")
        #expect(made.token.hasPrefix("ws1o_"))
        let sender = try await metadata.authenticateOTLP(token: made.token)
        #expect(sender == OTLPSender(tokenID: made.id, organization: "default"))
        #expect(
            await refusal { () throws(EnrollError) in
                try await metadata.enroll(token: made.token, request: WireEnrollRequest())
            } == .tokenUnknown)
        let person = try await metadata.createPersonToken(name: "ann", role: .administrator, organization: "default")
        for other in [enrollmentToken, person.token, "nonsense"] {
            #expect(
                await refusal { () throws(EnrollError) in try await metadata.authenticateOTLP(token: other) }
                    == .tokenUnknown)
        }
        #expect(try await metadata.authenticatePerson(token: made.token) == nil)
        try await metadata.revokeToken(made.id)
        #expect(
            await refusal { () throws(EnrollError) in try await metadata.authenticateOTLP(token: made.token) }
                == .tokenRevoked)
    }

    @Test func `A token for OTLP has no end unless it says one`() async throws {
        let endless = try await metadata.createOTLPToken(organization: "default")
        let short = try await metadata.createOTLPToken(organization: "default", expiresInSeconds: 10)
        clock.advance(seconds: 1000 * 86_400)
        _ = try await metadata.authenticateOTLP(token: endless.token)
        #expect(
            await refusal { () throws(EnrollError) in try await metadata.authenticateOTLP(token: short.token) }
                == .tokenExpired)
    }

    @Test func `The first request of a resource makes a device, the next ones find it`() async throws {
        let sender = try await sender()
        let first = try await metadata.standings(of: [device(1), device(2)], from: sender)
        guard case .welcome(let row)? = first[device(1).id] else {
            Issue.record("\(first)")
            return
        }
        #expect(row.kind == .otlp && row.name == "web" && row.organization == "default" && row.application == "shop")
        #expect(row.enrollmentToken == sender.tokenID && row.operatingSystem.name == "linux")
        clock.advance(seconds: 60)
        let again = try await metadata.standings(of: [device(1, name: "renamed")], from: sender)
        #expect(again == [row.id: .welcome(row)], "as of its first request")
        let listed = try await metadata.devices(DeviceQuery(), after: nil, limit: 10)
        #expect(listed.total == 2)
        #expect(listed.devices.allSatisfy { ReportingState(of: $0, at: clock.now()) == .otlp })
        var query = DeviceQuery()
        query.states = [.otlp]
        #expect(try await metadata.devices(query, after: nil, limit: 10).total == 2)
        query.states = [.enrolled, .late, .silent]
        #expect(try await metadata.devices(query, after: nil, limit: 10).total == 0)
    }

    @Test func `Texts of a resource are cut to what a list can hold`() async throws {
        let sender = try await sender()
        let name = String(repeating: "ö", count: 100_000)
        let found = try await metadata.standings(of: [device(1, name: name)], from: sender)
        guard case .welcome(let row)? = found[device(1).id] else {
            Issue.record("\(found)")
            return
        }
        #expect(row.name == String(repeating: "ö", count: 127))
    }

    @Test func `A token makes a bounded number of devices a day; known ones go on`() async throws {
        let (sender, other) = (try await sender(), try await sender())
        let limit = 20
        var quotas = RecordQuotas()
        quotas.otlpDevices = limit
        metadata.setRecordQuotas(quotas)
        let many = (1...UInt64(limit)).map { device($0) }
        #expect(try await metadata.standings(of: many, from: sender).count == limit)
        func refusal(_ devices: [OTLPDevice], _ sender: OTLPSender) async -> OTLPDeviceError? {
            do throws(OTLPDeviceError) { _ = try await metadata.standings(of: devices, from: sender) } catch {
                return error
            }
            return nil
        }
        let further = device(1_000_000)
        let refused = await refusal([many[0], further], sender)
        guard case .tooMany(limit: limit, wait: let wait, isFirst: true)? = refused else {
            Issue.record("a further device was made")
            return
        }
        #expect((1_000_000...900_000_000).contains(wait))
        guard case .tooMany(limit: limit, wait: _, isFirst: false)? = await refusal([further], sender) else {
            Issue.record("a further device was made")
            return
        }
        // Nothing was made of what was refused.
        #expect(try await metadata.device(further.id, organization: nil) == nil)
        #expect(await refusal([many[0]], sender) == nil)
        #expect(await refusal([further], other) == nil, "another token has a bound of its own")
        clock.advance(seconds: 86_400)
        #expect(await refusal([device(1_000_001)], sender) == nil, "the next day")
    }

    @Test func `A revoked or deleted device stays refused`() async throws {
        let sender = try await sender()
        _ = try await metadata.standings(of: [device(1), device(2)], from: sender)
        let (first, second) = (device(1).id, device(2).id)
        _ = try await metadata.revokeDevice(first, organization: nil, by: .commandLine)
        let row = try #require(try await metadata.device(second, organization: nil))
        try await metadata.deleteDevice(second, enrollment: row.enrollmentID, organization: nil, by: .commandLine)
        #expect(
            try await metadata.standings(of: [device(1), device(2)], from: sender)
                == [first: .revoked, second: .deleted])
        let revoked = try #require(try await metadata.device(first, organization: nil))
        #expect(ReportingState(of: revoked, at: clock.now()) == .revoked)
        _ = try await metadata.reinstateDevice(first, organization: nil, by: .commandLine)
        guard case .welcome? = try await metadata.standings(of: [device(1)], from: sender)[first] else {
            Issue.record("not welcome after it was reinstated")
            return
        }
    }

    @Test func `Nobody enrolls as a device of OTLP, and no sender is an enrolled one`() async throws {
        let sender = try await sender()
        _ = try await metadata.standings(of: [device(1)], from: sender)
        var request = WireEnrollRequest()
        request.deviceID = device(1).id.data
        request.previousCredential = "guessed"
        #expect(
            await refusal { () throws(EnrollError) in
                try await metadata.enroll(token: enrollmentToken, request: request)
            } == .deviceConflict)
        let enrolled = try await metadata.enroll(token: enrollmentToken, request: WireEnrollRequest()).deviceID
        let standing = try await metadata.standings(of: [OTLPDevice(id: enrolled)], from: sender)
        #expect(standing == [enrolled: .revoked])
    }

    @Test func `A device of OTLP takes no command and no do-not-disturb, and counts for no profile`() async throws {
        let sender = try await sender()
        _ = try await metadata.standings(of: [device(1)], from: sender)
        _ = try await metadata.enroll(token: enrollmentToken, request: WireEnrollRequest())
        let command = NewCommand(
            device: device(1).id, action: .sendBeacon(WireSendBeacon()), expires: clock.now() + 60_000_000,
            issuer: .commandLine, idempotencyKey: nil, request: Data())
        do throws(IssueError) {
            _ = try await metadata.issue(command, organization: nil)
            Issue.record("a command was issued")
        } catch { #expect(error == .deviceWithoutAgent) }
        do throws(DoNotDisturbError) {
            _ = try await metadata.setDoNotDisturb(
                true, device: device(1).id, organization: nil, by: .person(.commandLine))
            Issue.record("do-not-disturb was set")
        } catch { #expect(error == .deviceWithoutAgent) }
        let adoption = try await metadata.profileAdoption(organization: "default")
        #expect(adoption.map(\.devices) == [1], "the enrolled one alone")
        clock.advance(seconds: 400 * 86_400)
        #expect(try await metadata.silentDevices().isEmpty)
    }

    @Test func `Rows of devices that were not seen are forgotten, those of others stay`() async throws {
        let sender = try await sender()
        _ = try await metadata.standings(of: (1...5).map { device($0) }, from: sender)
        _ = try await metadata.enroll(token: enrollmentToken, request: WireEnrollRequest())
        _ = try await metadata.revokeDevice(device(4).id, organization: nil, by: .commandLine)
        let began = clock.now()
        clock.advance(seconds: 86_400)
        metadata.seen(device(2).id, DeviceObservation(at: clock.now()))
        let limit = began + 1
        let first = try await metadata.otlpDevices(lastSeenBefore: limit, after: nil, limit: 2)
        #expect(first == [device(1).id, device(3).id])
        let rest = try await metadata.otlpDevices(lastSeenBefore: limit, after: first.last, limit: 2)
        #expect(rest == [device(5).id])
        // One is seen between the look and the removal.
        metadata.seen(device(5).id, DeviceObservation(at: clock.now()))
        let removed = try await metadata.forget(otlpDevices: first + rest, lastSeenBefore: limit)
        #expect(removed == 2)
        #expect(try await metadata.devices(DeviceQuery(), after: nil, limit: 10).total == 4)
        // It comes back with its next request, under the same id.
        guard case .welcome(let row)? = try await metadata.standings(of: [device(1)], from: sender)[device(1).id] else {
            Issue.record("not welcome")
            return
        }
        #expect(row.created == clock.now())
    }
}
