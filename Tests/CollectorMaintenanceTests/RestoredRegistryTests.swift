import CollectorAPI
import CollectorMaintenance
import Foundation
import RecordStore
import Registry
import SQLiteRecordStore
import StoreTestKit
import TestKit
import Testing
import WireModel

/// What a collector does not do again after a restore from backup.
@Suite struct RestoredRegistryTests {
    private let parent: TemporaryDirectory
    private let clock = ManualStoreClock()
    private let metadata: MetadataService
    private let token: String

    init() throws {
        parent = try TemporaryDirectory()
        let (metadata, created) = try MetadataService.open(
            directory: parent.path + "/data", clock: clock, logger: quietLogger)
        self.metadata = metadata
        token = try #require(created).enrollmentToken
    }

    private func enroll() async throws -> DeviceID {
        try await metadata.enroll(token: token, request: WireEnrollRequest()).deviceID
    }

    /// The registry of a collector that was restored from a backup of this moment.
    private func restored() async throws -> MetadataService {
        _ = try await StoreBackup(
            of: SQLiteRecordStore.openReading(directory: parent.path + "/data"), directory: parent.path + "/data",
            output: parent.path + "/backup", clock: clock, logger: quietLogger
        ).write()
        _ = try StoreRestore(
            from: .directory(parent.path + "/backup"), to: parent.path + "/restored", clock: clock
        ).restore()
        return try MetadataService.open(directory: parent.path + "/restored", clock: clock, logger: quietLogger).0
    }

    /// A beacon that says whether the device is compromised, a second after the one before.
    private func report(_ device: DeviceID, _ verdict: WireVerdict, to metadata: MetadataService) async throws {
        var finding = WireFinding()
        (finding.detector, finding.verdict) = ("tracer-attached", verdict)
        var beacon = WireBeacon()
        beacon.profileRevision = 2
        beacon.compromised = verdict
        beacon.findings = [finding]
        clock.advance(seconds: 1)
        let made = RecordStamp(wallTime: clock.now(), bootID: nil, timeSinceBoot: 0)
        try await metadata.derive(
            [device: DeviceObservation(at: clock.now(), beacon: beacon, made: made)], resetting: [])
    }

    private func wipes(_ device: DeviceID, of metadata: MetadataService) async throws -> Int {
        try await metadata.commands(of: device, below: nil, limit: 100).rows.count {
            if case .wipe = $0.command.action { true } else { false }
        }
    }

    @Test func `It wipes no device until the device was good`() async throws {
        var profile = WireProfile()
        profile.detection.consequence = "wipe"
        _ = try await metadata.putProfile(
            profile, ProfileScope(organization: "default"), expected: nil, by: .commandLine)
        let (one, two) = (try await enroll(), try await enroll())
        try await report(one, .yes, to: metadata)
        let restored = try await restored()
        for device in [one, two] {
            for _ in 1...2 { try await report(device, .yes, to: restored) }
            let row = try #require(try await restored.device(device, organization: nil))
            #expect(restored.openCommands(of: row, at: clock.now()).isEmpty)
        }
        let reported = try await NoticeService(metadata: restored).page(organization: nil, below: nil, limit: 1000).rows
        #expect(reported.count == 2 && reported.allSatisfy { $0.detail.contains("Issue it yourself") })
        try await report(two, .no, to: restored)
        try await report(two, .yes, to: restored)
        #expect(try await wipes(two, of: restored) == 1)
        await restored.close()
    }

    @Test func `It goes on with no job over devices`() async throws {
        let device = try await enroll()
        let job = try await metadata.begin(
            NewDeviceJob(
                action: .delete, selection: try await metadata.selection(DeviceQuery()), organization: nil, filter: nil,
                actor: AuditActor(name: "ann", token: "t1", role: .administrator), idempotencyKey: nil,
                request: Data("r".utf8))
        ).job
        await metadata.close()
        let restored = try await restored()
        #expect(try await restored.runningDeviceJobs().isEmpty)
        let ended = try #require(try await restored.deviceJob(job.id, organization: nil))
        #expect(ended.state == .cancelled && ended.endReason?.contains("restored") == true && ended.remaining == 1)
        #expect(try await restored.device(device, organization: nil) != nil)
        await restored.close()
    }
}
