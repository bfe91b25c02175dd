import Foundation
import Synchronization
import Testing
import WireModel

@testable import LogStore

@Suite(.timeLimit(.minutes(10))) struct LogStoreTests {
    private let temporary: TemporaryStore

    init() throws { temporary = try TemporaryStore() }

    private func store(_ change: (inout LogStore.Configuration) -> Void = { _ in }) throws -> LogStore {
        var configuration = LogStore.Configuration(directory: temporary.directory.path, applicationName: "test")
        configuration.ringBytes = 0
        configuration.flushInterval = .seconds(60)
        change(&configuration)
        return try LogStore(configuration)
    }

    private func written() throws -> WrittenLog { try WrittenLog(temporary.directory) }

    @Test func `A line has what the call said`() async throws {
        let before = Int64(Date().timeIntervalSince1970 * 1_000_000)
        let store = try store()
        store.warning("low on paper", category: "printer", metadata: ["tray": "2", "level": "a b=c"])
        store.information("plain")
        store.flush()
        let lines = try written().lines
        #expect(lines.map(\.message) == ["low on paper", "plain"])
        #expect(lines.map(\.category) == ["printer", "-"])
        #expect(lines.map(\.metadata) == ["level=a\\u{20}b\\u{3D}c tray=2", ""])
        #expect(lines.map(\.level) == [.warning, .information])
        // The first ordinal is the session's.
        #expect(lines.map(\.number.value) == [2_000_001, 2_000_002])
        #expect(lines.allSatisfy { $0.time >= before - 1 && $0.time <= before + 600_000_000 })
        await store.close()
    }

    @Test func `An error is in the file when the call returns with all that came before`() async throws {
        let store = try store()
        store.information("before")
        #expect(try written().lines.isEmpty)
        store.error("now")
        #expect(try written().lines.map(\.message) == ["before", "now"])
        await store.close()
    }

    @Test func `Without a flush interval, every line is in the file when the call returns`() async throws {
        let store = try store { $0.flushInterval = .zero }
        store.information("now")
        #expect(try written().lines.map(\.message) == ["now"])
        await store.close()
    }

    @Test func `Lines are written without being asked for`() async throws {
        let store = try store { $0.flushInterval = .milliseconds(10) }
        store.information("by itself")
        while try written().lines.isEmpty {
            try Task.checkCancellation()
            await Task.yield()
        }
        store.information("and again")
        while try written().lines.count < 2 {
            try Task.checkCancellation()
            await Task.yield()
        }
        await store.close()
    }

    @Test func `A message whose level is filtered out costs nothing`() async throws {
        let store = try store { $0.level = .warning }
        var asked = 0
        func message() -> String {
            asked += 1
            return "asked"
        }
        store.information(message(), metadata: ["a": message()])
        store.verbose(message())
        #expect(asked == 0)
        store.level = .verbose
        store.verbose(message())
        store.level = nil
        store.error(message())
        #expect(asked == 1)
        store.flush()
        #expect(try written().lines.map(\.level) == [.verbose])
        await store.close()
    }

    @Test func `What is more verbose than the level goes to the ring`() async throws {
        let store = try store { $0.ringBytes = 1_000_000 }
        store.verbose("a step")
        store.information("ordinary")
        store.level = .verbose
        store.verbose("wanted now")
        store.level = nil
        store.verbose("nothing is wanted")
        store.flush()
        let lines = try written().lines
        #expect(lines.filter { $0.kind == .application }.map(\.message) == ["ordinary", "wanted now"])
        #expect(lines.filter { $0.kind == .ring }.map(\.message) == ["a step"])
        await store.close()
    }

    @Test func `A clean stop seals, and the next start goes on in a new segment`() async throws {
        for run in 1...3 {
            let store = try store()
            store.information("run \(run)")
            await store.close()
            store.information("too late")
        }
        let log = try written()
        #expect(log.faults.isEmpty && log.sealed == 3)
        #expect(log.lines.map(\.message) == ["run 1", "run 2", "run 3"])
        // Every other ordinal is a session's.
        #expect(log.lines.map(\.number.value) == [2_000_001, 4_000_001, 6_000_001])
        #expect(try temporary.files.filter { $0.hasSuffix(".log") || $0.hasSuffix(".partial") }.isEmpty)
    }

    /// On a busy machine, the thread of low priority that seals gets its turn after the store was closed.
    @Test func `A closed store takes no segment from the next one`() async throws {
        let isOver = Atomic(false)
        for _ in 0..<ProcessInfo.processInfo.activeProcessorCount {
            Thread.detachNewThread { while !isOver.load(ordering: .relaxed) {} }
        }
        defer { isOver.store(true, ordering: .relaxed) }
        for run in 1...30 {
            let store = try store()
            store.information("run \(run)")
            await store.close()
            try #require(try temporary.files.allSatisfy { !$0.hasSuffix(".log") && !$0.hasSuffix(".partial") })
        }
    }

    @Test func `A store that is only let go writes what waits`() async throws {
        do { try store().information("let go") }
        while try written().lines.isEmpty {
            try Task.checkCancellation()
            await Task.yield()
        }
    }

    @Test func `Segments are full at five million bytes, and all lines are there`() async throws {
        let store = try store { $0.level = .verbose }
        let text = String(repeating: "0123456789", count: 400)
        for line in 1...3000 {
            store.information(text)
            // On a busy machine the writer falls behind, and lines beyond the memory limit are dropped.
            if line.isMultiple(of: 500) { store.flush() }
        }
        await store.close()
        let log = try written()
        #expect(log.faults.isEmpty && log.lines.count == 3000 && log.segments.count == 3)
        #expect(store.status.written.information == 3000)
    }

    @Test func `Four threads lose nothing below the memory limit`() async throws {
        let store = try store { $0.flushInterval = .milliseconds(5) }
        await withTaskGroup { group in
            for thread in 0..<4 {
                group.addTask {
                    for line in 0..<5000 {
                        store.log(line % 100 == 0 ? .error : .information, "\(thread) \(line)", category: "t")
                    }
                }
            }
        }
        await store.close()
        let log = try written()
        #expect(log.faults.isEmpty && log.lines.count == 20_000)
        for thread in 0..<4 {
            let own = log.lines.map(\.message).filter { $0.hasPrefix("\(thread) ") }
            #expect(own == (0..<5000).map { "\(thread) \($0)" }, "in the order of the calls")
        }
        #expect(store.status.dropped.isEmpty)
    }

    @Test func `Settings out of range are refused`() throws {
        let changes: [(inout LogStore.Configuration) -> Void] = [
            { $0.directory = "" }, { $0.applicationName = "" }, { $0.flushInterval = .seconds(61) },
            { $0.flushInterval = .seconds(-1) },
            { $0.maximumBytes = 999_999 }, { $0.ringBytes = 1 }, { $0.maximumAge = .zero },
            { $0.segmentAge = .seconds(1) },
        ]
        for change in changes {
            let error = #expect(throws: LogStoreError.self) { _ = try store(change) }
            #expect(error?.code == .invalid)
        }
    }
}
