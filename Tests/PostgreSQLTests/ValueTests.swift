import Foundation
import PostgresTestKit
import Testing

@testable import PostgreSQL

@Suite(.timeLimit(.minutes(3))) struct ValueTests {
    @Test func `It brings back each type unchanged`() async throws {
        let fixture = try await Fixture()
        try await fixture.database.read { session throws(PostgresError) in
            for number in [0, 1, -1, Int64.max, Int64.min, 0x0102_0304_0506_0708] {
                #expect(try session.query("SELECT $1", number)[0].int64(0) == number)
            }
            #expect(try session.query("SELECT $1", Int.min)[0].int(0) == Int.min)
            #expect(try session.query("SELECT $1", Int32.min)[0].int(0) == Int(Int32.min))
            #expect(try session.query("SELECT $1", UInt64(Int64.max))[0].uint64(0) == UInt64(Int64.max))
            for flag in [true, false] { #expect(try session.query("SELECT $1", flag)[0].bool(0) == flag) }
            for number in [0, -0.5, .pi, .infinity, Double.leastNonzeroMagnitude] {
                #expect(try session.query("SELECT $1", number)[0].double(0) == number)
            }
            #expect(try session.query("SELECT $1", Double.nan)[0].double(0).isNaN)
            for text in ["", "it's", "Grüße 🐘", String(repeating: "x", count: 100_000)] {
                #expect(try session.query("SELECT $1", text)[0].string(0) == text)
            }
            let bytes = (0...255).map { UInt8($0) }
            #expect(try session.query("SELECT $1", bytes)[0].data(0) == Data(bytes))
            #expect(try session.query("SELECT $1", Data(bytes))[0].data(0) == Data(bytes))
            #expect(try session.query("SELECT $1", Data())[0].data(0) == Data())
            let large = Data(repeating: 7, count: 20_000_000)
            #expect(try session.query("SELECT $1", large)[0].data(0) == large)
        }
    }

    @Test func `It distinguishes null from empty`() async throws {
        let fixture = try await Fixture()
        try await fixture.database.read { session throws(PostgresError) in
            let row = try session.query(
                "SELECT $1, $2, $3, $4, $5, $6", Int?.none, String?.none, Data?.none, Bool?.none, Double?.none,
                [UInt8]?.none)[0]
            for column in 0..<6 { #expect(try row.isNull(column)) }
            #expect(try row.optionalInt64(0) == nil)
            #expect(try row.optionalInt(0) == nil)
            #expect(try row.optionalUInt64(0) == nil)
            #expect(try row.optionalString(1) == nil)
            #expect(try row.optionalData(2) == nil)
            #expect(try row.optionalBool(3) == nil)
            #expect(try row.optionalDouble(4) == nil)
            let full = try session.query("SELECT $1, $2", String?.some(""), Int?.some(3))[0]
            #expect(try full.optionalString(0) == "")
            #expect(try full.optionalInt(1) == 3)
            #expect(try !full.isNull(0))
        }
    }

    @Test func `It passes arrays to unnest and ANY`() async throws {
        let fixture = try await Fixture()
        try await fixture.database.read { session throws(PostgresError) in
            let rows = try session.query(
                "SELECT a, b, c, d, e FROM unnest($1, $2, $3, $4, $5) AS t(a, b, c, d, e)", [Int64(1), -2],
                ["x", nil], [Data([1, 2]), Data()], [true, nil], [[UInt8(9)], []])
            #expect(rows.count == 2)
            #expect(try rows[0].int64(0) == 1)
            #expect(try rows[1].int64(0) == -2)
            #expect(try rows.map { row throws(PostgresError) in try row.optionalString(1) } == ["x", nil])
            #expect(try rows[0].data(2) == Data([1, 2]))
            #expect(try rows[1].data(2) == Data())
            #expect(try rows.map { row throws(PostgresError) in try row.optionalBool(3) } == [true, nil])
            #expect(try rows[0].data(4) == Data([9]))
            #expect(try session.query("SELECT 5 = ANY($1)", [Int]())[0].bool(0) == false)
            #expect(try session.query("SELECT 5 = ANY($1)", [UInt64(5)])[0].bool(0))
            #expect(try session.query("SELECT 'b' = ANY($1)", ["a", "b"])[0].bool(0))
            #expect(
                try session.query("SELECT cardinality($1)", Array(repeating: 1, count: 100_000))[0].int(0) == 100_000)
        }
    }

    @Test func `It writes and reads columns of smaller types`() async throws {
        let fixture = try await Fixture(
            script: "CREATE TABLE small (a int2, b int4, c varchar(9), d char(3), e real, f jsonb, g name)")
        try await fixture.database.transaction { session throws(PostgresError) in
            try session.execute(
                "INSERT INTO small VALUES ($1, $2, $3, $4, $5, $6::jsonb, $7)", 12, -70_000, "word", "abc", 0.5,
                #"{"a": 1}"#, "n")
            let row = try session.query("SELECT a, b, c, d, e, f::text, g FROM small WHERE b = $1", -70_000)[0]
            #expect(try row.int(0) == 12)
            #expect(try row.int64(1) == -70_000)
            #expect(try row.string(2) == "word")
            #expect(try row.string(3) == "abc")
            #expect(try row.double(4) == 0.5)
            #expect(try row.string(5) == #"{"a": 1}"#)
            #expect(try row.string(6) == "n")
        }
    }

    @Test func `It names the column of a value that does not fit`() async throws {
        let fixture = try await Fixture()
        try await fixture.database.read { session throws(PostgresError) in
            let row = try session.query(
                "SELECT 1.5::numeric AS share, NULL::int8 AS level, -1::int8 AS debt, 'x' AS word")[0]
            let calls: [(String, (PostgresRow) throws(PostgresError) -> Void)] = [
                ("share", { row throws(PostgresError) in _ = try row.double(0) }),
                ("level", { row throws(PostgresError) in _ = try row.int64(1) }),
                ("debt", { row throws(PostgresError) in _ = try row.uint64(2) }),
                ("word", { row throws(PostgresError) in _ = try row.int(3) }),
                ("word", { row throws(PostgresError) in _ = try row.data(3) }),
                ("share", { row throws(PostgresError) in _ = try row.string(0) }),
                ("word", { row throws(PostgresError) in _ = try row.bool(3) }),
                ("4", { row throws(PostgresError) in _ = try row.isNull(4) }),
            ]
            for (name, call) in calls {
                do throws(PostgresError) {
                    try call(row)
                    Issue.record("\(name) was taken")
                } catch {
                    #expect(error.code == .statement)
                    #expect(error.message.contains(name))
                }
            }
        }
    }

    @Test func `It finds a column by its name`() async throws {
        let fixture = try await Fixture()
        try await fixture.database.read { session throws(PostgresError) in
            let rows = try session.query(
                "SELECT 1::int8 AS level, 'x' AS word, true AS flag, NULL::bytea AS bytes, 2::int8 AS twin, 3 AS twin")
            #expect(try rows.column("level") == 0)
            #expect(try rows.column("bytes") == 3)
            #expect(try rows[0].int64("level") == 1)
            #expect(try rows[0].int("level") == 1)
            #expect(try rows[0].string("word") == "x")
            #expect(try rows[0].bool("flag"))
            #expect(try rows[0].optionalData("bytes") == nil)
            for name in ["absent", "twin"] {
                do throws(PostgresError) {
                    _ = try rows.column(name)
                    Issue.record("\(name) was found")
                } catch {
                    #expect(error.code == .statement)
                    #expect(error.message.contains(name))
                }
            }
        }
    }

    @Test func `It refuses a number above int8`() async throws {
        let fixture = try await Fixture()
        let error = try await failure {
            try await fixture.database.read { session throws(PostgresError) in
                try session.execute("SELECT $1", UInt64(Int64.max) + 1)
            }
        }
        #expect(error.code == .statement)
        let array = try await failure {
            try await fixture.database.read { session throws(PostgresError) in
                try session.execute("SELECT $1", [UInt64.max])
            }
        }
        #expect(array.code == .statement)
    }

    @Test func `It counts affected rows`() async throws {
        let fixture = try await Fixture(script: "CREATE TABLE t (a int8)")
        try await fixture.database.transaction { session throws(PostgresError) in
            #expect(try session.execute("INSERT INTO t SELECT generate_series(1, 5)") == 5)
            #expect(try session.execute("UPDATE t SET a = a WHERE a > $1", 3) == 2)
            #expect(try session.execute("DELETE FROM t WHERE a > $1", 9) == 0)
            #expect(try session.query("SELECT a FROM t").affectedRows == 5)
            try session.executeScript("DELETE FROM t; INSERT INTO t VALUES (1)")
            let rows = try session.query("SELECT a AS number FROM t")
            #expect(rows.columnNames == ["number"])
            #expect(rows.count == 1)
        }
    }

    @Test func `It prepares a statement once and keeps a bounded number`() async throws {
        let fixture = try await Fixture { $0.maximumConnections = 1 }
        for _ in 0..<2 {
            try await fixture.database.read { session throws(PostgresError) in
                for _ in 0..<3 { try session.execute("SELECT $1 + 1", 4) }
                // The same text with another type is another statement.
                try session.execute("SELECT $1 + 1", 4.5)
                let rows = try session.query(
                    "SELECT statement FROM pg_prepared_statements WHERE statement = $1", "SELECT $1 + 1")
                #expect(rows.count == 2)
            }
        }
        try await fixture.database.read { session throws(PostgresError) in
            for number in 0..<300 { try session.execute("SELECT \(number), $1", 4) }
            #expect(try session.query("SELECT count(*) FROM pg_prepared_statements")[0].int(0) == 256)
            #expect(try session.query("SELECT $1 + 1", 4)[0].int(0) == 5)
        }
    }

    @Test func `It prepares anew after the schema has changed`() async throws {
        let fixture = try await Fixture(script: "CREATE TABLE t (a int4); INSERT INTO t VALUES (7)") {
            $0.maximumConnections = 1
        }
        let read: @Sendable (PostgresSession) throws(PostgresError) -> Int = { session throws(PostgresError) in
            try session.query("SELECT * FROM t")[0].int(0)
        }
        #expect(try await fixture.database.transaction(read) == 7)
        try await fixture.test.sql("ALTER TABLE t ALTER a TYPE int8")
        let error = try await failure { try await fixture.database.transaction(read) }
        #expect(error.code == .conflict)
        #expect(try await fixture.database.transaction(read) == 7)
    }

    @Test func `It keeps rows after the session`() async throws {
        let fixture = try await Fixture()
        let rows = try await fixture.database.read { session throws(PostgresError) in
            try session.query("SELECT generate_series(1, 3)::int8")
        }
        await fixture.database.shutDown()
        #expect(try rows.map { row throws(PostgresError) in try row.int(0) } == [1, 2, 3])
    }
}
