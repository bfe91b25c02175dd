import Foundation
import TelemetryBasics
import Testing
import WireModel

@testable import LogStore

/// Lines whose sender waits for them: what is reported to him is what is in the files.
@Suite struct LogDeliveryTests {
    private let temporary: TemporaryStore

    init() throws { temporary = try TemporaryStore() }

    private func configuration(_ change: (inout LogStore.Configuration) -> Void = { _ in }) -> LogStore.Configuration {
        var configuration = LogStore.Configuration(directory: temporary.directory.path, applicationName: "test")
        configuration.flushInterval = .seconds(60)
        change(&configuration)
        return configuration
    }

    private func written() throws -> WrittenLog { try WrittenLog(temporary.directory) }

    @Test func `When the call returns, a line of any level is in the file behind what was logged before`() async throws
    {
        let store = try LogStore(configuration { $0.level = .verbose })
        store.information("before")
        let delivery = store.deliver([
            LogEntry(.verbose, "first", category: "c", metadata: ["k": "v"]), LogEntry(.error, "second"),
        ])
        #expect(delivery.written == 2 && delivery.lost == 0 && delivery.level == "verbose")
        let lines = try written().lines
        #expect(lines.map(\.message) == ["before", "first", "second"])
        #expect(lines.map(\.category) == ["-", "c", "-"] && lines[1].metadata == "k=v")
        await store.close()
    }

    @Test func `What is less severe than the level is reported`() async throws {
        let entries = LogLevel.allCases.map { LogEntry($0, $0.name) }
        let store = try LogStore(configuration { $0.level = .warning })
        let kept = store.deliver(entries)
        #expect(kept.written == 2 && kept.ring == 2 && kept.filtered == 0 && kept.level == "warning")
        store.level = nil
        let none = store.deliver(entries)
        #expect(none.filtered == 4 && none.written + none.ring + none.lost == 0 && none.level == nil)
        await store.close()
        #expect(try written().lines.map(\.message) == LogLevel.allCases.map(\.name))
        let bare = try LogStore(configuration { ($0.level, $0.ringBytes) = (.warning, 0) })
        let filtered = bare.deliver(entries)
        #expect(filtered.written == 2 && filtered.filtered == 2)
        await bare.close()
    }

    @Test func `What cannot be written is reported with its reason and counted`() async throws {
        try temporary.write([], "file")
        let store = try LogStore(
            LogStore.Configuration(directory: temporary.directory.path("file/logs"), applicationName: "test"))
        let delivery = store.deliver([LogEntry(.information, "a"), LogEntry(.verbose, "b")])
        #expect(delivery.lost == 2 && delivery.written + delivery.ring == 0)
        #expect(delivery.reason?.contains("file/logs") == true && !delivery.isTransient)
        #expect(store.status.dropped == [.unwritable: LogLevelCounts(information: 1, verbose: 1)])
        await store.close()
    }

    @Test func `A store that is closed accepts nothing`() async throws {
        let store = try LogStore(configuration())
        await store.close()
        let delivery = store.deliver([LogEntry(.error, "late")])
        #expect(delivery.lost == 1 && delivery.isTransient)
        #expect(try written().lines.isEmpty)
    }

