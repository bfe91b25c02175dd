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

/// What goes over all chains reads them in pages, so that no answer grows with the fleet.
@Suite struct BoundedReadsTests {
    /// Twelve chains with twenty slices on each of two days.
    private func fill(_ bed: ClusterTestBed, _ store: ClusterRecordStore) async throws -> [ScriptedDevice] {
        var devices = (0..<12).map { _ in ScriptedDevice() }
        for round in 0..<40 {
            if round == 20 { bed.clock.advance(days: 1) }
            bed.clock.advance(seconds: 1)
            devices = try await withThrowingTaskGroup(of: ScriptedDevice.self) { group in
                for var device in devices {
                    group.addTask {
                        device.produce(1)
                        try await store.drain(&device)
                        return device
                    }
                }
                return try await group.reduce(into: []) { $0.append($1) }
            }
        }
        return devices
    }

    /// All heads of a day need more than 64 KiB, and those of one chain less than 16 KiB.
    @Test func `Balances of a fleet fit into small answers`() async throws {
        try await ClusterTestBed.withStore { bed, store in
            let devices = try await fill(bed, store)
            var configuration = bed.configuration
            configuration.clickHouse.maximumAnswerBytes = 24 << 10
            try await bed.withStore(configuration) { frugal in
                let balances = try await frugal.balances()
                #expect(balances.devices.count == 12)
                #expect(balances.devices.flatMap(\.epochs).allSatisfy { $0.storedRows == 40 && $0.balance.closes })
                #expect(try await frugal.balance(of: devices[0].device).map(\.storedRows) == [40])
                var findings: ChainFindings?
                for _ in 0..<100 where findings == nil { findings = try await frugal.followChains() }
                #expect(findings?.faults.isEmpty == true)
            }
        }
    }

    @Test func `A day's floors are copied in pages`() async throws {
        try await ClusterTestBed.withStore { bed, store in
            let devices = try await fill(bed, store)
            let database = try PostgresDatabase(bed.configuration.postgreSQL, logger: ClusterTestBed.logger)
            let client = try ClickHouseClient(bed.configuration.clickHouse, logger: ClusterTestBed.logger)
            let table = PartitionTable(
                database: database,
                slices: SliceTable(client: client, quorum: 2, engine: try await client.engineVersion()))
            let partition = try #require(try await store.partitions().kept.first).partition
            let generation = try await table.begin(partition)
            try await table.copyFloors(of: partition, generation: generation, together: 5)
            let floors = "SELECT count() FROM \(bed.postgreSQL.name).baseline WHERE number = 20"
            try await bed.clickHouse.wait("all floors") { try await bed.clickHouse.number(floors) == 12 }
            try await store.drop(partition)
            await database.shutDown()
            await client.shutDown()
            #expect(try await store.balances().devices.flatMap(\.epochs).allSatisfy { $0.storedRows == 40 })
            let all = RecordQuery(.among(Set(devices.map(\.device))), stream: .sample)
            #expect(try await store.scan(all, after: nil).records.count == 240)
            #expect(try await store.verify().isWhole)
        }
    }

    /// PostgreSQL's days lead from the floor to the mark. If they do not, slices would be left out.
    @Test func `A missing day is not a smaller balance`() async throws {
        try await ClusterTestBed.withStore { bed, store in
            _ = try await fill(bed, store)
            _ = try await bed.postgreSQL.sql("DELETE FROM chain_day WHERE day = (SELECT min(day) FROM chain_day)")
            await #expect { _ = try await store.balances() } throws: { ($0 as? StoreError)?.code == .corrupt }
        }
    }
}
