import Encryption
import Foundation
import Glibc
import TestKit
import Testing
import WireModel

@testable import LogStore

@Suite struct IntakeLogTests {
    static let application = "web server"

    static func configuration(_ directory: String, _ keys: KeyRing? = nil) -> LogStore.Configuration {
        var configuration = LogStore.Configuration(directory: directory, applicationName: "test")
        configuration.applicationIdentifier = application
        configuration.keys = keys
        configuration.level = .verbose
        return configuration
    }

    static func lines(_ range: Range<Int>, size: Int = 0) -> [IntakeLog.Line] {
        range.map {
            IntakeLog.Line(
                time: 1_795_305_088_000_000, LogEntry(.information, "line \($0) \(String(repeating: "x", count: size))")
            )
        }
    }

    static func position(_ number: Int) -> PositionChanges { ["at": Array("\(number)".utf8)] }

    /// What a reader of the store sees.
    static func messages(_ directory: StoreDirectory) throws -> [String] {
        let snapshot = try StoreSnapshot(directory, kinds: [.intake])
        #expect(snapshot.problems.isEmpty)
        let inflater = try BlockInflater()
        var messages: [String] = []
        for segment in snapshot.segments {
            let reader = try SegmentReader.open(segment.name, in: directory, inflater: inflater)
            try reader.read(0..<Int.max, where: { _ in true }) { text, _ in
                for line in LineSlices(text) {
                    guard let fields = LogLine(line) else { continue }
                    messages.append(
                        String(decoding: UnsafeRawBufferPointer(rebasing: line[fields.message]), as: UTF8.self))
                }
            }
        }
        return messages
    }

    static func expected(_ range: Range<Int>, size: Int = 0) -> [String] {
        lines(range, size: size).map(\.entry.message)
    }

    static func segments(_ directory: StoreDirectory) throws -> [SegmentName] {
        try directory.segments().keys.sorted()
    }

    @Test func `Lines and position are there after a start without a clean stop`() throws {
        let temporary = try TemporaryStore()
        let directory = temporary.directory
        do {
            let log = try IntakeLog(Self.configuration(directory.path))
            #expect(log.isNew)
            #expect(try log.commit(Self.lines(0..<3), Self.position(3)).written.information == 3)
            #expect(try log.commit(Self.lines(3..<5), Self.position(5)).written.information == 2)
            #expect(try Self.messages(directory) == Self.expected(0..<5))
        }
        let log = try IntakeLog(Self.configuration(directory.path))
        #expect(log.positions == ["at": Array("5".utf8)])
        _ = try log.commit(Self.lines(5..<6), Self.position(6))
        #expect(try Self.messages(directory) == Self.expected(0..<6))
        log.close()
        #expect(try Self.messages(directory) == Self.expected(0..<6))
    }

    /// The states that a kill can leave: lines of any length behind the last commit, any part of the commit's line.
    @Test(arguments: [false, true])
    func `What a crash leaves at any byte is either the whole commit or none of it`(isEncrypted: Bool) throws {
        let store = try EncryptedStore()
        let keys = isEncrypted ? store.ring() : nil
        let directory = StoreDirectory(path: store.path, keys: keys.map { LogKeys($0) })
        let file = PositionFile.name(of: Self.application)
        let before: (positions: [UInt8], text: [UInt8], name: SegmentName)
        let after: (positions: [UInt8], text: [UInt8])
        do {
            let log = try IntakeLog(Self.configuration(store.path, keys))
            _ = try log.commit(Self.lines(0..<3), Self.position(3))
            let name = try #require(try Self.segments(directory).last)
            before = (try store.bytes(file), try store.bytes(name.file(.text)), name)
            _ = try log.commit(Self.lines(3..<6), Self.position(6))
            after = (try store.bytes(file), try store.bytes(name.file(.text)))
        }
        #expect(after.positions.count > before.positions.count && after.text.count > before.text.count)
        func check(_ positions: some Sequence<UInt8>, _ text: some Sequence<UInt8>, isWhole: Bool) throws {
            for name in try directory.names() where name.hasSuffix(".gz") || name.hasSuffix(".index") {
                try directory.remove(name)
            }
            for name in try directory.names() where name.hasSuffix(".log") { try directory.remove(name) }
            try store.write(Array(text), before.name.file(.text))
            try store.write(Array(positions), file)
            // A reader that comes before the next writer.
            #expect(try Self.messages(directory) == Self.expected(0..<(isWhole ? 6 : 3)))
            let log = try IntakeLog(Self.configuration(store.path, keys))
            #expect(log.positions == ["at": Array((isWhole ? "6" : "3").utf8)])
            _ = try log.commit(Self.lines((isWhole ? 6 : 3)..<7), Self.position(7))
            log.close()
            #expect(try Self.messages(directory) == Self.expected(0..<7))
            #expect(try directory.readState()?.dropped.isEmpty ?? true)
        }
        for end in stride(from: before.text.count, through: after.text.count, by: 7) {
            try check(before.positions, after.text.prefix(end), isWhole: false)
        }
        for end in stride(from: before.positions.count, to: after.positions.count, by: 5) {
            try check(after.positions.prefix(end), after.text, isWhole: false)
        }
        try check(after.positions, after.text, isWhole: true)
    }

