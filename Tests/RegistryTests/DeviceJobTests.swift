import CollectorAPI
import Foundation
import RegistryTestKit
import SQLite
import StoreTestKit
import TestKit
import Testing
import WireModel

@testable import RecordStore
@testable import Registry

@Suite("Jobs over devices", .eachRegistry) struct DeviceJobTests {
    private let directory: TemporaryDirectory
    private let clock = ManualStoreClock()
    private let metadata: MetadataService
    private let token: String
    private let actor = AuditActor(name: "ann", token: "t1", role: .administrator)

    init() throws {
        directory = try TemporaryDirectory()
        let (metadata, created) = try TestRegistry.open(
            directory: directory.path, clock: clock, logger: quietLogger)
        self.metadata = metadata
        token = try #require(created).enrollmentToken
    }

    private func devices(_ count: Int, previous: EnrollResult? = nil) async throws -> [EnrollResult] {
        var devices: [EnrollResult] = []
        for number in 0..<count {
            var request = WireEnrollRequest()
            request.deviceName = "kiosk \(number)"
            if let previous {
                (request.deviceID, request.previousCredential) = (previous.deviceID.data, previous.credential)
            }
            devices.append(try await metadata.enroll(token: token, request: request))
        }
        return devices
    }

    /// More devices than a token is for, as rows.
    private func insertDevices(_ count: Int) throws {
        let connection = try TestRegistry.session(directory: directory.path)
        try connection.transaction { () throws(StoreError) in
            for number in 1...count {
                try connection.run(
                    """
                    INSERT INTO device (id, organization, name, os_name, os_distribution, os_version, os_kernel, \
                    os_architecture,
                    agent_version, application, machine_hash, credential_hash, created, enrolled, test, enrollment_id)
                    VALUES (?, 'default', 'kiosk', 'linux', 'debian', '12', '6', 'x86_64', '1.0.0', '', 'm', ?, 6, 7, \
                    0, ?)
                    """, DeviceID(high: 1, low: UInt64(number)).data, Data("\(number)".utf8), Data(count: 16))
            }
        }
    }

    private static let beacon = WireCommand.OneOf_Action.sendBeacon(WireSendBeacon())

    private func sendBeacon(seconds: Int64 = 3600) -> DeviceJobAction {
        .command(Self.beacon, expires: clock.now() + seconds * 1_000_000)
    }

    private func begin(
        _ action: DeviceJobAction, _ devices: Set<DeviceID>? = nil, key: String? = nil, request: String = "r",
        organization: String? = nil
    ) async throws -> DeviceJobRow {
        let selection: DeviceSelection
        if let devices {
            selection = try await metadata.selection(of: devices, organization: nil)
        } else {
            selection = try await metadata.selection(DeviceQuery())
        }
        return try await metadata.begin(
            NewDeviceJob(
                action: action, selection: selection, organization: organization, filter: nil, actor: actor,
                idempotencyKey: key, request: Data(request.utf8))
        ).job
    }

    private static func explain(_ refusal: DeviceJobRefusal) -> Problem {
        Problem(status: 409, code: .conflict, title: "", detail: "\(refusal)")
    }

    /// Works a job off until it ends or waits.
    @discardableResult
    private static func finish(
        _ job: DeviceJobRow, _ metadata: MetadataService
    ) async throws -> MetadataService.DeviceJobStep {
        while true {
            let step = try await metadata.workOff(deviceJob: job.row, explaining: explain)
            if step != .goesOn { return step }
        }
    }

    private func results(_ job: DeviceJobRow, _ outcome: DeviceJobResult.Outcome? = nil) async throws
        -> [DeviceJobResult]
    {
        try await metadata.results(of: job, outcome: outcome, after: nil, limit: 1000).rows
    }

    private func commands(of device: EnrollResult) async throws -> [CommandRow] {
        try await metadata.commands(of: device.deviceID, below: nil, limit: 100).rows
    }

    // MARK: Exactly once

