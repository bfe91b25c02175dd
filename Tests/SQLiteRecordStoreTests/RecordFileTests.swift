import Foundation
import RecordStore
import Registry
import SQLiteRecordStore
import SQLiteStoreTestKit
import StoreTestKit
import TestKit
import Testing
import WireModel

/// The promises of `RecordFile`'s story: days, restarts, power cuts, files that go.
@Suite struct RecordFileTests {
    @Test func `The day changes in the middle of a stream, and nothing is doubled or lost`() async throws {
        let directory = try TemporaryDirectory()
        let clock = ManualStoreClock()
        let store = try SQLiteRecordStore.open(directory, clock: clock)
        var device = ScriptedDevice()
        for _ in 0..<4 {
            device.produce(5)
            let ghost = try #require(device.part(3))
            try await store.drain(&device, parts: 2)
            clock.advance(days: 1)
            #expect(await store.append(ghost, from: device.device).outcome == .already)
        }
        #expect(directory.days == ["2026-03-01", "2026-03-02", "2026-03-03", "2026-03-04", "2026-03-05"])
        #expect(
            try await store.allRecords(of: device.device, stream: .sample).map(\.header.number)
                == Array((1...20).reversed()))
        let balance = try #require(try await store.balance(of: device.device).first)
        #expect(balance.storedRows == 20 && balance.mark.stored == 20 && balance.balance.closes)

