import CollectorAPI
import Foundation
import RegistryTestKit
import StoreTestKit
import TestKit
import Testing
import WireModel

@testable import RecordStore
@testable import Registry

/// What the collector does about compromised devices and broken rules.
@Suite(.eachRegistry) struct ConsequenceTests {
    private let parent: TemporaryDirectory
    private let clock = ManualStoreClock()
    private let metadata: MetadataService
    private let token: String

    init() throws {
        parent = try TemporaryDirectory()
        let (metadata, created) = try TestRegistry.open(
            directory: parent.path + "/data", clock: clock, logger: quietLogger)
        self.metadata = metadata
        token = try #require(created).enrollmentToken
    }

    private func profile(_ change: (inout WireProfile) -> Void) async throws {
        var profile = WireProfile()
        change(&profile)
        _ = try await metadata.putProfile(
            profile, ProfileScope(organization: "default"), expected: nil, by: .commandLine)
    }

    private func wipesWhatIsCompromised() async throws {
        try await profile { $0.detection.consequence = "wipe" }
    }

    private func enroll(
        _ former: EnrollResult? = nil, test: Bool = false, token: String? = nil
    ) async throws -> EnrollResult {
        var request = WireEnrollRequest()
        request.test = test
        if let former { (request.deviceID, request.previousCredential) = (former.deviceID.data, former.credential) }
        return try await metadata.enroll(token: token ?? self.token, request: request)
    }

    private func beacon(_ verdict: WireVerdict) -> WireBeacon {
        var finding = WireFinding()
        (finding.detector, finding.verdict) = ("tracer-attached", verdict)
        var beacon = WireBeacon()
        beacon.profileRevision = 2
        beacon.compromised = verdict
        beacon.findings = [finding]
        return beacon
    }

    /// Reports one device, a second later.
    /// - Parameter madeBefore: seconds between the beacon and its arrival.
    private func report(
        _ device: DeviceID, _ beacon: WireBeacon, madeBefore: Int64 = 0, to other: MetadataService? = nil
    ) async throws {
        clock.advance(seconds: 1)
        let made = RecordStamp(wallTime: clock.now() - madeBefore * 1_000_000, bootID: nil, timeSinceBoot: 0)
        let sight = DeviceObservation(at: clock.now(), beacon: beacon, made: made)
        try await (other ?? metadata).derive([device: sight], resetting: [])
    }

    private func wipes(_ device: DeviceID, of other: MetadataService? = nil) async throws -> [CommandRow] {
        try await (other ?? metadata).commands(of: device, below: nil, limit: 100).rows.filter {
            if case .wipe = $0.command.action { true } else { false }
        }
    }

    private func notices(_ other: MetadataService? = nil) async throws -> [NoticeRow] {
        try await NoticeService(metadata: other ?? metadata).page(organization: nil, below: nil, limit: 1000).rows
    }

    @Test func `A notice begins with the verdict and ends with its cause`() async throws {
        let device = try await enroll().deviceID
        try await report(device, beacon(.no))
        #expect(try await notices().isEmpty)
        for _ in 1...3 { try await report(device, beacon(.yes)) }
        let notice = try #require(try await notices().first)
        #expect(notice.code == .deviceCompromised && notice.subject == device.description && notice.ended == nil)
        #expect(notice.count == 1 && notice.detail.contains("tracer-attached") && notice.organization == "default")
        try await report(device, beacon(.unknown))
        #expect(try await notices().first?.ended == nil, "nobody could look")
        try await report(device, beacon(.no))
        #expect(try await notices().map(\.ended) == [clock.now()])
        #expect(try await wipes(device).isEmpty, "the profile does not ask for one")
    }

