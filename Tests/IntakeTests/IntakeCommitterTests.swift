import LogStore
import TestKit
import Testing
import WireModel

@testable import Intake

@Suite struct IntakeCommitterTests {
    /// Numbers its lines; the position is the number of the next one.
    private final class CountingSource: IntakeSource {
        let total: Int
        let batchLines: Int
        var next = 0
        var begins = 0
        var commits = 0
        var lag: IntakeLag { IntakeLag(bytes: total - next) }

        init(total: Int, batchLines: Int) {
            self.total = total
            self.batchLines = batchLines
        }

        func begin(at positions: [String: [UInt8]]) {
            begins += 1
            next = positions["next"].flatMap { Int(String(decoding: $0, as: UTF8.self)) } ?? 0
        }

        func read(into batch: inout IntakeBatch) -> Bool {
            for _ in 0..<min(batchLines, total - next) {
                batch.add(LogEntry(.information, "line \(next)"))
                next += 1
            }
            batch.set("next", Array("\(next)".utf8))
            return next < total
        }

        func committed() { commits += 1 }
    }

    private static func configuration(_ directory: TemporaryDirectory) -> LogStore.Configuration {
        var configuration = LogStore.Configuration(directory: directory.file("logs"), applicationName: "test")
        configuration.applicationIdentifier = "counting"
        return configuration
    }

    @Test func `Every line is stored once, over any number of starts`() throws {
        let directory = try TemporaryDirectory()
        for start in 1...4 {
            let source = CountingSource(total: 100 * start, batchLines: 7)
            let committer = IntakeCommitter(Self.configuration(directory), source: source)
            while committer.step() == .more {}
            #expect(committer.status.lag.bytes == 0 && committer.status.caughtUp != nil)
            if start % 2 == 0 { committer.close() }
        }
        #expect(try StoredLines(directory.file("logs")).messages == (0..<400).map { "line \($0)" })
    }

    @Test func `A batch that cannot be stored is read again`() throws {
        let directory = try TemporaryDirectory()
        let source = CountingSource(total: 30, batchLines: 10)
        var failures = 3
        let configuration = Self.configuration(directory)
        let committer = IntakeCommitter("counting", source: source, limit: nil, clock: .system) {
            () throws(LogStoreError) in
            failures -= 1
            if failures > 0 { throw LogStoreError(.locked, "the key is not at hand") }
            return try IntakeLog(configuration)
        }
        #expect(committer.step() == .retry(milliseconds: 100))
        #expect(committer.status.failure == "the key is not at hand")
        #expect(committer.step() == .retry(milliseconds: 200))
        while committer.step() == .more {}
        #expect(committer.status.failure == nil && source.commits == 3)
        #expect(try StoredLines(directory.file("logs")).messages == (0..<30).map { "line \($0)" })
    }

    @Test func `A burst is limited, and a record says exactly how many lines were left out`() throws {
        let directory = try TemporaryDirectory()
        let clock = ManualIntakeClock()
        let source = CountingSource(total: 1000, batchLines: 250)
        let committer = IntakeCommitter(
            Self.configuration(directory), source: source, limit: BurstLimit(linesPerSecond: 50, burst: 100),
            clock: clock.clock)
        while committer.step() == .more { clock.advance(milliseconds: 1000) }
        let stored = try StoredLines(directory.file("logs"))
        #expect(stored.messages.count == 100 + 3 * 50)
        #expect(committer.status.leftOut == 750)
        let text = "lines left out, because they came faster than the limit "
        #expect(
            stored.reports
                == ["\(text)information=150 limit=50/s lines=150"]
                + Array(repeating: "\(text)information=200 limit=50/s lines=200", count: 3))
    }

    @Test func `Lines that are not stored take nothing of the limit`() throws {
        let directory = try TemporaryDirectory()
        let clock = ManualIntakeClock()
        let source = CountingSource(total: 100, batchLines: 100)
        let committer = IntakeCommitter(
            Self.configuration(directory), source: source, limit: BurstLimit(linesPerSecond: 1, burst: 10),
            clock: clock.clock)
        committer.level = .warning
        while committer.step() == .more {}
        #expect(committer.status.filtered == 100 && committer.status.leftOut == 0)
    }

    @Test func `A budget fills with time, not above the burst, and not with a clock that goes back`() {
        var budget = BurstBudget(BurstLimit(linesPerSecond: 2, burst: 3))
        func taken(_ time: Int64) -> Int { (0..<10).count { _ in budget.take(at: time) } }
        #expect(taken(0) == 3)
        #expect(taken(500_000) == 1)
        #expect(taken(0) == 0)
        #expect(taken(1_000_000_000) == 3)
        #expect(taken(.max) == 3)
    }
}
