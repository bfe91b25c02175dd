import Foundation
import TestKit
import Testing

@testable import SQLite

@Suite struct ConnectionSpaceTests {
    let directory: TemporaryDirectory
    var path: String { directory.file("test.sqlite") }

    init() throws { directory = try TemporaryDirectory() }

    /// Size and allocated bytes as the file system says.
    func space(_ path: String) -> (size: Int64, allocated: Int64) {
        var status = stat()
        guard stat(path, &status) == 0 else { return (0, 0) }
        return (Int64(status.st_size), Int64(status.st_blocks) * 512)
    }

    @Test func `The size hint really grows and allocates the file`() throws {
        let connection = try Connection(path: path)
        try connection.execute("CREATE TABLE t(x)")
        try connection.setChunkSize(bytes: 1 << 20)
        try connection.sizeHint(bytes: (3 << 20) - 5)
        let space = space(path)
        #expect(space.size == 3 << 20)
        #expect(space.allocated >= 3 << 20)
        #expect(try connection.fileSize(.main) == 3 << 20)
        try connection.execute("INSERT INTO t VALUES(1)")
        #expect(try connection.integrityCheck() == [])
    }

    @Test func `A hint without a chunk size grows by pages`() throws {
        let connection = try Connection(path: path)
        try connection.execute("CREATE TABLE t(x)")
        try connection.sizeHint(bytes: 100_000)
        #expect(space(path).size == 102_400)
    }

    @Test func `What cannot fit is refused before it fills the disk`() throws {
        let connection = try Connection(path: path)
        try connection.execute("CREATE TABLE t(x)")
        let before = space(path)
        #expect(#expect(throws: SQLiteError.self) { try connection.sizeHint(bytes: 1 << 55) }?.code == .full)
        #expect(#expect(throws: SQLiteError.self) { try connection.preallocateWAL(bytes: 1 << 55) }?.code == .full)
        #expect(space(path) == before)
        try connection.execute("INSERT INTO t VALUES(1)")
        #expect(try connection.integrityCheck() == [])
    }

    @Test func `The persistent WAL stays after closing`() throws {
        for persistent in [false, true] {
            let path = directory.file("\(persistent).sqlite")
            let connection = try Connection(path: path)
            try connection.setPersistentWAL(persistent)
            try connection.execute("CREATE TABLE t(x)")
            try connection.close()
            #expect(FileManager.default.fileExists(atPath: path + "-wal") == persistent)
        }
    }

    @Test func `An allocated WAL keeps its space through checkpoints and reopening`() throws {
        let bytes: Int64 = 2 << 20
        for round in 0..<3 {
            let connection = try Connection(path: path, options: .init(exclusiveLocking: true))
            try connection.setPersistentWAL(true)
            try connection.preallocateWAL(bytes: bytes)
            try connection.execute("CREATE TABLE IF NOT EXISTS t(x)")
            #expect(space(path + "-wal").allocated >= bytes)
            #expect(try connection.fileSize(.wal) == bytes)
            for _ in 0..<50 { try connection.execute("INSERT INTO t VALUES(zeroblob(2000))") }
            #expect(try connection.checkpoint(.restart).busy == false)
            try connection.execute("DELETE FROM t WHERE rowid % 2")
            #expect(try connection.fileSize(.wal) == bytes)
            try connection.close()
            #expect(space(path + "-wal").size == bytes, "round \(round)")
        }
    }

    @Test func `An allocated WAL is read back whole after a crash`() throws {
        let connection = try Connection(path: path)
        try connection.preallocateWAL(bytes: 1 << 20)
        try connection.execute("CREATE TABLE t(x); INSERT INTO t VALUES(1), (2), (3)")
        // What a killed process leaves: the files as they are now.
        let copy = directory.file("copy.sqlite")
        try FileManager.default.copyItem(atPath: path, toPath: copy)
        try FileManager.default.copyItem(atPath: path + "-wal", toPath: copy + "-wal")
        let select = try Connection(path: copy).prepare("SELECT count(*) FROM t")
        #expect(try select.step())
        #expect(select.int(0) == 3)
    }

    @Test func `Outside WAL mode, there is no WAL to allocate`() throws {
        let connection = try Connection(path: path, options: .init(journalMode: .delete))
        #expect(#expect(throws: SQLiteError.self) { try connection.preallocateWAL(bytes: 4096) }?.code == .misuse)
    }
}