    @Test func `Another program that seals first seals only what was committed`() async throws {
        let temporary = try TemporaryStore()
        let directory = temporary.directory
        do {
            let log = try IntakeLog(Self.configuration(directory.path))
            _ = try log.commit(Self.lines(0..<3), Self.position(3))
        }
        // A batch whose position was not written, and a segment begun for it.
        let name = try #require(try Self.segments(directory).last)
        let text = try temporary.read(name.file(.text))
        try temporary.write(text + text, name.file(.text))
        let next = SegmentName(ordinal: name.ordinal + 1, kind: .intake, application: Self.application)
        try temporary.write(text, next.file(.text))
        let other = try LogStore(LogStore.Configuration(directory: directory.path, applicationName: "other"))
        await other.close()
        #expect(try Self.messages(directory) == Self.expected(0..<3))
        #expect(try Self.segments(directory) == [name])
        #expect(try directory.segments()[name] == [.sealed, .index])
    }

    @Test func `A batch may span segments, and counts as one`() throws {
        let temporary = try TemporaryStore()
        var configuration = Self.configuration(temporary.directory.path)
        configuration.maximumBytes = 1_000_000
        let log = try IntakeLog(configuration)
        _ = try log.commit(Self.lines(0..<1000, size: 300), Self.position(1000))
        #expect(try Self.segments(temporary.directory).count > 1)
        #expect(try Self.messages(temporary.directory) == Self.expected(0..<1000, size: 300))
    }

    @Test func `Each intake keeps to its own limit, and its position outlives its lines`() async throws {
        let temporary = try TemporaryStore()
        let directory = temporary.directory
        let other = try LogStore(LogStore.Configuration(directory: directory.path, applicationName: "other"))
        other.error("stays")
        var configuration = Self.configuration(directory.path)
        configuration.maximumBytes = 1_000_000
        do {
            let log = try IntakeLog(configuration)
            for batch in 0..<20 {
                _ = try log.commit(Self.lines(batch * 300..<(batch + 1) * 300, size: 400), Self.position(batch))
            }
            log.close()
        }
        let dropped = try directory.readState()?.dropped[.sizeCap]?.total ?? 0
        #expect(UInt64(try Self.messages(directory).count) + dropped == 6000)
        // The segment that the last commit names goes too.
        let kept = try Self.messages(directory).count
        let deletion = SegmentDeletion(try StoreSnapshot(directory, kinds: [.intake]), since: nil, until: nil)
        #expect(try deletion.perform().total == UInt64(kept))
        await other.close()
        #expect(try Self.messages(directory).isEmpty)
        let log = try IntakeLog(configuration)
        #expect(log.positions == ["at": Array("19".utf8)])
        _ = try log.commit(Self.lines(6000..<6001), Self.position(20))
        #expect(try Self.messages(directory) == Self.expected(6000..<6001))
    }

