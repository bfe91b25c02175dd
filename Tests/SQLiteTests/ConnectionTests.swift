import Foundation
import TestKit
import Testing

@testable import SQLite

@Suite struct ConnectionTests {
    let directory: TemporaryDirectory
    var path: String { directory.file("test.sqlite") }

    init() throws { directory = try TemporaryDirectory() }

    @Test(arguments: [Connection.Synchronous.off, .normal, .full, .extra], [Connection.JournalMode.wal, .delete])
    func `Every option is read back`(synchronous: Connection.Synchronous, journalMode: Connection.JournalMode) throws {
        var options = Connection.Options(synchronous: synchronous, journalMode: journalMode, applicationID: 0x5753_3151)
        options.pageSize = 8192
        options.walAutocheckpointPages = 77
        options.busyTimeoutMilliseconds = 123
        options.cacheKibibytes = 512
        options.mmapBytes = 65536
        options.autoVacuum = .incremental
        options.maximumPages = 5000
        options.journalSizeLimitBytes = 1_000_000
        for _ in 0..<2 {  // made, then opened again
            let connection = try Connection(path: path, options: options)
            #expect(try connection.pragma("synchronous") == "\(synchronous.rawValue)")
            #expect(try connection.pragma("journal_mode") == journalMode.rawValue)
            #expect(try connection.pragma("page_size") == "8192")
            #expect(try connection.pragma("wal_autocheckpoint") == "77")
            #expect(try connection.pragma("busy_timeout") == "123")
            #expect(try connection.pragma("cache_size") == "-512")
            #expect(try connection.pragma("mmap_size") == "65536")
            #expect(try connection.pragma("auto_vacuum") == "2")
            #expect(try connection.pragma("max_page_count") == "5000")
            #expect(try connection.pragma("journal_size_limit") == "1000000")
            #expect(try connection.pragma("application_id") == "\(0x5753_3151)")
            #expect(try connection.pragma("foreign_keys") == "1")
            #expect(try connection.pragma("trusted_schema") == "0")
            #expect(try connection.pragma("secure_delete") == "0")
            #expect(try connection.pragma("cell_size_check") == "1")
            #expect(try connection.pragma("locking_mode") == "normal")
            try connection.close()
        }
    }

    @Test func `The defaults keep the promise`() throws {
        let connection = try Connection(path: path)
        #expect(try connection.pragma("synchronous") == "2")
        #expect(try connection.pragma("journal_mode") == "wal")
        #expect(try connection.pragma("page_size") == "4096")
        #expect(!connection.isReadOnly)
    }

    @Test func `A pragma that has no effect is an error that names it`() throws {
        var options = Connection.Options()
        options.pageSize = 1000  // not a power of two: SQLite ignores it silently
        let error = #expect(throws: SQLiteError.self) { try Connection(path: path, options: options) }
        #expect(error?.code == .pragma)
        #expect(error?.message.contains("page_size") == true)
    }

    @Test func `An existing file keeps its page size`() throws {
        try Connection(path: path).execute("CREATE TABLE t(x)")
        var options = Connection.Options()
        options.pageSize = 16384
        #expect(try Connection(path: path, options: options).pragma("page_size") == "4096")
    }

    @Test func `Exclusive locking keeps others out and makes no shared memory`() throws {
        let connection = try Connection(path: path, options: .init(exclusiveLocking: true))
        try connection.execute("CREATE TABLE t(x)")
        #expect(try connection.pragma("locking_mode") == "exclusive")
        #expect(!FileManager.default.fileExists(atPath: path + "-shm"))
        var options = Connection.Options()
        options.busyTimeoutMilliseconds = 0
        let error = #expect(throws: SQLiteError.self) { try Connection(path: path, options: options) }
        #expect(error?.code == .busy)
    }

    @Test func `Files are made with the mode asked for, whatever the umask`() throws {
        let connection = try Connection(path: path)
        try connection.execute("CREATE TABLE t(x)")
        for name in [path, path + "-wal", path + "-shm"] {
            let mode = try FileManager.default.attributesOfItem(atPath: name)[.posixPermissions] as? Int
            #expect(mode == 0o600, "\(name)")
        }
        var options = Connection.Options()
        options.fileMode = 0o666
        let other = directory.file("other.sqlite")
        _ = try Connection(path: other, options: options)
        #expect(try FileManager.default.attributesOfItem(atPath: other)[.posixPermissions] as? Int == 0o666)
    }

