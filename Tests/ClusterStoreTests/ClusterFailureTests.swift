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

/// Servers are killed and frozen. Devices get `unavailable` meanwhile, and nothing is lost or doubled.
@Suite(.serialized) struct ClusterFailureTests {
    private func expectWhole(_ device: ScriptedDevice, in store: ClusterRecordStore) async throws {
        let records = try await store.allRecords(of: device.device, stream: .sample)
        #expect(records.map(\.bytes) == (1...device.last).reversed().map { device.made[$0] })
        let balance = try await store.balance(of: device.device)
        #expect(balance.map(\.storedRows) == [device.last] && balance.allSatisfy { $0.balance.closes })
        #expect(try await store.verify().isWhole)
    }

    /// Sends what the device holds until all of it is stored.
    private func drain(_ device: inout ScriptedDevice, to store: ClusterRecordStore) async throws {
        let end = ContinuousClock.now + .seconds(60)
        while !device.held.isEmpty, ContinuousClock.now < end {
            let answer = await store.append(try #require(device.part()), from: device.device)
            device.apply(answer)
        }
        #expect(device.held.isEmpty)
    }

    @Test(.timeLimit(.minutes(5))) func `A lost answer to a commit is unavailable and stores once`() async throws {
        let proxy = try PostgresProxy(to: try await PostgresServer.shared())
        let bed = try await ClusterTestBed(port: proxy.port)
        let store = try await bed.open()
        var device = ScriptedDevice()
        device.produce(4)
        try await drain(&device, to: store)
        device.produce(4)
        let part = try #require(device.part())
        proxy.onStatement("COMMIT", .cutAfterAnswer)
        // The claim's commit is lost, then the move's.
        #expect(await store.append(part, from: device.device).outcome == .unavailable)
        #expect(proxy.faultCount == 1)
        try await drain(&device, to: store)
        try await expectWhole(device, in: store)
        await store.shutDown()
        await bed.remove()
    }

    @Test(.timeLimit(.minutes(5))) func `An insert with unknown outcome moves no mark`() async throws {
        let bed = try await ClusterTestBed()
        try await throughProxy(bed) { store, clickHouse in
            var device = ScriptedDevice()
            device.produce(4)
            try await drain(&device, to: store)
            for behaviour in [LoopbackProxy.Behaviour.cutRequest(after: 600), .loseAnswer] {
                device.produce(4)
                clickHouse.behave(behaviour)
                #expect(await store.append(try #require(device.part()), from: device.device).outcome == .unavailable)
                clickHouse.behave(.forward)
                #expect(try await store.balance(of: device.device).map(\.mark.number) == [device.mark.number])
                try await drain(&device, to: store)
                try await expectWhole(device, in: store)
            }
        }
        await bed.remove()
    }

    /// A store that reaches ClickHouse only through a proxy.
    private func throughProxy(
        _ bed: ClusterTestBed, _ body: (ClusterRecordStore, LoopbackProxy) async throws -> Void
    ) async throws {
        let port = try #require(bed.clickHouse.urls[0].split(separator: ":").last.flatMap { Int($0) })
        try await LoopbackProxy.running(to: port) { proxy in
            var configuration = bed.configuration
            configuration.clickHouse.urls = [proxy.url]
            let store = try await ClusterRecordStore.open(
                configuration, clock: bed.clock, logger: ClusterTestBed.logger)
            do { try await body(store, proxy) } catch {
                await store.shutDown()
                throw error
            }
            await store.shutDown()
        }
    }

    @Test(.timeLimit(.minutes(5))) func `PostgreSQL is killed and frozen`() async throws {
        let server = try await PostgresServer.start()
        let bed = try await ClusterTestBed(postgreSQL: server)
        let store = try await bed.open()
        var device = ScriptedDevice()
        device.produce(4)
        try await drain(&device, to: store)
        device.produce(4)
        let part = try #require(device.part())
        await server.kill()
        #expect(await store.append(part, from: device.device).outcome == .unavailable)
        await #expect(throws: StoreError.self) { try await store.balance(of: device.device) }
        guard case .notReady = await store.readiness() else {
            Issue.record("ready without PostgreSQL")
            return
        }
        try await server.restart()
        // Before anyone sends: a balancer waits for it.
        #expect(await store.readiness() == .ready)
        try await drain(&device, to: store)
        try await expectWhole(device, in: store)
        device.produce(4)
        await server.freeze()
        #expect(await store.append(try #require(device.part()), from: device.device).outcome == .unavailable)
        await server.thaw()
        try await drain(&device, to: store)
        try await expectWhole(device, in: store)
        #expect(await store.readiness() == .ready)
        await store.shutDown()
        await bed.remove()
        try await server.stop()
    }

    @Test(.timeLimit(.minutes(8))) func `Replicas and ZooKeeper are killed`() async throws {
        try await ClickHouseServers.running { servers in
            let bed = try await ClusterTestBed(clickHouse: servers)
            let store = try await bed.open()
            var device = ScriptedDevice()
            device.produce(4)
            try await drain(&device, to: store)
            // One of three: everything goes on.
            try await servers.kill(0)
            device.produce(4)
            try await drain(&device, to: store)
            try await expectWhole(device, in: store)
            try await store.reclaim()
            #expect(try await store.harmedPartitions().isEmpty)
            #expect(await store.readiness() == .ready)
            // Two of three: nothing is stored, and a hole is not shown as data.
            try await servers.kill(1)
            device.produce(4)
            #expect(await store.append(try #require(device.part()), from: device.device).outcome == .unavailable)
            guard case .notReady = await store.readiness() else {
                Issue.record("ready without a quorum")
                return
            }
            try await servers.restart(0)
            try await servers.restart(1)
            try await drain(&device, to: store)
            try await expectWhole(device, in: store)
            // Without ZooKeeper replicas only read.
            try await servers.killZooKeeper()
            device.produce(4)
            #expect(await store.append(try #require(device.part()), from: device.device).outcome == .unavailable)
            #expect(try await store.allRecords(of: device.device, stream: .sample).count == 12)
            try await servers.restartZooKeeper()
            try await drain(&device, to: store)
            try await expectWhole(device, in: store)
            await store.shutDown()
        }
    }

    /// A balancer that waits for the answer would take all collectors out of service.
    @Test(.timeLimit(.minutes(5))) func `A frozen replica holds up no readiness query`() async throws {
        try await ClickHouseServers.running { servers in
            let bed = try await ClusterTestBed(clickHouse: servers, queryTimeoutSeconds: 120)
            let store = try await bed.open()
            #expect(await store.readiness() == .ready)
            try await servers.freeze(0)
            let begin = ContinuousClock.now
            for _ in 0..<3 { #expect(await store.readiness() == .ready) }
            #expect(ContinuousClock.now - begin < .seconds(100), "less than one query may take")
            try await servers.thaw(0)
            await store.shutDown()
        }
    }

    @Test(.timeLimit(.minutes(5))) func `A replica that lags is not accepted as the data`() async throws {
        try await ClickHouseServers.running { servers in
            let bed = try await ClusterTestBed(clickHouse: servers)
            // More devices than a list follows one by one.
            var devices = (0..<12).map { _ in ScriptedDevice() }
            try await bed.withStore(bed.configuration) { store in
                for place in devices.indices {
                    devices[place].produce(4, module: "m\(place)")
                    try await drain(&devices[place], to: store)
                }
            }
            // The first replica fetches nothing any more, and is asked first.
            let table = "\(bed.postgreSQL.name).slice_sample"
            try await servers.client.execute("SYSTEM STOP FETCHES", on: servers.replica(0))
            try await servers.client.execute("SYSTEM STOP REPLICATION QUEUES", on: servers.replica(0))
            let there = try await servers.number("SELECT count() FROM \(table)", on: 0)
            var configuration = bed.configuration
            configuration.clickHouse.urls = Array(servers.urls.dropFirst())
            try await bed.withStore(configuration) { writer in
                for place in devices.indices {
                    devices[place].produce(4, module: "m\(place)")
                    try await drain(&devices[place], to: writer)
                }
            }
            #expect(try await servers.number("SELECT count() FROM \(table)", on: 0) == there)
            let all = RecordQuery(.among(Set(devices.map(\.device))), stream: .sample)
            try await bed.withStore(bed.configuration) { reader in
                for device in devices { try await expectWhole(device, in: reader) }
                #expect(try await reader.scan(all, after: nil).records.count == 96)
                #expect(try await reader.records(all, before: nil, limit: 100).records.count == 96)
                let newest = try await reader.newestRecords(of: devices.map(\.device), all)
                #expect(devices.allSatisfy { newest[$0.device]?.bytes == $0.made[8] })
                #expect(try await reader.balances().devices.count == 12)
            }
            configuration.clickHouse.urls = [servers.urls[0]]
            try await bed.withStore(configuration) { lonely in
                let (ids, one) = (devices.map(\.device), devices[0].device)
                let reads: [@Sendable () async throws -> Void] = [
                    { _ = try await lonely.allRecords(of: one, stream: .sample) },
                    { _ = try await lonely.scan(all, after: nil) },
                    { _ = try await lonely.records(all, before: nil, limit: 5) },
                    { _ = try await lonely.newestRecords(of: ids, all) },
                    { _ = try await lonely.balance(of: one) },
                    { _ = try await lonely.balances() },
                ]
                for (place, read) in reads.enumerated() {
                    await #expect("read \(place)") { try await read() } throws: {
                        ($0 as? StoreError)?.code == .unavailable
                    }
                }
            }
        }
    }

    /// The replica has another attempt at the part that ends at the same number, with a gap in place of a record.
    @Test(.timeLimit(.minutes(5))) func `Another attempt on a replica that lags does not give the newest record`()
        async throws
    {
        try await ClickHouseServers.running { servers in
            let bed = try await ClusterTestBed(clickHouse: servers)
            var device = ScriptedDevice()
            device.produce(4)
            var other = device
            other.dropOldest(2)
            let part = try #require(other.part())
            let key = ChainKey(device: device.device, epoch: device.epoch)
            let database = try PostgresDatabase(bed.configuration.postgreSQL, logger: ClusterTestBed.logger)
            let client = try ClickHouseClient(bed.configuration.clickHouse, logger: ClusterTestBed.logger)
            let claims = try await ChainTable(database: database, stream: .sample, clock: bed.clock).claim([key])
            let chain = try #require(claims.chains[key])
            let decision = GroupDecision(
                GroupItem(job: 0, place: 0, chain: key, receivedAt: 1, work: .append(part)), part, chain,
                SliceVersion(generation: claims.generation, attempt: chain.attempt), .sample)
            let slices = SliceTable(client: client, quorum: 2, engine: try await client.engineVersion())
            guard case .stored = await slices.insert(try #require(decision.move).slices, of: .sample) else {
                throw StoreError(.io, "not stored")
            }
            await database.shutDown()
            await client.shutDown()
            let count = "SELECT count() FROM \(bed.postgreSQL.name).slice_sample"
            try await servers.wait("the other attempt") { try await servers.number(count, on: 0) == 1 }
            try await servers.client.execute("SYSTEM STOP FETCHES", on: servers.replica(0))
            var configuration = bed.configuration
            configuration.clickHouse.urls = Array(servers.urls.dropFirst())
            try await bed.withStore(configuration) { try await drain(&device, to: $0) }
            let query = RecordQuery(.one(device.device), stream: .sample)
            let id = device.device
            configuration.clickHouse.urls = [servers.urls[0]]
            try await bed.withStore(configuration) { lonely in
                await #expect { _ = try await lonely.newestRecords(of: [id], query) } throws: {
                    ($0 as? StoreError)?.code == .unavailable
                }
            }
            try await bed.withStore(bed.configuration) { reader in
                #expect(try await reader.newestRecords(of: [id], query)[id]?.bytes == device.made[4])
                try await expectWhole(device, in: reader)
            }
        }
    }

    @Test(arguments: ["fsync", "synchronous_commit", "full_page_writes"])
    func `A server that may lose commits is refused`(_ setting: String) async throws {
        let server = try await PostgresServer.start(settings: [setting: "off"])
        await #expect {
            _ = try await ClusterTestBed(postgreSQL: server)
        } throws: {
            ($0 as? StoreError)?.message.contains(setting) == true
        }
        try await server.stop()
    }
}
