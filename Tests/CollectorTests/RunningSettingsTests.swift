import CollectorStore
import Foundation
import Logging
import Synchronization
import Testing

@testable import CollectorCommands

@Suite("Settings read again")
struct RunningSettingsTests {
    private final class Written: Sendable {
        private let kept = Mutex("")
        var text: String { kept.withLock { $0 } }
        func add(_ data: Data) { kept.withLock { $0 += String(decoding: data, as: UTF8.self) } }
    }

    private static func settings(_ text: String) throws -> Settings {
        try Settings(flags: [:], environment: [:], file: try ConfigurationFile(text: text, path: "c.yaml"))
    }

    @Test func whatIsKeptIsAppliedWhicheverOfItsSettingsChanges() async throws {
        let file = Mutex("data: /d\n")
        let limits = Mutex<[RetentionLimits]>([])
        let written = Written()
        let logger = Logger(label: "test") { _ in JSONLinesLogHandler(level: SharedLogLevel(.info), write: written.add)
        }
        let running = RunningSettings(
            try Self.settings(file.withLock { $0 }), read: { try Self.settings(file.withLock { $0 }) },
            live: Setting.ofRetention.map { setting in
                .init(setting: setting) { new in limits.withLock { $0.append(new.retention) } }
            }, tls: nil, logger: logger)
        file.withLock { $0 = "data: /d\nretention-sample-days: 7\nretention-event-bytes: 2000000\n" }
        await running.reload()
        let last = try #require(limits.withLock { $0.last })
        #expect(last.sample.days == 7 && last.event == .init(days: 90, bytes: 2_000_000))
        #expect(written.text.contains(#""after.restart":[],"changed":["retention-"#), "\(written.text)")
        #expect(Setting.ofRetention == Setting.allCases.filter { $0.rawValue.hasPrefix("retention-") })
    }

    @Test func whatCanChangeDoesAndTheRestIsNamed() async throws {
        let file = Mutex("data: /d\nlog-level: info\n")
        let level = SharedLogLevel(.info)
        let quota = Mutex(0)
        let written = Written()
        let logger = Logger(label: "test") { _ in JSONLinesLogHandler(level: level, write: written.add) }
        let running = RunningSettings(
            try Self.settings(file.withLock { $0 }), read: { try Self.settings(file.withLock { $0 }) },
            live: [
                .init(setting: .logLevel) { level.level = $0.logLevel },
                .init(setting: .logQuotaBytes) { new in quota.withLock { $0 = new.logQuotas.applicationBytes } },
            ], tls: nil, logger: logger)

        file.withLock { $0 = "data: /d\nlog-level: debug\nmaximum-connections: 9\n" }
        await running.reload()
        #expect(logger.logLevel == .debug && quota.withLock { $0 } == 0)
        #expect(
            written.text.contains(#""after.restart":["maximum-connections"],"changed":["log-level"]"#),
            "\(written.text)")

        file.withLock { $0 = "data: /d\nlog-level: loud\nlog-quota-bytes: 300000000\n" }
        await running.reload()
        #expect(logger.logLevel == .debug && quota.withLock { $0 } == 0, "a wrong file changes nothing")
        #expect(written.text.contains("loud"))

        file.withLock { $0 = "data: /d\nlog-quota-bytes: 300000000\n" }
        await running.reload()
        #expect(logger.logLevel == .info && quota.withLock { $0 } == 300_000_000)
        #expect(
            written.text.contains(#""after.restart":[],"changed":["log-level","log-quota-bytes"]"#), "\(written.text)")
    }
}
