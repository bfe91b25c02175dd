import Foundation
import TestKit
import Testing

@testable import SQLite

/// A file's rows are found without SQLite, also in a WAL that SQLite reads no further.
@Suite struct RawPagesTests {
    private let directory: TemporaryDirectory
    private var path: String { directory.path + "/file.sqlite" }
    private static let pageBytes = 8192

    init() throws { directory = try TemporaryDirectory() }

    /// `transactions` of one row each, all in the WAL; the connection is left open, so that they stay there.
    private func open(transactions: Int) throws -> Connection {
        var options = Connection.Options(mode: .create)
        options.pageSize = Self.pageBytes
        options.walAutocheckpointPages = 0
        let connection = try Connection(path: path, options: options)
        try connection.execute(
            """
            CREATE TABLE note (id INTEGER PRIMARY KEY, body BLOB NOT NULL);
            CREATE TABLE keyed (name TEXT NOT NULL, number INTEGER NOT NULL, body BLOB,
                PRIMARY KEY (name, number)) WITHOUT ROWID;
            """)
        for number in 1...max(1, transactions) where transactions > 0 {
            let statement = try connection.cached("INSERT INTO note VALUES (?, zeroblob(?))")
            try statement.bind(number, number * 700)
            try statement.run()
        }
        return connection
    }

    private func rows() -> Set<Int64> {
        var found: Set<Int64> = []
        var rows = RawRows(
            RawPages(database: path, wal: path + "-wal", pageBytes: Self.pageBytes), greatestPayload: 1 << 20)
        rows.forEach { id, row in
            if row.columns.count == 2, row.bytes(1)?.count == Int(id) * 700 { found.insert(id) }
        }
        return found
    }

    private func overwrite(_ file: String, at offset: Int, count: Int) throws {
        let handle = try FileHandle(forUpdating: URL(fileURLWithPath: file))
        try handle.seek(toOffset: UInt64(offset))
        try handle.write(contentsOf: Data(repeating: 0xA5, count: count))
        try handle.close()
    }

    @Test func `What is committed behind a damaged frame is read and missed`() throws {
        let connection = try open(transactions: 12)
        let wal = path + "-wal"
        #expect(!RawPages.hasLostFrames(wal: wal, pageBytes: Self.pageBytes))
        #expect(RawPages.pageBytes(database: path, wal: wal) == Self.pageBytes)
        #expect(rows() == Set(1...12))
        // The fifth frame: those of the schema come first.
        let frame = 24 + Self.pageBytes
        try overwrite(wal, at: 32 + 4 * frame + 5000, count: 8)
        #expect(RawPages.hasLostFrames(wal: wal, pageBytes: Self.pageBytes))
        #expect(rows().isSuperset(of: 6...12))
        // Nothing but the header is gone.
        try overwrite(wal, at: 0, count: 32)
        #expect(RawPages.hasLostFrames(wal: wal, pageBytes: Self.pageBytes))
        #expect(rows().isSuperset(of: 6...12))
        try connection.close()
    }

    @Test func `A torn last transaction means that nothing is lost`() throws {
        let connection = try open(transactions: 6)
        let wal = path + "-wal"
        let size = try #require(try FileManager.default.attributesOfItem(atPath: wal)[.size] as? Int)
        try overwrite(wal, at: size - 5000, count: 8)
        #expect(!RawPages.hasLostFrames(wal: wal, pageBytes: Self.pageBytes))
        try connection.close()
    }

    /// Keys of a table without row ids lie on interior pages, too.
    @Test func `Every key is found`() throws {
        let connection = try open(transactions: 0)
        try connection.execute(
            """
            WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 500)
            INSERT INTO keyed SELECT 'name ' || i, i, zeroblob(i % 7 * 900) FROM n
            """)
        try connection.close()
        var found: Set<Int64> = []
        var keys = RawRows(
            RawPages(database: path, wal: path + "-wal", pageBytes: Self.pageBytes), greatestPayload: 1 << 20)
        keys.forEachKey { row in
            guard row.columns.count == 3, let number = row.integer(1), row.text(0) == "name \(number)",
                row.bytes(2)?.count == Int(number % 7) * 900
            else { return }
            found.insert(number)
        }
        #expect(found == Set(1...500))
    }
}
