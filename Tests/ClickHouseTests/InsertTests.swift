import ClickHouse
import ClickHouseTestKit
import Testing

/// Inserts on real servers that all work.
@Suite(.timeLimit(.minutes(5))) struct InsertTests {
    /// Runs `body` with a replicated table on the shared servers.
    private func withTable(
        _ body: (ClickHouseServers, String) async throws -> Void
    ) async throws {
        let servers = try await ClickHouseServers.shared()
        let table = ClientFixtures.tableName()
        try await servers.createTable(table, ClientFixtures.columnTypes, "ORDER BY number")
        try await body(servers, table)
    }

    @Test func `A stored insert is on two replicas when the answer comes`() async throws {
        try await withTable { servers, table in
            let outcome = await servers.client.insert(
                into: table, columns: ClientFixtures.columns, rows: ClientFixtures.rows(100),
                settings: ClientFixtures.quorum)
            #expect(outcome.isStored, "\(outcome)")
            var copies = 0
            for index in servers.ports.indices {
                if try await servers.number("SELECT count() FROM \(table)", on: index) == 100 { copies += 1 }
            }
            #expect(copies >= 2)
        }
    }

    @Test func `A thousand rows of 20 KB become one part`() async throws {
        try await withTable { servers, table in
            let outcome = await servers.client.insert(
                into: table, columns: ClientFixtures.columns,
                rows: ClientFixtures.rows(1000, bytes: 20_000), settings: ClientFixtures.quorum,
                on: servers.replica(0))
            #expect(outcome.isStored, "\(outcome)")
            let ofTable = "FROM system.parts WHERE table = '\(table)' AND active"
            let parts = try await servers.number("SELECT count() \(ofTable)")
            #expect(parts == 1)
            let rowsInParts = try await servers.number("SELECT sum(rows) \(ofTable)")
            #expect(rowsInParts == 1000)
        }
    }

    @Test func `More rows than a block of the server's default has become one part`() async throws {
        try await withTable { servers, table in
            let outcome = await servers.client.insert(
                into: table, columns: ClientFixtures.columns, rows: ClientFixtures.rows(1_200_000, bytes: 1),
                settings: ClientFixtures.quorum, on: servers.replica(0))
            #expect(outcome.isStored, "\(outcome)")
            let ofTable = "FROM system.parts WHERE table = '\(table)' AND level = 0"
            let parts = try await servers.number("SELECT count() \(ofTable)")
            #expect(parts == 1)
            let rowsInParts = try await servers.number("SELECT sum(rows) \(ofTable)")
            #expect(rowsInParts == 1_200_000)
        }
    }

    @Test func `The same rows twice are stored twice`() async throws {
        try await withTable { servers, table in
            for _ in 0..<2 {
                let outcome = await servers.client.insert(
                    into: table, columns: ClientFixtures.columns, rows: ClientFixtures.rows(10),
                    settings: ClientFixtures.quorum, on: servers.replica(0))
                #expect(outcome.isStored, "\(outcome)")
            }
            let count = try await servers.number("SELECT count() FROM \(table)")
            #expect(count == 20)
        }
    }

    @Test func `What the server refuses before it writes is not stored`() async throws {
        try await withTable { servers, table in
            let rows = ClientFixtures.rows(10)
            // The last text says that it is longer than what follows.
            var broken = rows
            broken.uint64(0)
            broken.array(count: 100)
            broken.rowEnded()
            let client = servers.client
            let replica = servers.replica(0)
            let refusals: [(Int, InsertOutcome)] = [
                (60, await client.insert(into: "no_such_table", columns: ["a"], rows: rows, on: replica)),
                (16, await client.insert(into: table, columns: ["number", "other"], rows: rows, on: replica)),
                (62, await client.insert(into: table, columns: ["number", ""], rows: rows, on: replica)),
                (81, await client.insert(into: "no_such.t", columns: ["a"], rows: rows, on: replica)),
                (
                    115,
                    await client.insert(
                        into: table, columns: ClientFixtures.columns, rows: rows, settings: ["no_such_setting": "1"],
                        on: replica)
                ),
                (33, await client.insert(into: table, columns: ClientFixtures.columns, rows: broken, on: replica)),
            ]
            for (code, outcome) in refusals {
                #expect(outcome.notStored?.serverCode == code, "\(code): \(outcome)")
                #expect(outcome.notStored?.message.contains("xxxxx") == false, "rows are in no message")
            }
            let count = try await servers.number("SELECT count() FROM \(table)")
            #expect(count == 0)
        }
    }

    @Test func `An error in the last of many rows stores none of them`() async throws {
        try await withTable { servers, table in
            // The column `text` of the last row says that it is longer than what follows.
            var rows = ClientFixtures.rows(1_200_000, bytes: 1)
            rows.uint64(0)
            rows.array(count: 100)
            rows.rowEnded()
            let outcome = await servers.client.insert(
                into: table, columns: ClientFixtures.columns, rows: rows, settings: ClientFixtures.quorum,
                on: servers.replica(0))
            #expect(outcome.notStored != nil, "\(outcome)")
            let count = try await servers.number("SELECT count() FROM \(table)")
            #expect(count == 0)
        }
    }

    @Test func `A row that has not ended is never sent, and no rows need no server`() async throws {
        try await ClientFixtures.withClient(ClientFixtures.configuration(["http://127.0.0.1:1"])) { client in
            var rows = ClientFixtures.rows(1)
            rows.uint8(1)
            let unfinished = await client.insert(into: "t", columns: ClientFixtures.columns, rows: rows)
            #expect(unfinished.notStored?.code == .configuration)
            let none = await client.insert(into: "t", columns: ClientFixtures.columns, rows: RowBinaryWriter())
            #expect(none.isStored)
        }
    }

    @Test func `A second quorum insert while the first waits is not stored, and the first is`() async throws {
        try await withTable { servers, table in
            let configuration = ClientFixtures.configuration(servers.urls, insertSeconds: 60)
            try await ClientFixtures.withClient(configuration) { client in
                // Nobody fetches, so the first insert waits.
                for index in [1, 2] {
                    try await servers.client.execute("SYSTEM STOP FETCHES \(table)", on: servers.replica(index))
                }
                async let first = client.insert(
                    into: table, columns: ClientFixtures.columns, rows: ClientFixtures.rows(10),
                    settings: ClientFixtures.patientQuorum, on: servers.replica(0))
                try await servers.wait("the first insert's quorum") {
                    try await servers.number(
                        "SELECT count() FROM system.zookeeper WHERE path = '/clickhouse/tables/\(table)/quorum' "
                            + "AND name = 'status'") == 1
                }
                let second = await client.insert(
                    into: table, columns: ClientFixtures.columns, rows: ClientFixtures.rows(10, from: 100),
                    settings: ClientFixtures.patientQuorum, on: servers.replica(1))
                #expect(second.notStored?.serverCode == 286, "\(second)")
                #expect(second.notStored?.code == .unavailable)
                for index in [1, 2] {
                    try await servers.client.execute("SYSTEM START FETCHES \(table)", on: servers.replica(index))
                }
                let outcome = await first
                #expect(outcome.isStored, "\(outcome)")
                let count = try await servers.number("SELECT count() FROM \(table)")
                #expect(count == 10)
            }
        }
    }

    @Test func `An insert whose quorum does not come in time is unknown`() async throws {
        try await withTable { servers, table in
            for index in [1, 2] {
                try await servers.client.execute("SYSTEM STOP FETCHES \(table)", on: servers.replica(index))
            }
            let outcome = await servers.client.insert(
                into: table, columns: ClientFixtures.columns, rows: ClientFixtures.rows(10),
                settings: ClientFixtures.shortQuorum, on: servers.replica(0))
            #expect(outcome.unknown?.serverCode == 319, "\(outcome)")
            for index in [1, 2] {
                try await servers.client.execute("SYSTEM START FETCHES \(table)", on: servers.replica(index))
            }
        }
    }

    @Test func `Inserts side by side are stored or reported apart, and the table has what was stored`() async throws {
        try await withTable { servers, table in
            let stored = await withTaskGroup(of: InsertOutcome.self) { group in
                for writer in 0..<9 {
                    group.addTask {
                        await servers.client.insert(
                            into: table, columns: ClientFixtures.columns,
                            rows: ClientFixtures.rows(10, from: UInt64(writer * 100)), settings: ClientFixtures.quorum,
                            on: servers.replica(writer % 3))
                    }
                }
                var stored = 0
                for await outcome in group {
                    if outcome.isStored { stored += 1 } else { #expect(outcome.notStored != nil, "\(outcome)") }
                }
                return stored
            }
            #expect(stored >= 1)
            try await servers.client.execute("SYSTEM SYNC REPLICA \(table)", on: servers.replica(0))
            let count = try await servers.number("SELECT count() FROM \(table)")
            #expect(count == UInt64(10 * stored))
        }
    }
}
