import Foundation
import SQLite
import SQLiteStoreTestKit
import StoreTestKit
import TestKit
import Testing
import WireModel

@testable import CollectorMaintenance
@testable import RecordStore
@testable import Registry
@testable import SQLiteRecordStore

/// An item with a key is stored once, whatever ends the process and whatever happens to the files: its key is on disk
/// with it, and never without it.
@Suite struct ItemKeyTests {
    private let directory: TemporaryDirectory
    private let clock = ManualStoreClock()
    private static let firstDay = "2026-03-01"
    private static let lastDay = "2026-03-03"

    init() throws { directory = try TemporaryDirectory() }

    private func open(_ path: TemporaryDirectory? = nil) throws -> SQLiteRecordStore {
        try SQLiteRecordStore.open(path ?? directory, clock: clock)
    }

    /// Requests of some senders, one after the other: some items have keys of others, some have keys in a row.
    private struct Traffic {
        var senders = (0..<3).map { _ in ItemSender() }
        var requests: [(sender: Int, items: UnnumberedItems)] = []
        var names: [Set<String>] = [[], [], []]

        mutating func add(_ count: Int, at time: Int64, padding: Int = 0) {
            for _ in 0..<count {
                let place = requests.count % senders.count
                let sender = senders[place]
                let own = requests.count.isMultiple(of: 2)
                let items = (0..<6).map { item in
                    let name = "\(requests.count)-\(item)"
                    names[place].insert("a:\(name)")
                    let uid =
                        own
                        ? ItemKey.uid(
                            device: sender.device, epoch: sender.epoch, stream: .event,
                            number: UInt64(requests.count * 10 + item))
                        : name
                    return sender.item(name, uid: uid, at: time, padding: padding)
                }
                requests.append((place, sender.items(sender.run("a", items: items, at: time))))
            }
        }

        /// Sends everything again.
        /// - Returns: the items that were stored.
        func repeated(to store: SQLiteRecordStore) async -> Int {
            var stored = 0
            for (_, items) in requests {
                let answer = await store.append(items, to: .event)
                #expect(answer.outcome == .stored, "\(answer.detail)")
                stored += answer.stored
            }
            return stored
        }

        /// How often items are there more than once. None is missing.
        func doubles(in store: SQLiteRecordStore, _ comment: Comment? = nil) async throws -> Int {
            var doubles = 0
            for (sender, expected) in zip(senders, names) {
                let found = try await store.names(of: sender).filter { !$0.hasPrefix("[") }
                #expect(Set(found) == expected, comment)
                doubles += found.count - Set(found).count
            }
            return doubles
        }
    }

    private func fill(_ store: SQLiteRecordStore, padding: Int = 900) async throws -> Traffic {
        var traffic = Traffic()
        for day in 0..<3 {
            if day > 0 { clock.advance(days: 1) }
            let before = traffic.requests.count
            traffic.add(9, at: clock.now(), padding: padding)
            for (_, items) in traffic.requests[before...] {
                #expect(await store.append(items, to: .event) == UnnumberedAnswer(stored: 6, known: 0))
            }
        }
        return traffic
    }

    // MARK: Kills

    /// A WAL that ends anywhere is what a kill or a power cut leaves of transactions that were not answered.
    @Test func `Wherever the WAL ends, a record and its key are on disk together`() async throws {
        let store = try open()
        var traffic = Traffic()
        traffic.add(7, at: clock.now(), padding: 300)
        for (_, items) in traffic.requests { _ = await store.append(items, to: .event) }
        let killed = try directory.copy()
        await store.shutDown()
        let wal = "records/\(Self.firstDay)/event.sqlite-wal"
        let bytes = try Data(contentsOf: URL(fileURLWithPath: killed.file(wal))).count
        let frame = 24 + 8192
        let frames = (bytes - 32) / frame
        try #require(frames > 14)
        var stored: Set<Int> = []
        // The schema was synced before the first record, so a kill leaves the WAL.
        var cuts = [20]
        for place in 0...frames {
            cuts.append(32 + place * frame)
            if place < frames { cuts.append(32 + place * frame + frame / 2) }
        }
        for cut in cuts {
            let copy = try killed.copy()
            let handle = try FileHandle(forWritingTo: URL(fileURLWithPath: copy.file(wal)))
            try handle.truncate(atOffset: UInt64(cut))
            try handle.close()
            let again = try open(copy)
            #expect(try await again.verify().isWhole, "\(cut)")
            // Every record that is there has its key, and every key has its record.
            stored.insert(await traffic.repeated(to: again))
            #expect(try await traffic.doubles(in: again, "\(cut)") == 0, "\(cut)")
            #expect(await traffic.repeated(to: again) == 0, "\(cut)")
            #expect(try await again.verify().isWhole, "\(cut)")
            await again.shutDown()
        }
        #expect(stored.isSuperset(of: [0, 6, 12, 18, 24, 30, 36]), "after each of the transactions: \(stored)")
    }

    // MARK: Damage

