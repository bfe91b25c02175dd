import ClickHouse
import ClickHouseTestKit
import Foundation
import PostgreSQL
import PostgresTestKit
import RecordStore
import StoreTestKit
import Testing
import WireModel

@testable import ClusterStore

/// Keys of items lie in PostgreSQL, and in their slices, from which a recovery takes them.
@Suite struct ItemKeyTableTests {
    private func count(_ bed: ClusterTestBed) async throws -> Int {
        let database = try PostgresDatabase(bed.configuration.postgreSQL, logger: ClusterTestBed.logger)
        let count = try await database.read { session throws(PostgresError) in
            try session.query("SELECT count(*) FROM item_key")[0].int(0)
        }
        await database.shutDown()
        return count
    }

    @Test func `Several collectors store a key once`() async throws {
        let bed = try await ClusterTestBed()
        let stores = [try await bed.open(), try await bed.open()]
        let sender = ItemSender()
        let stored = await withTaskGroup(of: Int.self) { group in
            // None is refused, although each claims the chain from the others.
            for call in 0..<8 {
                let store = stores[call % 2]
                group.addTask {
                    let items = sender.items(sender.run("a", (call..<call + 8).map { "\($0)" }))
                    let answer = await store.append(items, to: .event)
                    #expect(answer.outcome == .stored, "\(answer.detail)")
                    return answer.stored
                }
            }
            return await group.reduce(0, +)
        }
        let names = try await stores[0].names(of: sender).filter { $0 != "[a]" }
        #expect(stored == 15)
        #expect(names.count == 15 && Set(names).count == 15)
        #expect(try await stores[0].verify().isWhole)
        for store in stores { await store.shutDown() }
        await bed.remove()
    }

    @Test func `A recovery finds the keys of slices whose commit is lost`() async throws {
        let bed = try await ClusterTestBed()
        var store = try await bed.open()
        let sender = ItemSender()
        let (device, epoch) = (DeviceID.random(), EpochID.random())
        func items(_ numbers: ClosedRange<UInt64>) -> UnnumberedItems {
            let own = numbers.map {
                sender.item("\($0)", uid: ItemKey.uid(device: device, epoch: epoch, stream: .event, number: $0))
            }
            return sender.items(sender.run("a", items: own + [sender.item("x\(numbers)", uid: "x\(numbers)")]))
        }
        #expect(await store.append(items(1...5), to: .event).stored == 6)
        let failover = Failover(bed)
        try await failover.remember()
        #expect(await store.append(items(6...9), to: .event).stored == 5)
        bed.clock.advance(days: 1)
        #expect(await store.append(items(10...12), to: .event).stored == 4)
        await store.shutDown()
        try await failover.happen()
        let report = try await ClusterRecovery(bed.configuration, logger: ClusterTestBed.logger).run()
        #expect(report.slices == 2 && report.records == 11)
        store = try await bed.open()
        for numbers: ClosedRange<UInt64> in [1...5, 6...9, 10...12] {
            let answer = await store.append(items(numbers), to: .event)
            #expect(answer == UnnumberedAnswer(stored: 0, known: numbers.count + 1), "\(numbers)")
        }
        #expect(try await store.names(of: sender).filter { $0 != "[a]" }.count == 15)
        #expect(try await store.verify().isWhole)
        await store.shutDown()
        await bed.remove()
    }

    @Test func `Keys go with their day`() async throws {
        let bed = try await ClusterTestBed()
        let store = try await bed.open()
        let sender = ItemSender()
        #expect(await store.append(sender.items(sender.run("a", (0..<20).map { "\($0)" })), to: .event).stored == 20)
        bed.clock.advance(days: 1)
        #expect(await store.append(sender.items(sender.run("a", ["b"])), to: .event).stored == 1)
        #expect(try await count(bed) == 21)
        try await store.drop(try #require(try await store.partitions().kept.first).partition)
        #expect(try await count(bed) == 1)
        await store.shutDown()
        await bed.remove()
    }

    @Test func `Packed keys are read back, and other bytes are refused`() throws {
        let ranges = [
            KeyRange(origin: .random(), first: 0, last: 0),
            KeyRange(origin: .random(), first: 7, last: BatchPart.greatestNumber),
        ]
        #expect(try [KeyRange](packed: ranges.packed) == ranges)
        #expect(try [KeyRange](packed: Data()) == [])
        for cut in 1..<32 {
            #expect(throws: StoreError.self) { _ = try [KeyRange](packed: ranges.packed.dropLast(cut)) }
        }
        #expect(throws: StoreError.self) { _ = try [KeyRange](packed: Data(repeating: 0xFF, count: 32)) }
    }
}
