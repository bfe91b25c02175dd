import ClickHouse
import ClickHouseTestKit
import Testing

/// Servers that die or freeze. One test at a time: a machine with too many servers loses sessions with ZooKeeper.
@Suite(.serialized, .timeLimit(.minutes(5))) struct FailoverTests {
    private func columns() -> [String] { ClientFixtures.columns }

    @Test func `One killed replica stops neither reads nor inserts, two stop every quorum`() async throws {
        try await ClickHouseServers.running { servers in
            try await servers.createTable("t", ClientFixtures.columnTypes, "ORDER BY number")
            try await ClientFixtures.withClient(ClientFixtures.configuration(servers.urls)) { client in
                try await servers.kill(0)
                let first = await client.insert(
                    into: "t", columns: columns(), rows: ClientFixtures.rows(10), settings: ClientFixtures.quorum)
                #expect(first.isStored, "\(first)")
                let rows = try await client.query("SELECT number FROM t")
                #expect(rows.remainingBytes == 80)
                #expect(rows.replica?.index == 1)

                try await servers.kill(1)
                // Until the session of the killed one ends, the last one waits for it; then it refuses at once.
                let early = await client.insert(
                    into: "t", columns: columns(), rows: ClientFixtures.rows(10, from: 100),
                    settings: ClientFixtures.shortQuorum)
                #expect(!early.isStored, "\(early)")
                try await servers.waitForReplicas(of: "t", active: 1, on: 2)
                let late = await client.insert(
                    into: "t", columns: columns(), rows: ClientFixtures.rows(10, from: 200),
                    settings: ClientFixtures.shortQuorum)
                #expect(late.notStored?.serverCode == 285 || late.notStored?.serverCode == 286, "\(late)")
                let kept = try await client.query("SELECT number FROM t WHERE number < 10")
                #expect(kept.remainingBytes == 80)
            }
        }
    }

    @Test func `A killed replica that starts again has what the others stored, and takes inserts`() async throws {
        try await ClickHouseServers.running { servers in
            try await servers.createTable("t", ClientFixtures.columnTypes, "ORDER BY number")
            try await servers.kill(2)
            let without = await servers.client.insert(
                into: "t", columns: columns(), rows: ClientFixtures.rows(10), settings: ClientFixtures.quorum,
                on: servers.replica(0))
            #expect(without.isStored, "\(without)")
            try await servers.restart(2)
            try await servers.waitForReplicas(of: "t", active: 3, on: 2)
            try await servers.wait("the part on replica 2") {
                try await servers.number("SELECT count() FROM t", on: 2) == 10
            }
            let with = await servers.client.insert(
                into: "t", columns: columns(), rows: ClientFixtures.rows(10, from: 10), settings: ClientFixtures.quorum,
                on: servers.replica(2))
            #expect(with.isStored, "\(with)")
        }
    }

    @Test func `A frozen replica costs one query its timeout, then it is asked last, and first again later`()
        async throws
    {
        try await ClickHouseServers.running(replicas: 1) { frozen in
            try await ClickHouseServers.running(replicas: 1) { working in
                let pauses = ManualClock()
                let configuration = ClientFixtures.configuration(
                    [frozen.urls[0], working.urls[0]], querySeconds: 3)
                try await ClientFixtures.withClient(configuration, clock: pauses) { client in
                    let clock = ContinuousClock()
                    let before = try await client.query("SELECT 1")
                    #expect(before.replica?.index == 0)
                    try await frozen.freeze(0)
                    let start = clock.now
                    let first = try await client.query("SELECT 1")
                    #expect(first.replica?.index == 1)
                    let middle = clock.now
                    #expect(middle - start >= .seconds(3))
                    for _ in 0..<5 {
                        let next = try await client.query("SELECT 1")
                        #expect(next.replica?.index == 1)
                    }
                    #expect(clock.now - middle < .seconds(3))
                    try await frozen.thaw(0)
                    pauses.advance(by: .seconds(6))
                    let after = try await client.query("SELECT 1")
                    #expect(after.replica?.index == 0)
                }
            }
        }
    }

    @Test func `Without any replica a query is unavailable, and an insert is not stored`() async throws {
        try await ClickHouseServers.running(replicas: 1) { servers in
            try await servers.kill(0)
            let urls = servers.urls + ["http://127.0.0.1:1"]
            try await ClientFixtures.withClient(ClientFixtures.configuration(urls)) { client in
                let error = await #expect(throws: ClickHouseError.self) { try await client.query("SELECT 1") }
                #expect(error?.code == .unavailable)
                let outcome = await client.insert(into: "t", columns: columns(), rows: ClientFixtures.rows(1))
                #expect(outcome.notStored?.code == .unavailable, "\(outcome)")
                let statement = await #expect(throws: ClickHouseError.self) { try await client.execute("SELECT 1") }
                #expect(statement?.code == .unavailable)
            }
        }
    }

    @Test func `A server killed with an insert in it leaves the outcome unknown`() async throws {
        try await ClickHouseServers.running(replicas: 1) { servers in
            try await servers.client.execute(
                "CREATE TABLE t (\(ClientFixtures.columnTypes)) ENGINE = MergeTree ORDER BY number")
            try await LoopbackProxy.running(to: servers.ports[0]) { proxy in
                try await ClientFixtures.withClient(ClientFixtures.configuration([proxy.url])) { client in
                    try await servers.freeze(0)
                    async let outcome = client.insert(
                        into: "t", columns: columns(), rows: ClientFixtures.rows(10))
                    try await servers.wait("the request") { proxy.requestBytes > 100 }
                    try await servers.kill(0)
                    let result = await outcome
                    #expect(result.unknown?.code == .unavailable, "\(result)")
                }
            }
        }
    }

    @Test func `A frozen server leaves the outcome of an insert unknown, and the next one goes elsewhere`() async throws
    {
        try await ClickHouseServers.running { servers in
            try await servers.createTable("t", ClientFixtures.columnTypes, "ORDER BY number")
            let configuration = ClientFixtures.configuration(servers.urls, insertSeconds: 5)
            try await ClientFixtures.withClient(configuration) { client in
                try await servers.freeze(0)
                let first = await client.insert(
                    into: "t", columns: columns(), rows: ClientFixtures.rows(10), settings: ClientFixtures.quorum)
                #expect(first.unknown?.code == .unavailable, "\(first)")
                let second = await client.insert(
                    into: "t", columns: columns(), rows: ClientFixtures.rows(10, from: 100),
                    settings: ClientFixtures.quorum)
                #expect(second.isStored, "\(second)")
                try await servers.thaw(0)
            }
        }
    }

    @Test func `Without ZooKeeper no insert is stored and reads go on; with it again inserts are stored`()
        async throws
    {
        try await ClickHouseServers.running { servers in
            try await servers.createTable("t", ClientFixtures.columnTypes, "ORDER BY number")
            let before = await servers.client.insert(
                into: "t", columns: columns(), rows: ClientFixtures.rows(10), settings: ClientFixtures.quorum,
                on: servers.replica(0))
            #expect(before.isStored, "\(before)")

            try await servers.killZooKeeper()
            for attempt in UInt64(1)...3 {
                let outcome = await servers.client.insert(
                    into: "t", columns: columns(), rows: ClientFixtures.rows(10, from: attempt * 100),
                    settings: ClientFixtures.shortQuorum)
                #expect(!outcome.isStored, "\(outcome)")
            }
            let kept = try await servers.client.query("SELECT number FROM t WHERE number < 10")
            #expect(kept.remainingBytes == 80)

            try await servers.restartZooKeeper()
            for index in servers.ports.indices {
                try await servers.waitForReplicas(of: "t", active: 3, on: index)
            }
            try await servers.wait("an insert") {
                await servers.client.insert(
                    into: "t", columns: columns(), rows: ClientFixtures.rows(10, from: 1000),
                    settings: ClientFixtures.quorum
                ).isStored
            }
        }
    }

    @Test func `A frozen ZooKeeper never makes an insert stored`() async throws {
        try await ClickHouseServers.running { servers in
            try await servers.createTable("t", ClientFixtures.columnTypes, "ORDER BY number")
            try await servers.freezeZooKeeper()
            let configuration = ClientFixtures.configuration(servers.urls, insertSeconds: 3)
            try await ClientFixtures.withClient(configuration) { client in
                let outcome = await client.insert(
                    into: "t", columns: columns(), rows: ClientFixtures.rows(10), settings: ClientFixtures.shortQuorum)
                #expect(!outcome.isStored, "\(outcome)")
                let one = try await client.query("SELECT 1")
                #expect(one.remainingBytes == 1)
            }
            try await servers.thawZooKeeper()
        }
    }
}
