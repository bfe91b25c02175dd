import CollectorAPI
import Foundation
import RegistryTestKit
import StoreTestKit
import Synchronization
import TestKit
import Testing
import WireModel

@testable import RecordStore
@testable import Registry

@Suite(.eachRegistry) struct MetadataServiceTests {
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

    private func request(_ id: DeviceID? = nil, previous: String = "", name: String = "kiosk") -> WireEnrollRequest {
        var request = WireEnrollRequest()
        request.deviceID = id?.data ?? Data()
        request.previousCredential = previous
        request.deviceName = name
        request.operatingSystem.name = "linux"
        request.machineHash = "m"
        return request
    }

    private func fault(_ token: String, _ request: WireEnrollRequest) async -> EnrollError? {
        do throws(EnrollError) {
            _ = try await metadata.enroll(token: token, request: request)
            return nil
        } catch { return error }
    }

    @Test func `The first start makes IDs, tokens and the default profile once`() async throws {
        let person = try #require(try await metadata.authenticatePerson(token: first.administratorToken))
        #expect(person.role == .administrator && person.organization == nil)
        let given = try await metadata.deviceProfile(of: ProfileScope(organization: "default"))
        let profile = try WireProfile.decode(given.bytes)
        #expect(
            given.revision == 1 && profile.privacyKey.count == 32 && profile.revision == 1
                && profile.organization == "default")
        #expect(
            profile.analytics.enabled && profile.logging.level == .information
                && !profile.sampling.modules.contains("gps"))
        await metadata.close()
        let (again, created) = try TestRegistry.open(
            directory: directory.path, clock: clock, logger: quietLogger, exclusive: false)
        #expect(
            created == nil && again.collectorID == metadata.collectorID && again.incarnationID == metadata.incarnationID
        )
        #expect(try await again.authenticatePerson(token: first.administratorToken) == person)
        await again.close()
    }

    @Test(.aboutFiles) func `Tokens that could not be delivered were never made`() async throws {
        let directory = try TemporaryDirectory()
        #expect(throws: StoreError(.io, "no paper")) {
            try TestRegistry.open(directory: directory.path, clock: clock, logger: quietLogger) {
                _ throws(StoreError) in
                throw StoreError(.io, "no paper")
            }
        }
        let delivered = Mutex<FirstStart?>(nil)
        let (metadata, created) = try TestRegistry.open(
            directory: directory.path, clock: clock, logger: quietLogger
        ) { made in
            delivered.withLock { $0 = made }
        }
        let first = try #require(created)
        #expect(delivered.withLock { $0 } == first)
        #expect(try await metadata.tokens().count == 2)
        #expect(try await metadata.authenticatePerson(token: first.administratorToken) != nil)
        await metadata.close()
    }

    @Test(.aboutFiles) func `A second process is told that the directory is in use`() throws {
        #expect { try TestRegistry.open(directory: directory.path, clock: clock, logger: quietLogger) } throws: {
            ($0 as? StoreError)?.code == .inUse
        }
    }

    @Test func `An enrolled device is known by its credential alone`() async throws {
        let result = try await metadata.enroll(token: first.enrollmentToken, request: request())
        #expect(!result.deviceKept && result.organization == "default" && result.profileRevision == 1)
        for _ in 0..<2 {
            guard case .device(let device) = try await metadata.authenticateDevice(credential: result.credential) else {
                Issue.record("not known")
                return
            }
            #expect(device.id == result.deviceID && device.name == "kiosk" && device.operatingSystem.name == "linux")
        }
        #expect(try await metadata.authenticateDevice(credential: result.credential + "x") == .unknown)
        #expect(try await metadata.authenticateDevice(credential: first.enrollmentToken) == .unknown)
    }

    @Test func `Re-enrollment keeps the ID only with the right credential`() async throws {
        let old = try await metadata.enroll(token: first.enrollmentToken, request: request())
        #expect(await fault(first.enrollmentToken, request(old.deviceID)) == .deviceConflict)
        #expect(await fault(first.enrollmentToken, request(old.deviceID, previous: "wrong")) == .deviceConflict)
        let new = try await metadata.enroll(
            token: first.enrollmentToken, request: request(old.deviceID, previous: old.credential))
        #expect(new.deviceKept && new.deviceID == old.deviceID && new.credential != old.credential)
        // The answer was lost: the device has only its old credential, and it is still good.
        let again = try await metadata.enroll(
            token: first.enrollmentToken, request: request(old.deviceID, previous: old.credential))
        #expect(again.deviceID == old.deviceID)
        #expect(try await metadata.authenticateDevice(credential: new.credential) == .unknown)
        guard case .device = try await metadata.authenticateDevice(credential: again.credential) else {
            Issue.record("the newest credential is not known")
            return
        }
        #expect(try await metadata.authenticateDevice(credential: old.credential) == .unknown)
    }

    @Test func `An ID that this collector does not know is replaced by a new one`() async throws {
        for previous in ["", "from before the restore", Secret(.device).text] {
            let id = DeviceID.random()
            let given = try await metadata.enroll(
                token: first.enrollmentToken, request: request(id, previous: previous))
            #expect(given.deviceID != id && !given.deviceKept)
        }
    }

    @Test func `The token of the first start is for a hundred devices`() async throws {
        let token = try #require(try await metadata.tokens().first { $0.kind == .enrollment })
        #expect(token.maximumUses == 100 && token.expires == clock.now() + 30 * 86_400_000_000)
        for _ in 0..<100 { _ = try await metadata.enroll(token: first.enrollmentToken, request: request()) }
        #expect(await fault(first.enrollmentToken, request()) == .tokenUsedUp)
    }

    @Test func `A token for an unknown organization is not made`() async throws {
        await #expect(throws: StoreError.self) { _ = try await metadata.createEnrollmentToken(organization: "other") }
    }

    @Test func `Enrollment tokens expire, are used up and are revoked`() async throws {
        #expect(await fault("nonsense", request()) == .tokenUnknown)
        #expect(await fault(first.administratorToken, request()) == .tokenUnknown)
        let twice = try await metadata.createEnrollmentToken(
            organization: "default", expiresInSeconds: 60, maximumUses: 2, note: "shop")
        for _ in 0..<2 { #expect(await fault(twice.token, request()) == nil) }
        #expect(await fault(twice.token, request()) == .tokenUsedUp)
        let short = try await metadata.createEnrollmentToken(organization: "default", expiresInSeconds: 60)
        clock.advance(seconds: 60)
        #expect(await fault(short.token, request()) == .tokenExpired)
        let row = try #require(try await metadata.tokens().first { $0.id == twice.id })
        #expect(row.uses == 2 && row.maximumUses == 2 && row.name == "shop" && row.kind == .enrollment)
        let revoked = try await metadata.createEnrollmentToken(organization: "default")
        try await metadata.revokeToken(revoked.id)
        #expect(await fault(revoked.token, request()) == .tokenRevoked)
        clock.advance(days: 31)
        #expect(await fault(first.enrollmentToken, request()) == .tokenExpired)
    }

    @Test func `Rotation keeps the former credential until the new one is used`() async throws {
        let device = try await metadata.enroll(token: first.enrollmentToken, request: request())
        let next = try await metadata.rotateCredential(device: device.deviceID)
        guard case .device = try await metadata.authenticateDevice(credential: device.credential),
            case .device = try await metadata.authenticateDevice(credential: next)
        else {
            Issue.record("one of them is refused")
            return
        }
        #expect(try await metadata.authenticateDevice(credential: device.credential) == .unknown)
        guard case .device = try await metadata.authenticateDevice(credential: next) else {
            Issue.record("the new one is refused")
            return
        }
    }

    @Test func `An unenrolled device is refused at once`() async throws {
        let device = try await metadata.enroll(token: first.enrollmentToken, request: request())
        _ = try await metadata.authenticateDevice(credential: device.credential)
        try await metadata.unenroll(device: device.deviceID)
        #expect(try await metadata.authenticateDevice(credential: device.credential) == .left)
        await #expect(throws: StoreError.self) { _ = try await metadata.rotateCredential(device: device.deviceID) }
    }

    @Test func `What was seen shows at once and keeps what is not newer`() async throws {
        let device = try await metadata.enroll(token: first.enrollmentToken, request: request())
        var beacon = WireBeacon()
        beacon.deviceName = "lobby"
        metadata.seen(device.deviceID, DeviceObservation(at: clock.now(), beacon: beacon))
        var identity = WireSystemIdentity()
        identity.hostName = "host"
        metadata.seen(device.deviceID, DeviceObservation(at: clock.now() + 5, identity: identity))
        metadata.seen(.random(), DeviceObservation(at: clock.now(), beacon: beacon))
        let row = try #require(try await metadata.device(device.deviceID, organization: "default"))
        #expect(
            row.beacon == beacon && row.identity == identity && row.lastSeen == clock.now() + 5
                && row.lastBeacon == clock.now())
        #expect(try await metadata.device(device.deviceID, organization: "other") == nil)
    }

    @Test(
        arguments: [
            ("", ""), ("hash:8edeefcab9c0", "hash:8edeefcab9c0"), ("example.org", "example.org"),
            ("other.example.org", "annas-laptop.example.org"),
        ])
    func `A name that the profile withholds goes from the enrollment, too`(reported: String, kept: String) async throws
    {
        var request = request()
        request.deviceName = "annas-laptop.example.org"
        let device = try await metadata.enroll(token: first.enrollmentToken, request: request).deviceID
        func name(_ change: (inout WireBeacon) -> Void) async throws -> String? {
            clock.advance(seconds: 1)
            var beacon = WireBeacon()
            (beacon.deviceName, beacon.consent, beacon.profileRevision) = (reported, .granted, 1)
            change(&beacon)
            metadata.seen(device, DeviceObservation(at: clock.now(), beacon: beacon))
            return try await metadata.device(device, organization: nil)?.name
        }
        #expect(try await name { $0.profileRevision = 0 } == request.deviceName, "no profile decides yet")
        #expect(try await name { $0.consent = .pending } == request.deviceName)
        #expect(try await name { $0.telemetryDisabled = true } == request.deviceName)
        #expect(try await name { _ in } == kept)
        var query = DeviceQuery()
        query.text = "annas-laptop"
        let found = try await metadata.devices(query, after: nil, limit: 10).devices
        #expect(found.isEmpty == (kept != request.deviceName))
    }

    @Test func `A profile makes a device a test device and back`() async throws {
        let device = try await metadata.enroll(token: first.enrollmentToken, request: request())
        var testRequest = request()
        testRequest.test = true
        let enrolledAsTest = try await metadata.enroll(token: first.enrollmentToken, request: testRequest)
        func isTest(_ id: DeviceID) async throws -> Bool? {
            try await metadata.device(id, organization: nil)?.test
        }
        for (reported, expected) in [(false, false), (true, true), (nil, true), (false, false)] as [(Bool?, Bool)] {
            clock.advance(seconds: 1)
            for id in [device.deviceID, enrolledAsTest.deviceID] {
                metadata.seen(id, DeviceObservation(at: clock.now(), beacon: WireBeacon(), test: reported))
            }
            #expect(try await isTest(device.deviceID) == expected)
            #expect(try await isTest(enrolledAsTest.deviceID) == true, "whatever its profile says")
        }
        let listed = try await metadata.devices(DeviceQuery(), after: nil, limit: 10).devices
        #expect(listed.map(\.id) == [device.deviceID])
    }

    /// Written after each word, or all words at once.
    @Test(arguments: [false, true]) func `A push token stays until it is cleared or replaced`(atOnce: Bool) async throws
    {
        let device = try await metadata.enroll(token: first.enrollmentToken, request: request())
        func token(_ change: (inout WireBeacon) -> Void) async throws -> String? {
            var beacon = WireBeacon()
            beacon.deviceName = "lobby"
            change(&beacon)
            metadata.seen(
                device.deviceID, DeviceObservation(at: clock.now(), beacon: beacon, expectedBeaconSeconds: 60))
            if atOnce { return nil }
            let row = try #require(try await metadata.device(device.deviceID, organization: nil))
            #expect(row.beacon?.deviceName == "lobby" && row.expectedBeaconSeconds == 60)
            return row.beacon.flatMap { $0.hasPushToken ? $0.pushToken.token : nil }
        }
        #expect(try await token { $0.pushToken.token = "one" } == (atOnce ? nil : "one"))
        #expect(try await token { _ in } == (atOnce ? nil : "one"))
        #expect(try await token { $0.pushToken.cleared = true } == nil)
        #expect(try await token { _ in } == nil)
        #expect(try await token { $0.pushToken.token = "two" } == (atOnce ? nil : "two"))
        _ = try await token { _ in }
        let row = try #require(try await metadata.device(device.deviceID, organization: nil))
        #expect(row.beacon?.pushToken.token == "two")
    }

    /// Written after each beacon, or all beacons at once.
    @Test(arguments: [false, true]) func `Verdicts stay while beacons have none`(atOnce: Bool) async throws {
        let device = try await metadata.enroll(token: first.enrollmentToken, request: request())
        func reported(_ change: (inout WireBeacon) -> Void) async throws -> DeviceVerdicts? {
            clock.advance(seconds: 10)
            var beacon = WireBeacon()
            beacon.consent = .granted
            change(&beacon)
            metadata.seen(device.deviceID, DeviceObservation(at: clock.now(), beacon: beacon))
            if atOnce { return nil }
            let row = try #require(try await metadata.device(device.deviceID, organization: nil))
            #expect(row.lastBeacon == clock.now() && row.beacon == beacon)
            return row.verdicts
        }
        #expect(try await reported { $0.doNotDisturb = .yes } == nil)
        _ = try await reported {
            $0.deviceCompliance = .nonCompliant
            $0.compromised = .yes
            $0.findings = [WireFinding()]
        }
        let at = clock.now()
        _ = try await reported { $0.doNotDisturb = .yes }
        for consent in [WireConsent.pending, .denied] { _ = try await reported { $0.consent = consent } }
        let kept = try #require(try await metadata.device(device.deviceID, organization: nil))
        #expect(kept.verdicts?.at == at && kept.verdicts?.beacon.findings.count == 1)
        #expect(kept.compliance == .nonCompliant)
        var query = DeviceQuery()
        query.compromised = .yes
        let page = try await metadata.devices(query, after: nil, limit: 10)
        #expect(page.devices.map(\.id) == [device.deviceID], "filters are of the last verdict too")
        _ = try await reported { $0.compromised = .no }
        let newest = try #require(try await metadata.device(device.deviceID, organization: nil))
        #expect(newest.verdicts?.at == clock.now() && newest.compliance == .unknown)
    }

    @Test func `Organizations have a key and profile of their own`() async throws {
        try await metadata.createOrganization("west")
        await #expect(throws: StoreError.self) { try await metadata.createOrganization("west") }
        for name in ["", "-a", "a/b", "ü", String(repeating: "x", count: 64), "a b"] {
            await #expect { try await metadata.createOrganization(name) } throws: {
                ($0 as? StoreError)?.code == .invalid
            }
        }
        for _ in 1...2 { _ = try await metadata.enroll(token: first.enrollmentToken, request: request()) }
        let listed = try await metadata.organizations()
        #expect(listed.map(\.name) == ["default", "west"])
        #expect(listed.map(\.devices) == [2, 0] && listed.map(\.profileRevision) == [1, 1])
        let keys = try await [
            metadata.deviceProfile(of: ProfileScope(organization: "default")),
            metadata.deviceProfile(of: ProfileScope(organization: "west")),
        ].map { try WireProfile.decode($0.bytes).privacyKey }
        #expect(Set(keys).count == 2)
    }

    @Test func `Commands are still given after a restart, but not once ended`() async throws {
        let device = try await metadata.enroll(token: first.enrollmentToken, request: request())
        for seconds in [60, 600, 600] as [Int64] {
            _ = try await metadata.issue(
                NewCommand(
                    device: device.deviceID, action: .sendBeacon(.init()), expires: clock.now() + seconds * 1_000_000,
                    issuer: .commandLine,
                    idempotencyKey: nil, request: Data()), organization: nil)
        }
        let row = try #require(try await metadata.device(device.deviceID, organization: nil))
        let open = metadata.openCommands(of: row, at: clock.now())
        #expect(open.count == 3)
        var results: [WireCommandResult] = []
        for (command, state) in [(open[1], WireCommandState.done), (open[2], .notNow)] {
            var result = WireCommandResult()
            (result.commandID, result.state) = (command.id, state)
            results.append(result)
        }
        await metadata.recordResults(results, of: device.deviceID, at: clock.now())
        // Another device's word on them counts for nothing.
        await metadata.recordResults([results[0]], of: .random(), at: clock.now())
        clock.advance(seconds: 60)
        await metadata.close()
        let (again, _) = try TestRegistry.open(directory: directory.path, clock: clock, logger: quietLogger)
        #expect(again.openCommands(of: row, at: clock.now()).map(\.id) == [open[2].id])
        let states = try await again.commands(of: device.deviceID, below: nil, limit: 10).rows.map {
            $0.state(at: clock.now())
        }
        #expect(Set(states) == [.expired, .done, .notNow])
        await again.close()
    }

    @Test
    func `The end of a command is on disk before its device is answered`() async throws {
        let device = try await metadata.enroll(token: first.enrollmentToken, request: request())
        let command = try await metadata.issue(
            NewCommand(
                device: device.deviceID, action: .wipe(.init()), expires: clock.now() + 60_000_000,
                issuer: .commandLine, idempotencyKey: nil, request: Data()), organization: nil
        ).row.command
        var result = WireCommandResult()
        (result.commandID, result.state) = (command.id, .done)
        await metadata.recordResults([result], of: device.deviceID, at: clock.now())
        // Reads the disk alone, as after a kill.
        let beside = try TestRegistry.session(directory: directory.path)
        let state = try beside.first("SELECT state FROM command WHERE id = ?", command.id) { $0.int(0) }
        #expect(state == WireCommandState.done.rawValue)
        await metadata.close()
    }

    @Test func `Devices come in pages`() async throws {
        var ids: [DeviceID] = []
        for _ in 0..<5 {
            ids.append(try await metadata.enroll(token: first.enrollmentToken, request: request()).deviceID)
        }
        var found: [DeviceID] = []
        var cursor: String?
        repeat {
            let page = try await metadata.devices(organization: "default", after: cursor, limit: 2)
            found += page.devices.map(\.id)
            cursor = page.next
        } while cursor != nil
        #expect(found == ids.sorted { $0.description < $1.description })
        #expect(try await metadata.devices(organization: "other", after: nil, limit: 2).devices.isEmpty)
        #expect(try await metadata.devices(organization: nil, after: nil, limit: 5).devices.count == 5)
    }

    @Test(.aboutFiles) func `No secret is on disk`() async throws {
        let device = try await metadata.enroll(token: first.enrollmentToken, request: request())
        _ = try await metadata.createPersonToken(name: "ann", role: .viewer, organization: "default")
        await metadata.close()
        let bytes = try Data(contentsOf: URL(fileURLWithPath: directory.path + "/collector.sqlite"))
        for secret in [first.enrollmentToken, first.administratorToken, device.credential] {
            #expect(bytes.range(of: Data(secret.utf8)) == nil)
            #expect(bytes.range(of: Data(secret.dropFirst(5).utf8)) == nil)
        }
    }

    @Test func `Long lists keep neither enrollment nor credential waiting`() async throws {
        let known = try await metadata.enroll(token: first.enrollmentToken, request: request())
        let (reading, ended) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
        let metadata = metadata
        try await withThrowingTaskGroup { group in
            // Lists that last until everything else is done; one reader is left.
            for _ in 0..<2 {
                group.addTask {
                    let isInTime = try await metadata.readers.read { _ in
                        reading.signal()
                        // Bounds a failing test only.
                        return ended.wait(timeout: .now() + 60) == .success
                    }
                    #expect(isInTime)
                }
            }
            await Task.detached { Self.wait(for: reading, 2) }.value
            try await metadata.checkEnrollmentToken(first.enrollmentToken)
            let device = try await metadata.enroll(token: first.enrollmentToken, request: request())
            for credential in [known.credential, device.credential] {
                guard case .device = try await metadata.authenticateDevice(credential: credential) else {
                    Issue.record("a credential is not known")
                    continue
                }
            }
            #expect(try await metadata.authenticatePerson(token: first.administratorToken) != nil)
            for _ in 0..<2 { ended.signal() }
            try await group.waitForAll()
        }
    }

    private static func wait(for semaphore: DispatchSemaphore, _ count: Int) {
        for _ in 0..<count { semaphore.wait() }
    }

    @Test func `A list shows every change that has returned`() async throws {
        func names() async throws -> [String] {
            try await metadata.devices(DeviceQuery(), after: nil, limit: 10).devices.map(\.name).sorted()
        }
        #expect(try await names().isEmpty)
        let device = try await metadata.enroll(token: first.enrollmentToken, request: request(name: "one"))
        #expect(try await names() == ["one"])
        _ = try await metadata.enroll(token: first.enrollmentToken, request: request(name: "two"))
        #expect(try await names() == ["one", "two"])
        let row = try #require(try await metadata.device(device.deviceID, organization: nil))
        try await metadata.deleteDevice(
            row.id, enrollment: row.enrollmentID, organization: nil, by: .commandLine)
        #expect(try await names() == ["two"])
    }
}
