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

/// Several collectors work on the same chains: the newest claim wins, and nothing is lost or doubled.
@Suite struct ClaimTests {
    /// The two halves of a collector's work, a step at a time.
    private struct Collector {
        let chains: ChainTable
        let slices: SliceTable

        init(_ bed: ClusterTestBed) async throws {
            let database = try PostgresDatabase(bed.configuration.postgreSQL, logger: ClusterTestBed.logger)
            let client = try ClickHouseClient(bed.configuration.clickHouse, logger: ClusterTestBed.logger)
            chains = ChainTable(database: database, stream: .sample, clock: bed.clock)
            slices = SliceTable(client: client, quorum: 2, engine: try await client.engineVersion())
        }

        /// Claims the chain of a part and decides it.
        func claim(_ part: BatchPart, of device: DeviceID) async throws -> (ChainTable.Claims, ChainTable.Move) {
            let key = ChainKey(device: device, epoch: part.epoch)
            let claims = try await chains.claim([key])
            let chain = try #require(claims.chains[key])
            let item = GroupItem(job: 0, place: 0, chain: key, receivedAt: 1, work: .append(part))
            let decision = GroupDecision(
                item, part, chain, SliceVersion(generation: claims.generation, attempt: chain.attempt), .sample)
            return (claims, try #require(decision.move))
        }

        func write(_ move: ChainTable.Move) async throws {
            guard case .stored = await slices.insert(move.slices, of: .sample) else {
                throw StoreError(.io, "not stored")
            }
        }

        func shutDown() async {
            await chains.database.shutDown()
            await slices.client.shutDown()
        }
    }

    private static func withTwo(
        _ body: (ClusterTestBed, ClusterRecordStore, Collector, Collector) async throws -> Void
    ) async throws {
        try await ClusterTestBed.withStore { bed, store in
            let (one, two) = (try await Collector(bed), try await Collector(bed))
            do { try await body(bed, store, one, two) } catch {
                await one.shutDown()
                await two.shutDown()
                throw error
            }
            await one.shutDown()
            await two.shutDown()
        }
    }

    private func expectWhole(_ device: ScriptedDevice, in store: ClusterRecordStore) async throws {
        let records = try await store.allRecords(of: device.device, stream: .sample)
        #expect(records.map(\.bytes) == (1...device.last).reversed().map { device.made[$0] })
        let balance = try await store.balance(of: device.device)
        #expect(balance.map(\.storedRows) == [device.last] && balance.allSatisfy { $0.balance.closes })
        let report = try await store.verify()
        #expect(report.isWhole, "\(report.findings)")
    }

