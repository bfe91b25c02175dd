import FoundationEssentials
import WireModel

/// What kind of event is recorded.
public enum AnalyticsEventType: Sendable {
    /// One of the application's own (ws1: `customEvent`).
    case customEvent
}

/// How sure a record is once the call that made it has returned.
public enum Durability: Sendable {
    /// In the queue's memory: a power cut or a crash may take it within the configured loss window.
    case ordinary
    /// On synced disk.
    case durable
}

/// An event checked against its bounds, ready to be recorded.
package struct AnalyticsEvent: Sendable {
    package let message: WireEvent

    /// - Throws: `invalidEvent` naming the bound that was passed.
    package init(
        _ type: AnalyticsEventType = .customEvent, name: String, value: EventValue, attributes: [String: EventValue] = [:]
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

    /// Takes an event that another program handed over.
    package init(_ message: WireEvent) throws(DataSamplerError) {
        guard (1...EventLimits.nameBytes).contains(message.name.utf8.count) else {
            throw Self.error("the event's name has \(message.name.utf8.count) bytes: it must have 1 to \(EventLimits.nameBytes)")
        }
        // A usage event tells by its type, outcome and duration; the application's own is its value.
        switch message.type {
        case .launch, .enrollmentCall, .sdkAction: break
        case .custom, .unspecified, .UNRECOGNIZED:
            guard message.hasValue else { throw Self.error("the event has no value") }
        }
        guard !message.hasValue || message.value.isWithinBounds else { throw Self.valueError("the event's value") }
        guard message.attributes.count <= EventLimits.attributes else {
            throw Self.error("the event has \(message.attributes.count) attributes: at most \(EventLimits.attributes) are taken")
        }
        for (name, value) in message.attributes {
            guard (1...EventLimits.attributeNameBytes).contains(name.utf8.count) else {
                throw Self.error("an attribute's name has \(name.utf8.count) bytes: it must have 1 to \(EventLimits.attributeNameBytes)")
            }
            guard value.isWithinBounds else { throw Self.valueError("the attribute '\(name.prefix(64))'") }
        }
        guard message.sessionID.isEmpty || message.sessionID.count == SessionID.byteCount else {
            throw Self.error("the event's session id has \(message.sessionID.count) bytes: it must have \(SessionID.byteCount), or none")
        }
        let bytes = message.encoded.count
        guard bytes <= EventLimits.eventBytes else {
            throw Self.error("the event has \(bytes) bytes: at most \(EventLimits.eventBytes) are taken")
        }
        self.message = message
    }

    private static func valueError(_ what: String) -> DataSamplerError {
        error("\(what) is out of bounds: text up to \(EventLimits.textBytes) bytes, finite numbers, dates within microseconds of 64 bits")
    }

    private static func error(_ text: String) -> DataSamplerError { DataSamplerError(.invalidEvent, text) }
}
