import Foundation
import PostgreSQL
import PostgresTestKit
import RecordStore
import Registry
import Testing
import WireModel

@testable import ClusterRegistry

/// How the registry's tables in PostgreSQL are changed. `RegistrySchemaTests` has the same of SQLite.
@Suite(.timeLimit(.minutes(3))) struct RegistryStepTests {
    /// The present tables, with devices that have a color: as a later version will have them.
    private static let colored = RegistrySchema(
        tables: RegistrySchema.current.tables.replacing(
            "kind INTEGER NOT NULL DEFAULT \(DeviceRow.Kind.enrolled.rawValue));",
            with: "kind INTEGER NOT NULL DEFAULT \(DeviceRow.Kind.enrolled.rawValue), color TEXT);"),
        steps: RegistrySchema.current.steps + [
            RegistrySchema.Step("devices have a color", sql: "ALTER TABLE device ADD COLUMN color TEXT")
        ])

    private func registry() async throws -> PostgresRegistry {
        let database = try await PostgresServer.shared().makeDatabase()
        return PostgresRegistry(
            try PostgresDatabase(
                PostgresConfiguration(connectionString: database.connectionString), logger: quietLogger),
            name: database.name)
    }

    private func columns(_ registry: PostgresRegistry) throws -> [String] {
        try registry.openReading().rows(
            """
            SELECT column_name::text, data_type::text, collation_name::text FROM information_schema.columns
            WHERE table_schema = current_schema() AND table_name = 'device' ORDER BY ordinal_position
            """
        ) { "\($0.string(0)) \($0.string(1)) \($0.string(2))" }
    }

    @Test func `tables of an earlier version get the missing step, with everything in them`() async throws {
        let (stepped, made) = (try await registry(), try await registry())
        let version = RegistrySchema.current.version
        #expect(
            try await stepped.prepare(logger: quietLogger)
                == ["PostgreSQL: registry, make the tables of version \(version)"])
        try stepped.openWriting().run("INSERT INTO organization (name, created) VALUES ('a', 1)")
        #expect(
            try await stepped.prepare(of: Self.colored, logger: quietLogger)
                == ["PostgreSQL: registry, step to version \(version + 1) (devices have a color)"])
        #expect(try stepped.openReading().hasRow("SELECT 1 FROM organization WHERE name = 'a'"))

        try await made.prepare(of: Self.colored, logger: quietLogger)
        #expect(try columns(stepped) == columns(made))
        #expect(try columns(made).last == "color text C")

        let error = await #expect(throws: StoreError.self) { try await stepped.prepare(logger: quietLogger) }
        #expect(error?.message.contains("registry_version in PostgreSQL says version \(version + 1)") == true)
        await stepped.database.shutDown()
        await made.database.shutDown()
    }
}
