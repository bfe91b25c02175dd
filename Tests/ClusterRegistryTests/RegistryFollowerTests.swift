import ClusterRegistry
import CollectorAPI
import Foundation
import LogArchive
import PostgreSQL
import PostgresTestKit
import RecordStore
import Registry
import Testing
import WireModel

/// What one collector changes counts in the others after their next read, and after the lease without any read. No
/// notification is sent to anybody here, because nobody listens.
@Suite(.timeLimit(.minutes(5))) struct RegistryFollowerTests {
    private static let seconds = RegistryLease.microseconds / 1_000_000

    private func withCluster(_ body: (TestCluster) async throws -> Void) async throws {
        let cluster = try await TestCluster.start(on: .shared())
        do { try await body(cluster) } catch { Issue.record("\(error)") }
        await cluster.stop()
    }

    @Test func `A revoked device is refused after the next read`() async throws {
        try await withCluster { cluster in
            let device = try await cluster.enroll()
            try await cluster.settle()
            _ = try await cluster.second.service.device(of: device.credential)
            _ = try await cluster.first.service.revokeDevice(device.deviceID, organization: nil, by: .commandLine)
            // It has heard nothing, and its lease is valid: this shows that the answer comes from memory.
            _ = try await cluster.second.service.device(of: device.credential)
            try await cluster.second.follower.read()
            #expect(
                try await cluster.second.service.authenticateDevice(credential: device.credential) == .revoked)
        }
    }

    @Test func `A revoked device is refused after the lease without any read`() async throws {
        try await withCluster { cluster in
            let device = try await cluster.enroll()
            try await cluster.settle()
            _ = try await cluster.second.service.device(of: device.credential)
            _ = try await cluster.first.service.revokeDevice(device.deviceID, organization: nil, by: .commandLine)
            cluster.second.time.advance(seconds: Self.seconds)
            #expect(
                try await cluster.second.service.authenticateDevice(credential: device.credential) == .revoked)
        }
    }

    @Test func `Deleted and unenrolled devices are refused`() async throws {
        try await withCluster { cluster in
            let (deleted, left) = (try await cluster.enroll(), try await cluster.enroll())
            try await cluster.settle()
            for device in [deleted, left] { _ = try await cluster.second.service.device(of: device.credential) }
            try await cluster.first.service.deleteDevice(
                deleted.deviceID, enrollment: deleted.enrollmentID, organization: nil, by: .commandLine)
            try await cluster.first.service.unenroll(device: left.deviceID)
            try await cluster.second.follower.read()
            let service = cluster.second.service
            #expect(try await service.authenticateDevice(credential: deleted.credential) == .revoked)
            #expect(try await service.authenticateDevice(credential: left.credential) == .left)
        }
    }

    /// A rotation's new credential is used at one collector. The former one was in the memory of the other.
    @Test func `A former credential is refused once the new one is used elsewhere`() async throws {
        try await withCluster { cluster in
            let device = try await cluster.enroll()
            try await cluster.settle()
            _ = try await cluster.second.service.device(of: device.credential)
            let next = try await cluster.first.service.rotateCredential(device: device.deviceID)
            _ = try await cluster.first.service.device(of: next)
            try await cluster.second.follower.read()
            #expect(
                try await cluster.second.service.authenticateDevice(credential: device.credential) == .unknown)
            _ = try await cluster.second.service.device(of: next)
        }
    }

    /// The revocation is committed and known after the device was read and before its new credential counts as used.
    @Test func `A revocation during the first use of a credential counts`() async throws {
        try await withCluster { cluster in
            let device = try await cluster.enroll()
            try await cluster.settle()
            let next = try await cluster.first.service.rotateCredential(device: device.deviceID)
            let (first, second) = (cluster.first.service, cluster.second)
            let found = try await second.service.authenticateDevice(credential: next) { _ in
                let isRevoked = DispatchSemaphore(value: 0)
                // The closure may not wait for a task otherwise. It runs on the service's queue, which may block.
                Task.detached {
                    _ = try? await first.revokeDevice(device.deviceID, organization: nil, by: .commandLine)
                    try? await second.follower.read()
                    isRevoked.signal()
                }
                isRevoked.wait()
                return true
            }
            #expect(found == .revoked)
            #expect(try await second.service.authenticateDevice(credential: next) == .revoked)
        }
    }

    @Test func `A certificate is known to the others`() async throws {
        try await withCluster { cluster in
            let device = try await cluster.enroll()
            try await cluster.settle()
            #expect(try await cluster.second.service.device(of: device.credential).certificates.isEmpty)
            let now = SystemTime().now()
            try await cluster.first.service.keepCertificate(
                DeviceCertificate(
                    fingerprint: Data([1]), serial: Data([2]), issued: now, expires: now + 1_000_000_000, used: nil),
                device: device.deviceID, reason: "enrollment")
            try await cluster.second.follower.read()
            #expect(try await cluster.second.service.device(of: device.credential).certificates.count == 1)
        }
    }

    @Test(arguments: [true, false])
    func `A new profile is given to devices of all collectors`(isRead: Bool) async throws {
        try await withCluster { cluster in
            let scope = ProfileScope(organization: "default", application: "com.example.app")
            try await cluster.settle()
            let former = try await cluster.second.service.profileRevision(of: scope)
            let put = try await cluster.first.service.putProfile(
                WireProfile(), ProfileScope(organization: "default"), expected: nil, by: .commandLine)
            #expect(try await cluster.second.service.profileRevision(of: scope) == former)
            if isRead {
                try await cluster.second.follower.read()
            } else {
                cluster.second.time.advance(seconds: Self.seconds)
            }
            #expect(try await cluster.second.service.profileRevision(of: scope) == put.revision)
        }
    }

    @Test func `A command is sent by all collectors until it ends`() async throws {
        try await withCluster { cluster in
            let device = try await cluster.enroll()
            try await cluster.settle()
            let row = try await cluster.second.service.device(of: device.credential)
            let command = try await cluster.first.service.issueBeacon(to: device.deviceID).command
            try await cluster.second.follower.read()
            let now = SystemTime().now()
            #expect(cluster.second.service.openCommands(of: row, at: now) == [command])
            #expect(cluster.first.service.openCommands(of: row, at: now) == [command])

            var result = WireCommandResult()
            result.commandID = command.id
            result.state = .done
            await cluster.second.service.recordResults([result], of: device.deviceID, at: now)
            // This read waits until the result is written.
            let id = try #require(CommandID(command.id))
            #expect(try await cluster.second.service.command(id, of: device.deviceID)?.status.state == .done)
            try await cluster.first.follower.read()
            #expect(cluster.first.service.openCommands(of: row, at: now).isEmpty)
        }
    }

    @Test func `Without a lease, no command is sent`() async throws {
        try await withCluster { cluster in
            let device = try await cluster.enroll()
            try await cluster.settle()
            let row = try await cluster.second.service.device(of: device.credential)
            _ = try await cluster.first.service.issueBeacon(to: device.deviceID)
            try await cluster.second.follower.read()
            cluster.second.time.advance(seconds: Self.seconds)
            #expect(cluster.second.service.openCommands(of: row, at: SystemTime().now()).isEmpty)
            try await cluster.second.follower.read()
            #expect(cluster.second.service.openCommands(of: row, at: SystemTime().now()).count == 1)
        }
    }

    /// The second collector knows none of the commands.
    @Test func `The limit of a device's commands holds in the whole cluster`() async throws {
        try await withCluster { cluster in
            let device = try await cluster.enroll()
            try await cluster.settle()
            for _ in 0..<32 { _ = try await cluster.first.service.issueBeacon(to: device.deviceID) }
            let error = await #expect(throws: IssueError.self) {
                try await cluster.second.service.issueBeacon(to: device.deviceID)
            }
            guard case .tooMany(limit: 32) = error else {
                Issue.record("\(String(describing: error))")
                return
            }
        }
    }

    @Test func `Lists show what other collectors have changed`() async throws {
        try await withCluster { cluster in
            let device = try await cluster.enroll(application: "com.example.a")
            try await cluster.settle()
            let service = cluster.second.service
            func applications() async throws -> [DeviceID] {
                var query = DeviceQuery()
                query.application = "com.example.b"
                return try await service.devices(query, after: nil, limit: 10).devices.map(\.id)
            }
            #expect(try await applications().isEmpty)
            #expect(try await service.deviceOwners().map(\.id) == [device.deviceID])
            let other = try await cluster.enroll(application: "com.example.b")
            try await cluster.second.follower.read()
            #expect(try await applications() == [other.deviceID])

            // What records report, through the table that is written every few seconds.
            #expect(try await service.profileAdoption(organization: "default").map(\.key.revision) == [nil, nil])
            try await cluster.first.service.derive(
                [other.deviceID: DeviceObservation(at: SystemTime().now(), profileRevision: 7)], resetting: [])
            try await cluster.second.follower.read()
            #expect(
                Set(try await service.profileAdoption(organization: "default").map(\.key.revision)) == [nil, 7])

            // Without a lease a list reads everything.
            let third = try await cluster.enroll(application: "com.example.b")
            cluster.second.time.advance(seconds: Self.seconds)
            #expect(try await Set(applications()) == [other.deviceID, third.deviceID])
        }
    }

    @Test func `Tokens, sessions and quotas count at once`() async throws {
        try await withCluster { cluster in
            let (first, second) = (cluster.first.service, cluster.second.service)
            try await cluster.settle()
            let (id, token) = try await first.createPersonToken(name: "a", role: .viewer, organization: nil)
            let session = try #require(try await first.signIn(token: token)).secret
            #expect(try await second.authenticateSession(session) != nil)
            try await first.signOut(session, everywhere: false)
            #expect(try await second.authenticateSession(session) == nil)
            #expect(try await second.authenticatePerson(token: token) != nil)
            try await first.revokeToken(id)
            #expect(try await second.authenticatePerson(token: token) == nil)
            try await first.setLogQuota(
                1_000_000, application: "com.example.app", organization: "default", by: .commandLine)
            #expect(try await second.logQuotas(of: "default").map(\.bytes) == [1_000_000])
        }
    }

    /// A collector was away until the rows of the changes it missed were removed.
    @Test func `A collector that missed removed changes forgets everything`() async throws {
        try await withCluster { cluster in
            let (device, other) = (try await cluster.enroll(), try await cluster.enroll())
            try await cluster.settle()
            let row = try await cluster.second.service.device(of: device.credential)
            let command = try await cluster.first.service.issueBeacon(to: device.deviceID).command
            _ = try await cluster.second.service.device(of: other.credential)
            _ = try await cluster.first.service.revokeDevice(other.deviceID, organization: nil, by: .commandLine)
            try await cluster.database.sql("DELETE FROM change")
            try await cluster.second.follower.read()
            #expect(
                try await cluster.second.service.authenticateDevice(credential: other.credential) == .revoked)
            #expect(cluster.second.service.openCommands(of: row, at: SystemTime().now()) == [command])
        }
    }

    /// A later program has written a kind that this one does not know.
    @Test func `An unknown change forgets everything`() async throws {
        try await withCluster { cluster in
            let device = try await cluster.enroll()
            try await cluster.settle()
            _ = try await cluster.second.service.device(of: device.credential)
            try await cluster.database.sql(
                """
                UPDATE meta SET number = number + 1 WHERE name = 'change_number';
                INSERT INTO change SELECT number, 0, 'later', '' FROM meta WHERE name = 'change_number';
                UPDATE device SET revoked = 1
                """)
            try await cluster.second.follower.read()
            #expect(
                try await cluster.second.service.authenticateDevice(credential: device.credential) == .revoked)
        }
    }

    @Test func `Old changes are removed`() async throws {
        try await withCluster { cluster in
            let device = try await cluster.enroll()
            try await cluster.database.sql("UPDATE change SET at = 0")
            try await cluster.database.sql("UPDATE meta SET number = 255 WHERE name = 'change_number'")
            try await cluster.first.service.unenroll(device: device.deviceID)
            #expect(try await cluster.database.sql("SELECT number FROM change") == ["256"])
        }
    }

    /// Of a transaction that fails, nobody learns anything, and its numbers are given again.
    @Test func `A failed transaction leaves no number`() async throws {
        try await withCluster { cluster in
            let session = try cluster.first.registry.openWriting()
            let device = try await cluster.enroll()
            let before = try await cluster.database.sql("SELECT max(number), count(*) FROM change")
            #expect(throws: StoreError.self) {
                try session.transaction { () throws(StoreError) in
                    try session.announce([.device(device.deviceID)])
                    throw StoreError(.invalid, "enough")
                }
            }
            #expect(try await cluster.database.sql("SELECT max(number), count(*) FROM change") == before)
            try await cluster.first.service.unenroll(device: device.deviceID)
            #expect(
                try await cluster.database.sql("SELECT max(number) - min(number) + 1 - count(*) FROM change") == ["0"])
        }
    }

    @Test func `A change is announced only in a transaction`() async throws {
        try await withCluster { cluster in
            let session = try cluster.first.registry.openWriting()
            #expect(throws: StoreError.self) { try session.announce([.deviceJobs]) }
        }
    }
}
