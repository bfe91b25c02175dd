import Logging
import Synchronization

/// Keeps what was logged, to count trace messages.
final class RecordedLog: Sendable {
    private let lines = Mutex<[String]>([])

    var entries: [String] { lines.withLock { $0 } }

    func logger() -> Logger {
        Logger(label: "test") { _ in RecordingLogHandler(log: self) }
    }

    fileprivate func add(_ line: String) {
        lines.withLock { $0.append(line) }
    }
}

private struct RecordingLogHandler: LogHandler {
    let log: RecordedLog
    var logLevel = Logger.Level.trace
    var metadata: Logger.Metadata = [:]

    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { metadata[key] }
        set { metadata[key] = newValue }
    }

    func log(event: LogEvent) {
        log.add(
            """
            \(event.level) \(event.metadata?["sample.file.path"] ?? "") \(event.metadata?["sample.file.problem"] ?? "")
            """
        )
    }
}