    @Test func `A symbolic link in place of the file is refused, and one on the way is not`() throws {
        try Connection(path: path).execute("CREATE TABLE t(x)")
        let link = directory.file("link.sqlite")
        try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: path)
        let error = #expect(throws: SQLiteError.self) { try Connection(path: link) }
        #expect(error?.code == .cannotOpen)

        let linked = directory.file("directory")
        try FileManager.default.createSymbolicLink(atPath: linked, withDestinationPath: directory.path)
        #expect(try Connection(path: linked + "/test.sqlite").pragma("page_count") == "2")
    }

    @Test func `A missing file is made only in create mode`() throws {
        for mode in [Connection.Mode.readWrite, .readOnly] {
            let error = #expect(throws: SQLiteError.self) { try Connection(path: path, options: .init(mode: mode)) }
            #expect(error?.code == .cannotOpen)
        }
        #expect(!FileManager.default.fileExists(atPath: path))
        let error = #expect(throws: SQLiteError.self) { try Connection(path: directory.file("missing/test.sqlite")) }
        #expect(error?.code == .cannotOpen)
    }

    @Test func `A file of a newer program is refused untouched`() throws {
        do {
            let connection = try Connection(path: path)
            try connection.execute("CREATE TABLE t(x)")
            try connection.setUserVersion(7)
            #expect(try connection.userVersion == 7)
            try connection.close()
        }
        let before = try Data(contentsOf: URL(fileURLWithPath: path))
        var options = Connection.Options(journalMode: .delete)
        options.maximumUserVersion = 6
        let error = #expect(throws: SQLiteError.self) { try Connection(path: path, options: options) }
        #expect(error?.code == .unsupportedVersion)
        #expect(try Data(contentsOf: URL(fileURLWithPath: path)) == before)
        options.maximumUserVersion = 7
        #expect(throws: Never.self) { try Connection(path: path, options: options) }
    }

    @Test func `A file of another application is refused`() throws {
        _ = try Connection(path: path, options: .init(applicationID: 1))
        #expect(
            #expect(throws: SQLiteError.self) { try Connection(path: path, options: .init(applicationID: 2)) }?.code
                == .notADatabase)

        let unmarked = directory.file("unmarked.sqlite")
        try Connection(path: unmarked).execute("CREATE TABLE t(x)")
        let error = #expect(throws: SQLiteError.self) {
            try Connection(path: unmarked, options: .init(applicationID: 1))
        }
        #expect(error?.code == .notADatabase)

        let cutShort = directory.file("short.sqlite")
        _ = try Connection(path: cutShort)  // in WAL mode, no tables
        #expect(try Connection(path: cutShort, options: .init(applicationID: 1)).pragma("application_id") == "1")
    }

    @Test func `A closed connection says so`() throws {
        let connection = try Connection(path: path)
        let cached = try connection.cached("SELECT 1")
        try connection.close()
        try connection.close()
        #expect(#expect(throws: SQLiteError.self) { try connection.execute("SELECT 1") }?.code == .misuse)
        #expect(#expect(throws: SQLiteError.self) { try connection.commit() }?.code == .misuse)
        #expect(#expect(throws: SQLiteError.self) { _ = try cached.step() }?.code == .misuse)
        #expect(#expect(throws: SQLiteError.self) { try cached.bind(1, at: 1) }?.code == .misuse)
        #expect(cached.int64(0) == 0)
        #expect(connection.changes == 0)
    }

    @Test func `Closing with a statement held is refused, and releasing is safe`() throws {
        var connection: Connection? = try Connection(path: path)
        let statement = try #require(try connection?.prepare("SELECT 1"))
        #expect(#expect(throws: SQLiteError.self) { try connection?.close() }?.code == .busy)
        connection = nil
        #expect(try statement.step())
        #expect(statement.int64(0) == 1)
    }

    @Test func `The cache gives the same statement fresh`() throws {
        var options = Connection.Options()
        options.statementCacheCapacity = 2
        let connection = try Connection(path: path, options: options)
        let first = try connection.cached("SELECT ?1")
        try first.bind("bound", at: 1)
        #expect(try first.step())
        let second = try connection.cached("SELECT ?1")
        #expect(second === first)
        #expect(try second.step())
        #expect(second.isNull(0))
        for number in 0..<10 { _ = try connection.cached("SELECT \(number)") }
        #expect(try connection.cached("SELECT ?1") !== first)
    }

    @Test func `Interrupt ends nothing that is not running`() throws {
        let connection = try Connection(path: path)
        connection.interrupt()
        #expect(try connection.prepare("SELECT 1").step())
    }
}
