import CollectorAPI
import Foundation
import RegistryTestKit
import StoreTestKit
import TestKit
import Testing
import WireModel

@testable import LogArchive
@testable import RecordStore
@testable import Registry

@Suite(.eachRegistry) struct AdministrationTests {
    private let directory: TemporaryDirectory
    private let clock = ManualStoreClock()
    private let metadata: MetadataService
    private let first: FirstStart

    init() throws {
        directory = try TemporaryDirectory()
        let (metadata, created) = try TestRegistry.open(
            directory: directory.path, clock: clock, logger: quietLogger)
        self.metadata = metadata
        first = try #require(created)
    }

    private func device(_ name: String = "kiosk", previous: EnrollResult? = nil, machine: String = "m") async throws
        -> EnrollResult
    {
        var request = WireEnrollRequest()
        request.deviceName = name
        request.machineHash = machine
        if let previous {
            (request.deviceID, request.previousCredential) = (previous.deviceID.data, previous.credential)
        }
        return try await metadata.enroll(token: first.enrollmentToken, request: request)
    }

    private func administrator() async throws -> AuditActor {
        AuditActor(try #require(try await metadata.authenticatePerson(token: first.administratorToken)))
    }

    private func trail(_ query: AuditQuery = AuditQuery()) async throws -> [AuditRow] {
        try await metadata.audit(query, below: nil, limit: 1000).rows
    }

    private func delete(_ device: EnrollResult) async throws {
        try await metadata.deleteDevice(
            device.deviceID, enrollment: device.enrollmentID, organization: nil, by: .commandLine)
    }

    // MARK: Audit

    @Test func `Every change is in the trail with who did it`() async throws {
        let actor = try await administrator()
        try await metadata.createOrganization("west", by: actor)
        let made = try await metadata.createToken(
            NewToken(.person(.viewer), name: "ann", organization: "west"), by: actor)
        try await metadata.revokeToken(made.row.id, organization: nil, by: actor)
        try await metadata.revokeToken(made.row.id, organization: nil, by: actor)
        _ = try await metadata.putProfile(WireProfile(), ProfileScope(organization: "west"), expected: nil, by: actor)
        _ = try await metadata.rollBackProfile(ProfileScope(organization: "west"), to: 1, expected: nil, by: actor)
        let (one, two) = (try await device(), try await device())
        _ = try await metadata.issue(
            NewCommand(
                device: one.deviceID, action: .sendBeacon(.init()), expires: clock.now() + 5, issuer: actor,
                idempotencyKey: nil,
                request: Data()), organization: nil)
        _ = try await metadata.setPredecessor(one.deviceID, of: two.deviceID, organization: nil, by: actor)
        _ = try await metadata.revokeDevice(one.deviceID, organization: nil, by: actor)
        _ = try await metadata.revokeDevice(one.deviceID, organization: nil, by: actor)
        try await delete(one)
        let rows = try await trail().filter { !$0.entry.action.isOfDevices }
        #expect(
            rows.reversed().map(\.entry.action) == [
                .organizationCreate, .tokenCreate, .tokenRevoke, .profilePut, .profileRollback, .commandIssue,
                .devicePredecessor,
                .deviceRevoke, .deviceDelete,
            ])
        #expect(
            rows.dropFirst().allSatisfy { $0.entry.actor == actor && $0.at == clock.now() && $0.entry.outcome == .done }
        )
        #expect(rows.first?.entry.actor == .commandLine && rows.first?.entry.subject == one.deviceID.description)
        #expect(!rows.contains { "\($0)".contains(made.secret) })
    }

    @Test func `The trail is filtered and cut to the organization`() async throws {
        let actor = try await administrator()
        try await metadata.createOrganization("west", by: actor)
        clock.advance(seconds: 10)
        try await metadata.createOrganization("east")
        _ = try await metadata.createPersonToken(name: "x", role: .viewer, organization: nil)
        #expect(try await trail().count == 3)
        #expect(try await trail(AuditQuery(organization: "west")).map(\.entry.subject) == ["west"])
        #expect(try await trail(AuditQuery(actor: "command line")).count == 2)
        #expect(try await trail(AuditQuery(actor: actor.token)).map(\.entry.subject) == ["west"])
        #expect(try await trail(AuditQuery(action: .organizationCreate)).map(\.entry.subject) == ["east", "west"])
        #expect(try await trail(AuditQuery(from: clock.now())).count == 2)
        #expect(try await trail(AuditQuery(to: clock.now())).count == 1)
        let page = try await metadata.audit(AuditQuery(), below: nil, limit: 2)
        let next = try #require(page.next)
        #expect(try await metadata.audit(AuditQuery(), below: next, limit: 2).rows.map(\.entry.subject) == ["west"])
    }

    @Test func `The trail is bounded by organization, and a clock ahead does not empty it`() throws {
        let connection = try TestRegistry.session(directory: directory.path)
        let table = AuditTable(connection: connection)
        func fill(_ organization: String, _ count: Int, at now: Int64) throws {
            try connection.transaction { () throws(StoreError) in
                for number in 0..<count {
                    try table.append(
                        AuditEntry(.tokenCreate, by: .commandLine, organization: organization, subject: "\(number)"),
                        at: now)
                }
            }
        }
        func count(_ organization: String) throws -> Int {
            try table.page(AuditQuery(organization: organization), below: nil, limit: 100_000).rows.count
        }
        try fill("quiet", 10, at: 5)
        try fill("noisy", AuditTable.kept + 200, at: 5)
        #expect(try count("quiet") == 10)
        #expect((AuditTable.kept...AuditTable.kept + 64).contains(try count("noisy")))
        try fill("noisy", 64, at: 5 + AuditTable.keptMicroseconds + 1)
        #expect((AuditTable.keptOfAnyAge...AuditTable.keptOfAnyAge + 64).contains(try count("noisy")))
    }

    @Test func `Deleting logs is reported for every organization they belonged to`() async throws {
        let archive = try LogArchive.open(directory, clock: clock)
        let plan = try await archive.metadata.deletion(LogQuery())
        #expect(try await archive.delete(LogQuery(), confirmation: plan.confirmation, by: .commandLine) == plan)
        #expect(try await trail().isEmpty, "nothing was there to delete")
        await archive.close()
    }

    // MARK: Tokens

    @Test func `Rights are those of the token as it is on disk`() async throws {
        let actor = try await administrator()
        let own = try await metadata.createToken(
            NewToken(.person(.administrator), name: "own", organization: "default"), by: actor)
        let maker = AuditActor(name: "own", token: own.row.id, role: .administrator)
        await #expect {
            _ = try await metadata.createToken(NewToken(.person(.viewer), name: "x", organization: nil), by: maker)
        } throws: { if case .forbidden = $0 as? AdministrationError { true } else { false } }
        _ = try await metadata.createToken(NewToken(.person(.viewer), name: "x", organization: "default"), by: maker)
        try await metadata.revokeToken(own.row.id, organization: nil, by: actor)
        await #expect {
            _ = try await metadata.createToken(
                NewToken(.person(.viewer), name: "x", organization: "default"), by: maker)
        } throws: { if case .forbidden = $0 as? AdministrationError { true } else { false } }
    }

    @Test func `The last administrator stays, and the refusal is in the trail`() async throws {
        let actor = try await administrator()
        let id = try #require(actor.token)
        await #expect(throws: AdministrationError.lastAdministrator) {
            try await metadata.revokeToken(id, organization: nil, by: actor)
        }
        #expect(try await metadata.authenticatePerson(token: first.administratorToken) != nil)
        #expect(try await trail().map(\.entry.outcome) == [.refused])
        try await metadata.revokeToken(id)
        #expect(try await metadata.authenticatePerson(token: first.administratorToken) == nil, "the command line may")
    }

    @Test func `Tokens come in pages, and another organization's are not there`() async throws {
        try await metadata.createOrganization("west")
        for number in 0..<5 {
            _ = try await metadata.createPersonToken(name: "\(number)", role: .viewer, organization: "west")
        }
        var (found, position): ([String], TokenPosition?) = ([], nil)
        repeat {
            let page = try await metadata.tokens(organization: "west", kind: .person, after: position, limit: 2)
            found += page.rows.map(\.id)
            position = page.next
        } while position != nil
        #expect(found.count == 5 && Set(found).count == 5)
        #expect(
            try await metadata.tokens(organization: "default", kind: nil, after: nil, limit: 10).rows.map(\.kind) == [
                .enrollment
            ])
        await #expect {
            try await metadata.revokeToken(found[0], organization: "default", by: .commandLine)
        } throws: { if case .notFound = $0 as? AdministrationError { true } else { false } }
    }

    // MARK: Devices

    @Test func `A revoked device is refused for good and still listed`() async throws {
        let device = try await device()
        _ = try await metadata.devices(DeviceQuery(), after: nil, limit: 10)
        guard case .device = try await metadata.authenticateDevice(credential: device.credential) else {
            Issue.record("not known")
            return
        }
        #expect(
            try await metadata.revokeDevice(device.deviceID, organization: "default", by: .commandLine).device.revoked
                == clock.now())
        #expect(try await metadata.authenticateDevice(credential: device.credential) == .revoked)
        await #expect(throws: EnrollError.deviceRevoked) { _ = try await self.device(previous: device) }
        var query = DeviceQuery()
        query.states = [.revoked]
        #expect(try await metadata.devices(query, after: nil, limit: 10).devices.map(\.id) == [device.deviceID])
        await #expect(throws: AdministrationError.noDevice) {
            _ = try await metadata.revokeDevice(device.deviceID, organization: "other", by: .commandLine)
        }
    }

    @Test func `Revoking a device reports its token and closes it in the same act`() async throws {
        let made = try await metadata.createEnrollmentToken(organization: "default", note: "shop")
        func enroll() async throws -> EnrollResult {
            try await metadata.enroll(token: made.token, request: WireEnrollRequest())
        }
        let (one, two) = (try await enroll(), try await enroll())
        let reported = try await metadata.revokeDevice(one.deviceID, organization: "default", by: .commandLine)
        #expect(
            reported.device.enrollmentToken == made.id && reported.token?.id == made.id && reported.token?.uses == 2
                && reported.token?.revoked == nil)
        // The same machine, with the same token, as a new device: that is what closing it is for.
        _ = try await enroll()
        let closed = try await metadata.revokeDevice(
            two.deviceID, organization: "default", closingToken: true, by: .commandLine)
        #expect(closed.device.revoked != nil && closed.token?.revoked == clock.now())
        await #expect(throws: EnrollError.tokenRevoked) { _ = try await enroll() }
        // Of a device that was revoked before, too; and again, it changes nothing.
        for _ in 0..<2 {
            _ = try await metadata.revokeDevice(one.deviceID, organization: nil, closingToken: true, by: .commandLine)
        }
        let trail = try await metadata.audit(AuditQuery(), below: nil, limit: 10).rows.map(\.entry.action)
        #expect(trail.prefix(2) == [.deviceRevoke, .tokenRevoke] && trail.filter { $0 == .tokenRevoke }.count == 1)
    }

    @Test func `A token that is not known is not closed, and nothing is revoked then`() async throws {
        let device = try await device()
        try TestRegistry.session(directory: directory.path).run("UPDATE device SET enrollment_token = NULL")
        await #expect(throws: AdministrationError.noEnrollmentToken) {
            _ = try await metadata.revokeDevice(
                device.deviceID, organization: nil, closingToken: true, by: .commandLine)
        }
        #expect(try await metadata.device(device.deviceID, organization: nil)?.revoked == nil)
        #expect(try await metadata.revokeDevice(device.deviceID, organization: nil, by: .commandLine).token == nil)
    }

    @Test func `A reinstated device goes on with its former credential and does nothing from before`() async throws {
        let device = try await device()
        _ = try await metadata.devices(DeviceQuery(), after: nil, limit: 10)
        let rotated = try await metadata.rotateCredential(device: device.deviceID)
        _ = try await metadata.issue(
            NewCommand(
                device: device.deviceID, action: .wipe(.init()), expires: clock.now() + 5_000_000, issuer: .commandLine,
                idempotencyKey: nil, request: Data()), organization: nil)
        _ = try await metadata.revokeDevice(device.deviceID, organization: nil, by: .commandLine)
        for credential in [device.credential, rotated] {
            #expect(try await metadata.authenticateDevice(credential: credential) == .revoked)
        }
        await #expect(throws: (any Error).self, "nothing replaces its credential") {
            _ = try await metadata.rotateCredential(device: device.deviceID)
        }
        await #expect(throws: AdministrationError.noDevice) {
            _ = try await metadata.reinstateDevice(device.deviceID, organization: "other", by: .commandLine)
        }
        // A start in between adopts what it finds.
        await metadata.close()
        let (again, _) = try TestRegistry.open(directory: directory.path, clock: clock, logger: quietLogger)
        #expect(
            try await again.reinstateDevice(device.deviceID, organization: "default", by: .commandLine).revoked == nil)
        for credential in [device.credential, rotated] {
            guard case .device(let known) = try await again.authenticateDevice(credential: credential) else {
                Issue.record("refused")
                return
            }
            #expect(again.openCommands(of: known, at: clock.now()).isEmpty, "a wipe of before its revocation")
        }
        #expect(
            try await again.commands(of: device.deviceID, below: nil, limit: 10).rows.map(\.status.state) == [
                .expired
            ])
        #expect(try await again.devices(DeviceQuery(), after: nil, limit: 10).devices.map(\.revoked) == [nil])
        _ = try await again.reinstateDevice(device.deviceID, organization: nil, by: .commandLine)
        let actions = try await again.audit(AuditQuery(), below: nil, limit: 2).rows.map(\.entry.action)
        #expect(actions == [.deviceReinstate, .deviceRevoke], "once")
        await again.close()
    }

    @Test func `A deleted device is gone and cannot come back with its credential`() async throws {
        let device = try await device()
        #expect(try await metadata.devices(DeviceQuery(), after: nil, limit: 10).total == 1)
        metadata.seen(device.deviceID, DeviceObservation(at: clock.now()))
        try await delete(device)
        #expect(
            try await metadata.devices(DeviceQuery(), after: nil, limit: 10)
                == DeviceList(devices: [], total: 0, next: nil))
        #expect(try await metadata.devices(organization: nil, after: nil, limit: 10).devices.isEmpty)
        #expect(try await metadata.device(device.deviceID, organization: nil) == nil)
        #expect(try await metadata.authenticateDevice(credential: device.credential) == .revoked)
        await #expect(throws: EnrollError.deviceRevoked) { _ = try await self.device(previous: device) }
        var stranger = device
        stranger.credential = "ws1d_guessed"
        await #expect(throws: EnrollError.deviceConflict) { _ = try await self.device(previous: stranger) }
        metadata.seen(device.deviceID, DeviceObservation(at: clock.now()))
        #expect(
            try await metadata.device(device.deviceID, organization: nil) == nil, "a late record does not bring it back"
        )
        #expect(try await self.device().deviceID != device.deviceID, "the machine may enroll as a new device")
        await #expect(throws: AdministrationError.noDevice) { try await delete(device) }
    }

    @Test func `An enrollment that was not meant is not deleted`() async throws {
        let device = try await device()
        let again = try await self.device(previous: device)
        await #expect(throws: AdministrationError.noDevice) { try await delete(device) }
        try await delete(again)
    }

    @Test func `A machine that enrolls anew while its former device has not left is a notice`() async throws {
        let archive = try LogArchive.open(directory, clock: clock)
        func reported() async throws -> [NoticeRow] {
            try await NoticeService(metadata: archive.metadata).page(organization: "default", below: nil, limit: 10)
                .rows.filter {
                    $0.code == .deviceReplaced
                }
        }
        let (old, other) = (try await device("till 4"), try await device(machine: "x"))
        #expect(try await reported().isEmpty)
        let left = try await device(machine: "y")
        try await metadata.unenroll(device: left.deviceID)
        _ = try await device(machine: "y")
        _ = try await device(previous: other, machine: "x")
        #expect(try await reported().isEmpty, "one that has left, and one that comes again as itself")
        let new = try await device()
        let notice = try #require(try await reported().first)
        #expect(
            notice.subject == new.deviceID.description && notice.detail.contains("\(old.deviceID) (till 4)"),
            "\(notice)")
        // Three devices of one machine are copies of one image, not one that has lost its identity.
        _ = try await device()
        #expect(try await reported().count == 1)
        await archive.close()
    }

    @Test func `Reinstating a device that is not revoked leaves its commands`() async throws {
        let device = try await device()
        let issued = try await metadata.issue(
            NewCommand(
                device: device.deviceID, action: .sendBeacon(WireSendBeacon()), expires: clock.now() + 60_000_000,
                issuer: .commandLine, idempotencyKey: nil, request: Data()), organization: nil)
        let row = try await metadata.reinstateDevice(device.deviceID, organization: nil, by: .commandLine)
        #expect(metadata.openCommands(of: row, at: clock.now()).map(\.id) == [issued.row.command.id])
    }

    @Test func `A predecessor is what an administrator says, and a successor is only possible`() async throws {
        let (old, new, other) = (try await device(), try await device(), try await device(machine: "x"))
        func lineage(_ device: EnrollResult) async throws -> DeviceLineage {
            try await metadata.lineage(of: try #require(try await metadata.device(device.deviceID, organization: nil)))
        }
        #expect(try await lineage(old).possibleSuccessors == [new.deviceID])
        _ = try await metadata.setPredecessor(old.deviceID, of: new.deviceID, organization: "default", by: .commandLine)
        #expect(try await lineage(new).predecessors == [old.deviceID])
        #expect(try await lineage(old).successors == [new.deviceID])
        #expect(try await lineage(new).successors.isEmpty)
        #expect(try await lineage(old).possibleSuccessors.isEmpty)
        _ = try await metadata.setPredecessor(new.deviceID, of: other.deviceID, organization: nil, by: .commandLine)
        #expect(try await lineage(other).predecessors == [new.deviceID, old.deviceID])
        await #expect(throws: AdministrationError.self, "a circle") {
            _ = try await metadata.setPredecessor(other.deviceID, of: old.deviceID, organization: nil, by: .commandLine)
        }
        try await delete(old)
        #expect(try await lineage(new).predecessors == [old.deviceID], "a deleted device's logs are still there")
        _ = try await metadata.setPredecessor(nil, of: new.deviceID, organization: nil, by: .commandLine)
        #expect(try await lineage(new).predecessors.isEmpty)
    }

    @Test func `The list follows every change of a device`() async throws {
        var query = DeviceQuery()
        query.text = "lobby"
        func found() async throws -> Int { try await metadata.devices(query, after: nil, limit: 10).total }
        #expect(try await found() == 0)
        let one = try await device("lobby")
        #expect(try await found() == 1)
        query.sort = .lastSeen
        metadata.seen(one.deviceID, DeviceObservation(at: clock.now() + 5))
        #expect(try await metadata.devices(query, after: nil, limit: 10).devices.first?.lastSeen == clock.now() + 5)
        try await metadata.unenroll(device: one.deviceID)
        query.states = [.left]
        #expect(try await found() == 1)
        var request = WireEnrollRequest()
        request.deviceName = "hall"
        (request.deviceID, request.previousCredential) = (one.deviceID.data, one.credential)
        _ = try await metadata.enroll(token: first.enrollmentToken, request: request)
        #expect(try await found() == 0)
        (query.text, query.states) = ("hall", [.enrolled])
        #expect(try await found() == 1)
    }

    /// Whatever is done with devices, in whatever order: the list from memory is the one that a fresh look at the disk
    /// gives.
    @Test(arguments: 1...4) func `The list is always what is on disk`(run: Int) async throws {
        var generator = SystemRandomNumberGenerator()
        var devices: [EnrollResult] = []
        var history: [String] = []
        for _ in 0..<60 {
            clock.advance(seconds: .random(in: 0...100, using: &generator))
            let chosen = devices.randomElement(using: &generator)
            let step = Int.random(in: 0..<10, using: &generator)
            history.append("\(step) \(chosen?.deviceID.description ?? "")")
            switch (step, chosen) {
            case (0...2, _), (_, nil): devices.append(try await device("n\(Int.random(in: 0..<4, using: &generator))"))
            case (3...5, let chosen?):
                var beacon = WireBeacon()
                beacon.userFullName = "u\(Int.random(in: 0..<3, using: &generator))"
                beacon.compromised = Bool.random(using: &generator) ? .yes : .no
                metadata.seen(
                    chosen.deviceID,
                    DeviceObservation(
                        at: clock.now(), beacon: Bool.random(using: &generator) ? beacon : nil,
                        expectedBeaconSeconds: 60,
                        profileRevision: .random(in: 1...3, using: &generator)))
            case (6, let chosen?): try? await metadata.unenroll(device: chosen.deviceID)
            case (7, let chosen?):
                _ = try? await metadata.revokeDevice(chosen.deviceID, organization: nil, by: .commandLine)
            case (8, let chosen?):
                if let again = try? await device("again", previous: chosen) {
                    devices.removeAll { $0.deviceID == chosen.deviceID }
                    devices.append(again)
                }
            case (_, let chosen?):
                try? await delete(chosen)
                devices.removeAll { $0.deviceID == chosen.deviceID }
            }
            var query = DeviceQuery()
            query.sort = try #require(DeviceQuery.Sort.allCases.randomElement(using: &generator))
            query.isDescending = .random(using: &generator)
            query.text = ["", "", "n1", "u2", "again"].randomElement(using: &generator) ?? ""
            if Bool.random(using: &generator) { query.compromised = .yes }
            let listed = try await metadata.devices(query, after: nil, limit: 1000)
            let stored = try await metadata.devices(organization: nil, after: nil, limit: 1000).devices
            let fresh = DeviceIndex()
            stored.forEach(fresh.insert)
            let expected = fresh.page(query, after: nil, limit: 1000, at: clock.now())
            #expect(
                listed.devices.map(\.id) == expected.ids && listed.total == expected.total, "\(query) after \(history)")
            let adoption = try await metadata.profileAdoption(organization: "default")
            #expect(adoption == fresh.adoption(organization: "default", withTest: false))
        }
    }
}
