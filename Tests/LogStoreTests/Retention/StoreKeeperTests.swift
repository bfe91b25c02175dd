import Foundation
import Glibc
import TelemetryBasics
import TestKit
import Testing
import WireModel

@testable import LogStore

/// What becomes of segments, with the files of real stores: every line that was logged is on disk or counted.
@Suite struct StoreKeeperTests {
    private let temporary: TemporaryStore

    init() throws { temporary = try TemporaryStore() }

    private func store(_ change: (inout LogStore.Configuration) -> Void = { _ in }) throws -> LogStore {
        var configuration = LogStore.Configuration(directory: temporary.directory.path, applicationName: "test")
        change(&configuration)
        return try LogStore(configuration)
    }

    private func state() throws -> StoreState { try #require(try temporary.directory.readState()) }

    /// Text that hardly gets smaller.
    private static let noise: [String] = {
        var generator = SplitMix64(seed: 1)
        return (0..<64).map { _ in (0..<500).map { _ in String(generator.next(), radix: 36) }.joined() }
    }()

    @Test func `What is over the limit is counted, and the rest is there`() async throws {
        let first = try store { ($0.maximumBytes, $0.ringBytes) = (6_000_000, 1_000_000) }
        let second = try store { ($0.maximumBytes, $0.ringBytes) = (6_000_000, 1_000_000) }
        var logged = LogLevelCounts()
        for number in 0..<4000 {
            let level = LogLevel.allCases[number % 4]
            (number % 3 == 0 ? second : first).log(level, Self.noise[number % 64])
            logged[level] += 1
        }
        await first.close()
        await second.close()
        // One more start seals what one of the two had left to the other.
        await (try store { ($0.maximumBytes, $0.ringBytes) = (6_000_000, 1_000_000) }).close()
        let log = try WrittenLog(temporary.directory)
        #expect(log.faults.isEmpty && log.sealed == log.segments.count)
        let status = first.status
        #expect(status.bytes <= 6_000_000 && status.ringBytes <= 1_000_000 && status.bytes > 1_000_000)
        var accounted = log.counts
        for counts in try state().dropped.values { accounted += counts }
        #expect(accounted == logged)
        #expect(try Set(state().dropped.keys) == [.sizeCap])
        #expect(Set(log.lines.map(\.number)).count == log.lines.count)
    }

    @Test func `What is too old is removed`() async throws {
        let line = "2020-01-01T00:00:00.000000Z W 1000001 c old\n"
        try temporary.write(Array(line.utf8), SegmentName(ordinal: 1, kind: .application).file(.text))
        let store = try store()
        await store.close()
        #expect(try WrittenLog(temporary.directory).segments.isEmpty)
        #expect(try state().dropped == [.ageCap: LogLevelCounts(warning: 1)])
    }

    @Test(arguments: [("E", LogLevel.error), ("I", .information), ("", .verbose)])
    func `A torn line is cut and counted`(_ letter: String, _ level: LogLevel) async throws {
        let time = Timestamp.text(Int64(Date().timeIntervalSince1970) * 1_000_000)
        let text = "\(time) W 7000001 c whole\n" + (letter.isEmpty ? "2026-" : "\(time) \(letter) 7000002 c to")
        try temporary.write(Array(text.utf8), SegmentName(ordinal: 7, kind: .application).file(.text))
        let store = try store()
        store.information("after")
        await store.close()
        let log = try WrittenLog(temporary.directory)
        #expect(log.faults.isEmpty && log.lines.map(\.message) == ["whole", "after"])
        #expect(log.lines.first?.number.segment == 7 && log.lines.last.map { $0.number.segment > 7 } == true)
        var torn = LogLevelCounts()
        torn[level] = 1
        #expect(try state().dropped == [.torn: torn])
    }

    @Test(arguments: [nil, "", "ws1log-state 1\nepoch 00\n", "\u{0}\u{0}\u{0}"])
    func `A lost state is a new epoch with ordinals above all`(_ content: String?) async throws {
        let first = try store()
        for _ in 1...3 { first.information("before") }
        await first.close()
        let before = try state()
        if let content {
            try temporary.write(Array(content.utf8), "state")
        } else {
            try temporary.directory.remove("state")
        }
        let second = try store()
        second.information("after")
        await second.close()
        let log = try WrittenLog(temporary.directory)
        #expect(log.faults.isEmpty)
        let messages = log.lines.map(\.message)
        #expect(messages == ["before", "before", "before", "after"])
        #expect(log.lines.last.map { $0.number.segment > log.lines[0].number.segment } == true)
        #expect(try state().epoch != before.epoch)
    }

    @Test func `A state that was set back gives no number again`() async throws {
        let first = try store()
        first.information("one")
        first.flush()
        let old = try temporary.read("state")
        await first.close()
        let second = try store()
        second.information("two")
        await second.close()
        try temporary.write(old, "state")
        let third = try store()
        third.information("three")
        await third.close()
        let segments = try WrittenLog(temporary.directory).lines.filter { $0.kind == .application }.map(
            \.number.segment)
        #expect(segments.count == 3 && Set(segments).count == 3 && segments == segments.sorted())
    }

    @Test func `A newer state is left alone`() async throws {
        try temporary.write(Array("ws1log-state 3\n".utf8), "state")
        let store = try store()
        store.error("no")
        #expect(store.status.failure?.code == .newer && store.status.dropped[.unwritable]?.error == 1)
        await store.close()
        #expect(try temporary.read("state") == Array("ws1log-state 3\n".utf8))
        #expect(try WrittenLog(temporary.directory).segments.isEmpty)
    }

    @Test func `What was about to be removed is removed and counted once`() async throws {
        let first = try store()
        first.information("goes")
        await first.close()
        var state = try state()
        state.count(LogLevelCounts(information: 1), as: .deleted)
        state.removing = try WrittenLog(temporary.directory).segments
        try temporary.write(Array(state.text.utf8), "state")
        await (try store()).close()
        #expect(try WrittenLog(temporary.directory).segments.isEmpty)
        #expect(try self.state().dropped == [.deleted: LogLevelCounts(information: 1)])
    }

    @Test func `Unfinished files of the dead are removed, and those of the living stay`() async throws {
        let living = SegmentName(ordinal: 5, kind: .application)
        try temporary.write([], living.file(.text))
        let descriptor = open(temporary.directory.path(living, .text), O_RDONLY | O_CLOEXEC)
        defer { close(descriptor) }
        #expect(flock(descriptor, LOCK_EX | LOCK_NB) == 0)
        for file in ["0000000005-application.log.gz.partial", "0000000006-ring.index.partial", "state.partial"] {
            try temporary.write([1], file)
        }
        await (try store()).close()
        #expect(try temporary.files.filter { $0.hasSuffix(".partial") } == ["0000000005-application.log.gz.partial"])
    }

    @Test func `A directory that vanishes is made anew, and what was in it is counted`() async throws {
        let store = try store { $0.ringBytes = 0 }
        store.error("gone")
        // Moved away first, in one step: the store's own thread may be making a file in it.
        let gone = temporary.directory.path + ".gone"
        try FileManager.default.moveItem(atPath: temporary.directory.path, toPath: gone)
        try FileManager.default.removeItem(atPath: gone)
        store.error("here")
        await store.close()
        let log = try WrittenLog(temporary.directory)
        #expect(log.lines.map(\.message) == ["lines lost", "here"] && log.faults.isEmpty)
        #expect(log.lines.first?.metadata == "deleted=1 error=1" && log.lines.first?.category == "log.store")
        #expect(try state().dropped == [.deleted: LogLevelCounts(error: 1)])
    }

    @Test func `A directory that cannot be made stops nobody`() async throws {
        try temporary.write([], "file")
        let store = try LogStore(
            LogStore.Configuration(directory: temporary.directory.path("file/logs"), applicationName: "test"))
        store.error("lost")
        store.information("lost")
        store.flush()
        let status = store.status
        #expect(status.dropped == [.unwritable: LogLevelCounts(error: 1, information: 1)])
        #expect(status.failure?.code == .io && status.written.total == 0)
        await store.close()
    }
}
