import TestKit
import Testing

@testable import SQLite

@Suite struct ConnectionTransactionTests {
    enum Refusal: Error, Equatable {
        case own
        case sqlite(SQLiteError.Code)
    }

    let directory: TemporaryDirectory
    let connection: Connection

    init() throws {
        directory = try TemporaryDirectory()
        connection = try Connection(path: directory.file("test.sqlite"))
        try connection.execute("CREATE TABLE t(x INTEGER PRIMARY KEY, y)")
    }

    func count() throws -> Int {
        let statement = try connection.cached("SELECT count(*) FROM t")
        _ = try statement.step()
        defer { statement.reset() }
        return statement.int(0)
    }

    @Test func `A body that returns is committed`() throws {
        let value = try connection.transaction { () throws(SQLiteError) in
            try connection.execute("INSERT INTO t VALUES(7, 'a')")
            #expect(connection.isInTransaction)
            return connection.lastInsertedRow
        }
        #expect(value == 7)
        #expect(connection.changes == 1)
        #expect(!connection.isInTransaction)
        #expect(try count() == 1)
    }

    @Test func `A body that throws is rolled back, and its own error arrives`() throws {
        #expect(throws: Refusal.own) {
            try connection.transaction(mapping: { Refusal.sqlite($0.code) }) { () throws(Refusal) in
                do throws(SQLiteError) {
                    try connection.execute("INSERT INTO t VALUES(1, 'a')")
                } catch {
                    throw .sqlite(error.code)
                }
                throw .own
            }
        }
        #expect(!connection.isInTransaction)
        #expect(try count() == 0)
    }

    @Test func `A transaction that SQLite rolled back itself is never reported as committed`() throws {
        let error = #expect(throws: SQLiteError.self) {
            try connection.transaction { () throws(SQLiteError) in
                try connection.execute("INSERT INTO t VALUES(1, 'a')")
                try? connection.execute("INSERT OR ROLLBACK INTO t VALUES(1, 'b')")
            }
        }
        #expect(error?.operation == "commit")
        #expect(try count() == 0)
        // And an error that is thrown on arrives as it was.
        let thrown = #expect(throws: SQLiteError.self) {
            try connection.transaction { () throws(SQLiteError) in
                try connection.execute("INSERT INTO t VALUES(1, 'a'); INSERT OR ROLLBACK INTO t VALUES(1, 'b')")
            }
        }
        #expect(thrown?.code == .constraint)
        try connection.transaction { () throws(SQLiteError) in try connection.execute("INSERT INTO t VALUES(1, 'a')") }
        #expect(try count() == 1)
    }

    @Test func `A failed commit leaves nothing behind`() throws {
        try connection.execute("CREATE TABLE u(x REFERENCES t(x) DEFERRABLE INITIALLY DEFERRED)")
        let error = #expect(throws: SQLiteError.self) {
            try connection.transaction { () throws(SQLiteError) in try connection.execute("INSERT INTO u VALUES(99)") }
        }
        #expect(error?.code == .constraint)
        #expect(!connection.isInTransaction)
        try connection.transaction { () throws(SQLiteError) in try connection.execute("INSERT INTO t VALUES(1, 'a')") }
    }

    @Test func `An inner transaction is refused, and the outer goes on`() throws {
        try connection.transaction { () throws(SQLiteError) in
            try connection.execute("INSERT INTO t VALUES(1, 'a')")
            do {
                try connection.transaction { () throws(SQLiteError) in }
                Issue.record("a transaction inside a transaction was accepted")
            } catch {}
            #expect(connection.isInTransaction)
        }
        #expect(try count() == 1)
    }

    @Test func `A busy begin runs nothing`() throws {
        var options = Connection.Options()
        options.busyTimeoutMilliseconds = 0
        let other = try Connection(path: connection.path, options: options)
        try connection.begin()
        let error = #expect(throws: SQLiteError.self) {
            try other.transaction { () throws(SQLiteError) in Issue.record("the body ran without its lock") }
        }
        #expect(error?.code == .busy)
        connection.rollback()
        connection.rollback()
    }
}