    @Test func `An older claim moves no mark`() async throws {
        try await Self.withTwo { _, store, one, two in
            var device = ScriptedDevice()
            device.produce(10)
            let (oldClaims, old) = try await one.claim(try #require(device.part(7)), of: device.device)
            let (newClaims, new) = try await two.claim(try #require(device.part()), of: device.device)
            try await one.write(old)
            try await two.write(new)
            #expect(try await one.chains.move([old], generation: oldClaims.generation) == [])
            #expect(try await two.chains.move([new], generation: newClaims.generation) == [new.chain.row.key])
            #expect(try await one.chains.move([old], generation: oldClaims.generation) == [])
            try await expectWhole(device, in: store)
        }
    }

    @Test func `A slice that is written much later does not count`() async throws {
        try await Self.withTwo { _, store, one, two in
            var device = ScriptedDevice()
            device.produce(6)
            let (_, late) = try await one.claim(try #require(device.part(4)), of: device.device)
            #expect(try await store.drain(&device)?.outcome == .stored)
            device.produce(3)
            _ = try await store.drain(&device)
            try await one.write(late)
            try await expectWhole(device, in: store)
            // Also above the mark: the chain ends where the mark is.
            device.produce(2)
            let (_, above) = try await two.claim(try #require(device.part()), of: device.device)
            try await two.write(above)
            let balance = try await store.balance(of: device.device)
            #expect(balance.map(\.mark.number) == [9] && balance.map(\.storedRows) == [9])
            _ = try await store.drain(&device)
            try await expectWhole(device, in: store)
        }
    }

    @Test func `A chain that another has taken over does not hold back the others`() async throws {
        try await Self.withTwo { _, store, one, two in
            var devices = [ScriptedDevice(), ScriptedDevice(), ScriptedDevice()]
            var moves: [ChainTable.Move] = []
            var generation: UInt64 = 0
            for place in devices.indices {
                devices[place].produce(3)
                let (claims, move) = try await one.claim(try #require(devices[place].part()), of: devices[place].device)
                try await one.write(move)
                moves.append(move)
                generation = claims.generation
            }
            _ = try await two.chains.claim([moves[1].chain.row.key])
            let moved = try await one.chains.move(moves, generation: generation)
            #expect(moved == [moves[0].chain.row.key, moves[2].chain.row.key])
            for place in devices.indices {
                let answer = try await store.drain(&devices[place])
                #expect(answer?.outcome == (place == 1 ? .stored : .already))
                try await expectWhole(devices[place], in: store)
            }
        }
    }

    @Test func `No mark moves under an older generation`() async throws {
        try await Self.withTwo { bed, _, one, _ in
            var device = ScriptedDevice()
            device.produce(3)
            let (claims, move) = try await one.claim(try #require(device.part()), of: device.device)
            try await one.write(move)
            _ = try await bed.postgreSQL.sql("UPDATE store SET generation = generation + 1")
            await #expect(throws: StoreError.self) {
                _ = try await one.chains.move([move], generation: claims.generation)
            }
        }
    }

    @Test func `A slice of a day that is being dropped moves no mark`() async throws {
        try await Self.withTwo { bed, store, one, _ in
            var device = ScriptedDevice()
            device.produce(3)
            _ = try await store.drain(&device)
            device.produce(3)
            let (claims, move) = try await one.claim(try #require(device.part()), of: device.device)
            try await one.write(move)
            try await store.drop(try #require(try await store.partitions().kept.first).partition)
            #expect(try await one.chains.move([move], generation: claims.generation) == [])
            #expect(try await store.drain(&device)?.outcome == .stored)
            let records = try await store.allRecords(of: device.device, stream: .sample)
            #expect(records.map(\.header.number) == [6, 5, 4])
            #expect(try await store.balance(of: device.device).map(\.storedRows) == [6])
            #expect(try await store.verify().isWhole)
        }
    }

    @Test func `A partition that a late write revives is dropped again`() async throws {
        try await Self.withTwo { bed, store, one, _ in
            var device = ScriptedDevice()
            device.produce(3)
            let (_, late) = try await one.claim(try #require(device.part(1)), of: device.device)
            _ = try await store.drain(&device)
            let partition = try #require(try await store.partitions().kept.first).partition
            try await store.drop(partition)
            try await one.write(late)
            let count = "SELECT count() FROM \(bed.postgreSQL.name).slice_sample WHERE day = '\(partition.day)'"
            try await bed.clickHouse.wait("the late slice") { try await bed.clickHouse.number(count) == 1 }
            #expect(try await store.allRecords(of: device.device, stream: .sample).isEmpty)
            try await store.reclaim()
            #expect(try await bed.clickHouse.number(count) == 0)
            #expect(try await store.balance(of: device.device).map(\.storedRows) == [3])
        }
    }

    /// A recovery drops all days up to the last one that was dropped.
    @Test func `A slice of a day before a dropped one moves no mark`() async throws {
        try await Self.withTwo { bed, store, one, _ in
            var (device, other) = (ScriptedDevice(), ScriptedDevice())
            device.produce(3)
            let (claims, move) = try await one.claim(try #require(device.part()), of: device.device)
            try await one.write(move)
            bed.clock.advance(days: 1)
            other.produce(1)
            _ = try await store.drain(&other)
            try await store.drop(try #require(try await store.partitions().kept.first).partition)
            #expect(try await one.chains.move([move], generation: claims.generation) == [])
            #expect(try await store.drain(&device)?.outcome == .stored)
            try await expectWhole(device, in: store)
        }
    }

    @Test func `An older program writes nothing into newer tables`() async throws {
        try await ClusterTestBed.withStore { bed, store in
            var device = ScriptedDevice()
            device.produce(3)
            _ = try await store.drain(&device)
            _ = try await bed.postgreSQL.sql("INSERT INTO record_store_version (number, name) VALUES (99, 'later')")
            device.produce(3)
            let answer = await store.append(try #require(device.part()), from: device.device)
            #expect(answer.outcome == .unavailable && answer.mark.number == 0)
            #expect(await store.readiness() != .ready)
            _ = try await bed.postgreSQL.sql("DELETE FROM record_store_version WHERE number = 99")
            _ = try await store.drain(&device)
            try await expectWhole(device, in: store)
        }
    }

    @Test func `A clock that is set back changes no order`() async throws {
        try await ClusterTestBed.withStore { bed, store in
            var device = ScriptedDevice()
            for days: Int64 in [0, 1, -1, -2] {
                bed.clock.advance(days: days)
                device.produce(3)
                _ = try await store.drain(&device)
            }
            try await expectWhole(device, in: store)
            try await store.drop(try #require(try await store.partitions().kept.first).partition)
            #expect(try await store.partitions().kept.count == 1)
            let records = try await store.allRecords(of: device.device, stream: .sample)
            #expect(records.map(\.header.number) == (4...12).reversed())
            #expect(try await store.verify().isWhole)
        }
    }

    @Test func `A drop that a recovery has overtaken begins anew`() async throws {
        try await Self.withTwo { bed, store, one, _ in
            var device = ScriptedDevice()
            device.produce(3)
            _ = try await store.drain(&device)
            let partition = try #require(try await store.partitions().kept.first).partition
            let table = PartitionTable(database: one.chains.database, slices: one.slices)
            let generation = try await table.begin(partition)
            try await table.copyFloors(of: partition, generation: generation)
            _ = try await bed.postgreSQL.sql("UPDATE store SET generation = generation + 1")
            await #expect(throws: StoreError.self) {
                try await table.applyFloors(of: partition, generation: generation)
            }
            try await expectWhole(device, in: store)
            try await store.drop(partition)
            #expect(try await store.allRecords(of: device.device, stream: .sample).isEmpty)
            #expect(try await store.verify().isWhole)
        }
    }

    /// Floors are stored some chains at a time. What a crash leaves in between is whole, and the drop goes on.
    @Test func `A drop that ends between two chains goes on`() async throws {
        try await Self.withTwo { bed, store, one, _ in
            var devices = (0..<5).map { _ in ScriptedDevice() }
            for index in devices.indices {
                devices[index].produce(3)
                _ = try await store.drain(&devices[index])
            }
            bed.clock.advance(days: 1)
            for index in devices.indices {
                devices[index].produce(2)
                _ = try await store.drain(&devices[index])
            }
            let partition = try #require(try await store.partitions().kept.first).partition
            let table = PartitionTable(database: one.chains.database, slices: one.slices)
            let generation = try await table.begin(partition)
            try await table.copyFloors(of: partition, generation: generation, together: 2)
            _ = try await table.applyFloors(of: partition, after: nil, generation: generation, together: 2)
            func numbers() async throws -> [[UInt64]] {
                var numbers: [[UInt64]] = []
                for device in devices {
                    let records = try await store.allRecords(of: device.device, stream: .sample)
                    numbers.append(records.map(\.header.number).sorted())
                }
                return numbers.sorted { $0.count < $1.count }
            }
            let (whole, rest) = (Array(UInt64(1)...5), Array(UInt64(4)...5))
            #expect(try await numbers() == [rest, rest, whole, whole, whole])
            #expect(try await store.verify().isWhole)
            try await store.reclaim()
            #expect(try await store.partitions().dropped[.sample] == 1)
            #expect(try await numbers() == [rest, rest, rest, rest, rest])
            for device in devices {
                #expect(try await store.balance(of: device.device).allSatisfy { $0.balance.closes })
            }
            #expect(try await store.verify().isWhole)
        }
    }

    @Test func `A drop while a chain is proved is not a hole`() async throws {
        try await Self.withTwo { _, store, one, _ in
            var device = ScriptedDevice()
            device.produce(3)
            _ = try await store.drain(&device)
            let id = device.device
            var chain = try #require(
                try await one.chains.database.read(mapping: StoreError.init) { session throws(StoreError) in
                    try ChainTable.chains(of: [id], .sample, in: session)
                }.first)
            try await store.drop(try #require(try await store.partitions().kept.first).partition)
            // A replica that has not dropped the day yet proves the chain as it was.
            let client = one.slices.client
            for replica in client.replicas {
                try await client.execute("SYSTEM SYNC REPLICA \(SliceSchema.table(of: .sample))", on: replica)
            }
            let proof = ChainProof(reader: SliceReader(database: one.chains.database, slices: one.slices))
            guard case .whole(let heads) = try await proof.whole(&chain, .sample) else {
                Issue.record("a drop is taken for a hole")
                return
            }
            #expect(heads.isEmpty && chain.floorNumber == 3)
        }
    }

    @Test func `A drop while everything is proved is not a finding`() async throws {
        try await ClusterTestBed.withStore { bed, store in
            var devices = (0..<10).map { _ in ScriptedDevice() }
            for _ in 0..<5 {
                for index in devices.indices {
                    devices[index].produce(2)
                    _ = try await store.drain(&devices[index])
                }
                bed.clock.advance(days: 1)
            }
            try await bed.withStore(bed.configuration) { other in
                for kept in try await store.partitions().kept {
                    async let dropped: Void = store.drop(kept.partition)
                    for _ in 0..<3 {
                        let report = try await other.verify()
                        #expect(report.isWhole, "\(report.findings)")
                    }
                    try await dropped
                }
            }
        }
    }

    @Test func `Two collectors side by side neither lose nor double anything`() async throws {
        try await ClusterTestBed.withStore { bed, store in
            let other = try await bed.open()
            let stores = [store, other]
            let devices = try await withThrowingTaskGroup(of: ScriptedDevice.self) { group in
                for index in 0..<12 {
                    group.addTask {
                        var device = ScriptedDevice()
                        let id = device.device
                        for round in 0..<6 {
                            device.produce(5)
                            // Each request may reach another collector, and now and then it reaches both.
                            let part = try #require(device.part())
                            if round.isMultiple(of: 3) {
                                async let twin = stores[index % 2].append(part, from: id)
                                let answer = await stores[(index + 1) % 2].append(part, from: id)
                                for answer in [answer, await twin] where answer.outcome != .unavailable {
                                    device.apply(answer)
                                }
                            } else {
                                device.apply(await stores[(index + round) % 2].append(part, from: id))
                            }
                        }
                        _ = try await store.drain(&device)
                        return device
                    }
                }
                return try await group.reduce(into: [ScriptedDevice]()) { $0.append($1) }
            }
            for device in devices {
                #expect(device.held.isEmpty && device.mark.number == 30)
                let records = try await other.allRecords(of: device.device, stream: .sample)
                #expect(records.map(\.bytes) == (1...device.last).reversed().map { device.made[$0] })
            }
            let report = try await other.verify()
            #expect(report.isWhole && report.records == 360, "\(report.findings)")
            await other.shutDown()
        }
    }
}
