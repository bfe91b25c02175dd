import CommandKit
import DataSampler
import Foundation
import Logging
import Synchronization
import Testing

@testable import AgentCommands

@Suite("Settings of a running agent read again") struct RunningSettingsTests {
    private static func settings(_ text: String) throws(CommandError) -> AgentSettings {
        let given = try ConfigurationFile.parse(
            Data("{data: '/d', collector: 'http://localhost', \(text)}".utf8), path: "a.json5")
        return try AgentSettings(
            SettingLayers(flags: [:], environment: [:], file: given), needsCollector: true)
    }

    /// Keeps what is logged.
    private final class Book: Sendable {
        private let lines = Mutex<[String]>([])
        var last: String { lines.withLock { $0.last ?? "" } }

        var logger: Logger { Logger(label: "test") { _ in Handler(book: self) } }

        private struct Handler: LogHandler {
            let book: Book
            var metadata: Logger.Metadata = [:]
            var logLevel = Logger.Level.trace
            subscript(metadataKey key: String) -> Logger.Metadata.Value? {
                get { metadata[key] }
                set { metadata[key] = newValue }
            }
            func log(event: LogEvent) {
                let data = (event.metadata ?? [:]).sorted { $0.key < $1.key }.map { "\($0.key)=\($0.value)" }.joined(
                    separator: " ")
                book.lines.withLock { $0.append("\(event.level) \(event.message) \(data)") }
            }
        }
    }

    @Test func `What can change is applied, the rest is named, and a wrong file changes nothing`() async throws {
        let text = Mutex("sampleInterval: 10")
        let applied = Mutex<[DataSamplerConfiguration]>([])
        let book = Book()
        let running = RunningSettings(
            try Self.settings("sampleInterval: 10"), logger: book.logger,
            read: { try Self.settings(text.withLock { $0 }) },
            apply: { settings in applied.withLock { $0.append(settings.configuration) } })

        text.withLock { $0 = "sampleInterval: 20, lossWindow: 30" }
        await running.reload()
        #expect(applied.withLock { $0.last?.defaultSampleInterval } == 20)
        #expect(
            book.last == "notice configuration reloaded after.restart=[\"loss-window\"] changed=[\"sample-interval\"]")

        text.withLock { $0 = "sampleInterval: 0, analytics: false" }
        await running.reload()
        #expect(applied.withLock(\.count) == 1, "a wrong file changes nothing")
        #expect(
            book.last.hasPrefix("error configuration not reloaded") && book.last.contains("sampleInterval in a.json5"))

        text.withLock { $0 = "sampleInterval: 20, analytics: false" }
        await running.reload()
        #expect(applied.withLock { $0.last?.analyticsEnabled } == false)
        #expect(book.last == "notice configuration reloaded after.restart=[] changed=[\"analytics\"]")
    }

    @Test func `A token in the same file that is another one is named, one that was taken away is not`() throws {
        let path = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString).path
        defer { try? FileManager.default.removeItem(atPath: path) }
        func read(_ token: String) throws -> AgentSettings {
            try Data(token.utf8).write(to: URL(filePath: path))
            return try Self.settings("enrollmentTokenFile: '\(path)'")
        }
        let first = try read("one")
        #expect(try read("one").changes(from: first).isEmpty)
        #expect(try read("two").changes(from: first).map(\.name) == ["enrollment-token-file"])
    }
}
