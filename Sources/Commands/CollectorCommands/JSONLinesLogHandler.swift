import Collector
import CommandKit
import Foundation
import Logging
import Synchronization
import TelemetryBasics
import WireModel

/// The least severe level that is logged, shared by all loggers. Safe from any thread.
final class SharedLogLevel: Sendable {
    private let place: Atomic<Int>

    init(_ level: Logger.Level) { place = Atomic(Self.place(of: level)) }

    var level: Logger.Level {
        get { Logger.Level.allCases[place.load(ordering: .relaxed)] }
        set { place.store(Self.place(of: newValue), ordering: .relaxed) }
    }

    private static func place(of level: Logger.Level) -> Int { Logger.Level.allCases.firstIndex(of: level) ?? 0 }
}

/// Writes one JSON object per line to standard error: `time`, `level`, `message`, and the metadata by key.
///
/// Each line is one write, so lines of several threads never mix. What cannot be written of a line, for example on a
/// full disk, is left out.
struct JSONLinesLogHandler: LogHandler {
    /// The shared level, unless it is set for this logger.
    var logLevel: Logger.Level {
        get { ownLevel ?? sharedLevel.level }
        set { ownLevel = newValue }
    }
    private var ownLevel: Logger.Level?
    private let sharedLevel: SharedLogLevel
    var metadata: Logger.Metadata = [:]
    var metadataProvider: Logger.MetadataProvider?
    private let write: @Sendable (Data) -> Void
    private let now: @Sendable () -> Int64

    init(
        level: SharedLogLevel, now: @escaping @Sendable () -> Int64 = SystemClock.wallMicroseconds,
        write: @escaping @Sendable (Data) -> Void = { StandardError.write($0) }
    ) {
        sharedLevel = level
        self.now = now
        self.write = write
    }

    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { metadata[key] }
        set { metadata[key] = newValue }
    }

    func log(event: LogEvent) {
        var fields = metadata
        if let provided = metadataProvider?.get() { fields.merge(provided) { $1 } }
        if let given = event.metadata { fields.merge(given) { $1 } }
        var line =
            #"{"time":\#(Self.quoted(Timestamp.text(now()))),"level":"\#(LogLevel(event.level).name)","message":"#
        line += Self.quoted(event.message.description)
        if let error = event.error { line += #","error":"# + Self.quoted("\(error)") }
        for (key, value) in fields.sorted(by: { $0.key < $1.key }) {
            line += ",\(Self.quoted(key)):\(Self.json(value))"
        }
        write(Data((line + "}\n").utf8))
    }

    private static func json(_ value: Logger.MetadataValue) -> String {
        switch value {
        case .string(let text): quoted(text)
        case .stringConvertible(let value): quoted(value.description)
        case .array(let values): "[" + values.map(json).joined(separator: ",") + "]"
        case .dictionary(let values):
            "{" + values.sorted { $0.key < $1.key }.map { "\(quoted($0.key)):\(json($0.value))" }.joined(separator: ",")
                + "}"
        }
    }

    private static func quoted(_ text: String) -> String {
        var result = "\""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "\"": result += "\\\""
            case "\\": result += "\\\\"
            case "\n": result += "\\n"
            case "\r": result += "\\r"
            case "\t": result += "\\t"
            case _ where scalar.isHidden: result += scalar.escapedInJSON
            default: result.unicodeScalars.append(scalar)
            }
        }
        return result + "\""
    }
}

extension Logger {
    /// The logger of a command that does one thing and ends. It logs warnings and errors.
    static var ofCommand: Logger {
        Logger(label: "ws1collector") { _ in JSONLinesLogHandler(level: SharedLogLevel(.warning)) }
    }
}
