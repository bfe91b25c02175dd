import Foundation
import SQLiteStoreTestKit
import StoreTestKit
import TestKit
import Testing
import WireModel

@testable import LogArchive
@testable import RecordStore
@testable import Registry
@testable import SQLiteRecordStore

@Suite("Following chains") struct ChainFollowerTests {
    private let directory: TemporaryDirectory
    private let clock = ManualStoreClock()
    private let device: ScriptedDevice
    private let other: ScriptedDevice

    /// Two devices on two days. The first has gaps, rejected records and a lost range; four slices on the first day.
    init() async throws {
        directory = try TemporaryDirectory()
        let store = try SQLiteRecordStore.open(directory, clock: clock)
        var device = ScriptedDevice()
        device.produce(6)
        device.dropOldest(2)
        try await store.drain(&device, parts: 4)
        device.append(Data([0xFF]))
        device.produce(5)
        try await store.drain(&device, parts: 4)
        device.produce(4)
        device.held.removeFirst(2)
        device.mark = StreamMark(number: 14, link: device.links[14] ?? .zero)
        try await store.drain(&device)
        var other = ScriptedDevice()
        other.produce(5)
        try await store.drain(&other)
        clock.advance(days: 1)
        device.produce(3)
        try await store.drain(&device)
        await store.shutDown()
        (self.device, self.other) = (device, other)
    }

    private static let first = "2026-03-01"
    private static let second = "2026-03-02"

    private func chain(_ device: ScriptedDevice) -> String {
        "(SELECT id FROM chain WHERE device = x'\(device.device.data.map { String(format: "%02x", $0) }.joined())')"
    }

    private func round(_ store: any RecordStore) async throws -> ChainFindings {
        while true { if let findings = try await store.followChains() { return findings } }
    }

    private func findings(in directory: TemporaryDirectory) async throws -> ChainFindings {
        try await round(SQLiteRecordStore.openReading(directory: directory.path))
    }

    private static let copiedSlice = """
        lost_before, prior_link, last_link, received_at, earliest, latest, record_count, kinds, gaps, records FROM slice
        """

    @Test func `A whole store has no faults`() async throws {
        let findings = try await findings(in: directory)
        #expect(findings.faults.isEmpty && findings.furtherFaults == 0 && findings.unreadableFiles.isEmpty)
        #expect(findings.partitions == 2)
    }

    @Test func `Numbers that rows lack or have twice are counted`() async throws {
        let (one, two) = (chain(device), chain(other))
        let alterations: [(sql: String, day: String, device: ScriptedDevice, missing: UInt64, doubled: UInt64)] = [
            ("DELETE FROM slice WHERE chain = \(one) AND first = 7", Self.first, device, 4, 0),
            ("DELETE FROM slice WHERE chain = \(two)", Self.first, other, 5, 0),
            ("UPDATE slice SET lost_before = 0 WHERE lost_before > 0", Self.first, device, 2, 0),
            (
                """
                INSERT INTO slice SELECT NULL, chain, first + 1, last, \(Self.copiedSlice) WHERE chain = \(one) \
                AND first = 7
                """,
                Self.first, device, 0, 3
            ),
            // One is lost and one is doubled: they do not make up for each other.
            (
                """
                UPDATE slice SET last = 9 WHERE chain = \(one) AND first = 7;
                INSERT INTO slice SELECT NULL, chain, 2, 2, \(Self.copiedSlice) WHERE chain = \(one) AND first = 1;
                """, Self.first, device, 1, 1
            ),
            ("UPDATE chain SET entry_number = 3 WHERE id = \(two)", Self.first, other, 0, 3),
            (
                "UPDATE chain SET mark = (SELECT mark FROM chain WHERE id = \(one)) WHERE id = \(two)", Self.first,
                other,
                device.mark.number - 3 - 5, 0
            ),
            ("DELETE FROM slice", Self.second, device, 3, 0),
        ]
        for altered in alterations {
            let copy = try directory.copy()
            try copy.execute(altered.sql, on: copy.recordFile(altered.day))
            let found = try await findings(in: copy)
            let fault = try #require(found.faults.first, "\(altered.sql)")
            #expect(found.faults.count == 1 && found.furtherFaults == 0, "\(altered.sql): \(found.faults)")
            #expect(fault.device == "\(altered.device.device)" && fault.epoch == "\(altered.device.epoch)")
            #expect(fault.file == "records/\(altered.day)/sample.sqlite" && fault.stream == .sample)
            #expect(fault.missing == altered.missing && fault.doubled == altered.doubled, "\(altered.sql): \(fault)")
        }
    }

    @Test func `What belongs to nobody is counted`() async throws {
        try directory.execute(
            "INSERT INTO slice SELECT NULL, 99, first, last, \(Self.copiedSlice) WHERE first = 7",
            on: directory.recordFile(Self.first))
        let findings = try await findings(in: directory)
        #expect(findings.faults.isEmpty && findings.furtherFaults == 1)
    }

