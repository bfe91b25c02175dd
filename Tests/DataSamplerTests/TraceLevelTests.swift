import Logging
import Synchronization
import TestKit
import Testing
import WireModel

@testable import DataSampler

/// What the sampler says of itself at each trace level.
@Suite(.timeLimit(.minutes(10))) struct TraceLevelTests {
    private final class Book: Sendable {
        private let kept = Mutex<[(level: Logger.Level, message: String)]>([])

        var logger: Logger { Logger(label: "test") { _ in Handler(book: self) } }
        var messages: [String] { kept.withLock { $0.map(\.message) } }
        var levels: [Logger.Level] { kept.withLock { $0.map(\.level) } }

        private struct Handler: LogHandler {
            let book: Book
            var logLevel = Logger.Level.trace
            var metadata: Logger.Metadata = [:]

            subscript(metadataKey key: String) -> Logger.Metadata.Value? {
                get { metadata[key] }
                set { metadata[key] = newValue }
            }

            func log(event: LogEvent) { book.kept.withLock { $0.append((event.level, "\(event.message)")) } }
        }
    }

    /// From the most severe on, as many as each level lets pass.
    private static let levels: [Logger.Level] = [.critical, .error, .warning, .notice, .info, .debug, .trace]

    private func passed(_ traces: TraceSwitch) -> [Logger.Level] {
        let book = Book()
        let logger = traces.logger(over: book.logger)
        for level in Self.levels { logger.log(level: level, "message") }
        return book.levels
    }

    @Test(
        arguments: [
            (.off, 0), (.error, 2), (.warning, 3), (.information, 5), (.verbose, 7),
        ] as [(TraceLevel, Int)])
    func `A level lets its own messages and the more severe ones pass`(level: TraceLevel, count: Int) {
        #expect(passed(TraceSwitch(level)) == Array(Self.levels.prefix(count)))
    }

    @Test func `A command's level holds in place of the configured one, and a capture only lets more pass`() {
        let traces = TraceSwitch(.warning)
        let logger = traces.logger(over: Book().logger)
        traces.change(to: .verbose, least: nil)
        #expect(passed(traces).count == 7 && logger.logLevel == .trace, "also for a logger made before")
        traces.change(to: .error, least: nil)
        #expect(passed(traces).count == 2)
        traces.change(to: .error, least: .information)
        #expect(passed(traces).count == 5)
        traces.change(to: nil, least: .error)
        #expect(passed(traces).count == 3)
        traces.configure(.off)
        traces.change(to: nil, least: nil)
        #expect(passed(traces).isEmpty)
    }

    @Test(arguments: TraceLevel.allCases)
    func `The host's logger gets what the configured level lets pass`(level: TraceLevel) async throws {
        let directory = try TemporaryDirectory()
        let book = Book()
        let sampler = try SamplerBench().sampler(directory.path, logger: book.logger) { $0.traceLevel = level }
        try await SamplerBench.start(sampler)
        await sampler.stop()
        let isReported = [.information, .verbose].contains(level)
        #expect(book.messages.contains("started") == isReported && book.messages.contains("stopped") == isReported)
        #expect(book.levels.allSatisfy { level != .off && $0 >= level.logLevel }, "\(book.messages)")
    }
}
