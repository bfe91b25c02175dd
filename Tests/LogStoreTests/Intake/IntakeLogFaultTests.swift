import Foundation
import Glibc
import Synchronization
import TelemetryBasics
import TestKit
import Testing
import WireModel

@testable import LogStore

/// What others do to the directory of an intake, and what its disk refuses.
@Suite struct IntakeLogFaultTests {
    private typealias Base = IntakeLogTests

    /// A sync that fails says nothing about what is on disk: the commit may be there.
    @Test(arguments: [false, true])
    func `After a failed sync of the positions lines and position are both there or both not`(
        isWritten: Bool
    ) async throws {
        let temporary = try TemporaryStore()
        let directory = temporary.directory
        let path = directory.path(PositionFile.name(of: Base.application))
        let fails = Mutex(false)
        let configuration = Base.configuration(directory.path)
        let log = try IntakeLog(configuration) { (file) throws(LogStoreError) in
            guard fails.withLock({ $0 }) else { return try file.sync() }
            // The commit is its last line.
            if !isWritten { truncate(path, off_t(Self.endOfLastButOne(path))) }
            errno = EIO
            throw file.failure("syncing")
        }
        _ = try log.commit(Base.lines(0..<3), Base.position(3))
        fails.withLock { $0 = true }
        #expect { _ = try log.commit(Base.lines(3..<6), Base.position(6)) } throws: {
            ($0 as? LogStoreError)?.code == .io
        }
        // Nothing more is taken by this one, and nobody seals the segment while it is not known what counts.
        #expect(throws: LogStoreError.self) { _ = try log.commit(Base.lines(3..<6), Base.position(6)) }
        let other = try LogStore(LogStore.Configuration(directory: directory.path, applicationName: "other"))
        await other.close()
        #expect(try directory.segments().values.contains([.text]))
        log.close()
        let count = isWritten ? 6 : 3
        #expect(try Base.messages(directory) == Base.expected(0..<count))
    }

    @Test(arguments: [false, true])
    func `The next intake goes on with what a failed sync left`(isWritten: Bool) throws {
        let temporary = try TemporaryStore()
        let directory = temporary.directory
        let path = directory.path(PositionFile.name(of: Base.application))
        let fails = Mutex(false)
        var log: IntakeLog? = try IntakeLog(Base.configuration(directory.path)) { (file) throws(LogStoreError) in
            guard fails.withLock({ $0 }) else { return try file.sync() }
            if !isWritten { truncate(path, off_t(Self.endOfLastButOne(path))) }
            errno = EIO
            throw file.failure("syncing")
        }
        _ = try log?.commit(Base.lines(0..<3), Base.position(3))
        fails.withLock { $0 = true }
        #expect(throws: LogStoreError.self) { _ = try log?.commit(Base.lines(3..<6), Base.position(6)) }
        log = nil
        let next = try IntakeLog(Base.configuration(directory.path))
        let count = isWritten ? 6 : 3
        #expect(next.positions == ["at": Array("\(count)".utf8)])
        _ = try next.commit(Base.lines(count..<8), Base.position(8))
        #expect(try Base.messages(directory) == Base.expected(0..<8))
    }

    private static func endOfLastButOne(_ path: String) -> Int {
        let bytes = (try? Data(contentsOf: URL(fileURLWithPath: path))) ?? Data()
        return (bytes.dropLast().lastIndex(of: UInt8(ascii: "\n")) ?? 0) + 1
    }

    @Test func `Where the state is lost or older, no segment begins below what the positions name`() throws {
        let temporary = try TemporaryStore()
        let directory = temporary.directory
        for number in 0..<5 {
            let log = try IntakeLog(Base.configuration(directory.path))
            _ = try log.commit(Base.lines(number..<number + 1), Base.position(number + 1))
        }
        let last = try #require(try Base.segments(directory).last).ordinal
        for name in try directory.names() where name != PositionFile.name(of: Base.application) {
            try directory.remove(name)
        }
        let begun: SegmentName
        do {
            let log = try IntakeLog(Base.configuration(directory.path))
            _ = try log.commit(Base.lines(5..<6), Base.position(6))
            begun = try #require(try Base.segments(directory).last)
            #expect(begun.ordinal > last)
        }
        // So lines without a commit do not count.
        try temporary.write(temporary.read(begun.file(.text)) + temporary.read(begun.file(.text)), begun.file(.text))
        #expect(try Base.messages(directory) == Base.expected(5..<6))
    }

    @Test func `Erasing everything erases the positions, and a running intake stores nothing more`() async throws {
        let temporary = try TemporaryStore()
        let directory = temporary.directory
        let store = try LogStore(LogStore.Configuration(directory: directory.path, applicationName: "other"))
        let log = try IntakeLog(Base.configuration(directory.path))
        _ = try log.commit(Base.lines(0..<3), Base.position(3))
        try store.erase()
        #expect(try !directory.names().contains { $0.hasSuffix(".positions") })
        #expect { _ = try log.commit(Base.lines(3..<6), Base.position(6)) } throws: {
            ($0 as? LogStoreError)?.code == .io
        }
        log.close()
        await store.close()
        #expect(try Base.messages(directory).isEmpty)
        // Lines that went under a running writer count once.
        #expect(try directory.readState()?.dropped[.deleted]?.total == 3)
    }

    @Test func `An intake whose positions were erased begins as new`() async throws {
        let temporary = try TemporaryStore()
        let directory = temporary.directory
        let store = try LogStore(LogStore.Configuration(directory: directory.path, applicationName: "other"))
        do {
            let log = try IntakeLog(Base.configuration(directory.path))
            _ = try log.commit(Base.lines(0..<3), Base.position(3))
            try store.erase()
        }
        #expect(try IntakeLog(Base.configuration(directory.path)).isNew)
        await store.close()
    }

    /// A new position file is written beside the present one while other programs clean up after dead ones.
    @Test func `Nobody who cleans up takes positions that are being written, and a wipe does`() async throws {
        let temporary = try TemporaryStore()
        let directory = temporary.directory
        let unfinished = PositionFile.name(of: Base.application) + PositionFile.newSuffix
        do {
            let log = try IntakeLog(Base.configuration(directory.path))
            _ = try log.commit(Base.lines(0..<3), Base.position(3))
        }
        try temporary.write([1], unfinished)
        try temporary.write([1], "0000000099-application.index.partial")
        let store = try LogStore(LogStore.Configuration(directory: directory.path, applicationName: "other"))
        store.error("a line")
        await store.close()
        #expect(try directory.names().contains(unfinished))
        #expect(try !directory.names().contains { $0.hasSuffix(".index.partial") })
        #expect(try IntakeLog(Base.configuration(directory.path)).positions == ["at": Array("3".utf8)])
        #expect(try !directory.names().contains(unfinished))
        try temporary.write([1], unfinished)
        let other = try LogStore(LogStore.Configuration(directory: directory.path, applicationName: "other"))
        try other.erase()
        await other.close()
        #expect(try !directory.names().contains { $0.contains(".positions") && !$0.hasSuffix(".lock") })
    }

    @Test func `Positions that are damaged take no line away`() async throws {
        let temporary = try TemporaryStore()
        let directory = temporary.directory
        let file = PositionFile.name(of: Base.application)
        do {
            let log = try IntakeLog(Base.configuration(directory.path))
            _ = try log.commit(Base.lines(0..<3), Base.position(3))
        }
        let name = try #require(try Base.segments(directory).last)
        let text = try temporary.read(name.file(.text))
        let whole = try temporary.read(file)
        try temporary.write(whole.map { $0 == UInt8(ascii: "c") ? UInt8(ascii: "x") : $0 }, file)
        let other = try LogStore(LogStore.Configuration(directory: directory.path, applicationName: "other"))
        await other.close()
        #expect(try temporary.read(name.file(.text)) == text)
        let snapshot = try StoreSnapshot(directory, kinds: [.intake])
        #expect(snapshot.problems.map(\.error.code) == [.damaged])
        try temporary.write(whole, file)
        #expect(try Base.messages(directory) == Base.expected(0..<3))
    }

    /// A backup that was made file by file may have positions that are older than its segments.
    @Test(arguments: [false, true])
    func `With positions of an older copy no line is lost, and the source is read from there`(
        isSealed: Bool
    ) throws {
        let temporary = try TemporaryStore()
        let directory = temporary.directory
        let file = PositionFile.name(of: Base.application)
        let older: [UInt8]
        do {
            let log = try IntakeLog(Base.configuration(directory.path))
            _ = try log.commit(Base.lines(0..<3), Base.position(3))
            older = try temporary.read(file)
            _ = try log.commit(Base.lines(3..<6), Base.position(6))
            if isSealed { log.close() }
        }
        try temporary.write(older, file)
        let log = try IntakeLog(Base.configuration(directory.path))
        #expect(log.positions == ["at": Array("3".utf8)])
        _ = try log.commit(Base.lines(3..<7), Base.position(7))
        // What was sealed had been committed, and is not taken away: these lines are there twice.
        let first = isSealed ? Base.expected(0..<6) : Base.expected(0..<3)
        #expect(try Base.messages(directory) == first + Base.expected(3..<7))
    }

    @Test func `Positions over the limit of their file are refused, and those before hold`() throws {
        let temporary = try TemporaryStore()
        let log = try IntakeLog(Base.configuration(temporary.directory.path))
        _ = try log.commit(Base.lines(0..<1), Base.position(1))
        let huge = [UInt8](repeating: 7, count: PositionFile.maximumBytes)
        #expect { _ = try log.commit(Base.lines(1..<2), ["huge": huge]) } throws: {
            ($0 as? LogStoreError)?.code == .invalid
        }
        _ = try log.commit(Base.lines(1..<2), Base.position(2))
        #expect(log.positions == ["at": Array("2".utf8)])
        #expect(try Base.messages(temporary.directory) == Base.expected(0..<2))
    }
}
