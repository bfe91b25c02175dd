import CommandKit
import FoundationEssentials
import Logging
import WireModel

/// Writes log messages to standard error, one line each: time, level, message and metadata.
struct OneLineLogHandler: LogHandler {
    private static let timeStyle = Date.ISO8601FormatStyle(includingFractionalSeconds: true)

    let label: String
    var logLevel = Logger.Level.info
    var metadata = Logger.Metadata()

    init(label: String) { self.label = label }

    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { metadata[key] }
        set { metadata[key] = newValue }
    }

    func log(event: LogEvent) {
        var line = "\(Date().ISO8601Format(Self.timeStyle)) \(LogLevel(event.level).name) \(label): \(event.message)"
        let data = metadata.merging(event.metadata ?? [:]) { $1 }
        for (key, value) in data.sorted(by: { $0.key < $1.key }) { line += " \(key)=\(Self.quoted("\(value)"))" }
        StandardError.line(Self.oneLine(line))
    }

    private static func quoted(_ value: String) -> String {
        value.contains(" ") ? "\"\(value.replacing("\"", with: "'"))\"" : value
    }

    /// Replaces control characters and line ends, so that one message cannot look like two.
    static func oneLine(_ text: String) -> String {
        guard text.unicodeScalars.contains(where: \.isHidden) else { return text }
        return String(String.UnicodeScalarView(text.unicodeScalars.map { $0.isHidden ? " " : $0 }))
    }
}