        #expect(try await directory.verify().isWhole)
        await store.shutDown()
    }

    @Test func `A clock that steps back stays in the newest file`() async throws {
        let directory = try TemporaryDirectory()
        let clock = ManualStoreClock()
        let store = try SQLiteRecordStore.open(directory, clock: clock)
        var device = ScriptedDevice()
        for days in [0, 3, -5, 1] as [Int64] {
            clock.advance(days: days)
            device.produce(2)
            try await store.drain(&device)
        }
        #expect(directory.days == ["2026-03-01", "2026-03-04"])
        await store.shutDown()
        // Nor after a restart.
        let again = try SQLiteRecordStore.open(directory, clock: clock)
        device.produce(2)
        #expect(try await again.drain(&device)?.mark.stored == 10)
        #expect(directory.days == ["2026-03-01", "2026-03-04"])
        await again.shutDown()
        #expect(try await directory.verify().isWhole)
    }

    @Test func `Marks are read back after a restart`() async throws {
        let directory = try TemporaryDirectory()
        var device = ScriptedDevice()
        device.produce(6)
        let part = try #require(device.part())
        let store = try SQLiteRecordStore.open(directory)
        let first = await store.append(part, from: device.device)
        await store.shutDown()
        let again = try SQLiteRecordStore.open(directory)
        let second = await again.append(part, from: device.device)
        #expect(second.outcome == .already && second.mark == first.mark)
        await again.shutDown()
    }

    @Test func `A second store on the directory is refused`() async throws {
        let directory = try TemporaryDirectory()
        let store = try SQLiteRecordStore.open(directory)
        #expect { try SQLiteRecordStore.open(directory) } throws: { ($0 as? StoreError)?.code == .inUse }
        await store.shutDown()
    }

    @Test func `Every copy of open files has all that was answered`() async throws {
        let directory = try TemporaryDirectory()
        let clock = ManualStoreClock()
        let store = try SQLiteRecordStore.open(directory, clock: clock)
        var device = ScriptedDevice()
        for round in 1...6 {
            device.produce(9)
            try await store.drain(&device, parts: 4)
            if round == 3 { clock.advance(days: 1) }
            let copy = try directory.copy()
            #expect(try await copy.verify().isWhole)
            let revived = try SQLiteRecordStore.open(copy, clock: clock)
            let balance = try #require(try await revived.balance(of: device.device).first)
            #expect(balance.storedRows == UInt64(9 * round) && balance.mark == device.mark)
            var next = device
            next.produce(2)
            #expect(try await revived.drain(&next)?.mark.stored == UInt64(9 * round + 2))
            await revived.shutDown()
            #expect(try await copy.verify().isWhole)
        }
        await store.shutDown()
    }

    @Test func `A file removed by hand shows as lost and never as stored`() async throws {
        let directory = try TemporaryDirectory()
        let store = try SQLiteRecordStore.open(directory)
        var device = ScriptedDevice()
        device.produce(4)
        try await store.drain(&device)
        try FileManager.default.removeItem(atPath: directory.path + "/records/2026-03-01")
        device.produce(2)
        let answer = await store.append(try #require(device.part()), from: device.device)
        #expect(answer.outcome == .stored && answer.mark.stored == 2 && answer.mark.lostAtCollector == 4)
        await store.shutDown()
        #expect(try await directory.verify().lostAtCollector == 4)
    }

    @Test func `A corrupt file stops nobody`() async throws {
        let directory = try TemporaryDirectory()
        let clock = ManualStoreClock()
        var store = try SQLiteRecordStore.open(directory, clock: clock)
        var device = ScriptedDevice()
        device.produce(3)
        try await store.drain(&device)
        await store.shutDown()
        clock.advance(days: 1)
        try Data(repeating: 0x5A, count: 20_000).write(to: URL(fileURLWithPath: directory.recordFile("2026-03-01")))
        #expect(
            try await directory.verify().findings.contains {
                $0.code == .unreadable && $0.file == "records/2026-03-01/sample.sqlite"
            })
        store = try SQLiteRecordStore.open(directory, clock: clock)
        #expect(await store.readiness() == .ready)
        #expect(try await store.balance(of: device.device).isEmpty, "what can be read")
        var other = ScriptedDevice(stream: .event)
        other.produce(2)
        #expect(try await store.drain(&other)?.outcome == .stored)
        // The device's mark was in it alone: what is missing counts as lost.
        device.produce(1)
        let answer = await store.append(try #require(device.part()), from: device.device)
        #expect(answer.outcome == .stored && answer.mark.stored == 1 && answer.mark.lostAtCollector == 3)
        await store.shutDown()
        let report = try await directory.verify()
        #expect(report.isWhole && report.lostAtCollector == 3, "\(report.findings)")
    }

    @Test func `A file whose making was cut short holds nothing up`() async throws {
        let directory = try TemporaryDirectory()
        let clock = ManualStoreClock()
        var store = try SQLiteRecordStore.open(directory, clock: clock)
        var device = ScriptedDevice()
        device.produce(3)
        try await store.drain(&device)
        await store.shutDown()
        try FileManager.default.createDirectory(
            atPath: directory.path + "/records/2026-03-02", withIntermediateDirectories: true)
        #expect(FileManager.default.createFile(atPath: directory.recordFile("2026-03-02"), contents: Data()))
        #expect(try await directory.verify().isWhole)
        clock.advance(days: 2)
        store = try SQLiteRecordStore.open(directory, clock: clock)
        device.produce(1)
        #expect(try await store.drain(&device)?.mark.stored == 4)
        await store.shutDown()
        #expect(try await directory.verify().isWhole)
    }

    @Test func `A newer file is refused politely`() async throws {
        let directory = try TemporaryDirectory()
        var store = try SQLiteRecordStore.open(directory)
        var device = ScriptedDevice()
        device.produce(1)
        try await store.drain(&device)
        await store.shutDown()
        try directory.execute("PRAGMA user_version = 99", on: directory.recordFile("2026-03-01"))
        store = try SQLiteRecordStore.open(directory)
        device.produce(1)
        let answer = await store.append(try #require(device.part()), from: device.device)
        #expect(answer.outcome == .unavailable && answer.detail.contains("newer-version"))
        await store.shutDown()
    }

    @Test func `The full pipeline refuses at once and with the last mark`() async throws {
        let directory = try TemporaryDirectory()
        var configuration = SQLiteRecordStore.Configuration()
        configuration.pipelineParts = 1
        let store = try SQLiteRecordStore.open(directory, configuration: configuration)
        let refusals = await withTaskGroup(of: Int.self) { group in
            for _ in 0..<64 {
                group.addTask {
                    var device = ScriptedDevice()
                    device.produce(200)
                    guard let part = device.part() else { return 0 }
                    let answer = await store.append(part, from: device.device)
                    return answer.outcome == .unavailable && answer.detail.contains("overloaded") ? 1 : 0
                }
            }
            return await group.reduce(0, +)
        }
        // How many is a matter of the machine; that nothing hangs, and that the store accepts parts afterwards, is not.
        #expect(refusals < 64)
        var device = ScriptedDevice()
        device.produce(1)
        #expect(try await store.drain(&device)?.outcome == .stored)
        await store.shutDown()
    }

    @Test func `Every connection syncs every commit`() async throws {
        let directory = try TemporaryDirectory()
        let store = try SQLiteRecordStore.open(directory)
        var device = ScriptedDevice()
        device.produce(1)
        try await store.drain(&device)
        await store.shutDown()
        // What a connection is set to is read back at opening (SQLite's tests); here: the file is a WAL file of ours.
        let head = try Data(contentsOf: URL(fileURLWithPath: directory.recordFile("2026-03-01"))).prefix(100)
        #expect(head[18] == 2 && head[19] == 2)
        #expect(head[68..<72].elementsEqual([0x57, 0x53, 0x31, 0x52]))
    }
}
