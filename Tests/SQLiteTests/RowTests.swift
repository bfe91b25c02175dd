import Foundation
import Testing

@testable import SQLite

@Suite struct RowTests {
    private let connection: Connection

    private enum Fate: String { case kept, dropped }

    init() throws {
        connection = try Connection(path: ":memory:")
        try connection.execute(
            """
            CREATE TABLE t (id INTEGER PRIMARY KEY, name TEXT, size INTEGER, ratio REAL, body BLOB, fate TEXT);
            INSERT INTO t VALUES (1, 'a', 7, 0.5, x'0102', 'dropped'), (2, NULL, NULL, NULL, NULL, NULL);
            """)
    }

    private static let columns = ["id", "name", "size", "ratio", "body", "fate"]

    @Test(arguments: [columns, columns.reversed(), ["fate", "body", "id", "name", "ratio", "size"]])
    func `a value is found by its name in whatever order the columns stand`(order: [String]) throws {
        let select = try connection.prepare("SELECT \(order.joined(separator: ", ")) FROM t ORDER BY id")
        for _ in 0..<2 {
            #expect(try select.step())
            var row = select.row
            #expect(try row.int64("id") == 1)
            #expect(try row.int("id") == 1)
            #expect(try row.bool("id"))
            #expect(try row.string("name") == "a")
            #expect(try row.uint64("size") == 7)
            #expect(try row.data("body") == Data([1, 2]))
            #expect(try row.state("fate") == Fate.dropped)
            #expect(try row.optionalString("name") == "a")
            #expect(try row.optionalState("fate") == Fate.dropped)
            #expect(try select.step())
            row = select.row
            #expect(try row.isNull("name"))
            #expect(try !row.isNull("id"))
            #expect(try row.optionalString("name") == nil)
            #expect(try row.optionalInt64("size") == nil)
            #expect(try row.optionalUInt64("size") == nil)
            #expect(try row.optionalData("body") == nil)
            #expect(try row.optionalState("fate") as Fate? == nil)
            #expect(try !select.step())
        }
    }

    @Test func `a missing name is an error that names the statement and the columns it has`() throws {
        let select = try connection.prepare("SELECT id, count(*) AS rows FROM t")
        #expect(try select.step())
        let error = #expect(throws: SQLiteError.self) { try select.row.int64("row") }
        #expect(error?.code == .misuse)
        #expect(error?.message.contains("SELECT id, count(*) AS rows FROM t") == true)
        #expect(error?.message.contains("it has no column row; its columns are id, rows") == true)
        #expect(try select.row.int64("rows") == 2)
    }

    @Test func `two columns of one name are an error instead of a guess`() throws {
        let select = try connection.prepare("SELECT a.id, b.id FROM t a JOIN t b")
        #expect(try select.step())
        let error = #expect(throws: SQLiteError.self) { try select.row.int64("id") }
        #expect(error?.code == .misuse)
        #expect(error?.message.contains("two of its columns are named id") == true)
    }

    @Test func `a negative count and an unknown state are damage, reported by the column's name`() throws {
        try connection.execute("UPDATE t SET size = -1, fate = 'lost'")
        let select = try connection.prepare("SELECT size, fate FROM t")
        #expect(try select.step())
        let negative = #expect(throws: SQLiteError.self) { try select.row.uint64("size") }
        #expect(negative?.code == .corrupt)
        #expect(negative?.message.contains("column size") == true)
        let unknown = #expect(throws: SQLiteError.self) { try select.row.state("fate") as Fate }
        #expect(unknown?.code == .corrupt)
        #expect(unknown?.message.contains("column fate of a row holds no Fate") == true)
        #expect(unknown?.message.contains("lost") == false)
    }

    @Test func `a row of a closed connection is an error`() throws {
        let select = try connection.cached("SELECT id FROM t")
        #expect(try select.step())
        try connection.close()
        #expect(#expect(throws: SQLiteError.self) { try select.row.int64("id") }?.code == .misuse)
    }
}
