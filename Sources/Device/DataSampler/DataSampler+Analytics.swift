extension DataSampler {
    /// Records a usage event, as ``recordEvent(_:eventName:eventValue:attributes:durability:)`` does one of the application's own.
    ///
    /// - Parameters:
    ///   - usage: what happened.
    ///   - attributes: up to 64, each name 1 to 128 bytes; name and attributes together up to 240 KiB.
    ///   - durability: as for the application's own events.
    /// - Throws: `invalidEvent`, `analyticsDisabled`, `notRunning`, `queueFull` (counted as dropped), `queue`.
    public func recordUsage(
        _ usage: UsageEvent, attributes: [String: EventValue] = [:], durability: Durability = .ordinary
    ) async throws(DataSamplerError) {
        _ = try await record(AnalyticsEvent(usage, attributes: attributes), durability: durability)
    }

    /// Begins a session: a person uses the application now. Its time counts as time in use until it ends, on a clock that no setting of
    /// the wall clock changes; suspend counts.
    ///
    /// While one is open that one goes on. A session ends with ``endSession()``, with ``stop()``, or, after a crash, at the next start.
    /// - Throws: `notRunning`.
    public func beginSession() throws(DataSamplerError) { _ = try running().core.analytics.beginSession() }

    /// Ends the open session; harmless where there is none.
    /// - Throws: `notRunning`.
    public func endSession() throws(DataSamplerError) { try running().core.analytics.endSession() }
}
