import Logging
import PostgresTestKit
import Testing

@testable import PostgreSQL

@Suite(.timeLimit(.minutes(3))) struct ListenTests {
    @Test func `It delivers notifications in order`() async throws {
        let fixture = try await Fixture()
        var stream = fixture.database.listen(to: ["marks", "Odd \"name\""]).makeAsyncIterator()
        #expect(await stream.next() == .reconnected)
        try await fixture.database.transaction { session throws(PostgresError) in
            try session.execute("SELECT pg_notify('marks', 'one')")
            try session.execute("SELECT pg_notify($1, $2)", "Odd \"name\"", "")
            try session.execute("SELECT pg_notify('other', 'unheard')")
            try session.execute("SELECT pg_notify('marks', 'two')")
        }
        #expect(await stream.next() == .notification(channel: "marks", payload: "one"))
        #expect(await stream.next() == .notification(channel: "Odd \"name\"", payload: ""))
        #expect(await stream.next() == .notification(channel: "marks", payload: "two"))
    }

    @Test func `It reports that it listens anew after a loss`() async throws {
        let fixture = try await Fixture()
        let proxy = try PostgresProxy(to: fixture.server)
        let database = try Fixture.client(fixture.test.connectionString(port: proxy.port))
        var stream = database.listen(to: ["marks"]).makeAsyncIterator()
        #expect(await stream.next() == .reconnected)
        proxy.cutAll()
        #expect(await stream.next() == .reconnected)
        try await fixture.test.sql("NOTIFY marks, 'again'")
        #expect(await stream.next() == .notification(channel: "marks", payload: "again"))
    }

    @Test func `It waits for a server that is away`() async throws {
        let server = try await PostgresServer.start()
        let test = try await server.makeDatabase()
        await server.kill()
        let database = try Fixture.client(test.connectionString)
        var stream = database.listen(to: ["marks"]).makeAsyncIterator()
        try await server.restart()
        #expect(await stream.next() == .reconnected)
        await server.freeze()
        await server.kill()
        try await server.restart()
        #expect(await stream.next() == .reconnected)
    }

    @Test func `It says to look anew after notifications that nobody received`() async throws {
        let fixture = try await Fixture()
        var stream = fixture.database.listen(to: ["marks"]).makeAsyncIterator()
        #expect(await stream.next() == .reconnected)
        // The listener's thread is faster than these calls, so its buffer overflows; if it was slow, once more.
        var reported = false
        for _ in 0..<20 where !reported {
            try await fixture.test.sql("SELECT pg_notify('marks', n::text) FROM generate_series(1, 3000) AS n")
            for _ in 0..<3 { try await fixture.test.sql("SELECT 1") }
            // Either all arrive, or the loss is reported.
            for _ in 0..<3000 where !reported { reported = await stream.next() == .reconnected }
        }
        #expect(reported)
    }

    @Test func `It ends with shutdown and with its consumer`() async throws {
        let fixture = try await Fixture()
        let sessions =
            "SELECT 1 FROM pg_stat_activity WHERE application_name = 'ws1collector' AND datname = current_database()"
        do {
            var dropped: AsyncStream<PostgresNotification>? = fixture.database.listen(to: ["marks"])
            var stream = dropped?.makeAsyncIterator()
            #expect(await stream?.next() == .reconnected)
            stream = nil
            dropped = nil
        }
        #expect(try await eventually { try await fixture.test.sql(sessions).isEmpty })
        var stream = fixture.database.listen(to: ["marks"]).makeAsyncIterator()
        #expect(await stream.next() == .reconnected)
        await fixture.database.shutDown()
        #expect(await stream.next() == nil)
        #expect(try await eventually { try await fixture.test.sql(sessions).isEmpty })
        var late = fixture.database.listen(to: ["marks"]).makeAsyncIterator()
        #expect(await late.next() == nil)
    }
}
