import Foundation
import RegistryTestKit
import TestKit
import Testing

@testable import RecordStore
@testable import Registry

/// What the metadata service relies on, of every engine.
@Suite("The port to the registry", .eachRegistry) struct RegistrySessionTests {
    private let directory: TemporaryDirectory
    private let session: any RegistrySession

    init() throws {
        directory = try TemporaryDirectory()
        session = try TestRegistry.session(directory: directory.path)
    }

    private func insert(_ name: String, _ key: Data?) throws(StoreError) {
        try session.run("INSERT INTO organization (name, created, privacy_key) VALUES (?, ?, ?)", name, 7, key)
    }

    private func names(_ session: any RegistrySession) throws(StoreError) -> [String] {
        try session.rows("SELECT name FROM organization ORDER BY name") { $0.string(0) }
    }

    @Test func `Values come back as they were`() throws {
        let bytes = Data((0...255).map { UInt8($0) })
        try insert("", Data())
        try insert("é ' ? \" $1 \u{1F600}", bytes)
        try insert("none", nil)
        let rows = try session.rows("SELECT name, created, privacy_key FROM organization ORDER BY name") {
            ($0.string(0), $0.int64(1), $0.optionalData(2), $0.isNull(2), $0.data(2))
        }
        #expect(rows.map(\.0) == ["", "none", "é ' ? \" $1 \u{1F600}"])
        #expect(rows.allSatisfy { $0.1 == 7 })
        #expect(rows.map(\.2) == [Data(), nil, bytes])
        #expect(rows.map(\.3) == [false, true, false])
        #expect(rows[1].4 == Data())
    }

    @Test func `Parameters may be numbered, repeated or absent`() throws {
        try insert("a", nil)
        let found = try session.rows(
            """
            SELECT ?2 AS number, '?' AS mark, name = ?1 AS same, ?3 <> 0 AS flag, ?1 IS NULL AS absent,
            '''?1' AS quoted, privacy_key = ?4 AS unknown FROM organization
            WHERE ?1 IS NULL OR name = ?1
            """, "a", Int64.max, true, Data?.none
        ) { row throws(StoreError) in
            (
                number: try row.int64("number"), texts: [try row.string("mark"), try row.string("quoted")],
                conditions: try [row.bool("same"), row.bool("flag"), row.bool("absent")],
                isNull: try row.isNull("unknown")
            )
        }
        #expect(found.count == 1 && found[0].number == .max && found[0].isNull)
        #expect(found[0].texts == ["?", "'?1"] && found[0].conditions == [true, true, false])
        #expect(try session.hasRow("SELECT 1 FROM organization WHERE ?1 IS NULL OR name = ?1", String?.none))
    }

    @Test func `A row is read by the names of its columns, in whatever order`() throws {
        let bytes = Data([1, 2, 3])
        try insert("a", bytes)
        try insert("b", nil)
        let rows = try session.rows(
            "SELECT created, organization.name, privacy_key, created + 1 AS later FROM organization ORDER BY name"
        ) { row throws(StoreError) in
            (
                numbers: try [row.int64("later"), row.int64("created")], count: try row.uint64("created"),
                name: try row.string("name"), key: try row.optionalData("privacy_key"),
                size: try row.withBlob("privacy_key") { $0.count }
            )
        }
        #expect(rows.map(\.numbers) == [[8, 7], [8, 7]] && rows.map(\.count) == [7, 7])
        #expect(rows.map(\.name) == ["a", "b"])
        #expect(rows.map(\.key) == [bytes, nil] && rows.map(\.size) == [3, 0])
    }