    @Test(arguments: RecordSalvageTests.Damage.allCases, [firstDay, lastDay])
    func `A salvage keeps no key without its record`(_ damage: RecordSalvageTests.Damage, _ day: String) async throws {
        let store = try open()
        let traffic = try await fill(store)
        await store.shutDown()
        try damage.apply(to: "\(directory.path)/records/\(day)/event.sqlite")
        let again = try open()
        again.recordDamage(Partition(day: try #require(UTCDay(day)), stream: .event), "seen by a test")
        _ = await again.salvageDamaged()
        #expect(try await again.verify().isWhole)
        let stored = await traffic.repeated(to: again)
        // A record whose key was on a damaged page comes a second time; none is missing.
        let doubles = try await traffic.doubles(in: again)
        #expect(doubles <= stored && stored <= 54)
        switch damage {
        case .headerZeroed: #expect(stored == 0, "no key was on it")
        case .emptied, .replacedByText: #expect(stored == 54 && doubles == 0, "all of the day")
        case .firstPagesZeroed, .middlePageFlipped, .truncated: break
        }
        #expect(await traffic.repeated(to: again) == 0)
        #expect(try await again.verify().isWhole)
        await again.shutDown()
    }

    @Test func `A kill after any step of a salvage leaves no key without its record`() async throws {
        let store = try open()
        let traffic = try await fill(store)
        await store.shutDown()
        try RecordSalvageTests.Damage.truncated.apply(to: "\(directory.path)/records/\(Self.lastDay)/event.sqlite")
        let partition = Partition(day: try #require(UTCDay(Self.lastDay)), stream: .event)
        var copies = [("untouched", try directory.copy())]
        let report = try RecordSalvage(
            DataDirectory(path: directory.path), clock: clock, logger: quietLogger,
            observe: { step in
                do { copies.append(("\(step)", try directory.copy())) } catch { Issue.record(error) }
            }
        ).run(partition, cause: "a test")
        #expect(copies.count == 9 && report.lostNumbers > 0)
        var stored: Set<Int> = []
        for (step, copy) in copies {
            let again = try open(copy)
            again.recordDamage(partition, "seen by a test")
            _ = await again.salvageDamaged()
            stored.insert(await traffic.repeated(to: again))
            _ = try await traffic.doubles(in: again, "\(step)")
            #expect(try await again.verify().isWhole, "\(step)")
            await again.shutDown()
        }
        #expect(stored.count == 1, "each of them finds the same: \(stored)")
    }

    /// The slice that says what is lost gets the id and the last link of the lost one.
    @Test func `A slice that replaces a lost one does not keep its keys`() async throws {
        let store = try open()
        let sender = ItemSender()
        for request in 0..<4 {
            let items = sender.items(sender.run("a", ["\(request)"]))
            #expect(await store.append(items, to: .event).stored == 1)
        }
        await store.shutDown()
        let path = "\(directory.path)/records/\(Self.firstDay)/event.sqlite"
        let connection = try Connection(path: path, options: .init(mode: .readWrite))
        try connection.execute("UPDATE slice SET records = zeroblob(length(records)) WHERE id = 4")
        try connection.close()
        let partition = Partition(day: try #require(UTCDay(Self.firstDay)), stream: .event)
        try RecordSalvage(DataDirectory(path: directory.path), clock: clock, logger: quietLogger)
            .run(partition, cause: "a test")
        let mended = try Connection(path: path, options: .init(mode: .readOnly))
        let lost = try mended.first("SELECT record_count, last_link FROM slice WHERE id = 4") { $0.int(0) }
        let keys = try mended.first("SELECT count(*) FROM key") { $0.int(0) }
        #expect(lost == 0 && keys == 3)
        try mended.close()
        let again = try open()
        #expect(await again.append(sender.items(sender.run("a", ["3"])), to: .event).stored == 1)
        #expect(await again.append(sender.items(sender.run("a", ["0", "1", "2", "3"])), to: .event).known == 4)
        #expect(try await again.verify().isWhole)
        await again.shutDown()
    }

    @Test func `A key without its record is found`() async throws {
        let store = try open()
        let sender = ItemSender()
        #expect(await store.append(sender.items(sender.run("a", ["1"])), to: .event).stored == 1)
        await store.shutDown()
        #expect(try await directory.verify().isWhole)
        let path = "\(directory.path)/records/\(Self.firstDay)/event.sqlite"
        let connection = try Connection(path: path, options: .init(mode: .readWrite))
        try connection.execute(
            "INSERT INTO key SELECT chain, zeroblob(16), first, last, slice + 1, proof FROM key LIMIT 1")
        try connection.close()
        let report = try await directory.verify()
        #expect(report.findings.map(\.code) == [.miscounted])
        #expect(report.findings.first?.message.contains("1 key") == true)
    }

    // MARK: Days

    @Test func `A key of a day that cannot be read is not taken for unknown`() async throws {
        let store = try open()
        let traffic = try await fill(store)
        await store.shutDown()
        let again = try open()
        // It is no database, and it is not repaired while nobody may write beside it.
        let path = "\(directory.path)/records/\(Self.firstDay)/event.sqlite"
        let moved = path + ".away"
        try FileManager.default.moveItem(atPath: path, toPath: moved)
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: false)
        let refused = await again.append(
            [traffic.requests[0].items, traffic.requests[1].items], to: .event, receivedAt: clock.now())
        #expect(refused.allSatisfy { $0.outcome == .unavailable && !$0.detail.isEmpty })
        try FileManager.default.removeItem(atPath: path)
        try FileManager.default.moveItem(atPath: moved, toPath: path)
        #expect(await traffic.repeated(to: again) == 0)
        #expect(try await traffic.doubles(in: again) == 0)
        await again.shutDown()
    }

    @Test func `A file without keys has no table for them`() async throws {
        let store = try open()
        let sender = ItemSender()
        let items = sender.items(sender.run("a", items: [sender.item("1", uid: nil)]))
        #expect(await store.append(items, to: .event).stored == 1)
        await store.shutDown()
        let path = "\(directory.path)/records/\(Self.firstDay)/event.sqlite"
        let connection = try Connection(path: path, options: .init(mode: .readOnly))
        let tables = try connection.rows("SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name") {
            $0.string(0)
        }
        #expect(tables == ["chain", "counter", "rejected", "slice"])
        try connection.close()
    }
}
