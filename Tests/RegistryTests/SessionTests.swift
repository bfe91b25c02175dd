import CollectorAPI
import Foundation
import RegistryTestKit
import SQLite
import StoreTestKit
import Synchronization
import TestKit
import Testing
import WireModel

@testable import Registry

@Suite("Sessions of people in the console", .eachRegistry) struct SessionTests {
    private let directory: TemporaryDirectory
    private let clock = ManualStoreClock()
    private let metadata: MetadataService

    init() throws {
        directory = try TemporaryDirectory()
        (metadata, _) = try TestRegistry.open(directory: directory.path, clock: clock, logger: quietLogger)
    }

    private func token(_ role: PersonRole = .viewer, expiresInSeconds: Int64? = nil) async throws
        -> (id: String, token: String)
    {
        try await metadata.createPersonToken(
            name: "Ada", role: role, organization: "default", expiresInSeconds: expiresInSeconds)
    }

    private func session(_ token: String) async throws -> String {
        try #require(try await metadata.signIn(token: token)).secret
    }

    @Test func `A session has the rights of its token until it ends`() async throws {
        let token = try await token(.operator)
        let secret = try await session(token.token)
        let person = Person(name: "Ada", role: .operator, organization: "default", tokenID: token.id)
        #expect(try await metadata.authenticateSession(secret) == person)
        #expect(try await metadata.authenticateSession(token.token) == nil)
        #expect(try await metadata.authenticatePerson(token: secret) == nil)
        clock.advance(seconds: MetadataService.sessionSeconds - 1)
        #expect(try await metadata.authenticateSession(secret) == person)
        clock.advance(seconds: 1)
        #expect(try await metadata.authenticateSession(secret) == nil)
    }

    @Test func `It ends with its token`() async throws {
        let short = try await token(expiresInSeconds: 60)
        let revoked = try await token()
        let secrets = (try await session(short.token), try await session(revoked.token))
        clock.advance(seconds: 60)
        try await metadata.revokeToken(revoked.id)
        #expect(try await metadata.authenticateSession(secrets.0) == nil)
        #expect(try await metadata.authenticateSession(secrets.1) == nil)
        #expect(try await metadata.signIn(token: short.token) == nil)
    }

    @Test func `Signing out ends one or all of the token`() async throws {
        let (mine, other) = (try await token(), try await token())
        let (first, second, third) = (
            try await session(mine.token), try await session(mine.token), try await session(mine.token)
        )
        let others = try await session(other.token)
        try await metadata.signOut(first, everywhere: false)
        #expect(try await metadata.authenticateSession(first) == nil)
        #expect(try await metadata.authenticateSession(second) != nil)
        try await metadata.signOut(second, everywhere: true)
        #expect(try await metadata.authenticateSession(second) == nil)
        #expect(try await metadata.authenticateSession(third) == nil)
        #expect(try await metadata.authenticateSession(others) != nil)
        let rows = try await metadata.audit(AuditQuery(action: .signOut), below: nil, limit: 10).rows
        #expect(rows.map(\.entry.detail) == [["sessions": "2"], ["sessions": "1"]])
    }

    @Test func `A token keeps its newest sessions`() async throws {
        let token = try await token()
        var secrets: [String] = []
        for _ in 0..<MetadataService.sessionsPerToken + 2 {
            clock.advance(seconds: 1)
            secrets.append(try await session(token.token))
        }
        #expect(try await metadata.authenticateSession(secrets[1]) == nil)
        #expect(try await metadata.authenticateSession(secrets[2]) != nil)
    }

    @Test func `A sign-in code begins one session within ten minutes`() async throws {
        let token = try await token(.operator)
        let person = try #require(try await metadata.authenticatePerson(token: token.token))
        let (first, second, late) = (
            try await metadata.createSignInCode(for: person).code,
            try await metadata.createSignInCode(for: person).code,
            try await metadata.createSignInCode(for: person)
        )
        let begun = try #require(try await metadata.signIn(code: first))
        #expect(begun.person == person)
        #expect(try await metadata.authenticateSession(begun.secret) == person)
        #expect(try await metadata.signIn(code: first) == nil, "it is used up")
        clock.advance(seconds: MetadataService.signInCodeSeconds - 1)
        #expect(try await metadata.signIn(code: second) != nil)
        clock.advance(seconds: 1)
        #expect(late.expires == clock.now())
        #expect(try await metadata.signIn(code: late.code) == nil)
    }