    @Test func `A name that no column has, or two have, is a fault of the program`() throws {
        try insert("a", nil)
        for (columns, finding) in [
            ("created", "it has no column name; its columns are created"),
            ("name, created AS name", "two of its columns are named name"),
        ] {
            let error = #expect(throws: StoreError.self) {
                try session.rows("SELECT \(columns) FROM organization") { row throws(StoreError) in
                    try row.string("name")
                }
            }
            #expect(error?.code == .internalFault)
            #expect(error?.message.contains(finding) == true)
        }
    }

    @Test func `A number that no engine stores is refused`() throws {
        #expect(throws: StoreError.self) {
            try session.run("INSERT INTO organization (name, created) VALUES (?, ?)", "a", UInt64.max)
        }
        #expect(try names(session) == [])
    }

    @Test func `A change reports how many rows it changed`() throws {
        for name in ["a", "b", "c"] { try insert(name, nil) }
        #expect(try session.run("UPDATE organization SET created = ? WHERE name < ?", 8, "c") == 2)
        #expect(
            try session.run("INSERT INTO organization (name, created) VALUES ('a', 1) ON CONFLICT (name) DO NOTHING")
                == 0)
        #expect(try session.run("DELETE FROM organization") == 3)
    }

    @Test func `Texts are in the order of their bytes`() throws {
        for name in ["b", "B", "ä", "a", "_", "10", "9"] { try insert(name, nil) }
        #expect(try names(session) == ["10", "9", "B", "_", "a", "b", "ä"])
    }

    @Test func `A query ends when its caller has enough`() throws {
        for name in ["a", "b", "c"] { try insert(name, nil) }
        for isKept in [true, false] {
            var taken: [String] = []
            try session.query("SELECT name FROM organization ORDER BY name", [], isKept: isKept) { row in
                taken.append(row.string(0))
                return taken.count < 2
            }
            #expect(taken == ["a", "b"])
        }
        #expect(try session.first("SELECT name FROM organization ORDER BY name DESC") { $0.string(0) } == "c")
    }

    @Test func `Of a transaction that fails, nothing remains`() throws {
        let failure = StoreError(.invalid, "enough")
        #expect(throws: failure) {
            try session.transaction { () throws(StoreError) in
                try insert("a", nil)
                throw failure
            }
        }
        // The second has the first one's name.
        #expect(throws: StoreError.self) {
            try session.transaction { () throws(StoreError) in
                try insert("b", nil)
                try insert("b", nil)
            }
        }
        try session.transaction { () throws(StoreError) in try insert("c", nil) }
        #expect(try names(session) == ["c"])
    }

    @Test func `A read sees one moment`() throws {
        try insert("a", nil)
        let reader = try TestRegistry.session(directory: directory.path)
        let seen = try reader.reading { () throws(StoreError) in
            let before = try names(reader)
            try insert("b", nil)
            return (before, try names(reader))
        }
        #expect(seen.0 == ["a"] && seen.1 == ["a"])
        #expect(try names(reader) == ["a", "b"])
        try reader.close()
    }

    /// Each reads, decides and writes; none may decide by what another has changed meanwhile.
    @Test func `Changes of several sessions are serial`() async throws {
        try insert("a", nil)
        let (path, registry) = (directory.path, TestRegistry.postgreSQL)
        try await withThrowingTaskGroup { group in
            for _ in 0..<4 {
                group.addTask { try Self.count(20, in: path, registry) }
            }
            try await group.waitForAll()
        }
        #expect(try session.first("SELECT created FROM organization") { $0.int64(0) } == 7 + 80)
    }

    private static func count(_ times: Int, in directory: String, _ registry: (any Registry)?) throws {
        let session = try (registry ?? SQLiteRegistry(directory: directory)).openWriting()
        for _ in 0..<times {
            try session.transaction { () throws(StoreError) in
                let number = try session.first("SELECT created FROM organization") { $0.int64(0) } ?? 0
                try session.run("UPDATE organization SET created = ?", number + 1)
            }
        }
        try session.close()
    }

    @Test func `Numbers of the database ascend in the order of the changes`() throws {
        let sql =
            """
            INSERT INTO notice (code, organization, subject, detail, count, first, last) \
            VALUES (?1, ?1, ?1, ?1, 1, 1, 1)
            """
        var numbers: [Int64] = []
        for _ in 0..<5 {
            numbers.append(
                try session.transaction { () throws(StoreError) in
                    try session.first("\(sql) RETURNING id", "x") { $0.int64(0) } ?? 0
                })
        }
        #expect(numbers == numbers.sorted() && Set(numbers).count == 5)
    }

    @Test func `A session that reads refuses changes`() throws {
        try insert("a", nil)
        let registry =
            TestRegistry.postgreSQL ?? SQLiteRegistry(directory: directory.path) as any Registry
        let reader = try registry.openReading()
        #expect(throws: StoreError.self) { try reader.run("DELETE FROM organization") }
        #expect(try names(reader) == ["a"])
        try reader.close()
    }
}
