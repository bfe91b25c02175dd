import Foundation
import RecordStore
import SQLiteRecordStore
import SQLiteStoreTestKit
import StoreTestKit
import TestKit
import Testing
import WireModel

@Suite struct DropPartitionTests {
    private let directory: TemporaryDirectory
    private let clock = ManualStoreClock()

    init() throws { directory = try TemporaryDirectory() }

    private func day(_ text: String) throws -> UTCDay { try #require(UTCDay(text)) }

    /// Three days of one device, ten records each.
    private func filled() async throws -> (SQLiteRecordStore, ScriptedDevice) {
        let store = try SQLiteRecordStore.open(directory, clock: clock)
        var device = ScriptedDevice()
        for round in 0..<3 {
            if round > 0 { clock.advance(days: 1) }
            device.produce(10)
            try await store.drain(&device, parts: 4)
        }
        return (store, device)
    }

    @Test func `Marks and counts survive the file`() async throws {
        var (store, device) = try await filled()
        try await store.drop(Partition(day: try day("2026-03-01"), stream: .sample))
        #expect(directory.days == ["2026-03-02", "2026-03-03"])
        func check() async throws {
            let balance = try #require(try await store.balance(of: device.device).first)
            #expect(balance.storedRows == device.mark.stored && balance.mark == device.mark && balance.balance.closes)
            #expect(try await directory.verify().isWhole)
            let reading = try SQLiteRecordStore.openReading(directory: directory.path)
            #expect(try await reading.balances().devices.map(\.device) == [device.device])
        }
        try await check()
        #expect(try await store.allRecords(of: device.device, stream: .sample).count == 20)
        try await store.drop(Partition(day: try day("2026-03-02"), stream: .sample))
        try await store.drop(Partition(day: try day("2026-03-03"), stream: .sample))
        #expect(directory.days.isEmpty)
        try await check()
        // Known from the baseline alone, also after a restart.
        await store.shutDown()
        store = try SQLiteRecordStore.open(directory, clock: clock)
        try await check()
        var ghost = ScriptedDevice(device: device.device, epoch: device.epoch)
        ghost.produce(30)
        #expect(await store.append(try #require(ghost.part()), from: device.device).outcome == .already)
        device.produce(2)
        #expect(try await store.drain(&device)?.mark.stored == 32)
        try await check()
        await store.shutDown()
    }

    @Test func `A removed name is never used again`() async throws {
        var (store, device) = try await filled()
        for name in ["2026-03-01", "2026-03-02", "2026-03-03"] {
            try await store.drop(Partition(day: try day(name), stream: .sample))
        }
        device.produce(1)
        try await store.drain(&device)
        #expect(directory.days == ["2026-03-04"])
        let removed = try day("2026-03-03")
        let running = store
        await #expect(throws: StoreError.self) { try await running.drop(Partition(day: removed, stream: .sample)) }
        await store.shutDown()
        // Not by a process that has not seen it go either.
        try FileManager.default.removeItem(atPath: directory.path + "/records/2026-03-04")
        store = try SQLiteRecordStore.open(directory, clock: clock)
        device.produce(1)
        try await store.drain(&device)
        #expect(directory.days == ["2026-03-04"])
        await store.shutDown()
    }

    @Test func `Only the oldest can be removed`() async throws {
        let (store, _) = try await filled()
        let middle = try day("2026-03-02")
        await #expect {
            try await store.drop(Partition(day: middle, stream: .sample))
        } throws: {
            ($0 as? StoreError)?.code == .conflict
        }
        #expect(directory.days.count == 3)
        await store.shutDown()
    }

    @Test func `A removal cut short is finished at the next opening`() async throws {
        let (store, device) = try await filled()
        let file = directory.recordFile("2026-03-01")
        let bytes = try Data(contentsOf: URL(fileURLWithPath: file))
        try await store.drop(Partition(day: try day("2026-03-01"), stream: .sample))
        await store.shutDown()
        // As if the process had died between the baseline and the removal.
        try FileManager.default.createDirectory(
            atPath: directory.path + "/records/2026-03-01", withIntermediateDirectories: true)
        try bytes.write(to: URL(fileURLWithPath: file))
        #expect(try await directory.verify().isWhole)
        let reading = try SQLiteRecordStore.openReading(directory: directory.path)
        #expect(try await reading.balances().devices.first?.epochs.first?.storedRows == 30)
        let again = try SQLiteRecordStore.open(directory, clock: clock)
        #expect(directory.days == ["2026-03-02", "2026-03-03"])
        #expect(try await again.balance(of: device.device).first?.storedRows == 30)
        await again.shutDown()
    }

    @Test func `A closure survives, and removed points are unknown`() async throws {
        let (store, device) = try await filled()
        try await store.drop(Partition(day: try day("2026-03-01"), stream: .sample))
        func match(_ number: UInt64, link: ChainLink?) async throws -> ClosedStream.Match? {
            let points = [EpochClose.Point(number: number, link: link ?? .zero)]
            return try await store.close(
                EpochClose(
                    epoch: device.epoch, streams: [.init(stream: .sample, last: 33, reason: .moved, points: points)]),
                from: device.device
            ).first?.match
        }
        #expect(try await match(5, link: device.links[5]) == .unknown)
        // The start is in every history: it must not hide that nothing can be known.
        let all = [5, 0].map { EpochClose.Point(number: $0, link: device.links[$0] ?? .zero) }
        let closed = try await store.close(
            EpochClose(epoch: device.epoch, streams: [.init(stream: .sample, last: 33, reason: .moved, points: all)]),
            from: device.device)
        #expect(closed.first?.match == .unknown)
        #expect(
            try await match(10, link: device.links[10])
                == .point(.init(number: 10, link: try #require(device.links[10]))))
        #expect(
            try await match(17, link: device.links[17])
                == .point(.init(number: 17, link: try #require(device.links[17]))))
        #expect(try await match(17, link: .zero) == ClosedStream.Match.none)
        for name in ["2026-03-02", "2026-03-03"] {
            try await store.drop(Partition(day: try day(name), stream: .sample))
        }
        await store.shutDown()
        let again = try SQLiteRecordStore.open(directory, clock: clock)
        var late = device
        late.produce(1)
        let answer = await again.append(try #require(late.part()), from: device.device)
        #expect(answer.outcome == .closed && answer.mark.number == 30)
        let balance = try #require(try await again.balance(of: device.device).first)
        #expect(balance.closed && balance.balance.closes && balance.balance.dropped == ["moved": 3])
        await again.shutDown()
    }
}