    @Test func `A sign-in code is neither a session nor a token and ends with its token`() async throws {
        let token = try await token()
        let person = try #require(try await metadata.authenticatePerson(token: token.token))
        let code = try await metadata.createSignInCode(for: person).code
        #expect(try await metadata.authenticateSession(code) == nil)
        #expect(try await metadata.authenticatePerson(token: code) == nil)
        #expect(try await metadata.signIn(token: code) == nil)
        #expect(try await metadata.signIn(code: token.token) == nil)
        #expect(try await metadata.signIn(code: try await session(token.token)) == nil)
        try await metadata.revokeToken(token.id)
        #expect(try await metadata.signIn(code: code) == nil)
    }

    @Test func `Of two browsers with one code, one is signed in`() async throws {
        let token = try await token()
        let person = try #require(try await metadata.authenticatePerson(token: token.token))
        let code = try await metadata.createSignInCode(for: person).code
        async let first = metadata.signIn(code: code)
        async let second = metadata.signIn(code: code)
        let begun = [try await first, try await second].compactMap(\.self)
        #expect(begun.count == 1)
    }

    @Test(.aboutFiles) func `People sign in and out while the registry cannot be written`() async throws {
        let token = try await token(.administrator)
        let person = try #require(try await metadata.authenticatePerson(token: token.token))
        let (before, code) = (try await session(token.token), try await metadata.createSignInCode(for: person).code)
        try await metadata.refuseWrites(true)
        let held = try await session(token.token)
        #expect(try await metadata.authenticateSession(held) == person)
        let byCode = try #require(try await metadata.signIn(code: code)).secret
        #expect(try await metadata.signIn(code: code) == nil, "it is used up")
        let heldCode = try await metadata.createSignInCode(for: person).code
        #expect(try await metadata.authenticateSession(heldCode) == nil)
        let byHeldCode = try #require(try await metadata.signIn(code: heldCode)).secret
        #expect(try await metadata.signIn(code: heldCode) == nil)
        try await metadata.signOut(before, everywhere: false)
        try await metadata.signOut(byHeldCode, everywhere: false)
        for ended in [before, byHeldCode] { #expect(try await metadata.authenticateSession(ended) == nil) }
        try await metadata.recordRefusedSignIn(from: "192.0.2.1")

        // With room again they are on disk, and so is what was done.
        try await metadata.refuseWrites(false)
        try await metadata.recordRefusedSignIn(from: "192.0.2.2")
        await metadata.writeSeen()
        await metadata.close()
        let (again, _) = try MetadataService.open(directory: directory.path, clock: clock, logger: quietLogger)
        for kept in [held, byCode] { #expect(try await again.authenticateSession(kept) == person) }
        for ended in [before, byHeldCode] { #expect(try await again.authenticateSession(ended) == nil) }
        for used in [code, heldCode] { #expect(try await again.signIn(code: used) == nil) }
        let rows = try await again.audit(AuditQuery(), below: nil, limit: 50).rows.map(\.entry)
        #expect(rows.count { $0.action == .signOut } == 2)
        #expect(rows.first { $0.outcome == .refused }?.detail == ["address": "192.0.2.2", "leftOut": "1"])
        #expect(rows.count { $0.action == .signIn && $0.outcome == .done } >= 1)
        await again.close()
    }

    @Test(.aboutFiles) func `Signing out everywhere works while the registry cannot be written`() async throws {
        let (mine, other) = (try await token(), try await token())
        let (stored, others) = (try await session(mine.token), try await session(other.token))
        try await metadata.refuseWrites(true)
        let held = try await session(mine.token)
        try await metadata.signOut(stored, everywhere: true)
        for ended in [stored, held] { #expect(try await metadata.authenticateSession(ended) == nil) }
        #expect(try await metadata.authenticateSession(others) != nil)
        try await metadata.refuseWrites(false)
        await metadata.writeSeen()
        for ended in [stored, held] { #expect(try await metadata.authenticateSession(ended) == nil) }
        #expect(metadata.heldSessions.withLock { $0.isEmpty })
    }

    @Test(.aboutFiles) func `A held session ends with its token and its time`() async throws {
        let (long, short) = (try await token(), try await token(expiresInSeconds: 60))
        try await metadata.refuseWrites(true)
        let (held, brief) = (try await session(long.token), try await session(short.token))
        clock.advance(seconds: 60)
        #expect(try await metadata.authenticateSession(brief) == nil)
        clock.advance(seconds: MetadataService.sessionSeconds - 61)
        #expect(try await metadata.authenticateSession(held) != nil)
        clock.advance(seconds: 1)
        #expect(try await metadata.authenticateSession(held) == nil)
    }

    @Test(.aboutFiles) func `No secret is on disk`() async throws {
        let secret = try await session(try await token().token)
        await metadata.close()
        let connection = try Connection(path: directory.path + "/collector.sqlite", options: .init(mode: .readOnly))
        let dump = try connection.rows("SELECT hex(hash) || token FROM session") { $0.string(0) }
        #expect(dump.count == 1)
        #expect(!dump[0].contains(secret))
    }

    @Test func `Refused attempts are in the trail once a minute`() async throws {
        for _ in 0..<5 { try await metadata.recordRefusedSignIn(from: "192.0.2.1") }
        clock.advance(seconds: 60)
        try await metadata.recordRefusedSignIn(from: "192.0.2.2")
        let rows = try await metadata.audit(AuditQuery(action: .signIn), below: nil, limit: 10).rows
        #expect(rows.map(\.entry.outcome) == [.refused, .refused])
        #expect(
            rows.map(\.entry.detail) == [["address": "192.0.2.2", "leftOut": "4"], ["address": "192.0.2.1"]])
    }

    @Test func `Repeated sign-ins are one entry an hour`() async throws {
        let (one, other) = (try await token(), try await token())
        for _ in 0..<5 { _ = try await session(one.token) }
        _ = try await session(other.token)
        clock.advance(seconds: 3600)
        _ = try await session(one.token)
        let rows = try await metadata.audit(AuditQuery(action: .signIn), below: nil, limit: 10).rows
        #expect(rows.map(\.entry.subject) == [one.id, other.id, one.id])
        #expect(rows.map(\.entry.detail) == [["leftOut": "4"], [:], [:]])
    }

    @Test func `A digest changes with its topic only`() async throws {
        let created = try await metadata.createEnrollmentToken(organization: "default")
        let device = try await metadata.enroll(token: created.token, request: WireEnrollRequest()).deviceID
        try await metadata.createOrganization("west")
        let topics: [LiveTopic] = [.devices, .notices, .jobs, .logs, .logsOf(device), .commandsOf(device)]
        func digests(_ organization: String?) async throws -> [String] {
            var texts: [String] = []
            for topic in topics { texts.append(try await metadata.digest(of: topic, organization: organization)) }
            return texts
        }
        let (before, west) = (try await digests("default"), try await digests("west"))
        #expect(try await digests("default") == before)
        try await metadata.unenroll(device: device)
        let after = try await digests("default")
        #expect(after[0] != before[0])
        #expect(after[1...] == before[1...])
        #expect(try await digests("west") == west)
    }

    @Test func `Each step of a job changes the digest of its organization`() async throws {
        let created = try await metadata.createEnrollmentToken(organization: "default")
        for _ in 0...MetadataService.deviceJobBatch {
            _ = try await metadata.enroll(token: created.token, request: WireEnrollRequest())
        }
        try await metadata.createOrganization("west")
        func digest(_ organization: String?) async throws -> String {
            try await metadata.digest(of: .jobs, organization: organization)
        }
        let west = try await digest("west")
        var (all, own) = ([try await digest(nil)], [try await digest("default")])
        func record() async throws {
            all.append(try await digest(nil))
            own.append(try await digest("default"))
        }
        let job = try await metadata.begin(
            NewDeviceJob(
                action: .doNotDisturb(false), selection: try await metadata.selection(DeviceQuery()),
                organization: "default", filter: nil, actor: AuditActor(name: "ann", token: "t1", role: .operator),
                idempotencyKey: nil, request: Data())
        ).job
        try await record()
        for _ in 0..<2 {
            _ = try await metadata.workOff(deviceJob: job.row) { _ in
                Problem(status: 409, code: .conflict, title: "", detail: "")
            }
            try await record()
        }
        #expect(try await metadata.deviceJob(job.id, organization: nil)?.state == .done)
        #expect(Set(all).count == 4 && Set(own).count == 4, "begun, a step, the end")
        #expect(try await digest("west") == west)
    }
}

extension MetadataService {
    /// As a full disk does: the registry can be read, and every change fails.
    fileprivate func refuseWrites(_ areRefused: Bool) throws {
        try connection.run("PRAGMA query_only = \(areRefused ? 1 : 0)")
    }
}
