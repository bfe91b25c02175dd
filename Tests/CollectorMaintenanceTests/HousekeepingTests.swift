import CollectorTunables
import DeviceTestKit
import Foundation
import RegistryTestKit
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

@Suite(.timeLimit(.minutes(5)), .eachRegistry) struct HousekeepingTests {
    private let directory: TemporaryDirectory
    private let clock = ManualStoreClock()

    init() throws { directory = try TemporaryDirectory() }

    private static let looks: [(former: DiskState?, free: UInt64, expected: DiskState)] = [
        (nil, 100, .enough), (nil, 99, .low), (.enough, 99, .low), (.low, 100, .low), (.low, 109, .low),
        (.low, 110, .enough),
        (.enough, 100, .enough), (nil, 0, .low),
    ]

    @Test(arguments: looks)
    func `A disk is low below its threshold and has enough a tenth above`(
        former: DiskState?, free: UInt64, expected: DiskState
    ) {
        #expect(DiskState.next(after: former, freeBytes: free, lowBytes: 100) == expected)
    }

    @Test func `A threshold of nothing is never reached`() {
        #expect(DiskState.next(after: .low, freeBytes: 0, lowBytes: 0) == .enough)
    }

    @Test(.aboutFiles) func `It looks at the start, then again and again, and removes every hour`() async throws {
        let store = try SQLiteRecordStore.open(directory, clock: clock)
        var device = ScriptedDevice()
        func send() async throws {
            device.produce(1)
            _ = await store.append([try #require(device.part())], from: device.device, receivedAt: clock.now()).map {
                device.apply($0)
            }
        }
        try await send()
        clock.advance(days: 40)
        try await send()
        let service = try NoticeService(directory: directory.path, clock: clock, logger: quietLogger)
        let retention = try RecordRetention(
            store: store, registry: SQLiteRegistry(directory: directory.path), limits: RetentionLimits(),
            notices: service, clock: clock,
            bootClock: ManualBootClock(clock),
            logger: quietLogger)
        let free = Mutex<UInt64>(1000)
        let disk = DiskWatch(
            directory: directory.path, lowBytes: 100, notices: service, freeBytes: { free.withLock { $0 } })
        let sleeper = ManualSleeper()
        let running = Task { await Housekeeping(retention: retention, disk: disk, notices: service).run(on: sleeper) }
        await sleeper.waitForSleeper()
        #expect(directory.days == ["2026-04-10"], "at the start")
        #expect(try await service.counts()[.diskLow] == .init())

        free.withLock { $0 = 5 }
        sleeper.advance(by: Tunables.Housekeeping.interval)
        await sleeper.waitForSleeper(after: 1)
        #expect(try await service.counts()[.diskLow] == .init(notices: 1, lasting: 1, raised: 1))
        free.withLock { $0 = 5000 }
        sleeper.advance(by: Tunables.Housekeeping.interval)
        await sleeper.waitForSleeper(after: 2)
        #expect(try await service.counts()[.diskLow] == .init(notices: 1, lasting: 0, raised: 1))

        clock.advance(days: 40)
        try await send()
        for look in 3..<Tunables.Housekeeping.looksPerPass {
            sleeper.advance(by: Tunables.Housekeeping.interval)
            await sleeper.waitForSleeper(after: look)
        }
        #expect(directory.days == ["2026-04-10", "2026-05-20"], "the hour is not over")
        sleeper.advance(by: Tunables.Housekeeping.interval)
        await sleeper.waitForSleeper(after: Tunables.Housekeeping.looksPerPass)
        #expect(directory.days == ["2026-05-20"])
        running.cancel()
        await running.value
        await store.shutDown()
    }

    @Test func `What happens to devices is a notice of their organization`() async throws {
        let (metadata, created) = try TestRegistry.open(
            directory: directory.path, clock: clock, logger: quietLogger)
        let known = try await metadata.enroll(
            token: try #require(created).enrollmentToken, request: WireEnrollRequest()
        ).deviceID
        let service = try NoticeService(directory: directory.path, clock: clock, logger: quietLogger)
        let store = try SQLiteRecordStore.open(
            directory: directory.path, clock: clock, incidents: { service.record($0, count: $1) }, logger: quietLogger)
        var device = ScriptedDevice(device: known)
        device.produce(4)
        let before = device
        try await store.drain(&device)
        await service.flush()
        #expect(try await service.counts() == NoticeCounts())

        // The collector has never heard of what was reported to this device as stored.
        var ahead = ScriptedDevice(device: known)
        ahead.produce(7)
        ahead.held.removeAll { $0.last <= 5 }
        ahead.mark = StreamMark(number: 5, link: try #require(ahead.links[5]))
        #expect(await store.append(try #require(ahead.part()), from: known).mark.lostAtCollector == 5)
        // Another history with the same epoch.
        var clone = ScriptedDevice(device: known, epoch: before.epoch)
        clone.produce(6, bodyBytes: 41)
        #expect(await store.append(try #require(clone.part()), from: known).outcome == .identityConflict)
        // Damage of its queue: it counts what is lost, and says it again with every part.
        var damaged = ScriptedDevice(device: known)
        damaged.produce(6)
        damaged.dropOldest(2, reason: .unreadable)
        for _ in 1...2 {
            var part = try #require(damaged.part())
            part.totals.droppedUnnumbered = [.salvage: 30, .byteCap: 5]
            part.totals.produced = 6 + 35
            let answer = await store.append(part, from: known)
            #expect(answer.mark.dropped == [.unreadable: 2])
        }
        await service.flush()
        let counts = try await service.counts()
        #expect(
            counts[.queueDamaged].notices == 1 && counts[.queueDamaged].raised == 1
                && counts[.queueDamaged].lasting == 0)
        let conflicts = try await metadata.audit(AuditQuery(action: .deviceConflict), below: nil, limit: 10).rows.map(
            \.entry)
        #expect(
            conflicts.map(\.subject) == [known.description]
                && conflicts.map(\.detail) == [["stream": "sample", "count": "1"]])
        #expect(
            counts[.recordsLost].notices == 1 && counts[.recordsLost].lasting == 0
                && counts[.identityConflict].raised == 1)
        let archive = try LogArchive.open(directory, clock: clock)
        let notices = try await NoticeService(metadata: archive.metadata).page(
            organization: "default", below: nil, limit: 10
        ).rows
        #expect(Set(notices.map(\.subject)) == [known.description])
        #expect(notices.contains { $0.code == .recordsLost && $0.detail.hasPrefix("5 records of the sample stream") })
        #expect(notices.contains { $0.code == .queueDamaged && $0.detail.hasPrefix("32 records of the sample stream") })
        await archive.close()
        await store.shutDown()
        await metadata.close()
    }
}
