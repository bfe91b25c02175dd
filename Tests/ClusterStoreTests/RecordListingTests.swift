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

/// Lists over many devices: complete, in the order of receipt, and no dearer than what they show.
@Suite struct RecordListingTests {
    /// Each round, every device sends two records, some of them at the same position.
    private func fill(
        _ devices: inout [ScriptedDevice], _ bed: ClusterTestBed, _ store: ClusterRecordStore, rounds: Int
    ) async throws -> [Data] {
        var received: [Data] = []
        for round in 0..<rounds {
            if round == rounds / 2 { bed.clock.advance(days: 1) }
            for place in devices.indices {
                if !place.isMultiple(of: 3) { bed.clock.advance(seconds: 1) }
                devices[place].produce(
                    2, kind: round.isMultiple(of: 2) ? .sampleSystem : .sampleCustom, module: "m\(place)")
                received += try #require(devices[place].part()).records
                try await store.drain(&devices[place])
            }
        }
        return received
    }

    private func listed(_ query: RecordQuery, in store: ClusterRecordStore, limit: Int = 7) async throws -> [Data] {
        var found: [Data] = []
        var cursor: String?
        repeat {
            let page = try await store.records(query, before: cursor, limit: limit)
            found += page.records.map(\.bytes)
            cursor = page.next
        } while cursor != nil
        return found
    }

    private func scanned(_ query: RecordQuery, in store: ClusterRecordStore) async throws -> [Data] {
        var found: [Data] = []
        var cursor: String?
        repeat {
            let page = try await store.scan(query, after: cursor)
            found += page.records.map(\.bytes)
            cursor = page.next
        } while cursor != nil
        return found
    }