    @Test func `A file that cannot be read is named and keeps nothing else from being followed`() async throws {
        try directory.execute("UPDATE chain SET mark = x'FFFF'", on: directory.recordFile(Self.first))
        try directory.execute("DELETE FROM slice", on: directory.recordFile(Self.second))
        let findings = try await findings(in: directory)
        #expect(findings.unreadableFiles == ["records/\(Self.first)/sample.sqlite"])
        #expect(findings.faults.map(\.missing) == [3])
    }

    @Test func `The newest file is followed from where it was left`() async throws {
        let store = try SQLiteRecordStore.open(directory, clock: clock)
        #expect(try await round(store).faults.isEmpty)
        var device = device
        for _ in 0..<3 {
            device.produce(2)
            try await store.drain(&device)
            #expect(try await round(store).faults.isEmpty)
        }
        await store.shutDown()
    }

    @Test func `A step is short, however much there is`() async throws {
        let slices = 2 * ChainFollower.slicesPerStep + 1
        let last = device.mark.number
        try directory.execute(
            """
            WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < \(slices))
            INSERT INTO slice SELECT NULL, \(chain(device)), \(last) + i, \(last) + i, 0, x'00', x'00', 0, 0, 0, 1, 0, \
            x'', x'' FROM n
            """, on: directory.recordFile(Self.second))
        let store = try SQLiteRecordStore.openReading(directory: directory.path)
        var steps = 0
        var findings: ChainFindings?
        while findings == nil {
            findings = try await store.followChains()
            steps += 1
        }
        #expect(steps == 3)
        #expect(findings?.faults.map(\.doubled) == [UInt64(slices)], "above the mark")
    }

    @Test func `An old file is read once, also over a restart`() async throws {
        var store = try SQLiteRecordStore.open(directory, clock: clock)
        #expect(try await round(store).faults.isEmpty)
        await store.shutDown()
        // What is remembered is reported, so the file was not read.
        let memory = directory.path + "/balance.json"
        let text = try String(contentsOfFile: memory, encoding: .utf8)
        #expect(text.contains("records/\(Self.first)/sample.sqlite") && !text.contains(Self.second))
        try text.replacing(#""further":0"#, with: #""further":7"#).write(
            toFile: memory, atomically: true, encoding: .utf8)
        store = try SQLiteRecordStore.open(directory, clock: clock)
        #expect(try await round(store).furtherFaults == 7)
        #expect(try await round(store).furtherFaults == 7)
        // A file that was changed is read again.
        try directory.execute("DELETE FROM slice WHERE first = 7", on: directory.recordFile(Self.first))
        let findings = try await round(store)
        #expect(findings.furtherFaults == 0 && findings.faults.map(\.missing) == [4])
        await store.shutDown()
        for damaged in ["", "[]", "{"] {
            try damaged.write(toFile: memory, atomically: true, encoding: .utf8)
            store = try SQLiteRecordStore.open(directory, clock: clock)
            #expect(try await round(store).faults.count == 1, "after \(damaged)")
            await store.shutDown()
        }
    }

    @Test func `Balances by marks are those that are counted`() async throws {
        let store = try SQLiteRecordStore.open(directory, clock: clock)
        var third = ScriptedDevice(stream: .event)
        third.produce(9)
        third.apply(await store.append(try #require(third.part(4)), from: third.device))
        _ = try await store.close(
            EpochClose(
                epoch: other.epoch,
                streams: StreamName.allCases.map { .init(stream: $0, last: 8, reason: .wiped, points: []) }),
            from: other.device)
        let devices = [device.device, other.device, third.device]
        func expectEqual() async throws {
            let marked = try await store.markedBalances(of: Set(devices))
            #expect(marked.unreadableFiles.isEmpty)
            for device in devices {
                let counted = try await store.balance(of: device)
                let found = marked.balances.filter { $0.device == device }.map(\.balance).sorted()
                #expect(found == counted, "\(device)")
            }
        }
        try await expectEqual()
        #expect(try await store.markedBalances(of: [third.device]).balances.count == 1)
        #expect(try await store.markedBalances(of: []).balances.isEmpty)
        // The counts and marks of a removed file are the baseline's.
        try await store.drop(Partition(day: try #require(UTCDay(Self.first)), stream: .sample))
        try await expectEqual()
        #expect(try await round(store).faults.isEmpty)
        await store.shutDown()
        try directory.execute(
            """
            UPDATE baseline SET removed_rows = removed_rows - 1 WHERE device = \
            x'\(other.device.data.map { String(format: "%02x", $0) }.joined())'
            """,
            on: directory.path + "/collector.sqlite")
        let marked = try await SQLiteRecordStore.openReading(directory: directory.path).markedBalances(of: [
            other.device
        ])
        let balance = try #require(marked.balances.first { $0.balance.stream == .sample }?.balance)
        #expect(balance.storedRows + 1 == balance.mark.stored && balance.balance.closes)
    }
}
