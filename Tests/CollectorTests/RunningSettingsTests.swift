import CommandKit
import Foundation
import Logging
import Synchronization
import Testing

@testable import CollectorCommands
@testable import RecordStore
@testable import Registry

@Suite("Settings read again")
struct RunningSettingsTests {
    private final class Written: Sendable {
        private let kept = Mutex("")
        var text: String { kept.withLock { $0 } }
        func add(_ data: Data) { kept.withLock { $0 += String(decoding: data, as: UTF8.self) } }
    }

    private static func settings(_ text: String) throws -> Settings {
        let file = try ConfigurationFile.parse(text, path: "c.yaml")
        return try Settings(SettingLayers(flags: [:], environment: [:], file: file))
    }

    @Test func `What is kept is applied, whichever of its settings changes`() async throws {
        let file = Mutex("data: /d\n")
        let limits = Mutex<[RetentionLimits]>([])
        let written = Written()
        let logger = Logger(label: "test") { _ in JSONLinesLogHandler(level: SharedLogLevel(.info), write: written.add)
        }
        let running = RunningSettings(
            try Self.settings(file.withLock { $0 }), logger: logger,
            read: { try Self.settings(file.withLock { $0 }) },
            apply: { new in limits.withLock { $0.append(new.retention) } })
        file.withLock { $0 = "data: /d\nretention-sample-days: 7\nretention-event-bytes: 2000000\n" }
        await running.reload()
        let last = try #require(limits.withLock { $0.last })
        #expect(last.sample.days == 7 && last.event == .init(days: 90, bytes: 2_000_000))
        #expect(written.text.contains(#""after.restart":[],"changed":["retention-"#), "\(written.text)")
    }

    @Test func `What can change does, and the rest is named`() async throws {
        let file = Mutex("data: /d\nlog-level: info\n")
        let level = SharedLogLevel(.info)
        let quota = Mutex(0)
        let written = Written()
        let logger = Logger(label: "test") { _ in JSONLinesLogHandler(level: level, write: written.add) }
        let running = RunningSettings(
            try Self.settings(file.withLock { $0 }), logger: logger,
            read: { try Self.settings(file.withLock { $0 }) },
            apply: { new in
                level.level = new.logLevel.loggerLevel
                quota.withLock { $0 = new.logQuotas.applicationBytes }
            })

        file.withLock { $0 = "data: /d\nlog-level: debug\nmaximum-connections: 9\n" }
        await running.reload()
        #expect(logger.logLevel == .trace && quota.withLock { $0 } == 200_000_000)
        #expect(
            written.text.contains(#""after.restart":["maximum-connections"],"changed":["log-level"]"#),
            "\(written.text)")

        file.withLock { $0 = "data: /d\nlog-level: loud\nlog-application-bytes: 300000000\n" }
        await running.reload()
        #expect(logger.logLevel == .trace && quota.withLock { $0 } == 200_000_000, "a wrong file changes nothing")
        #expect(written.text.contains("loud"))

        file.withLock { $0 = "data: /d\nlog-application-bytes: 300000000\n" }
        await running.reload()
        #expect(logger.logLevel == .info && quota.withLock { $0 } == 300_000_000)
        #expect(
            written.text.contains(#""after.restart":[],"changed":["log-level","log-application-bytes"]"#),
            "\(written.text)")
    }
}