    @Test func `A second process is refused`() throws {
        let temporary = try TemporaryStore()
        let log = try IntakeLog(Self.configuration(temporary.directory.path))
        #expect { _ = try IntakeLog(Self.configuration(temporary.directory.path)) } throws: {
            ($0 as? LogStoreError)?.code == .busy
        }
        withExtendedLifetime(log) {}
    }

    @Test func `Positions that were changed are refused with the remedy`() throws {
        let temporary = try TemporaryStore()
        let file = PositionFile.name(of: Self.application)
        do {
            let log = try IntakeLog(Self.configuration(temporary.directory.path))
            for number in 1...3 { _ = try log.commit([], Self.position(number)) }
        }
        var bytes = try temporary.read(file)
        let firstCommit = try #require(bytes.firstRange(of: Array("whole ".utf8))?.upperBound)
        bytes[firstCommit] ^= 1
        let end = try #require(bytes[firstCommit...].firstIndex(of: UInt8(ascii: "\n")))
        // With commits behind it, and as the only one.
        for damaged in [bytes, Array(bytes[...end])] {
            try temporary.write(damaged, file)
            #expect { _ = try IntakeLog(Self.configuration(temporary.directory.path)) } throws: { error in
                guard let error = error as? LogStoreError else { return false }
                return error.code == .damaged && error.message.contains("remove it")
            }
        }
    }

    @Test func `Without its positions an intake begins anew, and the lines stay`() throws {
        let temporary = try TemporaryStore()
        let directory = temporary.directory
        do {
            let log = try IntakeLog(Self.configuration(directory.path))
            _ = try log.commit(Self.lines(0..<3), Self.position(3))
        }
        try directory.remove(PositionFile.name(of: Self.application))
        #expect(try Self.messages(directory) == Self.expected(0..<3))
        let log = try IntakeLog(Self.configuration(directory.path))
        #expect(log.isNew)
        #expect(try Self.messages(directory) == Self.expected(0..<3))
        _ = try log.commit(Self.lines(3..<4), Self.position(4))
        #expect(try Self.messages(directory) == Self.expected(0..<4))
    }

    @Test func `Many commits do not make the positions grow`() throws {
        let temporary = try TemporaryStore()
        let log = try IntakeLog(Self.configuration(temporary.directory.path))
        let value = [UInt8](repeating: 7, count: 50_000)
        for number in 0..<60 { _ = try log.commit([], ["\(number % 3)": value + [UInt8(number)]]) }
        let size = try temporary.read(PositionFile.name(of: Self.application)).count
        #expect(size < 1_500_000)
        #expect(log.positions["2"] == value + [59])
    }

    @Test(.enabled(if: getuid() == 0, "needs root and mount(8)"))
    func `A full disk stores nothing of a batch, and everything when there is room`() throws {
        let path = FileManager.default.temporaryDirectory.appendingPathComponent("intake-disk-\(UUID().uuidString)")
            .path
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: false)
        try #require(mount("tmpfs", path, "tmpfs", 0, "size=4m") == 0)
        defer {
            umount2(path, Int32(MNT_DETACH))
            try? FileManager.default.removeItem(atPath: path)
        }
        let directory = StoreDirectory(path: "\(path)/logs")
        let log = try IntakeLog(Self.configuration(directory.path))
        _ = try log.commit(Self.lines(0..<10), Self.position(10))
        let filler = open("\(path)/filler", O_WRONLY | O_CREAT | O_CLOEXEC, 0o600)
        for size in [1 << 16, 512] {
            let zeros = [UInt8](repeating: 0, count: size)
            while write(filler, zeros, size) == size {}
        }
        close(filler)
        #expect { _ = try log.commit(Self.lines(10..<2000, size: 200), Self.position(2000)) } throws: {
            ($0 as? LogStoreError)?.code == .diskFull
        }
        #expect(log.positions == ["at": Array("10".utf8)])
        #expect(try Self.messages(directory) == Self.expected(0..<10))
        unlink("\(path)/filler")
        _ = try log.commit(Self.lines(10..<2000, size: 200), Self.position(2000))
        let messages = try Self.messages(directory)
        #expect(messages == Self.expected(0..<10) + Self.expected(10..<2000, size: 200))
    }

    @Test func `Positions are encrypted with the lines`() throws {
        let store = try EncryptedStore()
        let log = try IntakeLog(Self.configuration(store.path, store.ring()))
        _ = try log.commit(Self.lines(0..<1), ["secret key": Array("secret text".utf8)])
        let stored = try store.bytes(PositionFile.name(of: Self.application))
        let plain: PositionChanges = ["secret key": Array("secret text".utf8)]
        #expect(stored.firstRange(of: Array(plain.encoded.base64EncodedString().utf8)) == nil)
        #expect(try StoreDirectory(path: store.path).keyIDs().count == 1)
    }
}
