import Logging
import PostgresTestKit
import Testing

@testable import PostgreSQL

@Suite(.timeLimit(.minutes(3))) struct MigrationTests {
    private static let one = PostgresMigration(1, "a table", sql: "CREATE TABLE a (n int8); INSERT INTO a VALUES (1)")
    private static let two = PostgresMigration(2, "another") { session throws(PostgresError) in
        try session.execute("UPDATE a SET n = n + $1", 1)
    }
    private static let bad = PostgresMigration(
        3, "a wrong one", sql: "CREATE TABLE b (n int8); INSERT INTO a VALUES (9); SELECT missing")

    private func migrations(_ list: [PostgresMigration], table: String = "version") -> PostgresMigrations {
        PostgresMigrations(list, table: table, lockKey: 77, logger: Logger(label: "test"))
    }

    @Test func itAppliesEachMigrationOnce() async throws {
        let fixture = try await Fixture()
        let applied = try await migrations([Self.one]).apply(to: fixture.database)
        #expect(applied.map(\.number) == [1])
        let both = migrations([Self.one, Self.two])
        #expect(try await both.pending(in: fixture.database).map(\.number) == [2])
        #expect(try await both.apply(to: fixture.database).map(\.number) == [2])
        #expect(try await both.apply(to: fixture.database).isEmpty)
        #expect(try await both.pending(in: fixture.database).isEmpty)
        #expect(try await fixture.test.sql("SELECT n FROM a") == ["2"])
        #expect(
            try await fixture.test.sql("SELECT number, name FROM version ORDER BY 1") == [
                "1|a table", "2|another",
            ])
    }

    @Test func aDryRunChangesNothing() async throws {
        let fixture = try await Fixture()
        let pending = try await migrations([Self.one, Self.two]).pending(in: fixture.database)
        #expect(pending.map(\.number) == [1, 2])
        #expect(try await fixture.test.sql("SELECT 1 FROM pg_tables WHERE schemaname = 'public'").isEmpty)
    }

    @Test func programsThatMigrateAtOnceApplyEachMigrationOnce() async throws {
        let fixture = try await Fixture()
        let applied = Collected<Int>()
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<6 {
                group.addTask {
                    let database = try Fixture.client(fixture.test.connectionString)
                    for migration in try await self.migrations([Self.one, Self.two]).apply(to: database) {
                        applied.add(migration.number)
                    }
                    await database.shutDown()
                }
            }
            try await group.waitForAll()
        }
        #expect(applied.values.sorted() == [1, 2])
        #expect(try await fixture.test.sql("SELECT n FROM a") == ["2"])
    }

    @Test func aFailingMigrationLeavesNothingOfItself() async throws {
        let fixture = try await Fixture()
        let all = migrations([Self.one, Self.two, Self.bad])
        let error = try await failure { try await all.apply(to: fixture.database) }
        #expect(error.code == .statement)
        #expect(error.message.contains("Migration 3 (a wrong one)"))
        #expect(try await fixture.test.sql("SELECT n FROM a") == ["2"])
        #expect(try await fixture.test.sql("SELECT 1 FROM pg_tables WHERE tablename = 'b'").isEmpty)
        #expect(try await all.pending(in: fixture.database).map(\.number) == [3])
    }

    @Test func aNewerSchemaIsRefused() async throws {
        let fixture = try await Fixture()
        _ = try await migrations([Self.one, Self.two]).apply(to: fixture.database)
        let older = migrations([Self.one])
        let error = try await failure { try await older.apply(to: fixture.database) }
        #expect(error.code == .configuration)
        #expect(error.message.contains("version 2"))
        #expect(try await failure { try await older.pending(in: fixture.database) }.code == .configuration)
    }

    @Test func twoListsInOneDatabaseDoNotMeet() async throws {
        let fixture = try await Fixture()
        _ = try await migrations([Self.one, Self.two]).apply(to: fixture.database)
        let other = PostgresMigration(1, "a table of another list", sql: "CREATE TABLE c (n int8)")
        #expect(try await migrations([other], table: "other_version").apply(to: fixture.database).count == 1)
        #expect(try await migrations([Self.one, Self.two]).pending(in: fixture.database).isEmpty)
    }
}
