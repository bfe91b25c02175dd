import ClickHouse
import ClickHouseTestKit
import Foundation
import PostgreSQL
import PostgresTestKit
import RecordStore
import StoreTestKit
import Synchronization
import TestKit
import Testing
import WireModel

@testable import ClusterStore

/// Two collectors, devices that send without end, and servers that are killed and frozen in turn.
@Suite(.serialized) struct ClusterStressTests {
    private enum Server: CaseIterable { case replica0, replica1, replica2, zooKeeper, postgreSQL }

    private struct Fault: CustomStringConvertible {
        var server: Server
        var isKill: Bool

        var description: String { "\(isKill ? "kill" : "freeze") \(server)" }

        static let all = Server.allCases.flatMap { server in [true, false].map { Fault(server: server, isKill: $0) } }
    }

    /// `WS1_STRESS_SEED` repeats a run as far as the servers' own timing allows.
    private static let seed =
        ProcessInfo.processInfo.environment["WS1_STRESS_SEED"].flatMap(UInt64.init) ?? .random(in: 0...UInt64.max)

    @Test(.timeLimit(.minutes(8))) func `Servers that are killed and frozen neither lose nor double anything`()
        async throws
    {
        print("ClusterStressTests: WS1_STRESS_SEED=\(Self.seed)")
        try await ClickHouseServers.running { servers in
            let server = try await PostgresServer.start()
            let bed = try await ClusterTestBed(clickHouse: servers, postgreSQL: server)
            var configuration = bed.configuration
            configuration.clickHouse.insertTimeoutSeconds = 4
            configuration.clickHouse.queryTimeoutSeconds = 3
            configuration.postgreSQL.statementTimeoutSeconds = 3
            var stores: [ClusterRecordStore] = []
            // What has a connection must be shut down before it goes, also after a failure.
            let result: Result<Void, any Error>
            do {
                for urls in [servers.urls, servers.urls.reversed()] {
                    configuration.clickHouse.urls = urls
                    stores.append(try await ClusterRecordStore.open(configuration, logger: ClusterTestBed.logger))
                }
                let inserts = try InsertProbe(bed)
                let end = End()
                let devices = try await withThrowingTaskGroup(of: ScriptedDevice?.self) { group in
                    for place in 0..<24 {
                        group.addTask { [stores] in
                            try await Self.send(
                                SplitMix64(seed: Self.seed &+ UInt64(place)), to: stores, until: end)
                        }
                    }
                    group.addTask {
                        defer { end.come() }
                        try await Self.breakAll(servers, server, inserts, end)
                        return nil
                    }
                    return try await group.reduce(into: [ScriptedDevice]()) { if let device = $1 { $0.append(device) } }
                }
                let overlaps = inserts.overlaps
                print(
                    "ClusterStressTests: \(overlaps.count) of \(Fault.all.count) faults during an insert: \(overlaps)")
                #expect(!overlaps.isEmpty, "no fault overlapped an insert")
                await inserts.shutDown()
                try await expectWhole(devices, in: stores)
                result = .success(())
            } catch { result = .failure(error) }
            for store in stores { await store.shutDown() }
            try result.get()
            try await server.stop()
        }
    }

