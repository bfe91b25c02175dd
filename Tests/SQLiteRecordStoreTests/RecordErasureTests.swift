import Foundation
import RecordStore
import Registry
import SQLite
import SQLiteRecordStore
import SQLiteStoreTestKit
import StoreTestKit
import TestKit
import Testing
import WireModel

/// What erasing a device leaves in the files.
@Suite struct RecordErasureTests {
    private let directory: TemporaryDirectory
    private let clock = ManualStoreClock()

    init() throws { directory = try TemporaryDirectory() }

    /// Two days of two devices. Bodies are random, so that records lie in the files as they are. Those of the device
    /// that stays are the beginnings of the other's.
    private func filled() async throws -> (store: SQLiteRecordStore, gone: ScriptedDevice, kept: ScriptedDevice) {
        let store = try SQLiteRecordStore.open(directory, clock: clock)
        var (gone, kept) = (ScriptedDevice(), ScriptedDevice())
        for day in 0..<2 {
            if day > 0 { clock.advance(days: 1) }
            gone.produce(40, bodyBytes: 2000)
            try await store.drain(&gone, parts: 4)
            kept.produce(20, bodyBytes: 500)
            try await store.drain(&kept, parts: 4)
        }
        return (store, gone, kept)
    }

    private func files() throws -> [URL] {
        let records = URL(fileURLWithPath: directory.path + "/records")
        let found = FileManager.default.enumerator(at: records, includingPropertiesForKeys: nil)
        return try #require(found).compactMap { $0 as? URL }.filter { $0.path.contains(".sqlite") }
    }

    /// How many of the device's records are in some file, or in its WAL.
    private func remains(of device: ScriptedDevice) throws -> Int {
        let contents = try files().map { try Data(contentsOf: $0) }
        // From the end of the body, where no page ends as a rule.
        return device.made.values.filter { record in
            contents.contains { $0.range(of: record.suffix(200).prefix(100)) != nil }
        }.count
    }

    private func delete(_ device: ScriptedDevice, isErased: Bool = false) throws {
        let database = try Connection(path: directory.path + "/collector.sqlite")
        try database.run(
            """
            INSERT INTO deleted_device (id, organization, credential_hash, deleted, erased)
            VALUES (?, 'default', ?, 0, ?)
            """, device.device.data, Data([1]), isErased ? 1 : nil)
    }

    @Test func `No byte of a record is left, in any file or WAL`() async throws {
        let (store, gone, kept) = try await filled()
        #expect(try remains(of: gone) > 70 && remains(of: kept) > 30)
        let others = try remains(of: kept)
        try await store.erase([gone.device])
        #expect(try remains(of: gone) == 0)
        #expect(try remains(of: kept) == others)
        #expect(try await store.verify().isWhole)
        await store.shutDown()
        #expect(try remains(of: gone) == 0)
    }

    @Test func `A closed day becomes smaller when much of it is erased`() async throws {
        let (store, gone, _) = try await filled()
        let day = directory.recordFile("2026-03-01")
        let before = try Data(contentsOf: URL(fileURLWithPath: day)).count
        try await store.erase([gone.device])
        let after = try Data(contentsOf: URL(fileURLWithPath: day)).count
        #expect(after < before / 2, "\(before) bytes became \(after)")
        await store.shutDown()
    }

    /// As if the process had died after the baseline knew the chain, and before the file lost it.
    @Test func `An erasure cut short counts nothing twice`() async throws {
        var (store, gone, kept) = try await filled()
        let balance = try await store.balance(of: gone.device)
        let file = directory.recordFile("2026-03-01")
        let bytes = try Data(contentsOf: URL(fileURLWithPath: file))
        try await store.erase([gone.device])
        await store.shutDown()
        try bytes.write(to: URL(fileURLWithPath: file))
        try delete(gone)
        #expect(try await directory.verify().isWhole, "what is being erased is no finding")
        store = try SQLiteRecordStore.open(directory, clock: clock)
        try await store.erase([gone.device])
        #expect(try await store.balance(of: gone.device) == balance)
        #expect(try remains(of: gone) == 0)
        kept.produce(1)
        try await store.drain(&kept)
        #expect(try await store.verify().isWhole)
        await store.shutDown()
    }

    @Test func `A chain of an erased device must be whole, too`() async throws {
        let (store, gone, _) = try await filled()
        let file = directory.recordFile("2026-03-01")
        let bytes = try Data(contentsOf: URL(fileURLWithPath: file))
        try await store.erase([gone.device])
        await store.shutDown()
        try bytes.write(to: URL(fileURLWithPath: file))
        try delete(gone, isErased: true)
        #expect(try await !directory.verify().isWhole)
    }

    @Test func `A chain of a device that is not deleted must be whole`() async throws {
        let (store, gone, _) = try await filled()
        let file = directory.recordFile("2026-03-01")
        let bytes = try Data(contentsOf: URL(fileURLWithPath: file))
        try await store.erase([gone.device])
        await store.shutDown()
        try bytes.write(to: URL(fileURLWithPath: file))
        #expect(try await !directory.verify().isWhole)
    }

    @Test func `A reader that holds the WAL delays the erasure`() async throws {
        let (store, gone, _) = try await filled()
        let reader = try Connection(path: directory.recordFile("2026-03-02"), options: .init(mode: .readOnly))
        try reader.begin(.deferred)
        _ = try reader.first("SELECT count(*) FROM slice") { $0.int(0) }
        await #expect {
            try await store.erase([gone.device])
        } throws: {
            ($0 as? StoreError)?.code == .overloaded
        }
        reader.rollback()
        try await store.erase([gone.device])
        #expect(try remains(of: gone) == 0)
        await store.shutDown()
    }

    /// A cursor names the last slice that it has read, by its id.
    @Test func `Ids of erased slices and chains are not used again`() async throws {
        let (first, gone, kept) = try await filled()
        func ids(_ table: String) throws -> [Int64] {
            try Connection(path: directory.recordFile("2026-03-02"), options: .init(mode: .readOnly))
                .rows("SELECT id FROM \(table) ORDER BY id") { $0.int64(0) }
        }
        var other = gone
        other.produce(1)
        try await first.drain(&other)
        let (slices, chains) = (try ids("slice"), try ids("chain"))
        try await first.erase([gone.device])
        await first.shutDown()
        let store = try SQLiteRecordStore.open(directory, clock: clock)
        var new = ScriptedDevice()
        new.produce(1)
        try await store.drain(&new)
        #expect(try #require(ids("slice").last) > #require(slices.last))
        #expect(try #require(ids("chain").last) > #require(chains.last))
        #expect(try await store.allRecords(of: kept.device, stream: .sample).count == 40)
        #expect(try await store.verify().isWhole)
        await store.shutDown()
    }

    @Test func `A backup across an erasure begins anew`() async throws {
        let (store, gone, _) = try await filled()
        let copy = try TemporaryDirectory()
        try await store.erase([.random()])
        // The metadata is copied, then the device is erased, then the records are copied.
        try FileManager.default.createDirectory(atPath: copy.path + "/records", withIntermediateDirectories: true)
        let database = try Connection(path: directory.path + "/collector.sqlite", options: .init(mode: .readOnly))
        try database.backup(to: copy.path + "/collector.sqlite", pagesPerStep: 0)
        try await store.erase([gone.device])
        #expect(try await !store.backup(to: copy.path) { _ throws(StoreError) in })
        await store.shutDown()
    }
}