    @Test func `A wipe is issued once per incident`() async throws {
        try await wipesWhatIsCompromised()
        let device = try await enroll().deviceID
        for _ in 1...3 { try await report(device, beacon(.yes)) }
        let wipe = try #require(try await wipes(device).first)
        #expect(try await wipes(device).count == 1 && wipe.issuer == "consequence in the profile")
        let row = try #require(try await metadata.device(device, organization: nil))
        #expect(metadata.openCommands(of: row, at: clock.now()).map(\.id) == [wipe.command.id])
        let audited = try await metadata.audit(AuditQuery(action: .commandIssue), below: nil, limit: 10).rows
        #expect(audited.map(\.entry.detail["because"]) == ["device-compromised: tracer-attached"])
        let id = try #require(wipe.id)
        #expect(try await notices().first?.detail.contains("\(id)") == true)
        clock.advance(seconds: 3600)
        try await report(device, beacon(.no))
        try await report(device, beacon(.yes))
        #expect(try await wipes(device).count == 2, "another incident")
    }

    @Test func `Verdicts that alternate make one wipe and one notice in an hour`() async throws {
        try await wipesWhatIsCompromised()
        let device = try await enroll().deviceID
        for _ in 1...20 { for verdict in [WireVerdict.yes, .no] { try await report(device, beacon(verdict)) } }
        try await report(device, beacon(.yes))
        #expect(try await wipes(device).count == 1)
        let reported = try await notices()
        #expect(reported.map(\.count) == [21] && reported.map(\.ended) == [nil])
        #expect(reported.first?.detail.contains("none was issued yet") == true)
        clock.advance(seconds: 3600)
        try await report(device, beacon(.yes))
        #expect(try await wipes(device).count == 2, "what lasts is wiped once the hour is over")
        #expect(try await notices().count == 1)
    }

    @Test func `Commands that wait do not stand in the way of a wipe`() async throws {
        try await wipesWhatIsCompromised()
        let device = try await enroll().deviceID
        for _ in 0..<CommandShare.others.limitPerDevice {
            _ = try await issue(.sendBeacon(WireSendBeacon()), to: device)
        }
        try await report(device, beacon(.yes))
        let wipe = try #require(try await wipes(device).first)
        let row = try #require(try await metadata.device(device, organization: nil))
        #expect(metadata.openCommands(of: row, at: clock.now()).map(\.id) == [wipe.command.id])
    }

