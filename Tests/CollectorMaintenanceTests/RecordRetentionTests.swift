import Foundation
import RegistryTestKit
import SQLite
import SQLiteStoreTestKit
import StoreTestKit
import Synchronization
import TestKit
import Testing
import WireModel

@testable import CollectorMaintenance
@testable import LogArchive
@testable import RecordStore
@testable import Registry
@testable import SQLiteRecordStore

@Suite struct RecordRetentionTests {
    private let directory: TemporaryDirectory
    private let clock = ManualStoreClock()
    private let bootClock: ManualBootClock

    init() throws {
        directory = try TemporaryDirectory()
        bootClock = ManualBootClock(clock)
    }

    /// A store of five days with ten records of each stream on each day, the last of them today.
    private func filled() async throws -> (SQLiteRecordStore, [ScriptedDevice]) {
        let store = try SQLiteRecordStore.open(directory, clock: clock)
        let device = DeviceID.random()
        var devices = StreamName.allCases.map { ScriptedDevice(device: device, stream: $0) }
        for round in 0..<5 {
            if round > 0 { clock.advance(days: 1) }
            for place in devices.indices {
                devices[place].produce(10)
                while let part = devices[place].part(4) {
                    let answer = await store.append([part], from: device, receivedAt: clock.now())[0]
                    guard devices[place].apply(answer) == .remove else { break }
                }
            }
        }
        return (store, devices)
    }

    private func retention(_ store: SQLiteRecordStore, _ limits: RetentionLimits, boot: ManualBootClock? = nil) throws
        -> RecordRetention
    {
        try RecordRetention(
            store: store, registry: SQLiteRegistry(directory: directory.path), limits: limits, notices: service(),
            clock: clock,
            bootClock: boot ?? bootClock,
            logger: quietLogger)
    }

    private func service() throws -> NoticeService {
        try NoticeService(directory: directory.path, clock: clock, logger: quietLogger)
    }

    private func days(_ stream: StreamName) -> [String] {
        directory.days.filter { FileManager.default.fileExists(atPath: directory.recordFile($0, stream)) }
    }

    private func expectBalances(_ devices: [ScriptedDevice], in store: SQLiteRecordStore) async throws {
        for balance in try await store.balance(of: devices[0].device) {
            let device = try #require(devices.first { $0.stream == balance.stream })
            #expect(balance.storedRows == 50 && balance.mark == device.mark && balance.balance.closes)
        }
        let report = try await directory.verify()
        #expect(report.isWhole, "\(report.findings)")
    }

    private func release() throws -> RetentionState.Waiting? {
        let connection = try SQLiteRegistry(directory: directory.path).openWriting()
        return try connection.transaction { () throws(StoreError) in
            try RetentionState(connection: connection).release(by: .commandLine, at: clock.now())
        }
    }

    private static func limits(status: Int = 90, event: Int = 90, sample: Int = 30) -> RetentionLimits {
        RetentionLimits(status: .init(days: status), event: .init(days: event), sample: .init(days: sample))
    }

