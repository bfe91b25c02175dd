import DeviceTestKit
import Foundation
import Logging
import TestKit
import Testing
import WireModel

@testable import DataSampler
@testable import Privacy
@testable import RecordQueue

@Suite struct BeaconComposerTests {
    private static func inputs() async throws -> BeaconInputs {
        var inputs = BeaconInputs(
            trigger: .command, sequence: 7, stamp: RecordStamp(wallTime: 5_000_000_000, bootID: nil, timeSinceBoot: 1))
        inputs.nextBeaconSeconds = 900
        inputs.application = "com.example.app"
        inputs.applicationVersion = "2.1"
        inputs.facts.uptimeSeconds = 11
        var identity = WireSystemIdentity()
        identity.hostName = "kiosk-1"
        identity.model = "Board"
        identity.operatingSystem.name = "linux"
        identity.operatingSystem.version = "12"
        inputs.facts.identity = identity
        var power = WirePower()
        power.batteryLevel = 5_000
        inputs.facts.power = power
        inputs.encryption = WireEncryptionStatus()
        inputs.encryption?.provider = "file"
        var cost = WireSelfCost()
        cost.uptimeMicroseconds = 1_000_000_000
        inputs.facts.cost = cost
        inputs.standing = .enrolled(organization: "default")
        inputs.profileFindings = ["certificate-pins-refused"]
        inputs.compromise = CompromiseReport(findings: [
            .init(detector: "tracer-attached", finding: CompromiseFinding(.yes, evidence: "process 7 traces this one"))
        ])
        inputs.compliance.device = .nonCompliant
        inputs.compliance.application = .compliant
        inputs.compliance.results = [WireRuleResult()]
        inputs.user = DeviceUser(email: "a@example.org", fullName: "A B", displayName: "a")
        inputs.pushToken = .token("token")
        inputs.doNotDisturb = false
        var location = WireLocation()
        location.latitude = 1
        inputs.location = location
        inputs.conditions.network = .wifi
        inputs.conditions.metered = true
        inputs.conditions.roaming = false
        inputs.profileRevision = 4
        inputs.consent = .granted
        var slowdown = WireSlowdown()
        slowdown.factor = 200
        inputs.slowdown = slowdown
        inputs.modules = ["system"]
        inputs.queue = try await queue()
        return inputs
    }

