import ClusterRegistry
import CollectorAPI
import Foundation
import PostgreSQL
import StoreTestKit
import Testing
import WireModel

@testable import ClusterMove
@testable import ClusterStore
@testable import CollectorMaintenance
@testable import LogArchive
@testable import RecordStore
@testable import Registry
@testable import SQLiteRecordStore

/// A data directory moves into a cluster on real servers, and devices notice nothing.
@Suite(.timeLimit(.minutes(5))) struct ClusterMoveTests {
    /// What the cluster has is what the directory has.
    private func expectEqual(_ cluster: TargetCluster, _ source: SourceDirectory) async throws {
        let former = try SQLiteRecordStore.openReading(directory: source.path)
        let store = try await cluster.open(source.clock)
        #expect(try await store.balances() == (try await former.balances()))
        let devices = Set(source.enrolled.map(\.deviceID))
        for stream in StreamName.allCases {
            let expected = try await former.everyRecord(of: devices, stream)
            let found = try await store.everyRecord(of: devices, stream)
            #expect(!expected.isEmpty && found == expected, "\(stream)")
        }
        let (list, expected) = (try await store.partitions(), try await former.partitions())
        #expect(list.kept.map(\.partition) == expected.kept.map(\.partition) && list.dropped == expected.dropped)
        for item in expected.kept {
            // The cluster also counts when an epoch was closed.
            guard let newest = try await former.newestReceipt(in: item.partition) else { continue }
            #expect(try await store.newestReceipt(in: item.partition) ?? 0 >= newest)
        }
        #expect(try await store.verify().isWhole)
        await store.shutDown()
        await former.shutDown()
        try await expectEqualRegistry(cluster, source)
    }

    private func expectEqualRegistry(_ cluster: TargetCluster, _ source: SourceDirectory) async throws {
        let directory = FileManager.default.temporaryDirectory.appendingPathComponent("cluster-move-\(UUID())").path
        defer { try? FileManager.default.removeItem(atPath: directory) }
        let before = try MoveSource.open(directory: source.path, exclusive: false, logger: quietLogger)
        let session = try before.openRegistry()
        let (service, created) = try MetadataService.open(
            registry: cluster.registry, directory: directory, clock: source.clock, logger: quietLogger)
        #expect(created == nil && service.collectorID == before.collectorID)
        #expect(service.incarnationID.data == (try session.meta("incarnation_id")))
        for device in source.enrolled.prefix(3) {
            guard case .device(let row) = try await service.authenticateDevice(credential: device.credential) else {
                Issue.record("a credential is refused")
                continue
            }
            #expect(row.id == device.deviceID && row.organization == device.organization)
            let isCommanded = source.enrolled.prefix(2).contains { $0.deviceID == row.id }
            #expect(service.openCommands(of: row, at: source.clock.now()).count == (isCommanded ? 1 : 0))
        }
        #expect(try await service.authenticateSession(source.sessions[0])?.role == .administrator)
        let archive = try LogArchive.open(metadata: service, chunks: cluster.chunks, logger: quietLogger)
        #expect(try await archive.wholeText() == source.logText)
        let leftovers = try await archive.cleanUp(leastAge: .zero, logger: quietLogger)
        #expect(leftovers.removed == 0 && leftovers.unknown.isEmpty && leftovers.strangers.isEmpty)
        archive.shutDown()
        await service.close()
        await before.close()
    }

    // MARK: A whole move

    @Test func `Everything is there afterwards`() async throws {
        let source = try await SourceDirectory()
        try await TargetCluster.with { cluster in
            let report = try await cluster.move(source.path, clock: source.clock)
            #expect(report.chunks == 20 && report.records > 0 && report.slices > 7 && report.registryRows > 20)
            try await expectEqual(cluster, source)
        }
    }

    @Test func `Items that came without numbers are known afterwards`() async throws {
        let source = try await SourceDirectory()
        let sender = ItemSender(device: source.enrolled[0].deviceID)
        let time = source.clock.now()
        let own = (1...4).map { number in
            sender.item(
                "own \(number)",
                uid: ItemKey.uid(
                    device: sender.device, epoch: sender.epoch, stream: .event, number: UInt64(number)), at: time)
        }
        let requests = [
            sender.items(sender.run("a", ["1", "2"], at: time)), sender.items(sender.run("b", items: own, at: time)),
        ]
        try await source.withStore { store in
            for request in requests { #expect(await store.append(request, to: .event).known == 0) }
        }
        try await TargetCluster.with { cluster in
            try await cluster.move(source.path, clock: source.clock)
            try await expectEqual(cluster, source)
            let store = try await cluster.open(source.clock)
            #expect(await store.append(requests[0], to: .event) == UnnumberedAnswer(stored: 0, known: 2))
            #expect(await store.append(requests[1], to: .event) == UnnumberedAnswer(stored: 0, known: 4))
            let next = sender.items(sender.run("a", ["3", "2"], at: time))
            #expect(await store.append(next, to: .event) == UnnumberedAnswer(stored: 1, known: 1))
            #expect(try await store.verify().isWhole)
            await store.shutDown()
        }
    }

    @Test func `Devices get the answers that the directory would give`() async throws {
        let source = try await SourceDirectory()
        let copy = try source.copy()
        defer { try? FileManager.default.removeItem(atPath: copy) }
        try await TargetCluster.with { cluster in
            try await cluster.move(source.path, clock: source.clock)
            let former = try SQLiteRecordStore.open(directory: copy, clock: source.clock, logger: quietLogger)
            let store = try await cluster.open(source.clock)
            func expectSame(_ part: BatchPart, _ device: DeviceID, _ outcome: PartOutcome) async {
                let answer = await store.append(part, from: device)
                let expected = await former.append(part, from: device)
                #expect(answer == expected && answer.outcome == outcome)
            }
            for var device in source.live {
                // An answer was lost.
                device.produce(1)
                let next = try #require(device.part())
                var gap = device
                gap.produce(3)
                gap.dropOldest(2, reason: .byteCap)
                let gapped = try #require(gap.part())
                var foreign = ScriptedDevice(device: device.device, epoch: device.epoch, stream: device.stream)
                foreign.produce(Int(device.last) + 2, bodyBytes: 41)
                await expectSame(try #require(foreign.part()), device.device, .identityConflict)
                await expectSame(next, device.device, .stored)
                await expectSame(next, device.device, .already)
                await expectSame(gapped, device.device, .stored)
                let points = [
                    EpochClose.Point(number: 1, link: try #require(device.links[1])),
                    EpochClose.Point(number: device.last - 1, link: try #require(device.links[device.last - 1])),
                ]
                for point in points {
                    let close = EpochClose(
                        epoch: device.epoch,
                        streams: [.init(stream: device.stream, last: 900, reason: .moved, points: [point])])
                    #expect(
                        try await store.close(close, from: device.device)
                            == (try await former.close(close, from: device.device)))
                }
            }
            for (device, part) in source.closed { await expectSame(part, device.device, .closed) }
            #expect(try await store.balances() == (try await former.balances()))
            #expect(try await store.verify().isWhole)
            // What was moved can be dropped, too.
            let oldest = try #require(try await store.partitions().kept.first)
            try await store.drop(oldest.partition)
            try await former.drop(oldest.partition)
            #expect(try await store.balances() == (try await former.balances()))
            #expect(try await store.verify().isWhole)
            await store.shutDown()
            await former.shutDown()
        }
    }

    @Test func `The tables for people are filled from what was moved`() async throws {
        let source = try await SourceDirectory()
        try await TargetCluster.with { cluster in
            try await cluster.move(source.path, clock: source.clock)
            let store = try await cluster.open(source.clock)
            let tables = store.peopleTables { devices in
                Dictionary(uniqueKeysWithValues: devices.map { ($0, "default") })
            }
            let waiting = try await tables.figures().waiting
            #expect(waiting > 10)
            var filled = 0
            while case let count = try await tables.fill(), count > 0 { filled += count }
            #expect(filled == waiting)
            await store.shutDown()
        }
    }

    /// A failover of PostgreSQL that loses the marks again: what ClickHouse has brings them back.
    @Test func `A recovery afterwards finds everything`() async throws {
        let source = try await SourceDirectory()
        try await TargetCluster.with { cluster in
            try await cluster.move(source.path, clock: source.clock)
            let database = try ClusterRecordStore.anyDatabase(cluster.configuration)
            _ = try await database.transaction { session throws(PostgresError) in
                try session.executeScript(
                    """
                    DELETE FROM chain; DELETE FROM chain_day; DELETE FROM partition; UPDATE store \
                    SET timeline = timeline + 1
                    """)
            }
            await database.shutDown()
            _ = try await ClusterRecovery(cluster.configuration, logger: quietLogger).run()
            let former = try SQLiteRecordStore.openReading(directory: source.path)
            let store = try await cluster.open(source.clock)
            let found = try await store.balances().devices.flatMap(\.epochs)
            let expected = try await former.balances().devices.flatMap(\.epochs)
            #expect(found.map(\.mark) == expected.map(\.mark) && found.map(\.storedRows) == expected.map(\.storedRows))
            #expect(found.map(\.closed) == expected.map(\.closed))
            #expect(try await store.verify().isWhole)
            await store.shutDown()
            await former.shutDown()
        }
    }

    // MARK: Both at once

    @Test func `A moved directory is refused to every writer`() async throws {
        let source = try await SourceDirectory(days: 2)
        try await TargetCluster.with { cluster in
            try await cluster.move(source.path, clock: source.clock)
            let refusals: [() throws -> Void] = [
                { _ = try SQLiteRecordStore.open(directory: source.path, clock: source.clock, logger: quietLogger) },
                {
                    _ = try MetadataService.open(
                        directory: source.path, clock: source.clock, logger: quietLogger, exclusive: false)
                },
                { _ = try MetadataService.open(directory: source.path, clock: source.clock, logger: quietLogger) },
                { try DataDirectory(path: source.path).requireUsable() },
            ]
            for refused in refusals {
                let error = #expect(throws: StoreError.self) { try refused() }
                #expect(error?.code == .conflict && error?.message.contains("moved to the cluster test") == true)
            }
            let reading = try SQLiteRecordStore.openReading(directory: source.path)
            #expect(try await reading.verify().isWhole)
            await reading.shutDown()
            // The same move again, and one to another cluster.
            try await TargetCluster.with { other in
                for target in [cluster, other] {
                    await #expect { try await target.move(source.path, clock: source.clock) } throws: {
                        ($0 as? StoreError)?.code == .conflict
                    }
                }
            }
        }
    }

    @Test func `A served directory is not moved`() async throws {
        let source = try await SourceDirectory(days: 2)
        try await source.withStore { _ in
            #expect { try MoveSource.open(directory: source.path, logger: quietLogger) } throws: {
                ($0 as? StoreError)?.code == .inUse
            }
            // Looking at it is possible.
            let reading = try MoveSource.open(directory: source.path, exclusive: false, logger: quietLogger)
            let plan = try await ClusterMove.plan(of: reading)
            #expect(
                plan.files > 0 && plan.fileBytes > 0 && plan.records > 0 && plan.chunks == 20 && plan.chunkBytes > 0)
            await reading.close()
        }
    }

    @Test func `A cluster in use is refused`() async throws {
        let source = try await SourceDirectory(days: 2)
        try await TargetCluster.with { cluster in
            let store = try await cluster.open(source.clock)
            var device = ScriptedDevice()
            device.produce(1)
            _ = try await store.drain(&device)
            await store.shutDown()
            await #expect { try await cluster.move(source.path, clock: source.clock) } throws: {
                ($0 as? StoreError)?.code == .conflict
            }
        }
    }

    @Test func `A registry of another collector is refused`() async throws {
        let (source, other) = (try await SourceDirectory(days: 2), try await SourceDirectory(days: 2))
        try await TargetCluster.with { cluster in
            let (service, _) = try MetadataService.open(
                registry: cluster.registry, directory: other.path, clock: source.clock, logger: quietLogger)
            await service.close()
            await #expect { try await cluster.move(source.path, clock: source.clock) } throws: {
                ($0 as? StoreError)?.code == .conflict
            }
            // Its collectors go on.
            let store = try await ClusterRecordStore.open(cluster.configuration, logger: quietLogger)
            #expect(await store.readiness() == .ready)
            await store.shutDown()
        }
    }

    @Test func `A second directory is refused while one moves in`() async throws {
        let (source, other) = (try await SourceDirectory(days: 2), try await SourceDirectory(days: 2))
        try await TargetCluster.with { cluster in
            await #expect(throws: StoreError.self) {
                try await cluster.move(source.path, clock: source.clock, endingAt: (.recorded, 1))
            }
            let error = await #expect(throws: StoreError.self) {
                try await cluster.move(other.path, clock: other.clock)
            }
            #expect(error?.message.contains("is moving into this cluster") == true)
            try await cluster.move(source.path, clock: source.clock)
            try await expectEqual(cluster, source)
        }
    }

    @Test func `A damaged directory is refused before anything is written`() async throws {
        let source = try await SourceDirectory()
        let reading = try SQLiteRecordStore.openReading(directory: source.path)
        let oldest = try #require(try await reading.partitions().kept.first)
        await reading.shutDown()
        let path = "\(source.path)/\(oldest.partition.name)"
        var bytes = try Data(contentsOf: URL(filePath: path))
        // Inside of the packed records.
        let place = try #require(bytes.range(of: Data("m1".utf8)) ?? bytes.range(of: Data("m0".utf8)))
        bytes[place.lowerBound] ^= 1
        try bytes.write(to: URL(filePath: path))
        try await TargetCluster.with { cluster in
            let error = await #expect(throws: StoreError.self) {
                try await cluster.move(source.path, clock: source.clock)
            }
            #expect(error?.code == .corrupt && error?.message.contains(oldest.partition.name) == true)
            // Another one may move in, so nothing was recorded.
            let other = try await SourceDirectory(days: 2)
            try await cluster.move(other.path, clock: other.clock)
        }
    }

    // MARK: Cut short

    static let ends: [(MovePoint, Int)] = [
        (.recorded, 1), (.registryCopied, 1), (.floorsTaken, 2), (.groupWritten, 1), (.groupWritten, 4),
        (.groupMoved, 1),
        (.groupMoved, 6), (.chainsSettled, 1), (.chunksCarried, 1), (.proved, 1),
    ]

    /// The cluster stays closed, the directory can be served on, and the next move imports what came since.
    @Test(arguments: ends) func `A move that was cut short goes on`(_ point: MovePoint, _ time: Int) async throws {
        let source = try await SourceDirectory()
        try await TargetCluster.with { cluster in
            let error = await #expect(throws: StoreError.self) {
                try await cluster.move(source.path, clock: source.clock, endingAt: (point, time))
            }
            #expect(error?.message == "ended by the test")
            let refusal = await #expect(throws: StoreError.self) { try await cluster.open(source.clock) }
            #expect(refusal?.message.contains("its move has not ended") == true)
            try await source.withStore { store in
                for place in source.live.indices {
                    source.live[place].produce(3)
                    _ = try await store.drain(&source.live[place])
                }
                if time > 1 {
                    let oldest = try #require(try await store.partitions().kept.first)
                    try await store.drop(oldest.partition)
                }
            }
            try await cluster.move(source.path, clock: source.clock)
            try await expectEqual(cluster, source)
        }
    }

    @Test func `A move that was cut short after the marker only opens the cluster`() async throws {
        let source = try await SourceDirectory()
        try await TargetCluster.with { cluster in
            await #expect(throws: StoreError.self) {
                try await cluster.move(source.path, clock: source.clock, endingAt: (.marked, 1))
            }
            #expect(throws: StoreError.self) {
                try SQLiteRecordStore.open(directory: source.path, clock: source.clock, logger: quietLogger)
            }
            await #expect(throws: StoreError.self) { try await cluster.open(source.clock) }
            try await cluster.move(source.path, clock: source.clock)
            try await expectEqual(cluster, source)
        }
    }
}

extension ClusterRecordStore {
    /// The store's database without the check of its server.
    static func anyDatabase(_ configuration: Configuration) throws -> PostgresDatabase {
        try PostgresDatabase(configuration.postgreSQL, logger: quietLogger)
    }
}
