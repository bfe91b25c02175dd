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

/// After a failover that has lost commits, a recovery finds again what was reported to devices as stored.
@Suite struct RecoveryTests {
    private func recover(_ bed: ClusterTestBed) async throws -> ClusterRecovery.Report {
        await #expect {
            _ = try await bed.open()
        } throws: {
            ($0 as? StoreError)?.message.contains("cluster recover") == true
        }
        return try await ClusterRecovery(bed.configuration, logger: ClusterTestBed.logger).run()
    }

    private func expectWhole(
        _ devices: [ScriptedDevice], from first: UInt64 = 1, in store: ClusterRecordStore
    ) async throws {
        for device in devices {
            let records = try await store.allRecords(of: device.device, stream: .sample)
            #expect(records.map(\.bytes) == (first...device.last).reversed().map { device.made[$0] })
            let balance = try await store.balance(of: device.device)
            #expect(balance.map(\.storedRows) == [device.last] && balance.allSatisfy { $0.balance.closes })
        }
        let report = try await store.verify()
        #expect(report.isWhole, "\(report.findings)")
    }

    /// Only who has restored it knows that commits are lost.
    @Test func `A restored server that looks the same is recovered on request`() async throws {
        let bed = try await ClusterTestBed()
        var store = try await bed.open()
        var device = ScriptedDevice()
        device.produce(4)
        _ = try await store.drain(&device)
        let backup = Failover(bed)
        try await backup.remember()
        device.produce(3)
        _ = try await store.drain(&device)
        await store.shutDown()
        try await backup.happen(isSeen: false)
        let unasked = try await ClusterRecovery(bed.configuration, logger: ClusterTestBed.logger).run()
        #expect(unasked.generation == 0)
        let report = try await ClusterRecovery(bed.configuration, isRestored: true, logger: ClusterTestBed.logger).run()
        #expect(report.generation == 2 && report.movedChains == 1 && report.records == 3)
        store = try await bed.open()
        try await expectWhole([device], in: store)
        await store.shutDown()
        await bed.remove()
    }

    @Test func `Lost commits are found again`() async throws {
        let bed = try await ClusterTestBed()
        var store = try await bed.open()
        // Of the first chain the last commits are lost, the second is lost wholly, the third loses nothing.
        var devices = [ScriptedDevice(), ScriptedDevice(), ScriptedDevice()]
        devices[0].produce(4)
        devices[2].produce(4)
        for place in [0, 2] { _ = try await store.drain(&devices[place]) }
        let failover = Failover(bed)
        try await failover.remember()
        bed.clock.advance(days: 1)
        var answered: [StreamMark] = []
        for place in [0, 1] {
            for _ in 0..<2 {
                devices[place].produce(3)
                answered.append(try #require(try await store.drain(&devices[place])).mark)
            }
        }
        let balances = try await store.balances()
        await store.shutDown()
        try await failover.happen()
        let report = try await recover(bed)
        #expect(report.generation == 2 && report.chains == 3 && report.movedChains == 2)
        #expect(report.slices == 4 && report.records == 12)
        store = try await bed.open()
        try await expectWhole(devices, in: store)
        #expect(try await store.balances() == balances)
        for place in devices.indices {
            devices[place].produce(2)
            #expect(try await store.drain(&devices[place])?.outcome == .stored)
        }
        try await expectWhole(devices, in: store)
        await store.shutDown()
        // Nothing is left to do.
        let again = try await ClusterRecovery(bed.configuration, logger: ClusterTestBed.logger).run()
        #expect(again == ClusterRecovery.Report())
        await bed.remove()
    }

    @Test func `A second failover that loses the recovery is recovered, too`() async throws {
        let bed = try await ClusterTestBed()
        var store = try await bed.open()
        var device = ScriptedDevice()
        device.produce(2)
        _ = try await store.drain(&device)
        try await Failover(bed).remember()
        for generation: UInt64 in [2, 3] {
            device.produce(3)
            _ = try await store.drain(&device)
            await store.shutDown()
            try await Failover(bed).happen()
            #expect(try await recover(bed).generation == generation)
            store = try await bed.open()
            try await expectWhole([device], in: store)
        }
        await store.shutDown()
        await bed.remove()
    }

    /// Stores four records of each device on each day. All of it is lost with a failover.
    private func twoDaysOfTwoDevices(
        _ bed: ClusterTestBed, _ store: ClusterRecordStore
    ) async throws -> [ScriptedDevice] {
        var devices = [ScriptedDevice(), ScriptedDevice()]
        try await Failover(bed).remember()
        for _ in 0..<2 {
            for place in devices.indices {
                devices[place].produce(4)
                _ = try await store.drain(&devices[place])
            }
            bed.clock.advance(days: 1)
        }
        return devices
    }

    /// Each drop and recovery writes to ClickHouse what the next one needs.
    private func expectTheSecondDayAfterFailovers(_ devices: [ScriptedDevice], _ bed: ClusterTestBed) async throws {
        for _ in 0..<2 {
            try await Failover(bed).happen()
            _ = try await recover(bed)
            let store = try await bed.open()
            try await store.reclaim()
            try await expectWhole(devices, from: 5, in: store)
            await store.shutDown()
        }
    }

    @Test func `Floors that a recovery made outlive the next failover`() async throws {
        let bed = try await ClusterTestBed()
        let store = try await bed.open()
        let devices = try await twoDaysOfTwoDevices(bed, store)
        try await store.drop(try #require(try await store.partitions().kept.first).partition)
        await store.shutDown()
        try await expectTheSecondDayAfterFailovers(devices, bed)
        await bed.remove()
    }

    /// The drop had written the floor of one chain when it died. The other's slices are in no floor yet.
    @Test func `A drop that died between floors loses nothing`() async throws {
        let bed = try await ClusterTestBed()
        let store = try await bed.open()
        let devices = try await twoDaysOfTwoDevices(bed, store)
        let day = try #require(try await store.partitions().kept.first).partition.day
        let id = devices[0].device
        let client = try ClickHouseClient(bed.configuration.clickHouse, logger: ClusterTestBed.logger)
        let database = try PostgresDatabase(bed.configuration.postgreSQL, logger: ClusterTestBed.logger)
        let found = try await database.read(mapping: StoreError.init) { session throws(StoreError) in
            try ChainTable.days(of: [id], .sample, in: session).filter { $0.day == day }
        }
        let first = try #require(found.first)
        var state = ChainColumns.none
        state.mark = first.stretch.end.bytes
        let slices = SliceTable(client: client, quorum: 2, engine: try await client.engineVersion())
        try await FloorTable(slices: slices).write(
            [.init(key: first.key, day: day, generation: 1, number: 4, state: state)], .sample)
        await database.shutDown()
        await client.shutDown()
        await store.shutDown()
        try await expectTheSecondDayAfterFailovers(devices, bed)
        await bed.remove()
    }

    @Test func `A recovery that finds too little leaves the store closed`() async throws {
        let bed = try await ClusterTestBed()
        let store = try await bed.open()
        var device = ScriptedDevice()
        device.produce(3)
        _ = try await store.drain(&device)
        await store.shutDown()
        try await Failover(bed).remember()
        try await Failover(bed).happen()
        // One replica of three may lack what the two others have.
        var lonely = bed.configuration
        lonely.clickHouse.urls = [bed.clickHouse.urls[0]]
        await #expect {
            _ = try await ClusterRecovery(lonely, logger: ClusterTestBed.logger).run()
        } throws: {
            ($0 as? StoreError)?.code == .unavailable
        }
        for table in ["slice_sample"] {
            try await bed.clickHouse.client.execute("TRUNCATE TABLE \(bed.postgreSQL.name).\(table)")
        }
        let count = "SELECT count() FROM \(bed.postgreSQL.name).slice_sample"
        for replica in 0..<3 {
            try await bed.clickHouse.wait("the loss") { try await bed.clickHouse.number(count, on: replica) == 0 }
        }
        await #expect {
            _ = try await recover(bed)
        } throws: {
            ($0 as? StoreError)?.code == .corrupt
        }
        #expect(try await bed.postgreSQL.sql("SELECT is_open FROM store") == ["f"])
        await bed.remove()
    }

    /// A replica that lags has the slices as they were before the recovery wrote them again.
    @Test func `A replica that lags behind a recovery is no finding`() async throws {
        let bed = try await ClusterTestBed()
        let table = "\(bed.postgreSQL.name).slice_sample"
        let servers = bed.clickHouse
        try await Failover(bed).remember()
        var device = ScriptedDevice()
        var lags = false
        while !lags {
            let store = try await bed.open()
            device.produce(3)
            _ = try await store.drain(&device)
            await store.shutDown()
            for replica in 0..<3 {
                try await servers.client.execute("SYSTEM SYNC REPLICA \(table)", on: servers.replica(replica))
            }
            try await servers.client.execute("SYSTEM STOP FETCHES \(table)", on: servers.replica(0))
            try await Failover(bed).happen()
            let generation = try await recover(bed).generation
            // The recovery may have written through this very replica.
            lags = try await servers.number("SELECT count() FROM \(table) WHERE generation = \(generation)", on: 0) == 0
            if lags { try await bed.withStore(bed.configuration) { try await expectWhole([device], in: $0) } }
            try await servers.client.execute("SYSTEM START FETCHES \(table)", on: servers.replica(0))
        }
        await bed.remove()
    }

    /// ClickHouse has deleted the slices, and PostgreSQL has lost that it was told to.
    @Test func `An erasure that PostgreSQL has lost stays an erasure`() async throws {
        let bed = try await ClusterTestBed()
        let store = try await bed.open()
        var (gone, kept) = (ScriptedDevice(), ScriptedDevice())
        for _ in 0..<2 {
            gone.produce(3)
            _ = try await store.drain(&gone)
            kept.produce(3)
            _ = try await store.drain(&kept)
        }
        let balance = try await store.balance(of: gone.device)
        let failover = Failover(bed)
        try await failover.remember()
        try await store.erase([gone.device])
        let rows = "SELECT count() FROM \(bed.postgreSQL.name).slice_sample WHERE device = '\(gone.device)'"
        for replica in 0..<3 {
            try await bed.clickHouse.wait("the deletion") { try await bed.clickHouse.number(rows, on: replica) == 0 }
        }
        await store.shutDown()
        try await failover.happen()
        _ = try await recover(bed)
        try await bed.withStore(bed.configuration) { store in
            #expect(try await store.allRecords(of: gone.device, stream: .sample).isEmpty)
            #expect(try await store.balance(of: gone.device) == balance)
            #expect(try await store.scan(RecordQuery(.all, stream: .sample), after: nil).records.count == 6)
            try await expectWhole([kept], in: store)
            #expect(try await store.partitions().dropped == [:])
            // The registry may have lost it, too.
            try await store.erase([gone.device])
            try await expectWhole([kept], in: store)
        }
        await bed.remove()
    }

    @Test func `A recovery stops when another takes over`() async throws {
        let bed = try await ClusterTestBed()
        _ = try await bed.postgreSQL.sql("UPDATE store SET timeline = timeline - 1")
        let database = try PostgresDatabase(bed.configuration.postgreSQL, logger: ClusterTestBed.logger)
        let (held, holds) = AsyncStream<Void>.makeStream()
        async let other: Void = database.transaction { session throws(PostgresError) in
            _ = try session.query("SELECT pg_advisory_xact_lock($1)", StoreLock.gate)
            holds.yield()
            // Until the recovery has looked at the generation, and waits.
            while try session.query(
                """
                SELECT pg_sleep(0.02), count(*) > 0 FROM pg_locks WHERE locktype = 'advisory' AND NOT granted
                    AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
                """
            )[0].bool(1) == false {}
            try session.execute("UPDATE store SET generation = 7")
        }
        for await _ in held { break }
        await #expect {
            _ = try await ClusterRecovery(bed.configuration, logger: ClusterTestBed.logger).run()
        } throws: {
            ($0 as? StoreError)?.code == .unavailable
        }
        try await other
        #expect(try await bed.postgreSQL.sql("SELECT generation FROM store") == ["7"])
        await database.shutDown()
        await bed.remove()
    }

    /// A replica's whole answer may not exceed a limit, however long the chains are.
    @Test func `A recovery reads in pieces`() async throws {
        let bed = try await ClusterTestBed()
        var store = try await bed.open()
        try await Failover(bed).remember()
        let target = store
        var devices = try await withThrowingTaskGroup(of: ScriptedDevice.self) { group in
            for _ in 0..<8 {
                group.addTask {
                    var device = ScriptedDevice()
                    device.produce(10)
                    _ = try await target.drain(&device, parts: 1)
                    return device
                }
            }
            return try await group.reduce(into: [ScriptedDevice]()) { $0.append($1) }
        }
        await store.shutDown()
        try await Failover(bed).happen()
        var configuration = bed.configuration
        configuration.clickHouse.maximumAnswerBytes = 16 << 10
        let report = try await ClusterRecovery(configuration, logger: ClusterTestBed.logger).run()
        #expect(report.chains == 8 && report.slices == 80)
        store = try await bed.open()
        for place in devices.indices { devices[place].produce(1) }
        for place in devices.indices { _ = try await store.drain(&devices[place]) }
        try await expectWhole(devices, in: store)
        await store.shutDown()
        await bed.remove()
    }

    @Test func `A lost closure is found again`() async throws {
        let bed = try await ClusterTestBed()
        var store = try await bed.open()
        var device = ScriptedDevice()
        device.produce(4)
        _ = try await store.drain(&device)
        let failover = Failover(bed)
        try await failover.remember()
        device.produce(2)
        _ = try await store.drain(&device)
        _ = try await store.close(
            EpochClose(
                epoch: device.epoch, streams: [.init(stream: .sample, last: 9, reason: .moved, points: [])]),
            from: device.device)
        let balance = try await store.balance(of: device.device)
        await store.shutDown()
        try await failover.happen()
        _ = try await recover(bed)
        store = try await bed.open()
        #expect(try await store.balance(of: device.device) == balance)
        device.produce(1)
        #expect(try await store.drain(&device)?.outcome == .closed)
        await store.shutDown()
        await bed.remove()
    }

    @Test func `A drop that PostgreSQL has lost stays a drop`() async throws {
        let bed = try await ClusterTestBed()
        var store = try await bed.open()
        var device = ScriptedDevice()
        device.produce(4)
        _ = try await store.drain(&device)
        let failover = Failover(bed)
        try await failover.remember()
        bed.clock.advance(days: 1)
        device.produce(3)
        _ = try await store.drain(&device)
        try await store.drop(try #require(try await store.partitions().kept.first).partition)
        await store.shutDown()
        try await failover.happen()
        _ = try await recover(bed)
        store = try await bed.open()
        try await expectWhole([device], from: 5, in: store)
        #expect(try await store.partitions().dropped == [.sample: 1])
        await store.shutDown()
        await bed.remove()
    }

    @Test func `A late write of an older generation does not outrank what was recovered`() async throws {
        let bed = try await ClusterTestBed()
        var store = try await bed.open()
        var device = ScriptedDevice()
        device.produce(2)
        _ = try await store.drain(&device)
        let failover = Failover(bed)
        try await failover.remember()
        device.produce(4)
        let part = try #require(device.part())
        let key = ChainKey(device: device.device, epoch: device.epoch)
        _ = try await store.drain(&device)
        await store.shutDown()
        try await failover.happen()
        _ = try await recover(bed)
        store = try await bed.open()
        // A collector that was frozen with a claim under the former generation writes now: greater attempts than any.
        let client = try ClickHouseClient(bed.configuration.clickHouse, logger: ClusterTestBed.logger)
        let table = SliceTable(client: client, quorum: 2, engine: try await client.engineVersion())
        guard case .store(let slice) = PartDecision.decide(part: part, mark: StreamMark(device.links, at: 2)) else {
            Issue.record("the part is not stored")
            return
        }
        var state = ChainState()
        state.mark = slice.mark
        state.mark.number = 4
        let late = NewSlice(
            chain: key, version: SliceVersion(generation: 1, attempt: 1000), day: UTCDay(microseconds: bed.clock.now()),
            position: 1, before: StreamMark(device.links, at: 2), after: state, receivedAt: 1,
            content: StoredSlice(slice, after: 2, receivedAt: 1), bounds: slice.bounds)
        guard case .stored = await table.insert([late], of: .sample) else {
            Issue.record("the late slice was not written")
            return
        }
        try await expectWhole([device], in: store)
        await client.shutDown()
        await store.shutDown()
        await bed.remove()
    }

    @Test(.timeLimit(.minutes(5))) func `A promoted standby is accepted after recovery`() async throws {
        let primary = try await PostgresServer.start(settings: ["synchronous_standby_names": "*"])
        let standby = try await primary.startStandby()
        let bed = try await ClusterTestBed(postgreSQL: primary)
        let store = try await bed.open()
        var device = ScriptedDevice()
        device.produce(4)
        _ = try await store.drain(&device)
        await store.shutDown()
        await primary.kill()
        try await standby.promote()
        var configuration = bed.configuration
        configuration.postgreSQL.connectionString = standby.connectionString(database: bed.postgreSQL.name)
        await #expect {
            _ = try await ClusterRecordStore.open(configuration, clock: bed.clock, logger: ClusterTestBed.logger)
        } throws: {
            ($0 as? StoreError)?.message.contains("cluster recover") == true
        }
        let report = try await ClusterRecovery(configuration, logger: ClusterTestBed.logger).run()
        #expect(report.generation == 2 && report.slices == 0)
        let recovered = try await ClusterRecordStore.open(
            configuration, clock: bed.clock, logger: ClusterTestBed.logger)
        try await expectWhole([device], in: recovered)
        device.produce(2)
        #expect(try await recovered.drain(&device)?.outcome == .stored)
        await recovered.shutDown()
        try await standby.stop()
        await bed.remove()
    }
}

extension StreamMark {
    /// Of a chain that stored everything.
    fileprivate init(_ links: [UInt64: ChainLink], at number: UInt64) {
        self.init(number: number, link: links[number] ?? .zero, stored: number)
    }
}