    @Test func `Many devices are listed whole in both directions`() async throws {
        try await ClusterTestBed.withStore { bed, store in
            var devices = (0..<20).map { _ in ScriptedDevice() }
            let received = try await fill(&devices, bed, store, rounds: 4)
            let all = RecordQuery(.among(Set(devices.map(\.device))), stream: .sample)
            let scan = try await scanned(all, in: store)
            let newest = try await listed(all, in: store)
            // Slices of one position are in the order of their devices.
            #expect(Set(scan) == Set(received) && scan.count == received.count)
            #expect(newest == scan.reversed())
            #expect(Set(scan.prefix(80)) == Set(received.prefix(80)))
            for device in devices {
                let own = Set(device.made.values)
                #expect(scan.filter(own.contains) == (1...device.last).map { device.made[$0] })
            }
            var custom = all
            custom.kinds = [WireRecordKind.sampleCustom.rawValue]
            #expect(try await listed(custom, in: store).count == received.count / 2)
            // Half of them, and more than are named to PostgreSQL: the answer leaves out the others.
            let half = Set(devices.prefix(10).map(\.device))
            let strangers = half.union((0..<3000).map { _ in DeviceID.random() })
            for some in [half, strangers] {
                #expect(
                    try await scanned(RecordQuery(.among(some), stream: .sample), in: store)
                        == scan.filter { bytes in devices.prefix(10).contains { $0.made.values.contains(bytes) } })
            }
            let few = Set(devices.prefix(3).map(\.device))
            #expect(
                try await listed(RecordQuery(.among(few), stream: .sample), in: store)
                    == newest.filter { bytes in devices.prefix(3).contains { $0.made.values.contains(bytes) } })
        }
    }

    /// Two thousand devices have sent today. A page is read by a collector that accepts answers of 128 KiB at most,
    /// less than 70 bytes of each device. Slices of one group share a position, so a page has a whole group at least.
    @Test func `A page of many devices costs a page and not a day`() async throws {
        try await ClusterTestBed.withStore { bed, store in
            var devices: [ScriptedDevice] = []
            for _ in 0..<8 {
                bed.clock.advance(seconds: 1)
                devices += try await withThrowingTaskGroup(of: ScriptedDevice.self) { group in
                    for _ in 0..<250 {
                        group.addTask {
                            var device = ScriptedDevice()
                            device.produce(1)
                            try await store.drain(&device)
                            return device
                        }
                    }
                    return try await group.reduce(into: []) { $0.append($1) }
                }
            }
            #expect(devices.allSatisfy { $0.held.isEmpty })
            var newest = devices[0]
            bed.clock.advance(seconds: 1)
            newest.produce(1)
            try await store.drain(&newest)
            let all = RecordQuery(.among(Set(devices.map(\.device))), stream: .sample)
            var configuration = bed.configuration
            configuration.clickHouse.maximumAnswerBytes = 128 << 10
            try await bed.withStore(configuration) { frugal in
                let page = try await frugal.records(all, before: nil, limit: 20)
                #expect(page.records.count == 20 && page.records.first?.bytes == newest.made[2])
                let cursor = try #require(page.next)
                #expect(try await frugal.records(all, before: cursor, limit: 20).records.count == 20)
                let found = try await frugal.newestRecords(of: devices.prefix(40).map(\.device), all)
                #expect(found.count == 40 && found[newest.device]?.bytes == newest.made[2])
            }
            #expect(try await listed(all, in: store, limit: 1000).count == 2001)
        }
    }

    /// A slice whose mark never moved is at its position too.
    @Test func `What does not count is not listed`() async throws {
        try await ClusterTestBed.withStore { bed, store in
            var devices = (0..<12).map { _ in ScriptedDevice() }
            let received = try await fill(&devices, bed, store, rounds: 1)
            let database = try PostgresDatabase(bed.configuration.postgreSQL, logger: ClusterTestBed.logger)
            let client = try ClickHouseClient(bed.configuration.clickHouse, logger: ClusterTestBed.logger)
            let chains = ChainTable(database: database, stream: .sample, clock: bed.clock)
            let slices = SliceTable(client: client, quorum: 2, engine: try await client.engineVersion())
            for place in devices.indices {
                devices[place].produce(1)
                let part = try #require(devices[place].part())
                let key = ChainKey(device: devices[place].device, epoch: part.epoch)
                let claims = try await chains.claim([key])
                let chain = try #require(claims.chains[key])
                let decision = GroupDecision(
                    GroupItem(job: 0, place: 0, chain: key, receivedAt: 1, work: .append(part)), part, chain,
                    SliceVersion(generation: claims.generation, attempt: chain.attempt), .sample)
                guard case .stored = await slices.insert(try #require(decision.move).slices, of: .sample) else {
                    Issue.record("not stored")
                    return
                }
            }
            await database.shutDown()
            await client.shutDown()
            let all = RecordQuery(.among(Set(devices.map(\.device))), stream: .sample)
            let scan = try await scanned(all, in: store)
            #expect(Set(scan) == Set(received) && scan.count == received.count)
            let newest = try await store.newestRecords(of: devices.map(\.device), all)
            #expect(devices.allSatisfy { newest[$0.device]?.bytes == $0.made[2] })
        }
    }

    @Test func `A replica that lacks slices is not accepted as the day`() async throws {
        try await ClusterTestBed.withStore { bed, store in
            var devices = (0..<12).map { _ in ScriptedDevice() }
            _ = try await fill(&devices, bed, store, rounds: 2)
            let all = RecordQuery(.among(Set(devices.map(\.device))), stream: .sample)
            #expect(try await scanned(all, in: store).count == 48)
            // The mark says that there is more than any replica has.
            _ = try await bed.postgreSQL.sql(
                """
                UPDATE receipt SET slices = slices || '\\x0102030405060708'
                WHERE position = (SELECT max(position) FROM receipt)
                """)
            for body in [
                { _ = try await store.records(all, before: nil, limit: 5) },
                { _ = try await self.scanned(all, in: store) },
            ] as [() async throws -> Void] {
                await #expect { try await body() } throws: { ($0 as? StoreError)?.code == .unavailable }
            }
        }
    }

    @Test func `Newest records are those at the ends of the chains`() async throws {
        try await ClusterTestBed.withStore { bed, store in
            var devices = (0..<12).map { _ in ScriptedDevice() }
            _ = try await fill(&devices, bed, store, rounds: 4)
            // A second epoch of the first device, without records of one kind.
            var second = ScriptedDevice(device: devices[0].device)
            for _ in 0..<3 {
                bed.clock.advance(seconds: 1)
                second.produce(2, kind: .sampleCustom)
                try await store.drain(&second)
            }
            let ids = devices.map(\.device)
            let all = RecordQuery(.among(Set(ids)), stream: .sample)
            let newest = try await store.newestRecords(of: ids + [.random()], all)
            #expect(newest.count == 12 && newest[ids[0]]?.bytes == second.made[6])
            #expect(devices.dropFirst().allSatisfy { newest[$0.device]?.bytes == $0.made[8] })
            var system = all
            system.kinds = [WireRecordKind.sampleSystem.rawValue]
            let older = try await store.newestRecords(of: ids, system)
            #expect(devices.allSatisfy { older[$0.device]?.bytes == $0.made[6] })
        }
    }

    /// The collector accepts answers of 128 KiB at most. The rejected records of four slices are 320 KB.
    @Test func `Rejected records do not keep others from being read`() async throws {
        try await ClusterTestBed.withStore { bed, store in
            var device = ScriptedDevice()
            for _ in 0..<4 {
                device.produce(1)
                for _ in 0..<20 { device.append(Data(repeating: 0xFF, count: 4000)) }
                try await store.drain(&device)
            }
            #expect(device.mark.rejected == [.malformedEnvelope: 80])
            let query = RecordQuery(.one(device.device), stream: .sample)
            var configuration = bed.configuration
            configuration.clickHouse.maximumAnswerBytes = 128 << 10
            try await bed.withStore(configuration) { frugal in
                let page = try await frugal.records(query, before: nil, limit: 10)
                let report = try await frugal.verify()
                #expect(page.records.count == 4 && report.isWhole)
            }
        }
    }

    @Test func `Verify finds what lists would not show`() async throws {
        try await ClusterTestBed.withStore { bed, store in
            var devices = (0..<2).map { _ in ScriptedDevice() }
            _ = try await fill(&devices, bed, store, rounds: 2)
            #expect(try await store.verify().isWhole)
            _ = try await bed.postgreSQL.sql(
                "DELETE FROM receipt WHERE position = (SELECT max(position) FROM receipt)")
            let findings = try await store.verify().findings
            #expect(findings.map(\.code) == [.missing])
        }
    }

    /// The heads of these slices fit, but not their contents.
    @Test func `Verify names slices with impossible numbers`() async throws {
        try await ClusterTestBed.withStore { bed, store in
            var devices = [ScriptedDevice()]
            _ = try await fill(&devices, bed, store, rounds: 2)
            let table = "\(bed.postgreSQL.name).slice_sample"
            let changed = SliceTable.columns.map { ["first": "0", "attempt": "attempt + 1"][$0] ?? $0 }
            _ = try await bed.clickHouse.client.execute(
                """
                INSERT INTO \(table) (\(SliceTable.columns.joined(separator: ", ")))
                SELECT \(changed.joined(separator: ", ")) FROM \(table)
                """)
            var findings: [VerifyReport.Finding] = []
            // Until the replica that is asked has the new rows.
            _ = try await eventually {
                findings = try await store.verify().findings
                return !findings.isEmpty
            }
            #expect(findings.contains { $0.code == .altered }, "\(findings)")
        }
    }
}
