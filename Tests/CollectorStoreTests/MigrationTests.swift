import Foundation
import RecordStoreTestKit
import SQLite
import Testing
import WireModel

@testable import CollectorStore

/// A `collector.sqlite` of version 1 becomes one of the present version with everything in it.
@Suite struct MigrationTests {
    /// As version 1 made it; never changed.
    private static let firstSchema = """
        CREATE TABLE meta (name TEXT PRIMARY KEY, value BLOB NOT NULL) WITHOUT ROWID;
        CREATE TABLE organization (name TEXT PRIMARY KEY, created INTEGER NOT NULL) WITHOUT ROWID;
        CREATE TABLE token (
            id TEXT PRIMARY KEY, hash BLOB NOT NULL UNIQUE, kind INTEGER NOT NULL, name TEXT NOT NULL, role INTEGER, organization TEXT,
            created INTEGER NOT NULL, expires INTEGER, maximum_uses INTEGER, uses INTEGER NOT NULL DEFAULT 0, revoked INTEGER);
        CREATE TABLE device (
            id BLOB PRIMARY KEY, organization TEXT NOT NULL, name TEXT NOT NULL, os_name TEXT NOT NULL, os_distribution TEXT NOT NULL,
            os_version TEXT NOT NULL, os_kernel TEXT NOT NULL, os_architecture TEXT NOT NULL, agent_version TEXT NOT NULL,
            application TEXT NOT NULL, machine_hash TEXT NOT NULL, credential_hash BLOB NOT NULL UNIQUE, next_credential_hash BLOB UNIQUE,
            created INTEGER NOT NULL, enrolled INTEGER NOT NULL, revoked INTEGER, test INTEGER NOT NULL);
        CREATE INDEX device_organization ON device (organization, id);
        CREATE TABLE device_state (
            device BLOB PRIMARY KEY, last_seen INTEGER NOT NULL, beacon BLOB, identity BLOB) WITHOUT ROWID;
        CREATE TABLE profile (
            organization TEXT NOT NULL, revision INTEGER NOT NULL, bytes BLOB NOT NULL, created INTEGER NOT NULL,
            PRIMARY KEY (organization, revision)) WITHOUT ROWID;
        CREATE TABLE baseline (
            device BLOB NOT NULL, epoch BLOB NOT NULL, stream INTEGER NOT NULL, removed_rows INTEGER NOT NULL,
            mark BLOB NOT NULL, totals BLOB NOT NULL, part_last INTEGER NOT NULL, above_part BLOB NOT NULL,
            closed_last INTEGER, closed_reason INTEGER, closed_at INTEGER, PRIMARY KEY (device, epoch, stream)) WITHOUT ROWID;
        CREATE TABLE removed_partition (
            day INTEGER NOT NULL, stream INTEGER NOT NULL, removed INTEGER NOT NULL, PRIMARY KEY (day, stream)) WITHOUT ROWID;
        """

    private static let device = DeviceID(high: 1, low: 2)
    private static let leftDevice = DeviceID(high: 1, low: 3)
    private static let credential = Secret(.device)
    private static let leftCredential = Secret(.device)
    private static let administrator = Secret(.person)
    private static let enrollment = Secret(.enrollment)

    /// The file with two organizations, two devices (one of them unenrolled), tokens, profiles and a beacon.
    private func firstVersion() throws -> TemporaryDirectory {
        let directory = try TemporaryDirectory()
        let connection = try Connection(
            path: directory.path + "/collector.sqlite",
            options: .init(mode: .create, applicationID: CollectorDatabase.applicationID))
        try connection.execute(Self.firstSchema)
        try connection.setUserVersion(1)
        func insert(_ sql: String, _ values: (any BindableValue)?...) throws {
            let statement = try connection.prepare(sql)
            for (place, value) in values.enumerated() {
                if let value {
                    try value.bind(to: statement, at: Int32(place + 1))
                } else {
                    try statement.bindNull(at: Int32(place + 1))
                }
            }
            try statement.run()
        }
        try insert("INSERT INTO meta VALUES ('collector_id', ?)", CollectorID(high: 5, low: 6).data)
        try insert("INSERT INTO meta VALUES ('incarnation_id', ?)", IncarnationID(high: 7, low: 8).data)
        for organization in ["default", "west"] {
            try insert("INSERT INTO organization VALUES (?, 5)", organization)
            var profile = WireProfile()
            profile.organization = organization
            profile.revision = 4
            profile.beaconSeconds = 77
            try insert("INSERT INTO profile VALUES (?, 4, ?, 5)", organization, profile.encoded)
        }
        try insert(
            "INSERT INTO token (id, hash, kind, name, role, created) VALUES ('a', ?, 2, 'administrator', 3, 5)",
            Self.administrator.hash)
        try insert(
            "INSERT INTO token (id, hash, kind, name, organization, created) VALUES ('e', ?, 1, '', 'west', 5)",
            Self.enrollment.hash)
        for (id, credential, revoked) in [
            (Self.device, Self.credential, nil), (Self.leftDevice, Self.leftCredential, Int64(9)),
        ] {
            try insert(
                """
                INSERT INTO device (id, organization, name, os_name, os_distribution, os_version, os_kernel, os_architecture,
                agent_version, application, machine_hash, credential_hash, created, enrolled, revoked, test)
                VALUES (?, 'west', 'kiosk', 'linux', 'debian', '12', '6', 'x86_64', '1.0.0', '', 'm', ?, 6, 7, ?, 0)
                """, id.data, credential.hash, revoked)
        }
        var beacon = WireBeacon()
        beacon.deviceName = "lobby"
        beacon.compromised = .yes
        try insert("INSERT INTO device_state VALUES (?, 8, ?, NULL)", Self.device.data, beacon.encoded)
        try connection.close()
        return directory
    }

