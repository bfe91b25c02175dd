import Transmitter

extension DataSampler {
    /// Records an event (ws1: on `AnalyticsHandler.sharedInstance`).
    ///
    /// It is held for the configured time before it is sent; a restart does not release it early. Before the first
    /// profile up to 1,000 events or 1 MiB wait for it: they are sent, or dropped and counted where it lets
    /// no event be recorded.
    ///
    /// - Parameters:
    ///   - event: the kind of event.
    ///   - eventName: 1 to 256 bytes of UTF-8.
    ///   - eventValue: its value; text up to 65,536 bytes.
    ///   - attributes: up to 64, each name 1 to 128 bytes; name, value and attributes together up to 240 KiB.
    ///   - durability: `ordinary` returns at once, and a crash may lose the event within the loss window; `durable`
    ///     returns once it is on synced disk.
    /// - Throws: `invalidEvent`; `profileNotChecked` where more would wait for the first profile, counted nowhere;
    ///   `analyticsDisabled`; `moduleDisabled` without the sample module analytics; `telemetryDisabled`,
    ///   `consentDenied`, `wipePending`, `unenrolled` and `queueFull`, counted as dropped; `notRunning`, `queue`.
    public func recordEvent(
        _ event: AnalyticsEventType = .customEvent, eventName: String, eventValue: EventValue,
        attributes: [String: EventValue] = [:], durability: Durability = .ordinary
    ) async throws(DataSamplerError) {
        let event = try AnalyticsEvent(event, name: eventName, value: eventValue, attributes: attributes)
        _ = try await record(event, durability: durability)
    }

    /// Records an event whose value is text of a given type, as in (ws1).
    ///
    /// - Parameters:
    ///   - event: the kind of event.
    ///   - eventName: 1 to 256 bytes of UTF-8.
    ///   - eventValue: the value as text, parsed as ``EventValue/init(_:type:)`` defines.
    ///   - valueType: its type.
    /// - Throws: `invalidEvent` also if the text is not of that type; otherwise as the call with a typed value.
    public func recordEvent(
        _ event: AnalyticsEventType, eventName: String, eventValue: String, valueType: EventValueType
    ) async throws(DataSamplerError) {
        try await recordEvent(event, eventName: eventName, eventValue: EventValue(eventValue, type: valueType))
    }

    /// - Parameter application: bundle id of the program whose event it is, up to 200 bytes; `nil` for this one.
    /// - Returns: the number of a durable event.
    package func record(
        _ event: AnalyticsEvent, of application: String? = nil, durability: Durability
    ) async throws(DataSamplerError) -> UInt64? {
        let running = try running()
        let number = try await running.core.record(event, of: application, durability: durability)
        // A caller that waits for the disk and does not hold events wants the event to be sent soon.
        if durability == .durable, running.core.settings.eventHold == .zero { running.parts.transmitter.transmitNow() }
        return number
    }

    /// Records a usage event, like ``recordEvent(_:eventName:eventValue:attributes:durability:)`` for the application's
    /// own events.
    ///
    /// - Parameters:
    ///   - usage: what happened.
    ///   - attributes: up to 64, each name 1 to 128 bytes; name and attributes together up to 240 KiB.
    ///   - durability: as for the application's own events.
    /// - Throws: `invalidEvent`, `analyticsDisabled`, `moduleDisabled`, `notRunning`, `queueFull` (counted as dropped),
    ///   `queue`.
    public func recordUsage(
        _ usage: UsageEvent, attributes: [String: EventValue] = [:], durability: Durability = .ordinary
    ) async throws(DataSamplerError) {
        _ = try await record(AnalyticsEvent(usage, attributes: attributes), durability: durability)
    }

    /// Begins a session: a person now uses the application. Until the session ends, its duration counts as time in use.
    /// The clock includes suspend and ignores settings of the wall clock.
    ///
    /// If a session is open, it continues. A session ends with ``endSession()``, with ``stop()`` or, after a crash, at
    /// the next start.
    /// - Throws: `notRunning`.
    public func beginSession() throws(DataSamplerError) { _ = try running().core.analytics.beginSession() }

    /// Ends the open session. Does nothing if there is none.
    /// - Throws: `notRunning`.
    public func endSession() throws(DataSamplerError) { try running().core.analytics.endSession() }
}