    @Test func `Each stream is removed by its own age`() async throws {
        let (store, devices) = try await filled()
        let retention = try retention(store, Self.limits(status: 3, event: 90, sample: 1))
        let removed = await retention.pass()
        #expect(
            removed.filter { $0.partition.stream == .sample }.map(\.partition.day.description)
                == ["2026-03-01", "2026-03-02", "2026-03-03", "2026-03-04"])
        #expect(removed.allSatisfy { $0.reason == .age && $0.bytes > 4096 })
        #expect(days(.sample) == ["2026-03-05"])
        #expect(days(.status) == ["2026-03-03", "2026-03-04", "2026-03-05"])
        #expect(days(.event).count == 5)
        try await expectBalances(devices, in: store)
        #expect(await retention.pass().isEmpty)
        await store.shutDown()
    }

    @Test func `Limits that are set hold from the next pass on`() async throws {
        let (store, devices) = try await filled()
        let retention = try retention(store, RetentionLimits())
        #expect(await retention.pass().isEmpty)
        await retention.setLimits(Self.limits(event: 1))
        #expect(await retention.pass().count == 4)
        #expect(days(.event) == ["2026-03-05"])
        try await expectBalances(devices, in: store)
        await store.shutDown()
    }

    /// A process that is killed after it was asked, and one that was asked while no other had done it, leave nothing
    /// undone and nothing untold.
    @Test func `A purge that was cut short is done by whoever comes next`() async throws {
        let (store, devices) = try await filled()
        await store.shutDown()
        let purge = try RecordPurge(SQLiteRegistry(directory: directory.path), clock: clock)
        let reading = try SQLiteRecordStore.openReading(directory: directory.path)
        let events = try await purge.plan(of: reading, olderThanDays: 1, streams: [.event])
        let samples = try await purge.plan(of: reading, olderThanDays: 1, streams: [.sample])
        let (metadata, _) = try MetadataService.open(directory: directory.path, clock: clock, logger: quietLogger)
        #expect(try await metadata.purge(events, by: AuditActor(name: "ann")) != nil)
        #expect(try await metadata.purge(samples, by: AuditActor(name: "ann")) == nil, "one at a time")
        let writing = try SQLiteRecordStore.open(directory, clock: clock)
        #expect(try await purge.remove(samples, by: .commandLine, in: writing) == 4)
        await writing.shutDown()
        #expect(days(.event) == ["2026-03-05"] && days(.sample) == ["2026-03-05"] && days(.status).count == 5)
        let rows = try await metadata.audit(AuditQuery(action: .recordsPurge), below: nil, limit: 10).rows.reversed()
        #expect(rows.map(\.entry.actor.name) == ["ann", "ann", "command line", "command line"])
        #expect(rows.map(\.entry.outcome) == [.begun, .done, .begun, .done])
        #expect(try await metadata.retention(of: reading).purge?.removedFiles == 4)
        await metadata.close()
        let again = try SQLiteRecordStore.open(directory, clock: clock)
        try await expectBalances(devices, in: again)
        await again.shutDown()
    }

    @Test func `A stream over its bytes loses its oldest days`() async throws {
        let (store, devices) = try await filled()
        var limits = RetentionLimits()
        limits.event.bytes = 1
        let removed = await (try retention(store, limits)).pass()
        #expect(removed.count == 4 && removed.allSatisfy { $0.reason == .bytes && $0.partition.stream == .event })
        #expect(days(.event) == ["2026-03-05"], "never the present day's")
        #expect(days(.sample).count == 5)
        try await expectBalances(devices, in: store)
        await store.shutDown()
    }

    @Test func `Devices go on after their files are gone`() async throws {
        let (store, sent) = try await filled()
        var devices = sent
        clock.advance(days: 200)
        let removed = await (try retention(store, RetentionLimits())).pass()
        #expect(removed.count == 15 && directory.days.isEmpty)
        for place in devices.indices {
            devices[place].produce(3)
            #expect(try await store.drain(&devices[place])?.mark.stored == 53)
        }
        #expect(directory.days == ["2026-09-21"])
        #expect(try await directory.verify().isWhole)
        await store.shutDown()
    }

    @Test func `Rows that were missing before are missing after`() async throws {
        let (store, devices) = try await filled()
        await store.shutDown()
        try directory.execute("DELETE FROM slice WHERE id = 2", on: directory.recordFile("2026-03-02", .sample))
        let again = try SQLiteRecordStore.open(directory, clock: clock)
        await (try retention(again, Self.limits(sample: 1))).pass()
        #expect(days(.sample) == ["2026-03-05"])
        let balance = try #require(try await again.balance(of: devices[0].device).first { $0.stream == .sample })
        #expect(balance.mark.stored == 50 && balance.storedRows == 46, "counted from rows, not from the mark")
        await again.shutDown()
    }

    @Test func `A clock set forward makes it wait until released`() async throws {
        let (store, devices) = try await filled()
        let retention = try retention(store, RetentionLimits())
        #expect(await retention.pass().isEmpty)
        bootClock.setWallClock(forwardByDays: 1000)
        #expect(await retention.pass().isEmpty)
        #expect(try await service().counts()[.retentionWaiting] == .init(notices: 1, lasting: 1, raised: 1))
        // The clock is right again, or time passes: it waits all the same, and reports it once.
        clock.advance(days: 1)
        #expect(await retention.pass().isEmpty)
        #expect(directory.days.count == 5)
        #expect(try await service().counts()[.retentionWaiting].raised == 1)
        // A later process waits, too.
        let later = try self.retention(store, RetentionLimits(), boot: ManualBootClock(clock, bootID: "other"))
        #expect(await later.pass().isEmpty)
        #expect(directory.days.count == 5)
        #expect(try release() != nil)
        #expect(try release() == nil)
        #expect(await later.pass().count == 15)
        #expect(try await service().counts()[.retentionWaiting].lasting == 0)
        try await expectBalances(devices, in: store)
        await store.shutDown()
    }

    /// A full disk refuses the notice about itself, as a trigger does here.
    @Test func `The next look raises and ends the notice that was refused`() async throws {
        let (store, _) = try await filled()
        let retention = try retention(store, RetentionLimits())
        #expect(await retention.pass().isEmpty)
        let registry = directory.path + "/collector.sqlite"
        func lasting() async throws -> Int { try await service().counts()[.retentionWaiting].lasting }
        func refuse(_ event: String) throws {
            let body = "BEFORE \(event) ON notice BEGIN SELECT RAISE(ABORT, 'no room'); END"
            try directory.execute("CREATE TRIGGER refusal \(body)", on: registry)
        }
        try refuse("INSERT")
        bootClock.setWallClock(forwardByDays: 1000)
        await retention.watchClock()
        #expect(try await lasting() == 0)
        try directory.execute("DROP TRIGGER refusal", on: registry)
        await retention.watchClock()
        #expect(try await lasting() == 1)

        try refuse("UPDATE")
        #expect(try release() != nil)
        await retention.watchClock()
        #expect(try await lasting() == 1)
        try directory.execute("DROP TRIGGER refusal", on: registry)
        await retention.watchClock()
        #expect(try await lasting() == 0)
        await store.shutDown()
    }

    /// The machine starts with a clock that is years ahead: nothing steps, and no record is newer than now.
    @Test func `A clock that is wrong from the start on is reported by the devices`() async throws {
        let (store, devices) = try await filled()
        let (metadata, created) = try MetadataService.open(
            directory: directory.path, clock: clock, logger: quietLogger)
        var fleet: [DeviceID] = []
        for _ in 0..<6 {
            fleet.append(
                try await metadata.enroll(token: try #require(created).enrollmentToken, request: WireEnrollRequest())
                    .deviceID)
        }
        for device in fleet {
            metadata.seen(device, DeviceObservation(at: clock.now(), beacon: WireBeacon(), expectedBeaconSeconds: 60))
        }
        _ = try await metadata.silentDevices()
        let right = clock.now()
        clock.advance(days: 1000)
        let boot = ManualBootClock(clock, bootID: "next")
        let retention = try RecordRetention(
            store: store, registry: SQLiteRegistry(directory: directory.path), limits: RetentionLimits(),
            notices: service(), clock: clock,
            bootClock: boot,
            deviceClocks: metadata.deviceClocks, logger: quietLogger)
        #expect(await retention.pass().isEmpty, "devices are heard first")
        for device in fleet { metadata.seen(device, DeviceObservation(at: clock.now(), newestRecordTime: right)) }
        #expect(await retention.pass().isEmpty)
        #expect(try await service().counts()[.retentionWaiting].lasting == 0, "they may have sent what they had left")
        clock.advance(seconds: 900)
        await retention.watchClock()
        #expect(try await service().counts()[.retentionWaiting].lasting == 1)
        let purge = try RecordPurge(SQLiteRegistry(directory: directory.path), clock: clock)
        await #expect { try await purge.plan(of: store, olderThanDays: 1, streams: [.event]) } throws: {
            ($0 as? StoreError)?.code == .conflict
        }
        #expect {
            try LogPurge(metadata, quotas: LogQuotas(), clock: clock)
        } throws: {
            ($0 as? StoreError)?.code == .conflict
        }
        let waiting = try #require(try release())
        #expect(waiting.message.hasPrefix("Most devices' clocks are about 86400000 s behind"))
        #expect(await retention.pass().count == 15, "an administrator has said that it is the devices'")
        await metadata.close()
        try await expectBalances(devices, in: store)
        await store.shutDown()
    }

    @Test func `A fleet that sends what it had left causes no lasting doubt`() async throws {
        let (store, _) = try await filled()
        clock.advance(days: 200)
        let clocks = DeviceClocks()
        let retention = try RecordRetention(
            store: store, registry: SQLiteRegistry(directory: directory.path), limits: RetentionLimits(),
            notices: service(), clock: clock,
            bootClock: bootClock,
            deviceClocks: clocks, logger: quietLogger)
        let fleet = (0..<20).map { _ in DeviceID.random() }
        for device in fleet { clocks.record(device, newestRecord: clock.now() - 5 * 86_400_000_000, at: clock.now()) }
        #expect(await retention.pass().isEmpty)
        clock.advance(seconds: 60)
        for device in fleet { clocks.record(device, newestRecord: clock.now(), at: clock.now()) }
        #expect(await retention.pass().count == 15)
        #expect(try await service().counts()[.retentionWaiting] == .init())
        await store.shutDown()
    }

    @Test func `Devices that do not report are waited for an hour`() async throws {
        let (store, _) = try await filled()
        let (metadata, created) = try MetadataService.open(
            directory: directory.path, clock: clock, logger: quietLogger)
        let device = try await metadata.enroll(
            token: try #require(created).enrollmentToken, request: WireEnrollRequest()
        ).deviceID
        metadata.seen(device, DeviceObservation(at: clock.now(), beacon: WireBeacon(), expectedBeaconSeconds: 60))
        _ = try await metadata.silentDevices()
        clock.advance(days: 1000)
        let retention = try RecordRetention(
            store: store, registry: SQLiteRegistry(directory: directory.path), limits: RetentionLimits(),
            notices: service(), clock: clock,
            bootClock: ManualBootClock(clock, bootID: "next"), deviceClocks: metadata.deviceClocks, logger: quietLogger)
        #expect(await retention.pass().isEmpty)
        clock.advance(seconds: 3600)
        #expect(await retention.pass().count == 15)
        await metadata.close()
        await store.shutDown()
    }

    @Test func `A step between two processes of one boot is noticed`() async throws {
        let (store, _) = try await filled()
        await (try retention(store, RetentionLimits())).watchClock()
        bootClock.setWallClock(forwardByDays: 1000)
        #expect(await (try retention(store, RetentionLimits())).pass().isEmpty)
        #expect(directory.days.count == 5)
        await store.shutDown()
    }

    @Test func `Records of a future time make it wait, and a release accepts them`() async throws {
        let (store, _) = try await filled()
        clock.advance(days: -2)
        let retention = try retention(store, Self.limits(sample: 1))
        #expect(await retention.pass().isEmpty)
        #expect(try release()?.message.contains("172800 s in the future") == true)
        #expect(await retention.pass().map(\.partition.day.description) == ["2026-03-01", "2026-03-02"])
        #expect(days(.sample) == ["2026-03-03", "2026-03-04", "2026-03-05"], "old by the clock there is now")
        await store.shutDown()
    }

    @Test func `A file that cannot be read stops its stream alone and is reported`() async throws {
        let (store, _) = try await filled()
        await store.shutDown()
        let handle = try FileHandle(forWritingTo: URL(fileURLWithPath: directory.recordFile("2026-03-01", .status)))
        try handle.write(contentsOf: Data(repeating: 7, count: 8192))
        try handle.close()
        let again = try SQLiteRecordStore.open(directory, clock: clock)
        let removed = await (try retention(again, Self.limits(status: 1, event: 1, sample: 1))).pass()
        #expect(Set(removed.map(\.partition.stream)) == [.event, .sample] && removed.count == 8)
        #expect(days(.status).count == 5)
        #expect(try await service().counts()[.retentionFailed].lasting == 1)
        await again.shutDown()
    }

    @Test func `Ingest goes on while files are removed`() async throws {
        let (store, sent) = try await filled()
        let retention = try retention(store, Self.limits(status: 1, event: 1, sample: 1))
        let devices = try await withThrowingTaskGroup(of: ScriptedDevice?.self) { group in
            for device in sent {
                group.addTask {
                    var device = device
                    for _ in 0..<40 {
                        device.produce(2)
                        try await store.drain(&device)
                    }
                    return device
                }
            }
            group.addTask {
                #expect(await retention.pass().count == 12)
                return nil
            }
            let path = directory.path
            group.addTask {
                for _ in 0..<20 {
                    for balance in try await store.balance(of: sent[0].device) {
                        #expect(balance.storedRows == balance.mark.stored && balance.balance.closes)
                    }
                }
                let report = try await StoreVerifier(directory: path).verify()
                #expect(report.isWhole, "\(report.findings)")
                return nil
            }
            var devices: [ScriptedDevice] = []
            for try await device in group { if let device { devices.append(device) } }
            return devices
        }
        for device in devices { #expect(device.held.isEmpty && device.mark.stored == 130) }
        // A verifier that opens a file just before it is removed leaves an empty WAL behind.
        let first = try #require(StreamName.allCases.first)
        try FileManager.default.createDirectory(
            atPath: "\(directory.path)/records/2026-03-03", withIntermediateDirectories: true)
        try Data().write(to: URL(fileURLWithPath: "\(directory.path)/records/2026-03-03/\(first).sqlite-wal"))
        try await store.reclaim()
        #expect(directory.days == ["2026-03-05"])
        let report = try await directory.verify()
        #expect(report.isWhole, "\(report.findings)")
        await store.shutDown()
    }

    /// The baseline is read before the files are listed: what retention moves from the one to the other in between is
    /// in neither.
    @Test func `A file that is removed while a verification looks for it is not missed`() async throws {
        let (store, _) = try await filled()
        await store.shutDown()
        let data = DataDirectory(path: directory.path)
        let looks = Mutex(0)
        let (path, clock) = (directory.path, clock)
        let inspector = RecordInspector(directory: data) {
            guard
                looks.withLock({
                    $0 += 1; return $0
                }) < 3
            else { return }
            do {
                let data = DataDirectory(path: path)
                let oldest = try #require(try data.partitions().first { $0.stream == .event })
                let baseline = Baseline(try CollectorDatabase.open(data))
                try baseline.absorb(try #require(try RecordFile(reading: oldest, in: data)), at: clock.now())
                try data.remove(oldest)
            } catch { Issue.record(error) }
        }
        let report = try await inspector.verify()
        #expect(report.isWhole, "\(report.findings)")
        #expect(looks.withLock { $0 } == 3 && report.files == 13)
        looks.withLock { $0 = 1 }
        let balances = try await inspector.balances().devices.flatMap(\.epochs)
        #expect(balances.allSatisfy { $0.storedRows == 50 && $0.balance.closes })
        looks.withLock { $0 = 1 }
        #expect(try await inspector.harmedPartitions().isEmpty)
    }
}
