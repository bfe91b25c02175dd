import Foundation
import TestKit
import Testing

@testable import SQLite

@Suite struct ConnectionMaintenanceTests {
    let directory: TemporaryDirectory
    let connection: Connection

    init() throws {
        directory = try TemporaryDirectory()
        connection = try Connection(path: directory.file("test.sqlite"))
        try connection.execute("CREATE TABLE t(x INTEGER PRIMARY KEY, y)")
        try connection.transaction { () throws(SQLiteError) in
            let insert = try connection.cached("INSERT INTO t(y) VALUES(?1)")
            for _ in 0..<100 {
                try insert.bind([UInt8](repeating: 3, count: 500), at: 1)
                try insert.run()
            }
        }
    }

    func rows(_ connection: Connection) throws -> Int {
        let select = try connection.prepare("SELECT count(*) FROM t")
        return try select.step() ? select.int(0) : -1
    }

    @Test func `A checkpoint moves all frames, and truncate empties the WAL`() throws {
        let passive = try connection.checkpoint(.passive)
        #expect(passive.walFrames > 10 && passive.checkpointedFrames == passive.walFrames && !passive.busy)
        #expect(try connection.fileSize(.wal) > 0)
        #expect(try connection.checkpoint(.truncate).busy == false)
        #expect(try connection.fileSize(.wal) == 0)
    }

    @Test func `A reader makes a checkpoint busy, which is not an error`() throws {
        var options = Connection.Options()
        options.busyTimeoutMilliseconds = 0
        let writer = try Connection(path: connection.path, options: options)
        let select = try connection.prepare("SELECT x FROM t")
        #expect(try select.step())
        try writer.execute("INSERT INTO t(y) VALUES('later')")
        let result = try writer.checkpoint(.truncate)
        #expect(result.busy)
        select.reset()
        #expect(try writer.checkpoint(.truncate).busy == false)
    }

    @Test func `Outside WAL mode, there is nothing to checkpoint`() throws {
        let other = try Connection(path: directory.file("other.sqlite"), options: .init(journalMode: .delete))
        #expect(try other.checkpoint(.full) == .init(walFrames: 0, checkpointedFrames: 0, busy: false))
    }

    @Test(arguments: [true, false]) func `A sound file has no findings`(quick: Bool) throws {
        #expect(try connection.integrityCheck(quick: quick, limit: 10) == [])
    }

    @Test func `A backup holds all and overwrites nothing`() throws {
        let path = directory.file("backup.sqlite")
        try connection.backup(to: path, pagesPerStep: 3)
        let copy = try Connection(path: path)
        #expect(try rows(copy) == 100)
        #expect(try copy.integrityCheck() == [])
        let error = #expect(throws: SQLiteError.self) { try connection.backup(to: path) }
        #expect(error?.code == .cannotOpen)
        #expect(try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int == 0o600)
    }

    @Test func `A backup is one moment, though others write meanwhile`() throws {
        let destination = try Connection(path: directory.file("backup.sqlite"))
        let writer = try Connection(path: connection.path)
        var steps = 0
        try connection.backup(to: destination, pagesPerStep: 2) {
            steps += 1
            if steps == 2 {
                try? writer.transaction { () throws(SQLiteError) in
                    try writer.execute("INSERT INTO t(y) VALUES('a'), ('b')")
                }
            }
        }
        #expect(steps > 3)
        #expect(try rows(destination) == 102)
        #expect(try destination.integrityCheck() == [])
    }

    @Test func `A backup into a locked file is a typed error`() throws {
        var options = Connection.Options()
        options.busyTimeoutMilliseconds = 0
        let destination = try Connection(path: directory.file("backup.sqlite"), options: options)
        let holder = try Connection(path: directory.file("backup.sqlite"), options: options)
        try holder.begin()
        #expect(#expect(throws: SQLiteError.self) { try connection.backup(to: destination) }?.code == .busy)
        holder.rollback()
        try connection.backup(to: destination)
        #expect(try rows(destination) == 100)
    }
}