    /// A new queue's, with figures of its events.
    private static func queue() async throws -> QueueStatus {
        let directory = try TemporaryDirectory()
        let queue = try RecordQueue.open(
            directory: directory.path, configuration: RecordQueue.Configuration(), clock: ManualRecordClock(),
            logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
        var status = try await queue.status()
        await queue.close()
        var mark = StreamMark(number: 40, link: .zero, stored: 36)
        mark.rejected = [.policy: 1, .recordTooLarge: 2]
        var stream = try #require(status.streams[.event])
        stream.waiting = 3
        stream.waitingBytes = 300
        stream.oldestAgeSeconds = 12.9
        stream.mark = mark
        stream.dropped = [.consent: 2, .byteCap: 5, .ageCap: 0]
        status.streams = [.event: stream]
        return status
    }

    @Test func `Every field of the wire's beacon is reported where it is known`() async throws {
        let beacon = try await BeaconComposer.beacon(Self.inputs())
        #expect(beacon.trigger == .command && beacon.beaconSequence == 7 && beacon.nextBeaconSeconds == 900)
        #expect(beacon.deviceName == "kiosk-1" && beacon.model == "Board" && beacon.operatingSystem.version == "12")
        #expect(beacon.organizationGroup == "default" && beacon.enrollment == .enrolled && beacon.managed == .yes)
        #expect(
            beacon.application == "com.example.app" && beacon.applicationVersion == "2.1"
                && beacon.libraryVersion == DataSampler.version)
        #expect(beacon.userEmail == "a@example.org" && beacon.userFullName == "A B" && beacon.userDisplayName == "a")
        #expect(
            beacon.deviceCompliance == .nonCompliant && beacon.applicationCompliance == .compliant
                && beacon.rules.count == 1)
        #expect(beacon.compromised == .yes && beacon.findings.map(\.detector) == ["tracer-attached"])
        #expect(beacon.findings.first?.evidence == "process 7 traces this one")
        #expect(beacon.pushToken.token == "token" && beacon.doNotDisturb == .no && beacon.location.latitude == 1)
        #expect(
            beacon.power.batteryLevel == 5_000 && beacon.network == .wifi && beacon.metered && !beacon.roaming
                && beacon.hasRoaming)
        #expect(beacon.profileRevision == 4 && beacon.profileFindings == ["certificate-pins-refused"])
        #expect(beacon.encryption.provider == "file" && !beacon.encryption.locked)
        #expect(beacon.consent == .granted && beacon.slowdown.factor == 200)
        #expect(beacon.hasTelemetryDisabled && !beacon.telemetryDisabled && beacon.modules == ["system"])
        #expect(beacon.uptimeSeconds == 11 && beacon.processStartTime == 4_000_000_000 && beacon.hasSelf_p)
        let stream = try #require(beacon.queue.first)
        #expect(
            stream.stream == .event && stream.waiting == 3 && stream.waitingBytes == 300
                && stream.oldestAgeSeconds == 12)
        #expect(
            stream.dropped == 7 && stream.losses.map(\.reason) == [.byteCap, .consent]
                && stream.losses.map(\.count) == [5, 2])
        #expect(stream.acknowledged == 40 && stream.rejected == 3)
    }

    /// Fails when the schema gets a field that the composer does not know.
    @Test func `No field of the wire's beacon is left out`() async throws {
        let declared = Set(FieldClasses.beacon.fields.map(\.number))
        #expect(declared.isSuperset(of: 1...36))
        let reported = try await BeaconComposer.beacon(Self.inputs()).encoded.withUnsafeBytes { bytes in
            var scanner = ProtobufScanner(bytes)
            var numbers: Set<Int> = []
            while let field = scanner.next() { numbers.insert(field.number) }
            return numbers
        }
        #expect(reported == declared)
    }

    @Test func `What nobody knows is absent or unknown`() {
        let stamp = RecordStamp(wallTime: 5, bootID: nil, timeSinceBoot: 1)
        let beacon = BeaconComposer.beacon(BeaconInputs(trigger: .demand, sequence: 1, stamp: stamp))
        #expect(beacon.enrollment == .unknown && beacon.managed == .unknown && beacon.organizationGroup.isEmpty)
        #expect(
            beacon.deviceCompliance == .unknown && beacon.applicationCompliance == .unknown
                && beacon.compromised == .unknown)
        #expect(beacon.doNotDisturb == .unknown && beacon.network == .unknown && beacon.consent == .unspecified)
        #expect(
            !beacon.hasPushToken && !beacon.hasLocation && !beacon.hasPower && !beacon.hasUserEmail
                && !beacon.hasSlowdown)
        #expect(!beacon.hasMetered && !beacon.hasRoaming && !beacon.hasSelf_p && beacon.processStartTime == 0)
    }

    @Test func `Under do-not-disturb a beacon reports device, enrollment and that, and nothing else`() async throws {
        var inputs = try await Self.inputs()
        inputs.doNotDisturb = true
        let beacon = BeaconComposer.beacon(inputs)
        var expected = WireBeacon()
        expected.trigger = .command
        expected.nextBeaconSeconds = 900
        expected.beaconSequence = 7
        expected.deviceName = "kiosk-1"
        expected.model = "Board"
        expected.operatingSystem = inputs.facts.identity?.operatingSystem ?? .init()
        expected.organizationGroup = "default"
        expected.application = "com.example.app"
        expected.applicationVersion = "2.1"
        expected.libraryVersion = DataSampler.version
        expected.enrollment = .enrolled
        expected.managed = .yes
        expected.doNotDisturb = .yes
        expected.profileRevision = 4
        expected.profileFindings = ["certificate-pins-refused"]
        expected.consent = .granted
        expected.telemetryDisabled = false
        expected.uptimeSeconds = 11
        expected.processStartTime = 4_000_000_000
        #expect(beacon == expected)
    }

    @Test(
        arguments: [
            (.unknown, .unknown, .unknown, ""), (.enrolled(organization: "o"), .enrolled, .yes, "o"),
            (.wipePending(organization: "o"), .wipePending, .yes, "o"),
            (.unenrolled(organization: "o"), .unenrolled, .no, "o"),
        ] as [(EnrollmentStanding, WireEnrollmentState, WireVerdict, String)])
    func `Enrollment and being managed follow from how the device stands`(
        standing: EnrollmentStanding, state: WireEnrollmentState, managed: WireVerdict, organization: String
    ) async throws {
        var inputs = try await Self.inputs()
        inputs.standing = standing
        let beacon = BeaconComposer.beacon(inputs)
        #expect(beacon.enrollment == state && beacon.managed == managed && beacon.organizationGroup == organization)
    }

    @Test func `Long names are cut at a character`() async throws {
        var inputs = try await Self.inputs()
        inputs.user = DeviceUser(fullName: String(repeating: "é", count: 400))
        let beacon = BeaconComposer.beacon(inputs)
        #expect(beacon.userFullName == String(repeating: "é", count: 160))
        #expect(!beacon.hasUserEmail && !beacon.hasUserDisplayName)
        for (text, bytes, expected) in [("", 0, ""), ("a", 0, ""), ("aé", 2, "a"), ("aé", 3, "aé"), ("👩‍👩‍👧", 10, "")] {
            #expect(text.bounded(bytes: bytes) == expected)
        }
    }
}