    @Test func `What is scrubbed is not written, and a long line says how much was left out`() async throws {
        let scrubbing = LogScrubbing(values: ["secret"], patterns: [])
        let store = try LogStore(configuration { $0.scrubbing = scrubbing })
        let visitor = try LogVisitor(configuration { $0.scrubbing = scrubbing })
        let long = String(repeating: "x", count: LogEntry.messageBytes)
        let entries = [
            LogEntry(.information, "a secret", category: "secret", metadata: ["secret": "my secret"]),
            LogEntry(.information, long, leftOutBytes: 1_000_000),
            // What another program says.
            LogEntry(.information, "short", leftOutBytes: .max),
        ]
        #expect(store.deliver(entries).written == 3)
        #expect(visitor.deliver(entries).written == 3)
        await store.close()
        let lines = try written().lines
        #expect(lines.count == 6)
        for line in [lines[0], lines[3]] {
            #expect(line.category == "[scrubbed]" && line.message == "a [scrubbed]")
            #expect(line.metadata == "[scrubbed]=my\\u{20}[scrubbed]")
        }
        for line in [lines[1], lines[4]] {
            let kept = line.message.prefix { $0 == "x" }.count
            #expect(line.message.dropFirst(kept) == "…[+\(LogEntry.messageBytes + 1_000_000 - kept)]")
        }
        for line in [lines[2], lines[5]] { #expect(line.message == "short…[+\(1 << 40)]") }
    }

    // MARK: Without a store that is open

    @Test func `Visitors go on in one segment`() async throws {
        for number in 1...20 {
            let delivery = try LogVisitor(configuration()).deliver([
                LogEntry(.information, "\(number)"), LogEntry(.verbose, "r\(number)"),
            ])
            #expect(delivery.written == 1 && delivery.ring == 1)
        }
        #expect(try temporary.directory.segments().count == 2)
        let store = try LogStore(configuration())
        await store.close()
        let log = try written()
        #expect(log.faults.isEmpty && log.sealed == 2)
        #expect(log.lines.filter { $0.kind == .application }.map(\.message) == (1...20).map { "\($0)" })
        #expect(log.lines.filter { $0.kind == .ring }.map(\.message) == (1...20).map { "r\($0)" })
        #expect(log.lines.filter { $0.kind == .application }.map(\.number.position) == Array(1...20))
        #expect(try temporary.files.filter { $0.hasSuffix(".session") }.isEmpty)
    }

    @Test func `Lines of another program go into segments of its own`() async throws {
        var configuration = configuration()
        configuration.applicationIdentifier = "own"
        let store = try LogStore(configuration)
        store.error("mine")
        for number in 1...3 {
            #expect(
                try store.deliver([LogEntry(.information, "theirs \(number)")], of: "other", level: .information)
                    .written == 1)
        }
        #expect(try store.deliver([LogEntry(.error, "nothing")], of: "other", level: nil).filtered == 1)
        await store.close()
        // The store may have sealed a segment of the other program between two deliveries.
        let names = try temporary.directory.segments().keys.sorted()
        #expect(names.first?.application == "own" && Set(names.dropFirst().map(\.application)) == ["other"])
        func lines(_ application: String) throws -> [[UInt8]] {
            var lines: [[UInt8]] = []
            let snapshot = try StoreSnapshot(temporary.directory, kinds: [.application], application: application)
            try MergedLines(snapshot, filter: LogFilter()).forEach { lines.append(Array($0)) }
            return lines
        }
        #expect(try lines("other").count == 3 && lines("own").count == 1 && lines("third").isEmpty)
        let chunks = try store.fetchSDKLogChunks(device: "d")
        #expect(chunks.count == 2, "a chunk has lines of one program")
        #expect(try (0..<2).map { try chunks.chunk(at: $0).application } == ["own", "other"])
        #expect(try chunks.chunk(at: 1).suggestedFileName.hasPrefix("other-d-application-"))
        #expect(try store.fetchSDKLogChunks(device: "d", application: "other").count == 1)
    }

    @Test func `Visitors at the same time have segments of their own`() throws {
        let visitors = try (0..<3).map { _ in try LogVisitor(configuration()) }
        for round in 0..<5 {
            for (number, visitor) in visitors.enumerated() {
                _ = visitor.deliver([LogEntry(.error, "\(number) \(round)")])
            }
        }
        let log = try written()
        #expect(log.faults.isEmpty && log.segments.count == 3 && log.lines.count == 15)
        #expect(Set(log.lines.map(\.number)).count == 15)
    }

    @Test func `A text that is torn, foreign or of a crashed session is left alone`() throws {
        func name(_ ordinal: UInt64) -> SegmentName { SegmentName(ordinal: ordinal, kind: .application) }
        let time = Timestamp.text(1_700_000_000_000_000)
        func line(_ number: Int, _ message: String = "m") -> String { "\(time) I \(number) c \(message)\n" }
        let texts: [UInt64: String] = [
            1: line(1_000_001) + "\(time) I 1000002 c torn", 2: line(7_000_001), 3: line(3_000_002),
            4: "no line of ours\n",
            5: line(5_000_001),
        ]
        for (ordinal, text) in texts { try temporary.write(Array(text.utf8), name(ordinal).file(.text)) }
        var marker: SessionMarker? = try SessionMarker(
            SessionRecord(application: "a", version: "", process: 1, bootID: nil, started: 0, backtraces: nil),
            in: temporary.directory)
        marker?.began(segment: 5)
        marker = nil
        let delivery = try LogVisitor(configuration()).deliver([LogEntry(.error, "mine")])
        #expect(delivery.written == 1)
        for (ordinal, text) in texts { #expect(try temporary.read(name(ordinal).file(.text)) == Array(text.utf8)) }
        let mine = try #require(try temporary.directory.segments().keys.max())
        #expect(mine.ordinal > 5)
        #expect(try LogVisitor(configuration()).deliver([LogEntry(.error, "again")]).written == 1)
        #expect(try String(decoding: temporary.read(mine.file(.text)), as: UTF8.self).split(separator: "\n").count == 2)
    }

    @Test func `A visitor without a directory makes it, and says so where it cannot`() throws {
        let nested = temporary.directory.path("a/b/logs")
        #expect(
            try LogVisitor(.init(directory: nested, applicationName: "t")).deliver([LogEntry(.error, "x")]).written == 1
        )
        try temporary.write([], "file")
        let path = temporary.directory.path("file/logs")
        let delivery = try LogVisitor(.init(directory: path, applicationName: "t")).deliver([LogEntry(.error, "x")])
        #expect(delivery.lost == 1 && delivery.reason?.contains(path) == true)
    }
}