    private func open(_ directory: TemporaryDirectory) throws -> MetadataService {
        let (metadata, created) = try MetadataService.open(
            directory: directory.path, clock: ManualStoreClock(), logger: quietLogger)
        #expect(created == nil)
        return metadata
    }

    @Test func idsTokensDevicesAndProfilesAreKept() async throws {
        let directory = try firstVersion()
        defer { withExtendedLifetime(directory) {} }
        let metadata = try open(directory)
        #expect(
            metadata.collectorID == CollectorID(high: 5, low: 6)
                && metadata.incarnationID == IncarnationID(high: 7, low: 8))
        #expect(try await metadata.authenticatePerson(token: Self.administrator.text)?.role == .administrator)
        guard case .device(let device) = try await metadata.authenticateDevice(credential: Self.credential.text) else {
            Issue.record("the device is not known any more")
            return
        }
        #expect(device.name == "kiosk" && device.enrolled == 7 && device.enrollmentID.isEmpty && device.left == nil)
        let shown = try #require(try await metadata.device(Self.device, organization: "west"))
        #expect(shown.verdicts?.at == 8 && shown.verdicts?.beacon.compromised == .yes)
        #expect(shown.beacon?.deviceName == "lobby" && shown.lastBeacon == 8 && shown.lastSeen == 8)
        let profile = try #require(try await metadata.profile(ProfileScope(organization: "west"), revision: nil))
        #expect(profile.revision == 4 && profile.profile.beaconSeconds == 77 && profile.author.isEmpty)
        await metadata.close()
    }

    @Test func everyOrganizationGetsAKeyOfItsOwnThatStays() async throws {
        let directory = try firstVersion()
        func keys() async throws -> [Data] {
            let metadata = try open(directory)
            var keys: [Data] = []
            for organization in ["default", "west"] {
                let bytes = try await metadata.deviceProfile(of: ProfileScope(organization: organization)).bytes
                keys.append(try WireProfile.decode(bytes).privacyKey)
            }
            await metadata.close()
            return keys
        }
        let first = try await keys()
        #expect(first.allSatisfy { $0.count == 32 } && Set(first).count == 2)
        #expect(try await keys() == first)
    }

    @Test func whatUnenrolledInVersion1HasLeftAndMayComeBack() async throws {
        let directory = try firstVersion()
        defer { withExtendedLifetime(directory) {} }
        let metadata = try open(directory)
        #expect(try await metadata.authenticateDevice(credential: Self.leftCredential.text) == .left)
        let left = try #require(try await metadata.device(Self.leftDevice, organization: nil))
        #expect(left.left == 9 && left.revoked == nil)
        var request = WireEnrollRequest()
        request.deviceID = Self.leftDevice.data
        request.previousCredential = Self.leftCredential.text
        let back = try await metadata.enroll(token: Self.enrollment.text, request: request)
        #expect(back.deviceKept && back.deviceID == Self.leftDevice && back.enrollmentID.count == 16)
        await metadata.close()
    }

    @Test func aDeviceOfVersion1GetsCommandsOfItsEmptyEnrollment() async throws {
        let directory = try firstVersion()
        defer { withExtendedLifetime(directory) {} }
        let metadata = try open(directory)
        _ = try await metadata.issue(
            NewCommand(
                device: Self.device, action: .sendBeacon(.init()), expires: ManualStoreClock.start + 5,
                issuer: .commandLine,
                idempotencyKey: nil,
                request: Data()), organization: "west")
        let device = try #require(try await metadata.device(Self.device, organization: nil))
        #expect(metadata.openCommands(of: device, at: ManualStoreClock.start).map(\.enrollmentID) == [Data()])
        await metadata.close()
    }

    @Test func recordFilesThatAreThereAreMissedWhenTheyGo() async throws {
        let directory = try firstVersion()
        try FileManager.default.createDirectory(
            atPath: directory.path + "/records/2026-02-01", withIntermediateDirectories: true)
        let file = directory.recordFile("2026-02-01", .event)
        let connection = try Connection(path: file, options: .init(mode: .create))
        try connection.close()
        await (try open(directory)).close()
        try FileManager.default.removeItem(atPath: file)
        #expect(try await directory.verify().findings.map(\.file) == ["records/2026-02-01/event.sqlite"])
    }

    /// Makes a file of the present version one of version 10.
    static let undoingVersion11 = """
        DROP TABLE muted_notice; DROP TABLE record_usage;
        DROP TABLE device_job; DROP TABLE device_job_device; DROP INDEX enrollment_request_device;
        DROP INDEX device_predecessor; ALTER TABLE audit DROP COLUMN job;
        DROP TABLE session;
        DROP TABLE assignment; DROP TABLE incident; ALTER TABLE device_state DROP COLUMN verdicts_wall;
        ALTER TABLE device_state DROP COLUMN verdicts_boot; ALTER TABLE device_state DROP COLUMN verdicts_since_boot;
        """

    /// Makes a file of the present version one of version 5.
    static let undoingVersion6 = """
        \(undoingVersion11)
        DROP TABLE log_quota; DROP TABLE device_log_usage;
        ALTER TABLE device DROP COLUMN dnd_revision; ALTER TABLE device DROP COLUMN dnd_on; ALTER TABLE device DROP COLUMN dnd_at;
        ALTER TABLE device DROP COLUMN dnd_person; ALTER TABLE device DROP COLUMN dnd_request;
        ALTER TABLE device_state DROP COLUMN verdicts; ALTER TABLE device_state DROP COLUMN verdicts_at;
        DROP TABLE former_incarnation; DROP INDEX upload_application; DROP INDEX notice_unposted;
        DELETE FROM meta WHERE name IN ('credential_key', 'credential_generation');
        ALTER TABLE device DROP COLUMN credential_generation; ALTER TABLE device DROP COLUMN enrollment_token;
        ALTER TABLE notice DROP COLUMN amount; ALTER TABLE notice DROP COLUMN posted;
        """

    @Test func aFileOfVersion4GetsAPlaceForCertificates() async throws {
        let directory = try TemporaryDirectory()
        let (first, created) = try MetadataService.open(
            directory: directory.path, clock: ManualStoreClock(), logger: quietLogger)
        let device = try await first.enroll(token: try #require(created).enrollmentToken, request: WireEnrollRequest())
            .deviceID
        await first.close()
        let connection = try Connection(path: directory.path + "/collector.sqlite", options: .init(mode: .readWrite))
        try connection.execute("DROP TABLE device_certificate; \(Self.undoingVersion6)")
        try connection.setUserVersion(4)
        try connection.close()
        let metadata = try open(directory)
        let certificate = DeviceCertificate(
            fingerprint: Data(count: 32), serial: Data(count: 16), issued: 1, expires: 2)
        try await metadata.keepCertificate(certificate, device: device, reason: "enrollment")
        #expect(try await metadata.device(device, organization: nil)?.certificates == [certificate])
        await metadata.close()
    }

    @Test func aNewFileHasTheSchemaOfAMigratedOne() async throws {
        func schema(_ directory: TemporaryDirectory) throws -> [String] {
            let connection = try Connection(path: directory.path + "/collector.sqlite", options: .init(mode: .readOnly))
            let statement = try connection.prepare("SELECT sql FROM sqlite_schema WHERE sql IS NOT NULL ORDER BY name")
            var found: [String] = []
            while try statement.step() {
                found.append(statement.string(0).split { $0.isWhitespace }.joined(separator: " "))
            }
            return found
        }
        let (old, new) = (try firstVersion(), try TemporaryDirectory())
        defer { withExtendedLifetime((old, new)) {} }
        await (try open(old)).close()
        let (metadata, _) = try MetadataService.open(
            directory: new.path, clock: ManualStoreClock(), logger: quietLogger)
        await metadata.close()
        #expect(try schema(old) == schema(new) && schema(new).count > 12)
    }
}