    @Test(.aboutFiles) func `Each device has the action once, wherever the collector is cut off`() async throws {
        let count = MetadataService.deviceJobBatch * 2 + 20
        let devices = try await devices(count)
        let job = try await begin(sendBeacon())
        var cuts = 0
        var step = MetadataService.DeviceJobStep.goesOn
        while step == .goesOn {
            // What is on disk at this moment is what a killed collector leaves.
            let copy = try directory.copy()
            let (restarted, _) = try TestRegistry.open(directory: copy.path, clock: clock, logger: quietLogger)
            #expect(try await restarted.runningDeviceJobs() == [job.row])
            try await Self.finish(job, restarted)
            let ended = try #require(try await restarted.deviceJob(job.id, organization: nil))
            #expect(ended.state == .done && ended.done == count && ended.refused == 0 && ended.remaining == 0)
            for device in devices {
                let issued = try await restarted.commands(of: device.deviceID, below: nil, limit: 100).rows
                #expect(issued.count == 1 && issued[0].issuer == "ann", "after \(cuts) steps")
            }
            let results = try await restarted.results(of: job, outcome: .done, after: nil, limit: 1000).rows
            #expect(results.count == count && Set(results.compactMap(\.command)).count == count)
            await restarted.close()
            cuts += 1
            step = try await metadata.workOff(deviceJob: job.row, explaining: Self.explain)
        }
        #expect(cuts == 3)
        #expect(try await metadata.runningDeviceJobs().isEmpty)
        for device in devices { #expect(try await commands(of: device).count == 1) }
        let open = try #require(try await metadata.device(devices[0].deviceID, organization: nil))
        #expect(metadata.openCommands(of: open, at: clock.now()).count == 1, "it is given with the next answer")
    }

    @Test(.aboutFiles) func `A job that was not written down whole is undone at the next start`() async throws {
        let devices = try await devices(3)
        let job = try await begin(.revoke(closingToken: false))
        await metadata.close()
        let connection = try CollectorDatabase.open(DataDirectory(path: directory.path))
        try connection.run("UPDATE device_job SET state = 0")
        try connection.close()
        let (restarted, _) = try TestRegistry.open(directory: directory.path, clock: clock, logger: quietLogger)
        #expect(try await restarted.runningDeviceJobs().isEmpty)
        #expect(try await restarted.deviceJob(job.id, organization: nil) == nil)
        #expect(try await restarted.results(of: job, outcome: nil, after: nil, limit: 10).rows.isEmpty)
        #expect(try await restarted.device(devices[0].deviceID, organization: nil)?.revoked == nil)
        await restarted.close()
    }

    @Test func `A job of many devices is written down in parts and read in pages`() async throws {
        try insertDevices(12_000)
        let job = try await begin(.reinstate)
        #expect(job.devices == 12_000 && job.state == .running)
        var (found, after): ([DeviceID], DeviceID?) = ([], nil)
        repeat {
            let page = try await metadata.results(of: job, outcome: .waiting, after: after, limit: 1000)
            found += page.rows.map(\.device)
            after = page.next
        } while after != nil
        #expect(found == (1...12_000).map { DeviceID(high: 1, low: $0) })
    }

    // MARK: What becomes of devices

    @Test func `The result of each device says why it was refused`() async throws {
        let devices = try await devices(4)
        try await metadata.unenroll(device: devices[0].deviceID)
        _ = try await metadata.revokeDevice(devices[1].deviceID, organization: nil, by: .commandLine)
        let job = try await begin(sendBeacon())
        try await metadata.deleteDevice(
            devices[2].deviceID, enrollment: devices[2].enrollmentID, organization: nil, by: .commandLine)
        let step = try await Self.finish(job, metadata)
        guard case .ended(let ended) = step else {
            Issue.record("\(step)")
            return
        }
        #expect(ended.done == 1 && ended.refused == 3 && ended.state == .done && ended.ended == clock.now())
        let refused = Dictionary(
            uniqueKeysWithValues: try await results(job, .refused).map { ($0.device, $0.detail ?? "") })
        #expect(refused[devices[0].deviceID]?.contains("deviceLeft") == true)
        #expect(refused[devices[1].deviceID]?.contains("deviceLeft") == true)
        #expect(refused[devices[2].deviceID]?.contains("unknownDevice") == true)
        let done = try #require(try await results(job, .done).first)
        #expect(done.device == devices[3].deviceID && done.name == "kiosk 3" && done.at == clock.now())
        #expect(done.command == (try await commands(of: devices[3]).first?.id))
        #expect(try await results(job, .waiting).isEmpty)
    }

    @Test func `Devices are revoked, reinstated and deleted as single ones are`() async throws {
        let devices = try await devices(3)
        func admitted(_ device: EnrollResult) async throws -> Bool {
            if case .device = try await metadata.authenticateDevice(credential: device.credential) {
                true
            } else {
                false
            }
        }
        for device in devices { #expect(try await admitted(device)) }
        try await Self.finish(try await begin(.revoke(closingToken: true)), metadata)
        for device in devices { #expect(try await !admitted(device)) }
        #expect(
            try await metadata.devices(DeviceQuery(), after: nil, limit: 10).devices.allSatisfy { $0.revoked != nil })
        await #expect(throws: EnrollError.tokenRevoked) { _ = try await self.devices(1) }
        try await Self.finish(try await begin(.reinstate), metadata)
        for device in devices { #expect(try await admitted(device)) }
        try await Self.finish(try await begin(.delete, [devices[0].deviceID, devices[1].deviceID]), metadata)
        for (device, isLeft) in zip(devices, [false, false, true]) { #expect(try await admitted(device) == isLeft) }
        #expect(
            try await metadata.devices(DeviceQuery(), after: nil, limit: 10).devices.map(\.id) == [devices[2].deviceID])
    }

    @Test func `Do not disturb is decided where the profile allows it`() async throws {
        let devices = try await devices(2)
        let refused = try await begin(.doNotDisturb(true))
        try await Self.finish(refused, metadata)
        #expect(try await results(refused, .refused).count == 2)
        var profile = WireProfile()
        profile.doNotDisturbAllowed = true
        _ = try await metadata.putProfile(
            profile, ProfileScope(organization: "default"), expected: nil, by: .commandLine)
        try await Self.finish(try await begin(.doNotDisturb(true)), metadata)
        for device in devices {
            let decided = try await metadata.device(device.deviceID, organization: nil)?.doNotDisturb
            #expect(decided?.isOn == true && decided?.person == "ann")
        }
    }

    @Test func `Destructive actions are not applied to a later enrollment`() async throws {
        var devices = try await devices(2)
        let wipe = try await begin(
            .command(.enterpriseWipe(WireEnterpriseWipe()), expires: clock.now() + 60_000_000))
        let (deletion, beacon) = (try await begin(.delete), try await begin(sendBeacon()))
        clock.advance(seconds: 1)
        devices[0] = try #require(try await self.devices(1, previous: devices[0]).first)
        for job in [wipe, beacon, deletion] { try await Self.finish(job, metadata) }
        for job in [wipe, deletion] {
            let refused = try await results(job, .refused)
            #expect(refused.map(\.device) == [devices[0].deviceID] && refused[0].detail == "enrolledAgain")
        }
        #expect(try await results(beacon, .done).count == 2)
        #expect(try await metadata.device(devices[0].deviceID, organization: nil) != nil)
        #expect(try await metadata.device(devices[1].deviceID, organization: nil) == nil)
    }

    @Test func `A device of another organization is never reached`() async throws {
        let devices = try await devices(1)
        try await metadata.createOrganization("west", by: .commandLine)
        let job = try await begin(.delete, [devices[0].deviceID], organization: "west")
        try await Self.finish(job, metadata)
        #expect(try await results(job, .refused).count == 1)
        #expect(try await metadata.device(devices[0].deviceID, organization: nil) != nil)
        let named = try await metadata.selection(of: [devices[0].deviceID], organization: "west")
        #expect(named.devices.isEmpty)
    }

    // MARK: Room for commands

    @Test func `A job waits for room and refuses what it cannot issue in time`() async throws {
        let devices = try await devices(3)
        var other = WireCommand()
        (other.id, other.expires) = (Data([1]), clock.now() + 1_000_000_000)
        for _ in 0..<OpenCommands.limitOfJobs - 1 {
            _ = metadata.openCommands.add(other, of: .random(), organization: "default")
        }
        let job = try await begin(sendBeacon(seconds: 60))
        #expect(try await Self.finish(job, metadata) == .waits)
        #expect(try await results(job, .done).count == 1, "there was room for one")
        #expect(try await metadata.runningDeviceJobs() == [job.row])
        let wipe = try await begin(.command(.wipe(WireWipe()), expires: clock.now() + 60_000_000))
        guard case .ended = try await Self.finish(wipe, metadata) else {
            Issue.record("other commands make a wipe wait")
            return
        }
        #expect(try await results(wipe, .done).count == 3)
        _ = try await metadata.issue(
            NewCommand(
                device: devices[2].deviceID, action: Self.beacon, expires: clock.now() + 1_000_000, issuer: actor,
                idempotencyKey: nil, request: Data()), organization: nil)
        clock.advance(seconds: 61)
        guard case .ended(let ended) = try await Self.finish(job, metadata) else {
            Issue.record("it waits for ever")
            return
        }
        #expect(ended.done == 1 && ended.refused == 2)
        #expect(try await results(job, .refused).allSatisfy { $0.detail == "expired" })
    }

    // MARK: The job itself

    @Test func `One key begins one job, and confirmations name action and devices`() async throws {
        let devices = try await devices(2)
        let job = try await begin(.reinstate, key: "k")
        #expect(try await begin(.reinstate, key: "k").id == job.id)
        await #expect(throws: DeviceJobError.keyUsed) { _ = try await begin(.reinstate, key: "k", request: "other") }
        let all = try await metadata.selection(DeviceQuery())
        let one = try await metadata.selection(of: [devices[0].deviceID], organization: nil)
        let actions: [DeviceJobAction] = [
            .reinstate, .delete, .revoke(closingToken: false), .revoke(closingToken: true), .doNotDisturb(true),
            .doNotDisturb(false), sendBeacon(),
            .command(.wipe(WireWipe()), expires: 0),
        ]
        let confirmations = Set(actions.flatMap { [all.confirmation(of: $0), one.confirmation(of: $0)] })
        #expect(confirmations.count == actions.count * 2)
        #expect(all.confirmation(of: .delete).hasPrefix("2-"))
        #expect(all.confirmation(of: sendBeacon(seconds: 1)) == all.confirmation(of: sendBeacon(seconds: 2)))
        clock.advance(seconds: 1)
        _ = try await self.devices(1, previous: devices[0])
        let later = try await metadata.selection(DeviceQuery())
        #expect(later.devices.map(\.id) == all.devices.map(\.id), "the same devices")
        #expect(later.confirmation(of: .delete) != all.confirmation(of: .delete), "in another enrollment")
    }

    @Test func `A cancelled job comes to no further device`() async throws {
        let devices = try await devices(MetadataService.deviceJobBatch + 5)
        let job = try await begin(sendBeacon())
        #expect(try await metadata.workOff(deviceJob: job.row, explaining: Self.explain) == .goesOn)
        let bob = AuditActor(name: "bob")
        let cancelled = try #require(try await metadata.cancelDeviceJob(job.id, organization: nil, by: bob))
        #expect(
            cancelled.state == .cancelled && cancelled.remaining == 5 && cancelled.endReason == "cancelled by bob")
        #expect(try await metadata.cancelDeviceJob(job.id, organization: nil, by: actor) == cancelled, "once")
        #expect(try await metadata.cancelDeviceJob(job.id, organization: "other", by: actor) == nil)
        #expect(try await Self.finish(job, metadata) == .ended(cancelled))
        var issued = 0
        for device in devices { issued += try await commands(of: device).count }
        #expect(issued == MetadataService.deviceJobBatch)
        #expect(try await metadata.runningDeviceJobs().isEmpty)
    }

    @Test func `An organization has a bounded number of unfinished jobs`() async throws {
        _ = try await devices(1)
        for _ in 0..<MetadataService.unfinishedDeviceJobs { _ = try await begin(.reinstate, organization: "default") }
        await #expect(throws: DeviceJobError.tooMany(limit: MetadataService.unfinishedDeviceJobs)) {
            _ = try await begin(.reinstate, organization: "default")
        }
        let own = try await begin(.reinstate)
        let page = try await metadata.deviceJobs(organization: nil, below: nil, limit: 2)
        #expect(page.rows.first?.id == own.id && page.next == page.rows.last?.row)
        let theirs = try await metadata.deviceJobs(organization: "default", below: nil, limit: 100).rows
        #expect(theirs.count == MetadataService.unfinishedDeviceJobs)
        #expect(try await metadata.deviceJob(own.id, organization: "default") == nil)
    }

    @Test func `The trail has the job and each device`() async throws {
        _ = try await devices(2)
        let job = try await begin(.revoke(closingToken: false), organization: "default")
        try await Self.finish(job, metadata)
        let trail = try await metadata.audit(AuditQuery(actor: "ann"), below: nil, limit: 10).rows.map(\.entry)
        #expect(trail.map(\.action) == [.deviceJob, .deviceRevoke, .deviceRevoke, .deviceJob])
        #expect(trail.allSatisfy { $0.organization == "default" && $0.actor.token == "t1" })
        #expect(trail.first?.outcome == .done && trail.last?.outcome == .begun)
        #expect(trail.first?.detail["done"] == "2" && trail.last?.detail["devices"] == "2")
        #expect(trail.map(\.actor.job) == [nil, job.id.description, job.id.description, nil])
    }

    @Test func `Entries of jobs displace nothing else`() throws {
        let connection = try TestRegistry.session(directory: directory.path)
        let table = AuditTable(connection: connection)
        func entry(_ job: String?) -> AuditEntry {
            AuditEntry(
                .deviceRevoke, by: AuditActor(name: "ann", job: job), organization: "default", subject: "d")
        }
        func count(_ job: String) throws -> Int? {
            try connection.first("SELECT count(*) FROM audit WHERE action = 'device-revoke' AND job \(job)") {
                $0.int(0)
            }
        }
        try connection.transaction { () throws(StoreError) in
            for _ in 0..<100 { try table.append(entry(nil), at: 1) }
            for number in 0..<(AuditTable.kept + 200) { try table.append(entry("j"), at: Int64(number)) }
        }
        #expect(try count("IS NULL") == 100)
        let ofJobs = try #require(try count("IS NOT NULL"))
        #expect((AuditTable.kept...AuditTable.kept + 64).contains(ofJobs), "\(ofJobs)")
    }

    // MARK: Keeping

    @Test func `Ended jobs are kept within their limits`() async throws {
        let old = ManualStoreClock.start - MetadataService.keptDeviceJobMicroseconds
        let connection = try TestRegistry.session(directory: directory.path)
        func insert(_ count: Int, organization: String, devices: Int = 1, ended: Int64?) throws(StoreError) {
            for _ in 0..<count {
                let job = try connection.first(
                    """
                    INSERT INTO device_job (id, organization, action, flag, actor, created, ended, state, devices, \
                    request_hash)
                    VALUES (?1, ?2, 'delete', 0, 'ann', 0, ?3, CASE WHEN ?3 IS NULL THEN 1 ELSE 2 END, ?4, ?5) \
                    RETURNING row
                    """, DeviceJobID.random().data, organization, ended, devices, Data()
                ) { $0.int64(0) }
                try connection.run(
                    "INSERT INTO device_job_device (job, device, enrolled) VALUES (?, ?, 0)", job, Data([1]))
            }
        }
        try connection.transaction { () throws(StoreError) in
            // More than are kept; too old, but for the newest twenty; too many devices, but for the newest.
            try insert(MetadataService.keptDeviceJobs + 7, organization: "many", ended: ManualStoreClock.start)
            try insert(30, organization: "old", ended: old)
            try insert(
                2, organization: "large", devices: MetadataService.keptDevicesOfJobs + 1, ended: ManualStoreClock.start)
            try insert(3, organization: "unfinished", devices: 10_000_000, ended: nil)
        }
        while try await metadata.removeOldDeviceJobs() {}
        func count(_ organization: String) throws -> Int? {
            try connection.first("SELECT count(*) FROM device_job WHERE organization = ?", organization) { $0.int(0) }
        }
        #expect(try count("many") == MetadataService.keptDeviceJobs)
        #expect(try count("old") == MetadataService.keptDeviceJobsOfAnyAge)
        #expect(try count("large") == 1)
        #expect(try count("unfinished") == 3)
        let orphans = try connection.first(
            "SELECT count(*) FROM device_job_device WHERE job NOT IN (SELECT row FROM device_job)"
        ) { $0.int(0) }
        #expect(orphans == 0)
    }
}
