import Foundation
import RecordStore
import Registry
import SQLiteRecordStore
import SQLiteStoreTestKit
import StoreTestKit
import TestKit
import Testing
import WireModel

/// What is found by device, kind, module, time and test data, held against a plain list of all that was stored.
@Suite struct RecordQueryTests {
    private static let hour: Int64 = 3_600_000_000
    private static let modules: [(kind: WireRecordKind, module: String)] = [
        (.sampleSystem, "system"), (.sampleNetworkData, "networkData"), (.sampleCustom, "till"),
        (.sampleCustom, "door"),
    ]

    /// A fleet whose clocks are wrong by hours, over several days of receipt.
    private struct Fleet {
        let directory: TemporaryDirectory
        let clock = ManualStoreClock()
        var store: SQLiteRecordStore
        var devices: [ScriptedDevice]
        /// In the order of receipt.
        var stored: [StoredRecord] = []

        init(devices count: Int, days: Int, seed: UInt64) async throws {
            directory = try TemporaryDirectory()
            store = try SQLiteRecordStore.open(directory, clock: clock)
            devices = (0..<count).map { _ in ScriptedDevice() }
            var random = SplitMix64(seed: seed)
            for _ in 0..<days {
                for _ in 0..<(count * 4) {
                    let index = Int.random(in: 0..<count, using: &random)
                    if Int.random(in: 0..<10, using: &random) == 0 {
                        devices[index] = ScriptedDevice(device: devices[index].device)
                    }
                    for _ in 0..<Int.random(in: 1...5, using: &random) {
                        let (kind, module) = RecordQueryTests.modules[Int.random(in: 0..<4, using: &random)]
                        let time = clock.now() + Int64.random(in: -30...6, using: &random) * RecordQueryTests.hour
                        let record = NewRecord(
                            stream: .sample, kind: kind, module: module,
                            stamp: RecordStamp(wallTime: time, bootID: nil, timeSinceBoot: 1),
                            application: Bool.random(using: &random) ? "till" : "",
                            test: Int.random(in: 0..<5, using: &random) == 0,
                            body: Data([1, 2, 3]))
                        devices[index].append(record.serialized(number: devices[index].last + 1))
                    }
                    let part = try #require(devices[index].part())
                    let answer = await store.append([part], from: devices[index].device, receivedAt: clock.now())[0]
                    #expect(answer.outcome == .stored)
                    devices[index].apply(answer)
                    for bytes in part.records {
                        stored.append(
                            StoredRecord(
                                device: devices[index].device, epoch: part.epoch,
                                header: try #require(RecordHeader(scanning: bytes)),
                                bytes: bytes, receivedAt: clock.now()))
                    }
                    clock.advance(seconds: 60)
                }
                clock.advance(days: 1)
            }
        }

        func expected(_ query: RecordQuery) -> [StoredRecord] {
            stored.reversed().filter { query.admits($0.device) && query.admits($0.header) }
        }
    }

    private static func all(_ store: some RecordStore, _ query: RecordQuery, pageSize: Int) async throws
        -> [StoredRecord]
    {
        var found: [StoredRecord] = []
        var cursor: String?
        repeat {
            let page = try await store.records(query, before: cursor, limit: pageSize)
            #expect(page.records.count <= pageSize)
            found += page.records
            cursor = page.next
        } while cursor != nil
        return found
    }

    @Test(arguments: [(3, 1), (40, 2)])
    func `Every query finds what a plain list has`(devices: Int, seed: UInt64) async throws {
        let fleet = try await Fleet(devices: devices, days: 4, seed: seed)
        var random = SplitMix64(seed: seed)
        for _ in 0..<60 {
            var scope = RecordQuery.Devices.one(fleet.devices[Int.random(in: 0..<devices, using: &random)].device)
            if Bool.random(using: &random) {
                // Few are followed one by one, many are found by going over the file.
                scope = .among(
                    Set(
                        fleet.devices.shuffled(using: &random).prefix(Int.random(in: 0...devices, using: &random)).map(
                            \.device)))
            }
            var query = RecordQuery(scope, stream: .sample, withTest: Bool.random(using: &random))
            if Bool.random(using: &random) {
                query.kinds = [Self.modules[Int.random(in: 0..<4, using: &random)].kind.rawValue]
            }
            if Int.random(in: 0..<3, using: &random) == 0 {
                query.module = Self.modules[Int.random(in: 0..<4, using: &random)].module
            }
            if Int.random(in: 0..<3, using: &random) == 0 { query.application = "till" }
            if Bool.random(using: &random) {
                query.times.from = ManualStoreClock.start + Int64.random(in: -40...120, using: &random) * Self.hour
            }
            if Bool.random(using: &random) {
                query.times.to = ManualStoreClock.start + Int64.random(in: -40...120, using: &random) * Self.hour
            }
            let expected = fleet.expected(query)
            let found = try await Self.all(fleet.store, query, pageSize: Int.random(in: 1...50, using: &random))
            #expect(found == expected, "\(query)")
            let newest = try await fleet.store.newestRecords(of: fleet.devices.map(\.device), query)
            var latest = query
            latest.devices = .among(Set(fleet.devices.map(\.device)))
            #expect(newest == Dictionary(fleet.expected(latest).map { ($0.device, $0) }) { first, _ in first })
        }
        await fleet.store.shutDown()
        #expect(try await fleet.directory.verify().isWhole)
    }

    @Test func `What lies outside the times is not read`() async throws {
        let fleet = try await Fleet(devices: 2, days: 4, seed: 3)
        await fleet.store.shutDown()
        // The first day's records cannot be read any more.
        try fleet.directory.execute(
            "UPDATE slice SET records = x'FF'", on: fleet.directory.recordFile(fleet.directory.days[0]))
        let store = try SQLiteRecordStore.open(fleet.directory, clock: fleet.clock)
        let latest = try #require(
            fleet.stored.filter { $0.receivedAt < ManualStoreClock.start + 12 * Self.hour }.map(\.header.wallTime).max()
        )
        var query = RecordQuery(
            .among(Set(fleet.devices.map(\.device))), stream: .sample, times: RecordTimes(from: latest + 1))
        #expect(try await Self.all(store, query, pageSize: 10) == fleet.expected(query))
        #expect(store.unreadableFiles(of: .sample).isEmpty)
        query.times = RecordTimes(from: latest)
        #expect(try await Self.all(store, query, pageSize: 10).count < fleet.expected(query).count)
        #expect(store.unreadableFiles(of: .sample) == ["records/\(fleet.directory.days[0])/sample.sqlite"])
        await store.shutDown()
    }
}
