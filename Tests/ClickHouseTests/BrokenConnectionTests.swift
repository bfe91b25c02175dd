import ClickHouse
import ClickHouseTestKit
import Testing

/// Real servers behind a network that loses bytes.
@Suite(.timeLimit(.minutes(5))) struct BrokenConnectionTests {
    /// Runs `body` with a table on one shared server, and a client that reaches the server through a proxy.
    private func withProxy(
        _ behaviour: LoopbackProxy.Behaviour, insertSeconds: Int = 20,
        _ body: (ClickHouseServers, LoopbackProxy, ClickHouseClient, String) async throws -> Void
    ) async throws {
        let servers = try await ClickHouseServers.shared()
        let table = ClientFixtures.tableName()
        try await servers.client.execute(
            "CREATE TABLE \(table) (\(ClientFixtures.columnTypes)) ENGINE = MergeTree ORDER BY number",
            on: servers.replica(0))
        try await LoopbackProxy.running(to: servers.ports[0], behaviour) { proxy in
            let configuration = ClientFixtures.configuration(
                [proxy.url], querySeconds: 20, insertSeconds: insertSeconds)
            try await ClientFixtures.withClient(configuration) { client in
                try await body(servers, proxy, client, table)
            }
        }
    }

    @Test func `An insert whose answer is lost is unknown, and sent once`() async throws {
        try await withProxy(.loseAnswer) { servers, proxy, client, table in
            let outcome = await client.insert(
                into: table, columns: ClientFixtures.columns, rows: ClientFixtures.rows(10))
            #expect(outcome.unknown?.code == .unavailable, "\(outcome)")
            #expect(proxy.connections == 1)
            let count = try await servers.number("SELECT count() FROM \(table)")
            #expect(count == 10)
        }
    }

    @Test func `An insert whose answer does not come in time is unknown`() async throws {
        try await withProxy(.holdAnswer, insertSeconds: 1) { servers, _, client, table in
            let outcome = await client.insert(
                into: table, columns: ClientFixtures.columns, rows: ClientFixtures.rows(10))
            #expect(outcome.unknown?.code == .unavailable, "\(outcome)")
            let count = try await servers.number("SELECT count() FROM \(table)")
            #expect(count == 10)
        }
    }

    @Test func `An insert whose body is cut is unknown to the client, and the server stores none of it`() async throws {
        try await withProxy(.cutRequest(after: 50_000)) { servers, proxy, client, table in
            let outcome = await client.insert(
                into: table, columns: ClientFixtures.columns,
                rows: ClientFixtures.rows(1000, bytes: 1000, random: true))
            #expect(outcome.unknown != nil, "\(outcome)")
            proxy.behave(.forward)
            // The server has given up the request when it runs no more.
            try await servers.wait("the end of the insert") {
                try await servers.number(
                    "SELECT count() FROM system.processes WHERE query LIKE 'INSERT INTO %\(table)%'") == 0
            }
            let count = try await servers.number("SELECT count() FROM \(table)")
            #expect(count == 0)
        }
    }

    @Test func `A cancelled insert is unknown`() async throws {
        try await withProxy(.holdAnswer) { servers, proxy, client, table in
            let task = Task {
                await client.insert(into: table, columns: ClientFixtures.columns, rows: ClientFixtures.rows(10))
            }
            try await servers.wait("the request") { proxy.requestBytes > 100 }
            task.cancel()
            let outcome = await task.value
            #expect(outcome.unknown != nil, "\(outcome)")
        }
    }

    @Test(arguments: [
        // Not ClickHouse; something in between; an error after the status; text where none is expected.
        "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n",
        "HTTP/1.1 502 Bad Gateway\r\nContent-Length: 0\r\n\r\n",
        "HTTP/1.1 200 OK\r\nX-ClickHouse-Exception-Code: 319\r\nContent-Length: 0\r\n\r\n",
        "HTTP/1.1 200 OK\r\nX-ClickHouse-Query-Id: a\r\nContent-Length: 9\r\n\r\nCode: 241",
        "HTTP/1.1 200 OK\r\nX-ClickHouse-Query-Id: a\r\nContent-Length: 9\r\n\r\n",
        "no HTTP\r\n\r\n",
    ])
    func `Any answer but an empty one of ClickHouse leaves an insert unknown`(answer: String) async throws {
        try await withProxy(.answer(answer), insertSeconds: 2) { _, _, client, table in
            let outcome = await client.insert(
                into: table, columns: ClientFixtures.columns, rows: ClientFixtures.rows(10))
            #expect(outcome.unknown != nil, "\(outcome)")
        }
    }

    @Test func `The empty answer of a current engine is a stored insert`() async throws {
        let answer = "HTTP/1.1 200 OK\r\nX-ClickHouse-Query-Id: a\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"
        try await withProxy(.answer(answer)) { _, _, client, table in
            let outcome = await client.insert(
                into: table, columns: ClientFixtures.columns, rows: ClientFixtures.rows(10))
            #expect(outcome.isStored, "\(outcome)")
        }
    }

    @Test(arguments: [10, 100, 400, 20_000])
    func `An answer that is cut is an error, not fewer rows`(bytes: Int) async throws {
        try await withProxy(.cutAnswer(after: bytes)) { _, proxy, client, _ in
            let error = await #expect(throws: ClickHouseError.self) {
                try await client.query("SELECT number FROM numbers(100000)")
            }
            #expect(error?.code == .unavailable)
            #expect(proxy.connections == 2, "a closed connection is tried twice")
            proxy.behave(.forward)
            let rows = try await client.query("SELECT number FROM numbers(100000)")
            #expect(rows.remainingBytes == 800_000)
        }
    }
}
