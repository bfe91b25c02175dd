import Foundation
import TestKit
import Testing

@testable import SQLite

@Suite struct SQLiteErrorTests {
    let directory: TemporaryDirectory
    var path: String { directory.file("test.sqlite") }

    init() throws { directory = try TemporaryDirectory() }

    @Test func `Exceeding the page limit is full, and deleting goes on`() throws {
        var options = Connection.Options()
        options.maximumPages = 20
        let connection = try Connection(path: path, options: options)
        try connection.execute("CREATE TABLE t(x)")
        let insert = try connection.prepare("INSERT INTO t VALUES(?1)")
        var rows = 0
        let error = #expect(throws: SQLiteError.self) {
            for _ in 0..<1000 {
                try insert.bind([UInt8](repeating: 1, count: 3000), at: 1)
                try insert.run()
                rows += 1
            }
        }
        #expect(error?.code == .full)
        #expect(error?.extendedResultCode == 13)
        #expect(rows > 5)
        try connection.execute("DELETE FROM t")
        try insert.run()
    }

    @Test func `A file of other content is not a database`() throws {
        try Data("This is a letter, not a database. ".utf8 + [UInt8](repeating: 65, count: 8192)).write(
            to: URL(fileURLWithPath: path))
        #expect(#expect(throws: SQLiteError.self) { try Connection(path: path) }?.code == .notADatabase)
    }

    @Test func `A directory cannot be opened`() throws {
        #expect(#expect(throws: SQLiteError.self) { try Connection(path: directory.path) }?.code == .cannotOpen)
    }

    @Test func `Writing through a read-only connection is a typed error`() throws {
        try Connection(path: path).execute("CREATE TABLE t(x)")
        let connection = try Connection(path: path, options: .init(mode: .readOnly))
        #expect(connection.isReadOnly)
        #expect(
            #expect(throws: SQLiteError.self) { try connection.execute("INSERT INTO t VALUES(1)") }?.code == .readOnly)
    }

    @Test func `Another writer is busy`() throws {
        let first = try Connection(path: path)
        try first.execute("CREATE TABLE t(x)")
        var options = Connection.Options()
        options.busyTimeoutMilliseconds = 0
        let second = try Connection(path: path, options: options)
        try first.begin()
        #expect(#expect(throws: SQLiteError.self) { try second.begin() }?.code == .busy)
        try first.commit()
    }

    @Test func `A constraint keeps its extended code, and the message never holds a value`() throws {
        let connection = try Connection(path: path)
        try connection.execute("CREATE TABLE t(x TEXT UNIQUE)")
        let insert = try connection.prepare("INSERT INTO t VALUES(?1)")
        try insert.bind("jane.doe@example.org", at: 1)
        try insert.run()
        let error = #expect(throws: SQLiteError.self) { try insert.run() }
        #expect(error?.code == .constraint)
        #expect(error?.extendedResultCode == 2067)  // SQLITE_CONSTRAINT_UNIQUE
        #expect(error?.operation == "step INSERT INTO t VALUES(?1)")
        #expect(error?.message.contains("jane") == false)
        #expect(error?.message.contains(path) == true)
    }

    @Test func `A blob over the limit is too big`() throws {
        let connection = try Connection(path: path)
        #expect(
            #expect(throws: SQLiteError.self) { try connection.execute("SELECT zeroblob(2000000000)") }?.code == .tooBig
        )
    }

    @Test func `Wrong SQL says where`() throws {
        let error = #expect(throws: SQLiteError.self) { try Connection(path: path).prepare("SELEC 1") }
        #expect(error?.code == .other)
        #expect(error?.message.contains("SELEC") == true)
    }

    @Test func `Full disks that SQLite calls I-O errors are full`() {
        #expect(SQLiteError.Code(result: 778, systemError: ENOSPC) == .full)
        #expect(SQLiteError.Code(result: 778, systemError: EDQUOT) == .full)
        #expect(SQLiteError.Code(result: 778, systemError: EFBIG) == .full)
        #expect(SQLiteError.Code(result: 4874, systemError: ENOSPC) == .full)  // SQLITE_IOERR_SHMSIZE
        #expect(SQLiteError.Code(result: 14, systemError: EDQUOT) == .full)
        #expect(SQLiteError.Code(result: 14, systemError: EMFILE) == .cannotOpen)
        #expect(SQLiteError.Code(result: 778, systemError: EIO) == .io)
        #expect(SQLiteError.Code(result: 14, systemError: ENOSPC) == .full)
        #expect(SQLiteError.Code(result: 1034, systemError: EINTR) == .interrupted)  // SQLITE_IOERR_FSYNC
        #expect(SQLiteError.Code(result: 14, systemError: EINTR) == .interrupted)
        #expect(SQLiteError.Code(result: 261, systemError: 0) == .busy)  // SQLITE_BUSY_RECOVERY
    }
}
