import ClickHouse
import ClickHouseTestKit
import FoundationEssentials
import Testing

/// Queries on real servers that all work.
@Suite(.timeLimit(.minutes(5))) struct QueryTests {
    @Test func `Every type comes back as it was inserted`() async throws {
        let servers = try await ClickHouseServers.shared()
        let table = ClientFixtures.tableName()
        let types = """
            a UInt8, b UInt16, c UInt32, d UInt64, e Int8, f Int16, g Int32, h Int64, i Float64, j String, \
            k FixedString(16), l Array(UInt32), m Nullable(Int64), n Nullable(String), o Date, p DateTime, \
            q Array(String), r Nullable(UInt64)
            """
        try await servers.client.execute(
            "CREATE TABLE \(table) (\(types)) ENGINE = MergeTree ORDER BY a", on: servers.replica(0))
        let fixed = (0..<16).map { UInt8($0 * 17) }
        let text = Data((0...255).map { UInt8($0) })
        var writer = RowBinaryWriter()
        for row in UInt8(0)..<3 {
            writer.uint8(row)
            writer.uint16(.max)
            writer.uint32(.max)
            writer.uint64(.max)
            writer.int8(.min)
            writer.int16(.min)
            writer.int32(.min)
            writer.int64(.min)
            writer.double(.pi)
            writer.string(text)
            writer.fixedString(fixed, count: 16)
            writer.array(count: 2)
            writer.uint32(1)
            writer.uint32(2)
            writer.null()
            writer.nullable("ü") { $0.string($1) }
            writer.date(20_000)
            writer.dateTime(1_900_000_000)
            writer.array(count: 1)
            writer.string("")
            writer.nullable(7) { $0.uint64($1) }
            writer.rowEnded()
        }
        let columns = "abcdefghijklmnopqr".map { String($0) }
        let outcome = await servers.client.insert(
            into: table, columns: columns, rows: writer, on: servers.replica(0))
        #expect(outcome.isStored, "\(outcome)")

        var rows = try await servers.client.query(
            "SELECT * FROM \(table) WHERE k = {fixed} ORDER BY a", parameters: ["fixed": .bytes(fixed)],
            on: servers.replica(0))
        var count: UInt8 = 0
        while rows.next() {
            #expect(try rows.uint8() == count)
            #expect(try rows.uint16() == .max)
            #expect(try rows.uint32() == .max)
            #expect(try rows.uint64() == .max)
            #expect(try rows.int8() == .min)
            #expect(try rows.int16() == .min)
            #expect(try rows.int32() == .min)
            #expect(try rows.int64() == .min)
            #expect(try rows.double() == .pi)
            #expect(try rows.data() == text)
            #expect(try rows.fixedBytes(16) == fixed)
            #expect(try rows.arrayCount() == 2)
            #expect(try rows.uint32() == 1)
            #expect(try rows.uint32() == 2)
            #expect(try rows.isNull())
            #expect(try !rows.isNull())
            #expect(try rows.string() == "ü")
            #expect(try rows.date() == 20_000)
            #expect(try rows.dateTime() == 1_900_000_000)
            #expect(try rows.arrayCount() == 1)
            #expect(try rows.string() == "")
            #expect(try rows.nullable { (rows) throws(ClickHouseError) in try rows.uint64() } == 7)
            count += 1
        }
        #expect(count == 3)
    }

    @Test func `The version of the engine is read`() async throws {
        let servers = try await ClickHouseServers.shared()
        let version = try await servers.client.engineVersion()
        #expect(version >= ClickHouseEngineVersion(major: 18, minor: 16))
    }

    @Test(arguments: [
        "plain", "it's", #"back\slash"#, #"\' OR 1=1 --"#, "'; DROP TABLE x; --", "new\nline\ttab\0zero", "`tick`",
        "ünïcode 🦊", "%27", "{a}", "",
    ])
    func `Any text is the value of its literal and the name of its column`(text: String) async throws {
        let servers = try await ClickHouseServers.shared()
        var rows = try await servers.client.query(
            "SELECT {a}, {b}, {a} = {b}", parameters: ["a": .string(text), "b": .bytes(Array(text.utf8))])
        #expect(rows.next())
        #expect(try rows.string() == text)
        #expect(try rows.string() == text)
        #expect(try rows.uint8() == 1)
        #expect(!rows.next())
        guard !text.isEmpty else { return }
        let name = ClickHouseSQL.identifier(text)
        var named = try await servers.client.query("SELECT \(name) FROM (SELECT 7 AS \(name))")
        #expect(named.next())
        #expect(try named.uint8() == 7)
    }

    @Test func `An empty list contains nothing`() async throws {
        let servers = try await ClickHouseServers.shared()
        let rows = try await servers.client.query(
            "SELECT number FROM system.numbers WHERE number IN {list} LIMIT 1 ",
            parameters: ["list": .list([.unsigned(3)])])
        #expect(rows.remainingBytes == 8)
        let none = try await servers.client.query(
            "SELECT number FROM numbers(10) WHERE number IN {list}", parameters: ["list": .list([])])
        #expect(none.remainingBytes == 0)
    }

    @Test func `An error after many rows is an error of the whole answer`() async throws {
        let servers = try await ClickHouseServers.shared()
        // Without wait_end_of_query the server sends status 200 and most of the rows first.
        let error = await #expect(throws: ClickHouseError.self) {
            try await servers.client.query("SELECT number, throwIf(number = 3000000) FROM numbers(4000000)")
        }
        #expect(error?.code == .refused)
        #expect(error?.serverCode == 395)
    }

    @Test func `An answer over the limit is refused, and the client goes on`() async throws {
        let servers = try await ClickHouseServers.shared()
        let error = await #expect(throws: ClickHouseError.self) {
            try await servers.client.query("SELECT number FROM numbers(1000000)", maximumBytes: 1 << 20)
        }
        #expect(error?.code == .answerTooLarge)
        let rows = try await servers.client.query("SELECT number FROM numbers(1000)", maximumBytes: 8000)
        #expect(rows.remainingBytes == 8000)
    }

    @Test func `A query cannot change anything`() async throws {
        let servers = try await ClickHouseServers.shared()
        let error = await #expect(throws: ClickHouseError.self) {
            try await servers.client.query("CREATE TABLE \(ClientFixtures.tableName()) (a UInt8) ENGINE = Memory")
        }
        #expect(error?.serverCode == 164)
        #expect(error?.code == .refused)
    }

    @Test func `A server that is only slow says so, and no other is asked`() async throws {
        let servers = try await ClickHouseServers.shared()
        try await ClientFixtures.withClient(ClientFixtures.configuration(servers.urls, querySeconds: 2)) { client in
            let error = await #expect(throws: ClickHouseError.self) {
                try await client.query("SELECT count() FROM system.numbers")
            }
            #expect(error?.code == .unavailable)
            #expect(error?.serverCode == 159)
            let rows = try await client.query("SELECT 1")
            #expect(rows.replica?.index == 0)
        }
    }

    @Test func `A wrong password is refused, the right one is not, and neither is shown`() async throws {
        let servers = try await ClickHouseServers.shared()
        var configuration = ClientFixtures.configuration(servers.urls)
        configuration.user = "guarded"
        configuration.password = "wrong-password"
        #expect(!"\(configuration)".contains("wrong-password"))
        try await ClientFixtures.withClient(configuration) { client in
            let error = await #expect(throws: ClickHouseError.self) { try await client.query("SELECT 1") }
            #expect(error?.code == .refused)
            #expect(error.map { !"\($0)".contains("wrong-password") } == true)
            let outcome = await client.insert(
                into: "nothing", columns: ClientFixtures.columns, rows: ClientFixtures.rows(1))
            #expect(outcome.notStored?.code == .refused, "\(outcome)")
        }
        configuration.password = ClickHouseServers.guardedPassword
        try await ClientFixtures.withClient(configuration) { client in
            let one = try await client.query("SELECT 1")
            #expect(one.remainingBytes == 1)
        }
    }

    @Test func `Requests after the shutdown are refused here`() async throws {
        let client = try ClickHouseClient(
            ClickHouseConfiguration(urls: ["http://127.0.0.1:1"]), logger: ClientFixtures.logger)
        await client.shutDown()
        await client.shutDown()
        let error = await #expect(throws: ClickHouseError.self) { try await client.query("SELECT 1") }
        #expect(error?.code == .shutDown)
        let outcome = await client.insert(into: "t", columns: ["a"], rows: ClientFixtures.rows(1))
        #expect(outcome.notStored?.code == .shutDown)
    }

    @Test func `Plain HTTP to another machine is refused unless asked for`() async throws {
        for urls in [["http://10.0.0.11:8123"], ["http://127.0.0.1:8123", "http://clickhouse-2.example:8123"]] {
            var configuration = ClickHouseConfiguration(urls: urls)
            let error = #expect(throws: ClickHouseError.self) {
                try ClickHouseClient(configuration, logger: ClientFixtures.logger)
            }
            #expect(error?.code == .configuration && error?.message.contains(urls.last ?? "") == true)
            configuration.allowsPlaintext = true
            try await ClientFixtures.withClient(configuration) { _ in }
        }
        for urls in [["https://10.0.0.11:8443"], ["http://127.0.0.1:8123", "https://clickhouse-2.example"]] {
            try await ClientFixtures.withClient(ClickHouseConfiguration(urls: urls)) { _ in }
        }
    }

    @Test(arguments: [[], ["ftp://host"], ["http://user:secret@host"], ["http://"]])
    func `A configuration without a valid URL is an error without secrets`(urls: [String]) {
        do throws(ClickHouseError) {
            _ = try ClickHouseClient(ClickHouseConfiguration(urls: urls), logger: ClientFixtures.logger)
            Issue.record("accepted \(urls)")
        } catch {
            #expect(error.code == .configuration)
            #expect(!error.message.contains("secret"))
        }
    }
}
