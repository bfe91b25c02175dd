import Foundation
import TestKit
import Testing

@testable import SQLite

@Suite struct StatementTests {
    let connection: Connection

    init() throws { connection = try Connection(path: ":memory:") }

    @Test(arguments: [0, 1, 3, 1_048_576]) func `Blobs come back as they went`(count: Int) throws {
        let bytes = (0..<count).map { UInt8(truncatingIfNeeded: $0 &* 31) }
        try connection.execute("CREATE TABLE t(a, b, c, d)")
        let insert = try connection.prepare("INSERT INTO t VALUES(?1, ?2, ?3, ?4)")
        try insert.bind(bytes, at: 1)
        try insert.bind(Data(bytes), at: 2)
        try bytes.withUnsafeBytes { try insert.bind($0, at: 3) }
        try bytes.withUnsafeBytes { try insert.run(bindingUncopied: $0, at: 4) }
        let select = try connection.prepare("SELECT a, b, c, d FROM t")
        #expect(try select.step())
        for column in Int32(0)..<4 {
            #expect(!select.isNull(column))
            #expect(select.bytes(column) == bytes)
            #expect(select.data(column) == Data(bytes))
            #expect(select.withBlob(column) { $0.count } == count)
        }
    }

    @Test func `An empty data slice and a data slice are bound as they read`() throws {
        let data = Data([1, 2, 3, 4])
        let select = try connection.prepare("SELECT ?1, ?2")
        try select.bind(data[1..<3], at: 1)
        try select.bind(data[2..<2], at: 2)
        #expect(try select.step())
        #expect(select.bytes(0) == [2, 3])
        #expect(select.optionalBytes(1) == [])
    }

    @Test func `Text comes back as it went`() throws {
        let select = try connection.prepare("SELECT ?1")
        for text in ["", "a", "Grüße, 世界 👩‍👩‍👧", "with\u{0}zero", String(repeating: "x", count: 100_000)] {
            try select.bind(text, at: 1)
            #expect(try select.step())
            #expect(select.string(0) == text)
            #expect(select.optionalString(0) == text)
            select.reset()
        }
    }

    @Test func `Bytes that are not UTF-8 are repaired and do not trap`() throws {
        let select = try connection.prepare("SELECT CAST(x'ff41fe' AS TEXT)")
        #expect(try select.step())
        #expect(select.string(0) == "\u{FFFD}A\u{FFFD}")
    }

    @Test func `Integers keep their range, and unsigned ones never turn negative`() throws {
        let select = try connection.prepare("SELECT ?1")
        for value in [Int64.min, -1, 0, 1, .max] {
            try select.bind(value, at: 1)
            #expect(try select.step())
            #expect(select.int64(0) == value)
            select.reset()
        }
        try select.bind(UInt64(Int64.max), at: 1)
        #expect(try select.step())
        #expect(try select.uint64(0) == UInt64(Int64.max))
        select.reset()
        for value in [UInt64(Int64.max) + 1, .max] {
            #expect(#expect(throws: SQLiteError.self) { try select.bind(value, at: 1) }?.code == .misuse)
        }
        try select.bind(-1, at: 1)
        #expect(try select.step())
        #expect(#expect(throws: SQLiteError.self) { try select.uint64(0) }?.code == .corrupt)
    }

    @Test func `Nil is null, and null is nil`() throws {
        let select = try connection.prepare("SELECT ?1, ?2, ?3")
        try select.bind(nil, at: 1)
        try select.bind(String?.none, at: 2)
        try select.bind(Data?.some(Data()), at: 3)
        #expect(try select.step())
        #expect(select.isNull(0) && select.isNull(1) && !select.isNull(2))
        #expect(select.optionalInt64(0) == nil && select.optionalString(0) == nil && select.optionalData(0) == nil)
        #expect(try select.optionalUInt64(0) == nil)
        #expect(select.optionalDouble(0) == nil && select.optionalBytes(0) == nil)
        #expect(select.int64(0) == 0 && select.string(0) == "" && select.bytes(0) == [] && select.data(0) == Data())
    }

    @Test func `Values in a row are bound in order`() throws {
        let select = try connection.prepare("SELECT ?1, ?2, ?3, ?4")
        try select.bind(1, "two", nil, 4.5)
        #expect(try select.step())
        #expect(select.int(0) == 1 && select.string(1) == "two" && select.isNull(2) && select.double(3) == 4.5)
        select.reset()
        #expect(#expect(throws: SQLiteError.self) { try select.bind(1, 2) }?.code == .misuse)
    }

    @Test func `A parameter or column out of range is no crash`() throws {
        let select = try connection.prepare("SELECT ?1")
        for index in [Int32(-1), 0, 2, .max] {
            #expect(#expect(throws: SQLiteError.self) { try select.bind(1, at: index) }?.code == .misuse)
        }
        #expect(try select.step())
        for column in [Int32(-1), 1, .max] {
            #expect(select.int64(column) == 0 && select.string(column) == "" && select.bytes(column) == [])
        }
    }

    @Test func `Binding in the middle of rows is refused`() throws {
        let select = try connection.prepare("SELECT ?1 UNION ALL SELECT 2")
        try select.bind(1, at: 1)
        #expect(try select.step())
        #expect(#expect(throws: SQLiteError.self) { try select.bind(5, at: 1) }?.code == .misuse)
        while try select.step() {}
        #expect(throws: Never.self) { try select.bind(5, at: 1) }
    }

    @Test(arguments: ["", "   ", "-- nothing", "SELECT 1; SELECT 2", "SELECT 1; DROP TABLE t"])
    func `Anything but one statement is refused`(sql: String) {
        #expect(#expect(throws: SQLiteError.self) { try connection.prepare(sql) }?.code == .misuse)
    }

    @Test func `A semicolon and space may follow`() throws {
        #expect(try connection.prepare("SELECT 1 ; \n").step())
    }

    @Test func `A statement at its end holds no lock`() throws {
        let directory = try TemporaryDirectory()
        let connection = try Connection(path: directory.file("test.sqlite"))
        try connection.execute("CREATE TABLE t(x); INSERT INTO t VALUES(1), (2)")
        let select = try connection.prepare("SELECT x FROM t")
        while try select.step() {}
        try connection.execute("DROP TABLE t")
    }
}