    @Test func `The notice says that a wipe found no room, and it comes with a later beacon`() async throws {
        try await wipesWhatIsCompromised()
        let device = try await enroll().deviceID
        var waiting: [CommandRow] = []
        for _ in 0..<CommandShare.wipes.limitPerDevice {
            waiting.append(try await issue(.wipe(WireWipe()), to: device))
        }
        await #expect(throws: IssueError.tooMany(limit: waiting.count)) {
            try await issue(.wipe(WireWipe()), to: device)
        }
        try await report(device, beacon(.yes))
        #expect(try await wipes(device).count == waiting.count)
        #expect(try await notices().first?.detail.contains("none was issued yet") == true)
        let row = try #require(try await metadata.device(device, organization: nil))
        let first = try #require(waiting[0].id)
        #expect(try await metadata.endCommand(first, of: row, by: .commandLine)?.status.state == .expired)
        try await report(device, beacon(.yes))
        let issued = try #require(try await wipes(device).first { $0.issuer == "consequence in the profile" }?.id)
        #expect(try await notices().first?.detail.contains("\(issued)") == true)
    }

    @discardableResult
    private func issue(_ action: WireCommand.OneOf_Action, to device: DeviceID) async throws -> CommandRow {
        try await metadata.issue(
            NewCommand(
                device: device, action: action, expires: clock.now() + 3600 * 1_000_000, issuer: .commandLine,
                idempotencyKey: nil, request: Data()), organization: nil
        ).row
    }

    @Test func `What was found by a former revision wipes nothing`() async throws {
        try await profile { $0.detection.consequence = "report" }
        let device = try await enroll().deviceID
        var found = beacon(.yes)
        try await report(device, found)
        try await wipesWhatIsCompromised()
        try await report(device, found)
        #expect(try await wipes(device).isEmpty, "detection may have been relaxed with the same edit")
        found.profileRevision = 3
        try await report(device, found)
        #expect(try await wipes(device).count == 1)
    }

    @Test func `Two beacons at once issue one wipe`() async throws {
        try await wipesWhatIsCompromised()
        let device = try await enroll().deviceID
        clock.advance(seconds: 1)
        let sight = DeviceObservation(at: clock.now(), beacon: beacon(.yes))
        let metadata = metadata
        try await withThrowingTaskGroup { group in
            for _ in 0..<8 { group.addTask { try await metadata.derive([device: sight], resetting: []) } }
            try await group.waitForAll()
        }
        #expect(try await wipes(device).count == 1)
    }

    @Test func `A restart issues no second wipe`() async throws {
        try await wipesWhatIsCompromised()
        let device = try await enroll().deviceID
        try await report(device, beacon(.yes))
        await metadata.close()
        let (again, _) = try TestRegistry.open(directory: parent.path + "/data", clock: clock, logger: quietLogger)
        try await report(device, beacon(.yes), to: again)
        #expect(try await wipes(device, of: again).count == 1)
        await again.close()
    }

    @Test func `What a wipe without an answer was issued for lasts, although it expired`() async throws {
        try await wipesWhatIsCompromised()
        let device = try await enroll().deviceID
        try await report(device, beacon(.yes))
        clock.advance(days: 31)
        try await report(device, beacon(.yes))
        #expect(try await wipes(device).count == 1)
    }

    @Test func `A beacon made before a known one changes nothing`() async throws {
        try await wipesWhatIsCompromised()
        let device = try await enroll().deviceID
        try await report(device, beacon(.yes))
        clock.advance(seconds: 100)
        try await report(device, beacon(.no))
        try await report(device, beacon(.yes), madeBefore: 50)
        #expect(try await wipes(device).count == 1)
        #expect(try await notices().map { $0.ended != nil } == [true])
        let row = try #require(try await metadata.device(device, organization: nil))
        #expect(row.verdicts?.beacon.compromised == .no, "the verdict made last is shown")
        try await report(device, beacon(.yes))
        try await report(device, beacon(.no), madeBefore: 50)
        #expect(try await notices().first?.ended == nil, "and a late good one ends nothing")
    }

    @Test func `Several beacons that are written together are ordered by when they were made`() async throws {
        let device = try await enroll().deviceID
        for (verdict, before) in [(WireVerdict.yes, Int64(90)), (.no, 10), (.yes, 50)] {
            clock.advance(seconds: 1)
            let made = RecordStamp(wallTime: clock.now() - before * 1_000_000, bootID: nil, timeSinceBoot: 0)
            metadata.seen(device, DeviceObservation(at: clock.now(), beacon: beacon(verdict), made: made))
        }
        let row = try #require(try await metadata.device(device, organization: nil))
        #expect(row.verdicts?.beacon.compromised == .no)
    }

    @Test func `A clock that was ahead does not silence a device`() async throws {
        let device = try await enroll().deviceID
        try await report(device, beacon(.no), madeBefore: -86_400)
        try await report(device, beacon(.yes))
        #expect(try await notices().count == 1)
    }

    @Test func `A device that enrolls again is a new incident`() async throws {
        try await wipesWhatIsCompromised()
        let device = try await enroll()
        try await report(device.deviceID, beacon(.yes))
        let late = clock.now()
        clock.advance(seconds: 10)
        let again = try await enroll(device)
        #expect(again.deviceID == device.deviceID)
        #expect(try await notices().filter { $0.code == .deviceCompromised }.map { $0.ended != nil } == [true])
        // What was heard before it enrolled again, and is written after it.
        let former = DeviceObservation(at: late + 1, beacon: beacon(.yes))
        try await metadata.derive([device.deviceID: former], resetting: [])
        #expect(try await wipes(device.deviceID).count == 1)
        try await report(device.deviceID, beacon(.yes))
        let issued = try await wipes(device.deviceID)
        #expect(Set(issued.map(\.command.enrollmentID)) == [device.enrollmentID, again.enrollmentID])
    }

    @Test func `A reinstated device is not wiped again`() async throws {
        try await wipesWhatIsCompromised()
        let device = try await enroll().deviceID
        try await report(device, beacon(.yes))
        _ = try await metadata.revokeDevice(device, organization: nil, by: .commandLine)
        #expect(try await notices().map { $0.ended != nil } == [true])
        try await report(device, beacon(.yes))
        #expect(try await notices().map { $0.ended != nil } == [true], "it is not heard while it is revoked")
        _ = try await metadata.reinstateDevice(device, organization: nil, by: .commandLine)
        try await report(device, beacon(.yes))
        #expect(try await wipes(device).count == 1)
        #expect(try await notices().map(\.ended) == [nil], "the notice goes on")
    }

    @Test func `A device that is deleted or leaves has no notice`() async throws {
        let (one, two) = (try await enroll(), try await enroll())
        for device in [one, two] { try await report(device.deviceID, beacon(.yes)) }
        try await metadata.unenroll(device: one.deviceID)
        try await metadata.deleteDevice(
            two.deviceID, enrollment: two.enrollmentID, organization: nil, by: .commandLine)
        #expect(try await notices().map { $0.ended != nil } == [true, true])
    }

    @Test func `A test device is wiped without a notice`() async throws {
        try await wipesWhatIsCompromised()
        let device = try await enroll(test: true).deviceID
        try await report(device, beacon(.yes))
        #expect(try await wipes(device).count == 1)
        #expect(try await notices().isEmpty)
    }

    /// What the collector lost is its own failing.
    @Test func `Of a test device's incidents, only lost records are reported`() async throws {
        let (real, test) = (try await enroll().deviceID, try await enroll(test: true).deviceID)
        let service = NoticeService(metadata: metadata)
        let kinds: [DeviceIncident.Kind] = [.recordsLost, .damagedOnDevice, .identityConflict]
        for device in [real, test] {
            for kind in kinds { service.record(DeviceIncident(kind, device: device, stream: .event)) }
        }
        await service.flush()
        let reported = try await notices()
        #expect(Set(reported.filter { $0.subject == real.description }.map(\.code)).count == 3)
        #expect(reported.filter { $0.subject == test.description }.map(\.code) == [.recordsLost])
        let rows = try await metadata.organizations().filter { $0.name == "default" }
        #expect(rows.map(\.devices) == [1] && rows.map(\.testDevices) == [1])
    }

    @Test func `Before its first profile, a device decides nothing`() async throws {
        let device = try await enroll().deviceID
        try await report(device, beacon(.yes))
        var early = beacon(.no)
        early.profileRevision = 0
        try await report(device, early)
        #expect(try await notices().map(\.ended) == [nil])
    }

    @Test func `Deriving everything again decides nothing`() async throws {
        try await wipesWhatIsCompromised()
        let device = try await enroll().deviceID
        clock.advance(seconds: 1)
        try await metadata.derive(
            [device: DeviceObservation(at: clock.now(), beacon: beacon(.yes))], resetting: [device], isNews: false)
        #expect(try await wipes(device).isEmpty)
        #expect(try await notices().isEmpty)
    }

    // MARK: Compliance

    private func broken(_ rule: String, expected: String, action: String = "") -> WireBeacon {
        var result = WireRuleResult()
        (result.rule, result.expected, result.state, result.action) = (rule, expected, .nonCompliant, action)
        var beacon = WireBeacon()
        beacon.profileRevision = 1
        beacon.deviceCompliance = .nonCompliant
        beacon.rules = [result]
        return beacon
    }

    private func rule(consequence: String, action: String = "") -> WireComplianceRule {
        var rule = WireComplianceRule()
        (rule.id, rule.subject, rule.operator, rule.version) = ("os", "operating-system-version", ">=", "12")
        (rule.consequence, rule.action) = (consequence, action)
        return rule
    }

    @Test(arguments: [
        ("wipe", "", ">= 12", 1), ("wipe", "", ">= 11", 0), ("block", "", ">= 12", 0), ("report", "wipe", ">= 12", 0),
        ("", "wipe", ">= 12", 0),
    ])
    func `A broken rule wipes only if the profile has that very rule`(
        consequence: String, action: String, expected: String, wipes count: Int
    ) async throws {
        try await profile { $0.compliance = [rule(consequence: consequence, action: action)] }
        let device = try await enroll().deviceID
        try await report(device, broken("os", expected: expected, action: action))
        #expect(try await wipes(device).count == count)
        #expect(try await notices().map(\.code) == [.deviceNonCompliant])
    }

    @Test func `A rule on the location wipes only for the areas that the profile has now`() async throws {
        try await profile {
            var rule = rule(consequence: "wipe")
            (rule.subject, rule.operator, rule.version, rule.geofence) = ("location", "inside", "", "yard")
            $0.compliance = [rule]
            var fence = WireGeofence()
            (fence.id, fence.radiusMeters) = ("yard", 100)
            $0.geofences = [fence]
        }
        let device = try await enroll().deviceID
        // Judged by the profile's first revision, whose geofence may have been another area.
        try await report(device, broken("os", expected: "inside yard"))
        #expect(try await wipes(device).isEmpty)
        var beacon = broken("os", expected: "inside yard")
        beacon.profileRevision = 2
        try await report(device, beacon)
        #expect(try await wipes(device).count == 1)
    }

    @Test func `A wipe that the profile asks for later is issued then`() async throws {
        let device = try await enroll().deviceID
        try await report(device, broken("os", expected: ">= 12"))
        #expect(try await wipes(device).isEmpty)
        try await profile { $0.compliance = [rule(consequence: "wipe")] }
        for _ in 1...2 { try await report(device, broken("os", expected: ">= 12")) }
        #expect(try await wipes(device).count == 1)
    }

    @Test func `A rule that is withdrawn ends the incident`() async throws {
        let device = try await enroll().deviceID
        try await report(device, broken("os", expected: ">= 12"))
        var beacon = WireBeacon()
        beacon.profileRevision = 2
        try await report(device, beacon)
        #expect(try await notices().map { $0.ended != nil } == [true])
    }

    @Test func `Both incidents of one beacon share a wipe`() async throws {
        try await profile {
            $0.compliance = [rule(consequence: "wipe")]
            $0.detection.consequence = "wipe"
        }
        let device = try await enroll().deviceID
        var both = broken("os", expected: ">= 12")
        (both.compromised, both.findings) = (.yes, beacon(.yes).findings)
        for _ in 1...2 { try await report(device, both) }
        #expect(try await wipes(device).count == 1)
        #expect(try await notices().count == 2)
    }

    @Test func `A fleet that breaks a rule together is one notice more`() async throws {
        var fleet: [DeviceID] = []
        let unlimited = try await metadata.createEnrollmentToken(organization: "default", maximumUses: nil).token
        for _ in 0..<MetadataService.ownNotices + 5 { fleet.append(try await enroll(token: unlimited).deviceID) }
        for device in fleet { try await report(device, broken("os", expected: ">= 12")) }
        let reported = try await notices()
        #expect(reported.count == MetadataService.ownNotices + 1 && reported.count { $0.subject == "devices" } == 1)
        var beacon = WireBeacon()
        beacon.profileRevision = 2
        for device in fleet { try await report(device, beacon) }
        #expect(try await notices().allSatisfy { $0.ended != nil })
    }
}
