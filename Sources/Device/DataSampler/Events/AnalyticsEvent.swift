import FoundationEssentials
import WireModel

/// The kind of an event.
public enum AnalyticsEventType: Sendable {
    /// An event of the application (ws1: `customEvent`).
    case customEvent
}

/// How safe a record is when the call that made it has returned.
public enum Durability: Sendable {
    /// The record is in memory. A power cut or crash may lose it within the configured loss window.
    case ordinary
    /// The record is on synced disk.
    case durable
}

/// A checked event, ready to be recorded.
package struct AnalyticsEvent: Sendable {
    package let message: WireEvent

    /// - Throws: `invalidEvent` with the limit that was exceeded.
    package init(
        _ type: AnalyticsEventType = .customEvent, name: String, value: EventValue,
        attributes: [String: EventValue] = [:]
    ) throws(DataSamplerError) {
        var message = WireEvent()
        switch type {
        case .customEvent: message.type = .custom
        }
        message.name = name
        guard let value = value.wire else { throw Self.valueError("the event's value") }
        message.value = value
        try self.init(message, adding: attributes)
    }

    init(_ message: WireEvent, adding attributes: [String: EventValue]) throws(DataSamplerError) {
        var message = message
        for (key, value) in attributes {
            guard let value = value.wire else { throw Self.valueError("the attribute '\(key.prefix(64))'") }
            message.attributes[key] = value
        }
        try self.init(message)
    }

    /// Reads an event that another program passed on.
    package init(_ message: WireEvent) throws(DataSamplerError) {
        guard (1...EventLimits.nameBytes).contains(message.name.utf8.count) else {
            throw Self.error(
                "the event's name has \(message.name.utf8.count) bytes: it must have 1 to \(EventLimits.nameBytes)")
        }
        // A usage event consists of its type, outcome and duration; an application's event has a value.
        switch message.type {
        case .launch, .enrollmentCall, .sdkAction, .geofence: break
        case .custom, .unspecified, .UNRECOGNIZED:
            guard message.hasValue else { throw Self.error("the event has no value") }
        }
        guard !message.hasValue || message.value.isWithinBounds else { throw Self.valueError("the event's value") }
        guard message.attributes.count <= EventLimits.attributes else {
            throw Self.error(
                "the event has \(message.attributes.count) attributes: it may have at most \(EventLimits.attributes)")
        }
        for (name, value) in message.attributes {
            guard (1...EventLimits.attributeNameBytes).contains(name.utf8.count) else {
                throw Self.error(
                    """
                    an attribute's name has \(name.utf8.count) bytes: it must have 1 to \
                    \(EventLimits.attributeNameBytes)
                    """
                )
            }
            guard value.isWithinBounds else { throw Self.valueError("the attribute '\(name.prefix(64))'") }
        }
        guard message.sessionID.isEmpty || message.sessionID.count == SessionID.byteCount else {
            throw Self.error(
                """
                the event's session id has \(message.sessionID.count) bytes: it must have \(SessionID.byteCount), or \
                none
                """
            )
        }
        let bytes = message.encoded.count
        guard bytes <= EventLimits.eventBytes else {
            throw Self.error("the event has \(bytes) bytes: it may have at most \(EventLimits.eventBytes)")
        }
        self.message = message
    }

    private static func valueError(_ what: String) -> DataSamplerError {
        error(
            """
            \(what) is out of range: text has at most \(EventLimits.textBytes) bytes, numbers are finite, dates fit \
            into 64-bit microseconds
            """
        )
    }

    private static func error(_ text: String) -> DataSamplerError { DataSamplerError(.invalidEvent, text) }
}

/// A usage event of (intune). It is recorded like the application's own events.
public struct UsageEvent: Sendable {
    /// The outcome of an attempt.
    public enum Outcome: Sendable {
        /// It succeeded.
        case succeeded
        /// It failed.
        case failed
    }

    let type: WireEventType
    let name: String
    let outcome: Outcome?
    let duration: Duration?
    /// Further attributes that the library itself gives.
    private(set) var attributes: [String: EventValue] = [:]

    private init(_ type: WireEventType, _ name: String, _ outcome: Outcome? = nil, _ duration: Duration? = nil) {
        self.type = type
        self.name = name
        self.outcome = outcome
        self.duration = duration
    }

    /// The program was launched. ``DataSampler/start()`` records one by itself if analytics is enabled. An application
    /// records another only for a launch of its own, such as that of a window.
    public static let launch = UsageEvent(.launch, "launch")

    /// A launch with the management type: `managed`, `unmanaged` or `unknown` (intune).
    static func launch(by managementType: String) -> UsageEvent {
        var launch = launch
        launch.attributes["managementType"] = .string(managementType)
        return launch
    }

    /// A geofence was entered or left.
    ///
    /// - Parameter inside: how long the device was inside; `nil` of an entry.
    static func geofence(_ name: String, id: String, inside: Duration?) -> UsageEvent {
        var event = UsageEvent(.geofence, name, nil, inside)
        event.attributes["id"] = .string(id)
        return event
    }

    /// An enrollment was requested and answered.
    ///
    /// - Parameter duration: from the request to its answer; not negative.
    public static func enrollmentCall(_ outcome: Outcome, duration: Duration) -> UsageEvent {
        UsageEvent(.enrollmentCall, "enrollment", outcome, duration)
    }

    /// The application asked the library to do something.
    ///
    /// - Parameters:
    ///   - name: what it asked, 1 to 256 bytes of UTF-8, such as `logs.send`.
    ///   - duration: how long it took, not negative; `nil` if not measured.
    public static func sdkAction(_ name: String, _ outcome: Outcome, duration: Duration? = nil) -> UsageEvent {
        UsageEvent(.sdkAction, name, outcome, duration)
    }
}

extension AnalyticsEvent {
    /// - Throws: `invalidEvent` with the limit that was exceeded.
    package init(_ usage: UsageEvent, attributes: [String: EventValue] = [:]) throws(DataSamplerError) {
        var message = WireEvent()
        message.type = usage.type
        message.name = usage.name
        switch usage.outcome {
        case .succeeded: message.succeeded = true
        case .failed: message.succeeded = false
        case nil: break
        }
        if let duration = usage.duration {
            let (seconds, attoseconds) = duration.components
            guard duration >= .zero, seconds < 1 << 40 else {
                throw DataSamplerError(
                    .invalidEvent,
                    "the duration is \(duration): it must be 0 to thirty thousand years")
            }
            message.durationMicroseconds = UInt64(seconds) * 1_000_000 + UInt64(attoseconds / 1_000_000_000_000)
        }
        try self.init(message, adding: usage.attributes.merging(attributes) { _, given in given })
    }
}
