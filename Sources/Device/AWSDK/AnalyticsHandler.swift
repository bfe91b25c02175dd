import DataSampler

/// Records events of the application (ws1).
public final class AnalyticsHandler: Sendable {
    private let engine: SDKEngine

    /// The handler of this process (ws1).
    public static let sharedInstance = AnalyticsHandler(engine: .shared)

    init(engine: SDKEngine) { self.engine = engine }

    /// Records an event (ws1). It is kept on disk and sent after the hold of the profile, two hours by default.
    ///
    /// Call it after ``AWControllerDelegate/controllerDidFinishInitialCheck(error:)`` had no error. Before the first
    /// profile up to 1,000 events wait for it.
    ///
    /// - Parameters:
    ///   - event: the kind of event.
    ///   - eventName: 1 to 256 bytes.
    ///   - eventValue: up to 65,536 bytes.
    ///   - valueType: its type.
    ///   - completion: ours; called once the event is recorded, or why not. `nil`: a failure is logged only.
    public func recordEvent(
        _ event: AnalyticsEvent, eventName: String, eventValue: String, valueType: AnalyticsEventValueType,
        completion: SDKCompletion? = nil
    ) {
        engine.call(
            "recordEvent", isOrdered: true,
            {
                try await $0.recordEvent(
                    event.type, eventName: eventName, eventValue: eventValue, valueType: valueType.type)
            }, then: completion)
    }
}

/// The documented other name of ``AnalyticsHandler`` (ws1).
public typealias AnalyticsHelper = AnalyticsHandler

/// The kind of an event (ws1).
public enum AnalyticsEvent: Sendable {
    /// An event of the application; the only documented case.
    case customEvent

    fileprivate var type: AnalyticsEventType { .customEvent }
}

/// The type of an event's value (ws1). Only ``string`` is documented; the other cases are ours.
public enum AnalyticsEventValueType: Sendable {
    /// Any text.
    case string
    /// A signed 64-bit integer, in decimal.
    case integer
    /// A finite number, in decimal.
    case double
    /// `true` or `false`.
    case boolean
    /// A time in ISO 8601, such as `2026-03-01T12:00:00Z`.
    case date

    fileprivate var type: EventValueType {
        switch self {
        case .string: .string
        case .integer: .integer
        case .double: .double
        case .boolean: .boolean
        case .date: .date
        }
    }
}