    /// Sends parts of random sizes to random collectors, and some to both at once, until asked to stop. Then sends the
    /// rest.
    private static func send(
        _ generator: SplitMix64, to stores: [ClusterRecordStore], until end: End
    ) async throws -> ScriptedDevice {
        var generator = generator
        var device = ScriptedDevice()
        while !end.hasCome {
            device.produce(.random(in: 1...20, using: &generator), module: "m\(device.device)")
            let part = try #require(device.part(.random(in: 1...40, using: &generator)))
            let place = Int.random(in: 0...1, using: &generator)
            let id = device.device
            if Int.random(in: 0..<6, using: &generator) == 0 {
                async let twin = stores[1 - place].append(part, from: id)
                let answers = [await stores[place].append(part, from: id), await twin]
                for answer in answers where answer.outcome != .unavailable { device.apply(answer) }
            } else {
                device.apply(await stores[place].append(part, from: id))
            }
            end.count()
        }
        let deadline = ContinuousClock.now + .seconds(120)
        while !device.held.isEmpty, ContinuousClock.now < deadline {
            device.apply(await stores[0].append(try #require(device.part()), from: device.device))
        }
        #expect(device.held.isEmpty, "the servers run again, and records are still refused")
        return device
    }

    /// Each pair of server and fault once, in random order, each while an insert is under way if one comes.
    private static func breakAll(
        _ servers: ClickHouseServers, _ postgres: PostgresServer, _ inserts: InsertProbe, _ end: End
    ) async throws {
        var generator = SplitMix64(seed: seed)
        for fault in Fault.all.shuffled(using: &generator) {
            let insert = await inserts.next()
            try await breakOne(fault, servers, postgres)
            if fault.server != .postgreSQL, let insert, await inserts.current() == insert {
                inserts.overlapped("\(fault)")
            }
            // Until the devices have heard some answers, or wait for them.
            let answers = end.answers + .random(in: 12...240, using: &generator)
            _ = try await eventually(within: .milliseconds(.random(in: 500...2500, using: &generator))) {
                end.answers >= answers
            }
            try await mend(fault, servers, postgres)
        }
    }

    private static func breakOne(
        _ fault: Fault, _ servers: ClickHouseServers, _ postgres: PostgresServer
    ) async throws {
        switch (fault.server, fault.isKill) {
        case (.zooKeeper, true): try await servers.killZooKeeper()
        case (.zooKeeper, false): try await servers.freezeZooKeeper()
        case (.postgreSQL, true): await postgres.kill()
        case (.postgreSQL, false): await postgres.freeze()
        case (let server, true): try await servers.kill(replica(server))
        case (let server, false): try await servers.freeze(replica(server))
        }
    }

    private static func mend(
        _ fault: Fault, _ servers: ClickHouseServers, _ postgres: PostgresServer
    ) async throws {
        switch (fault.server, fault.isKill) {
        case (.zooKeeper, true): try await servers.restartZooKeeper()
        case (.zooKeeper, false): try await servers.thawZooKeeper()
        case (.postgreSQL, true): try await postgres.restart()
        case (.postgreSQL, false): await postgres.thaw()
        case (let server, true): try await servers.restart(replica(server))
        case (let server, false): try await servers.thaw(replica(server))
        }
    }

    private static func replica(_ server: Server) -> Int { Server.allCases.firstIndex(of: server) ?? 0 }

    /// Every record that a device has made is acknowledged by now.
    private func expectWhole(_ devices: [ScriptedDevice], in stores: [ClusterRecordStore]) async throws {
        let all = RecordQuery(.among(Set(devices.map(\.device))), stream: .sample)
        for store in stores {
            var listed: [DeviceID: [Data]] = [:]
            var cursor: String?
            repeat {
                let page = try await store.scan(all, after: cursor)
                for record in page.records { listed[record.device, default: []].append(record.bytes) }
                cursor = page.next
            } while cursor != nil
            for device in devices {
                let made = (1...device.last).map { device.made[$0] }
                #expect(listed[device.device] == made)
                let balance = try await store.balance(of: device.device)
                #expect(balance.map(\.storedRows) == [device.last] && balance.allSatisfy { $0.balance.closes })
            }
            let report = try await store.verify()
            #expect(report.isWhole, "\(report.findings)")
            #expect(report.records == devices.reduce(0) { $0 + $1.last })
        }
    }
}

/// Whether devices shall make no more records, and how many answers they have had.
private final class End: Sendable {
    private let state = Mutex((hasCome: false, answers: 0))

    var hasCome: Bool { state.withLock { $0.hasCome } }
    var answers: Int { state.withLock { $0.answers } }

    func come() { state.withLock { $0.hasCome = true } }
    func count() { state.withLock { $0.answers += 1 } }
}

/// Knows which insert is under way. Inserts of an older engine are serialized by a lock in PostgreSQL, which shows it.
private final class InsertProbe: Sendable {
    private let database: PostgresDatabase
    private let found = Mutex<[String]>([])

    init(_ bed: ClusterTestBed) throws {
        var configuration = bed.configuration.postgreSQL
        configuration.maximumConnections = 1
        configuration.statementTimeoutSeconds = 1
        database = try PostgresDatabase(configuration, logger: ClusterTestBed.logger)
    }

    /// Faults before and after which the same insert was under way.
    var overlaps: [String] { found.withLock { $0 } }

    func overlapped(_ fault: String) { found.withLock { $0.append(fault) } }

    /// The transaction that holds the lock.
    func current() async -> String? {
        let key = StoreLock.insert(into: StreamName.sample.rawValue)
        return try? await database.read { session throws(PostgresError) in
            try session.query(
                """
                SELECT virtualtransaction FROM pg_locks WHERE locktype = 'advisory' AND granted AND objsubid = 1
                AND (classid::bigint << 32 | objid::bigint) = $1
                """, key
            ).first?.string(0)
        }
    }

    /// Waits for an insert that has begun just now.
    func next() async -> String? {
        let former = await current()
        let end = ContinuousClock.now + .seconds(5)
        while ContinuousClock.now < end {
            if let insert = await current(), insert != former { return insert }
        }
        return nil
    }

    func shutDown() async { await database.shutDown() }
}
