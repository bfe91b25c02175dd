import Logging
import WireModel

/// Lets what a Swift program says through swift-log flow into a store, with no change but at its start:
///
///     LoggingSystem.bootstrap { label in LogStoreHandler(store: store, label: label) }
///
/// The label is the category. `trace` and `debug` become verbose, `info` and `notice` information, `critical` an error.
/// Nested metadata is flattened: `http.method=GET`, `tags.0=a`. Where keys meet, what the call says beats the metadata
/// provider, which beats the logger's own.
public struct LogStoreHandler: LogHandler {
    /// The store that takes the lines.
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

    /// The store's, changes at run time included, until it is set for this logger. A level that is set filters in
    /// addition to the store's.
    public var logLevel: Logger.Level {
        get { ownLevel ?? Self.level(store.capturedLevel) }
        set { ownLevel = newValue }
    }

    /// A value of `metadata`.
    public subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { metadata[key] }
        set { metadata[key] = newValue }
    }

    /// Called by `Logger` for what passes `logLevel`.
    public func log(event: LogEvent) {
        store.log(Self.level(event.level), event.message.description, category: label, metadata: fields(of: event))
    }

    /// The least severe of swift-log's levels that a store's level lets through. Nothing is logged at `nil`; swift-log
    /// has no such level, so the store itself leaves lines out then.
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

/// What a call has to know before it does anything, in one word that is read without a lock.
struct CaptureRules: Equatable, Sendable {
    /// The least severe level of the application's segments; `nil`: nothing is logged.
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

    /// Whether a line goes anywhere at all.
    @inline(__always)
    static func takes(_ level: LogLevel, _ word: Int) -> Bool {
        level.rawValue <= word & 7 || word & ringBit != 0 && word & 7 != 0
    }

    @inline(__always)
    static func isRing(_ level: LogLevel, _ word: Int) -> Bool { level.rawValue > word & 7 }

    @inline(__always)
    static func isScrubbing(_ word: Int) -> Bool { word & scrubbingBit != 0 }
}
