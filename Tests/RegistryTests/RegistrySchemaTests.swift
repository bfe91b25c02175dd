import Foundation
import SQLite
import StoreTestKit
import TestKit
import Testing
import WireModel

@testable import RecordStore
@testable import Registry

/// How `collector.sqlite` is made, checked and changed. `RegistryStepTests` has the same of PostgreSQL.
@Suite struct RegistrySchemaTests {
    private let directory: TemporaryDirectory

    init() throws { directory = try TemporaryDirectory() }

    /// The present tables, with devices that have a color: as a later version will have them.
    private static let colored = RegistrySchema(
        tables: RegistrySchema.current.tables.replacing(
            "kind INTEGER NOT NULL DEFAULT \(DeviceRow.Kind.enrolled.rawValue));",
            with: "kind INTEGER NOT NULL DEFAULT \(DeviceRow.Kind.enrolled.rawValue), color TEXT);"),
        steps: RegistrySchema.current.steps + [
            RegistrySchema.Step("devices have a color", sql: "ALTER TABLE device ADD COLUMN color TEXT")
        ])

    private var files: DataDirectory { DataDirectory(path: directory.path) }

    private func columns(_ table: String, _ connection: Connection) throws -> [String] {
        try connection.rows("SELECT name, type, \"notnull\", dflt_value FROM pragma_table_info(?)", table) { row in
            "\(row.string(0)) \(row.string(1)) \(row.int(2)) \(row.string(3))"
        }
    }

    @Test func `a file of an earlier version gets the missing step, with everything in it`() async throws {
        let (metadata, created) = try MetadataService.open(
            directory: directory.path, clock: ManualStoreClock(), logger: quietLogger)
        let token = try #require(created).enrollmentToken
        let device = try await metadata.enroll(token: token, request: WireEnrollRequest())
        await metadata.close()

        let stepped = try CollectorDatabase.open(files, schema: Self.colored)
        #expect(try Int(stepped.userVersion) == RegistrySchema.current.version + 1)
        #expect(
            try stepped.hasRow("SELECT 1 FROM device WHERE id = ? AND color IS NULL", device.deviceID.data))
        let new = try TemporaryDirectory()
        let made = try CollectorDatabase.open(DataDirectory(path: new.path), schema: Self.colored)
        #expect(try columns("device", stepped) == columns("device", made))
        try made.close()
        try stepped.close()
    }

    @Test func `a file of a newer version is refused by its name, whatever opens it`() throws {
        try CollectorDatabase.open(files, schema: Self.colored).close()
        let errors = [
            #expect(throws: StoreError.self) { _ = try CollectorDatabase.open(files) },
            #expect(throws: StoreError.self) { _ = try CollectorDatabase.openReading(files) },
        ]
        for error in errors {
            #expect(error?.code == .newerVersion && error?.message.contains(files.databasePath) == true)
        }
        let connection = try Connection(path: files.databasePath, options: .init(mode: .readOnly))
        #expect(try columns("device", connection).contains { $0.hasPrefix("color ") }, "nothing was changed")
    }

    @Test func `a file of an earlier version is not read beside a collector, and the remedy is named`() throws {
        try CollectorDatabase.open(files).close()
        let error = #expect(throws: StoreError.self) {
            _ = try CollectorDatabase.openReading(files, schema: Self.colored)
        }
        #expect(error?.code == .conflict && error?.message.contains(files.databasePath) == true)
        #expect(error?.message.contains("Start `serve` once") == true)
    }

    @Test func `the tables of both engines are written once`() throws {
        let connection = try CollectorDatabase.open(files)
        let tables = Set(
            try connection.rows("SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%'") {
                $0.string(0)
            })
        #expect(tables.subtracting(RegistrySchema.current.tableNames) == ["baseline"])
        #expect(RegistrySchema.current.tableNames.isSubset(of: tables) && tables.count > 25)
        #expect(Int(try connection.userVersion) == RegistrySchema.current.version)
        let translated = RegistrySchema.postgreSQL(RegistrySchema.current.tables)
        for word in ["BLOB", "ROWID", "AUTOINCREMENT", " x'", " INTEGER", " TEXT"] {
            #expect(!translated.contains(word), "\(word)")
        }
    }
}
