import Foundation
import PostgreSQL
import PostgresTestKit
import SQLite
import Testing
import WireModel

@testable import ClusterRegistry
@testable import CollectorMaintenance
@testable import RecordStore
@testable import Registry

/// Every table of the registry is copied, row by row, or is a named exception.
@Suite(.timeLimit(.minutes(5))) struct RegistryCopyTests {
    /// Rows of every type, also in tables that no test fills otherwise. Numbers are small, so that rows which refer to
    /// others find them.
    private func fill(_ path: String) throws {
        let connection = try CollectorDatabase.open(DataDirectory(path: path))
        let tables = try connection.rows(
            "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%'"
        ) { $0.string(0) }
        for table in tables where table != "baseline" && table != "meta" {
            let columns = try connection.rows("SELECT name, type, \"notnull\", pk FROM pragma_table_info(?)", table) {
                (name: $0.string(0), type: $0.string(1), isRequired: $0.int(2) != 0 || $0.int(3) != 0)
            }
            for row in 9001...9003 {
                let values = columns.map { column -> String in
                    if !column.isRequired, row == 9002 { return "NULL" }
                    switch column.type {
                    case "INTEGER": return "\(row)"
                    case "TEXT": return row == 9003 ? "'ä''\(row)'" : "'\(column.name)\(row)'"
                    default: return "x'00ff\(row)'"
                    }
                }
                try connection.execute(
                    """
                    INSERT INTO \(table) (\(columns.map(\.name).joined(separator: ", "))) \
                    VALUES (\(values.joined(separator: ", ")))
                    """
                )
            }
        }
        // Numbers are not given again after their rows are gone.
        try connection.execute(
            """
            INSERT INTO audit SELECT 9999, at, actor, token, role, organization, action, subject, detail, outcome, job \
            FROM audit WHERE id = 9001
            """
        )
        try connection.execute("DELETE FROM audit WHERE id = 9999")
        try connection.close()
    }

    private func withCopy(
        _ body: (SourceDirectory, PostgresRegistry, RegistryCopy.Report) async throws -> Void
    ) async throws {
        let source = try await SourceDirectory(days: 2)
        try fill(source.path)
        let database = try await PostgresServer.shared().makeDatabase()
        let registry = PostgresRegistry.ofOneCollector(
            try PostgresDatabase(
                PostgresConfiguration(connectionString: database.connectionString), logger: quietLogger),
            name: database.name)
        try await registry.prepare(logger: quietLogger)
        let report = try await copy(source.path, to: registry)
        try await body(source, registry, report)
        await registry.database.shutDown()
    }

    private func copy(_ path: String, to registry: PostgresRegistry) async throws -> RegistryCopy.Report {
        let source = try MoveSource.open(directory: path, exclusive: false, logger: quietLogger)
        let report = try await RegistryCopy(to: registry).run(
            of: source.collectorID, from: { () throws(StoreError) in try source.openRegistry() })
        #expect(
            try await RegistryCopy(to: registry).differences { () throws(StoreError) in try source.openRegistry() }
                == [])
        await source.close()
        return report
    }

    /// The rows of a table as texts, sorted.
    private func rows(_ columns: [RegistryTable.Column], _ sql: String, _ session: any RegistrySession) throws
        -> [String]
    {
        try session.rows(sql) { row in
            columns.enumerated().map { place, column in
                let place = Int32(place)
                if row.isNull(place) { return "NULL" }
                switch column.kind {
                case .integer: return "\(row.int64(place))"
                case .text: return row.string(place)
                case .bytes: return row.data(place).hexadecimal
                }
            }.joined(separator: "|")
        }.sorted()
    }

    @Test func `Every table and column is copied row by row`() async throws {
        try await withCopy { source, registry, report in
            let path = source.path
            let tables = try await registry.database.read(mapping: { StoreError($0) }) { session throws(StoreError) in
                try RegistryTable.common(
                    try SQLiteRegistry(directory: path).openReading(), session)
            }
            #expect(tables.count > 25 && Set(report.rows.keys) == Set(tables.map(\.name)))
            let sqlite = try SQLiteRegistry(directory: path).openReading()
            let postgres = try registry.openReading()
            for table in tables {
                let expected = try rows(table.columns, table.selection, sqlite)
                let list = table.columns.map(\.name).joined(separator: ", ")
                let found = try rows(table.columns, "SELECT \(list) FROM \(RegistryCopy.copied(table))", postgres)
                #expect(found == expected && found.count >= 3, "\(table.name)")
                #expect(report.rows[table.name] == expected.count)
            }
        }
    }

    @Test func `A second copy replaces the first`() async throws {
        try await withCopy { source, registry, first in
            let connection = try CollectorDatabase.open(DataDirectory(path: source.path))
            try connection.execute("DELETE FROM device_state; UPDATE organization SET created = 77")
            try connection.close()
            let second = try await copy(source.path, to: registry)
            #expect(second.total == first.total - (first.rows["device_state"] ?? 0))
            #expect(
                try registry.openReading().rows("SELECT DISTINCT created FROM organization") { $0.int(0) } == [77])
        }
    }

    @Test func `New numbers continue above all that were given`() async throws {
        try await withCopy { _, registry, _ in
            let session = try registry.openWriting()
            let (number, row) = try session.transaction { () throws(StoreError) in
                (
                    try session.first(
                        """
                        INSERT INTO audit (at, actor, organization, action, subject, detail, outcome)
                        VALUES (1, '', '', '', '', '', '') RETURNING id
                        """
                    ) { $0.int(0) },
                    try session.first(
                        """
                        INSERT INTO device_certificate (device, fingerprint, serial, issued, expires)
                        VALUES (?, ?, ?, 1, 1) RETURNING row
                        """, Data([1]), Data([1]), Data([1])
                    ) { $0.int(0) }
                )
            }
            #expect(number == 10_000 && row == 9004)
        }
    }

    @Test func `A column that only one engine has is an error`() async throws {
        let source = try await SourceDirectory(days: 2)
        let connection = try CollectorDatabase.open(DataDirectory(path: source.path))
        try connection.execute("ALTER TABLE organization ADD COLUMN odd INTEGER")
        try connection.close()
        let database = try await PostgresServer.shared().makeDatabase()
        let registry = PostgresRegistry.ofOneCollector(
            try PostgresDatabase(
                PostgresConfiguration(connectionString: database.connectionString), logger: quietLogger),
            name: database.name)
        try await registry.prepare(logger: quietLogger)
        let error = await #expect(throws: StoreError.self) { _ = try await copy(source.path, to: registry) }
        #expect(error?.message.contains("odd") == true)
        await registry.database.shutDown()
    }
}
