import Logging
import WireModel

/// Writes what a Swift program logs with swift-log into a store. The program changes one line at its start:
///
///     LoggingSystem.bootstrap { label in LogStoreHandler(store: store, label: label) }
///
/// The label becomes the category. `trace` and `debug` become verbose, `info` and `notice` information, `critical`
/// error. Nested metadata is flattened: `http.method=GET`, `tags.0=a`. For equal keys the call's metadata wins over the
/// metadata provider's, and the provider's over the logger's.
public struct LogStoreHandler: LogHandler {
    /// The store that accepts the lines.
    public let store: LogStore
    /// The category of its lines.
    public let label: String
    /// Added to every line.
    public var metadata: Logger.Metadata = [:]
    /// Asked for metadata at every line that is logged.
    public var metadataProvider: Logger.MetadataProvider?
    private var ownLevel: Logger.Level?

    /// - Parameters:
    ///   - store: where lines go.
    ///   - label: the logger's label.
    ///   - metadataProvider: asked for metadata at every line.
    public init(store: LogStore, label: String, metadataProvider: Logger.MetadataProvider? = nil) {
        self.store = store
        self.label = label
        self.metadataProvider = metadataProvider
    }

    /// Follows the store's level, including changes at run time, until it is set for this logger. A level that is set
    /// filters in addition to the store's.
    public var logLevel: Logger.Level {
        get { ownLevel ?? Self.level(store.capturedLevel) }
        set { ownLevel = newValue }
    }

    /// Reads or replaces one value of `metadata`.
    public subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { metadata[key] }
        set { metadata[key] = newValue }
    }

    /// `Logger` calls this for each event that passes `logLevel`.
    public func log(event: LogEvent) {
        store.log(Self.level(event.level), event.message.description, category: label, metadata: fields(of: event))
    }

    /// The least severe swift-log level that a store's level admits. swift-log has no level that admits nothing, so for
    /// `nil` the handler admits critical events and the store filters them out.
    static func level(_ level: LogLevel?) -> Logger.Level {
        switch level {
        case .verbose: .trace
        case .information: .info
        case .warning: .warning
        case .error: .error
        case nil: .critical
        }
    }

    static func level(_ level: Logger.Level) -> LogLevel {
        switch level {
        case .trace, .debug: .verbose
        case .info, .notice: .information
        case .warning: .warning
        case .error, .critical: .error
        }
    }

    private func fields(of event: LogEvent) -> [String: String] {
        var fields: [String: String] = [:]
        for metadata in [metadata, metadataProvider?.get() ?? [:], event.metadata ?? [:]] {
            for (key, value) in metadata { Self.flatten(value, key, into: &fields) }
        }
        if let error = event.error { fields["error"] = "\(error)" }
        return fields
    }

    private static func flatten(_ value: Logger.MetadataValue, _ key: String, into fields: inout [String: String]) {
        switch value {
        case .string(let text): fields[key] = text
        case .stringConvertible(let value): fields[key] = value.description
        case .dictionary(let values): for (name, value) in values { flatten(value, "\(key).\(name)", into: &fields) }
        case .array(let values):
            for (place, value) in values.enumerated() { flatten(value, "\(key).\(place)", into: &fields) }
        }
    }
}

/// The rules that every log call checks first, in one word that is read without a lock.
struct CaptureRules: Equatable, Sendable {
    /// The least severe level that is written to segments; `nil` if logging is off.
    var level: LogLevel?
    var hasRing: Bool
    var isScrubbing: Bool

    private static let ringBit = 8
    private static let scrubbingBit = 16

    init(level: LogLevel?, hasRing: Bool, isScrubbing: Bool) {
        self.level = level
        self.hasRing = hasRing
        self.isScrubbing = isScrubbing
    }

    init(word: Int) {
        level = LogLevel(rawValue: word & 7)
        hasRing = word & Self.ringBit != 0
        isScrubbing = word & Self.scrubbingBit != 0
    }

    var word: Int { (level?.rawValue ?? 0) | (hasRing ? Self.ringBit : 0) | (isScrubbing ? Self.scrubbingBit : 0) }

    /// Whether a line of this level is written anywhere.
    @inline(__always)
    static func accepts(_ level: LogLevel, _ word: Int) -> Bool {
        level.rawValue <= word & 7 || word & ringBit != 0 && word & 7 != 0
    }

    @inline(__always)
    static func isRing(_ level: LogLevel, _ word: Int) -> Bool { level.rawValue > word & 7 }

    @inline(__always)
    static func isScrubbing(_ word: Int) -> Bool { word & scrubbingBit != 0 }
}
