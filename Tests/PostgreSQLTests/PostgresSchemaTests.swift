import Logging
import PostgresTestKit
import Testing

@testable import PostgreSQL

@Suite(.timeLimit(.minutes(3))) struct PostgresSchemaTests {
    private static let table = "CREATE TABLE a (n int8); INSERT INTO a VALUES (1);"
    private static let counted = PostgresStep("a counts on") { session throws(PostgresError) in
        try session.execute("UPDATE a SET n = n + $1", 1)
    }
    private static let named = PostgresStep("a has names", sql: "ALTER TABLE a ADD COLUMN name text")
    private static let bad = PostgresStep(
        "a wrong one", sql: "CREATE TABLE b (n int8); INSERT INTO a VALUES (9); SELECT missing")
    private let logger = Logger(label: "test")

    private func schema(
        _ steps: [PostgresStep], tables: String = Self.table, versions: String = "version"
    ) -> PostgresSchema {
        PostgresSchema(tables: tables, steps: steps, versionTable: versions, lockKey: 77)
    }

    @Test func `tables of an earlier version get each step once`() async throws {
        let fixture = try await Fixture()
        let first = schema([])
        #expect(try await first.pending(in: fixture.database) == ["make the tables of version 1"])
        #expect(try await first.apply(to: fixture.database, logger: logger) == ["make the tables of version 1"])
        let third = schema([Self.counted, Self.named])
        let steps = ["step to version 2 (a counts on)", "step to version 3 (a has names)"]
        #expect(try await third.pending(in: fixture.database) == steps)
        #expect(try await third.apply(to: fixture.database, logger: logger) == steps)
        #expect(try await third.apply(to: fixture.database, logger: logger).isEmpty)
        #expect(try await third.pending(in: fixture.database).isEmpty)
        #expect(try await fixture.test.sql("SELECT n, name FROM a") == ["2|"])
        #expect(
            try await fixture.test.sql("SELECT number, name FROM version ORDER BY 1") == [
                "1|tables", "2|a counts on", "3|a has names",
            ])
    }

    @Test func `an empty database gets the present tables and no step`() async throws {
        let fixture = try await Fixture()
        let present = schema(
            [Self.counted, Self.named], tables: "CREATE TABLE a (n int8, name text); INSERT INTO a VALUES (7);")
        #expect(try await present.apply(to: fixture.database, logger: logger) == ["make the tables of version 3"])
        #expect(try await present.pending(in: fixture.database).isEmpty)
        #expect(try await fixture.test.sql("SELECT n FROM a") == ["7"])
        #expect(try await fixture.test.sql("SELECT number FROM version") == ["3"])
    }

    @Test func `a dry run changes nothing`() async throws {
        let fixture = try await Fixture()
        let pending = try await schema([Self.counted]).pending(in: fixture.database)
        #expect(pending == ["make the tables of version 2"])
        #expect(try await fixture.test.sql("SELECT 1 FROM pg_tables WHERE schemaname = 'public'").isEmpty)
    }

    @Test func `programs that start at once apply each step once`() async throws {
        let fixture = try await Fixture()
        _ = try await schema([]).apply(to: fixture.database, logger: logger)
        let applied = Collected<String>()
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<6 {
                group.addTask {
                    let database = try Fixture.client(fixture.test.connectionString)
                    for step in try await self.schema([Self.counted]).apply(to: database, logger: logger) {
                        applied.add(step)
                    }
                    await database.shutDown()
                }
            }
            try await group.waitForAll()
        }
        #expect(applied.values == ["step to version 2 (a counts on)"])
        #expect(try await fixture.test.sql("SELECT n FROM a") == ["2"])
    }

    @Test func `a failing step leaves nothing of itself`() async throws {
        let fixture = try await Fixture()
        _ = try await schema([]).apply(to: fixture.database, logger: logger)
        let all = schema([Self.counted, Self.bad])
        let error = try await failure { try await all.apply(to: fixture.database, logger: logger) }
        #expect(error.code == .statement)
        #expect(error.message.contains("step to version 3 (a wrong one): failed"))
        #expect(try await fixture.test.sql("SELECT n FROM a") == ["2"])
        #expect(try await fixture.test.sql("SELECT 1 FROM pg_tables WHERE tablename = 'b'").isEmpty)
        #expect(try await all.pending(in: fixture.database) == ["step to version 3 (a wrong one)"])
    }

    @Test func `tables of a newer program are refused`() async throws {
        let fixture = try await Fixture()
        _ = try await schema([Self.counted]).apply(to: fixture.database, logger: logger)
        let older = schema([])
        let error = try await failure { try await older.apply(to: fixture.database, logger: logger) }
        #expect(error.code == .configuration)
        #expect(error.message.contains("version 2") && error.message.contains("or a newer one"))
        #expect(try await failure { try await older.pending(in: fixture.database) }.code == .configuration)
    }

    @Test func `two schemas in one database do not meet`() async throws {
        let fixture = try await Fixture()
        _ = try await schema([Self.counted]).apply(to: fixture.database, logger: logger)
        let other = schema([], tables: "CREATE TABLE c (n int8)", versions: "other_version")
        #expect(try await other.apply(to: fixture.database, logger: logger).count == 1)
        #expect(try await schema([Self.counted]).pending(in: fixture.database).isEmpty)
    }
}
