extension MetricCatalog {
    /// What the application's own use is: all numbers count since the sample before.
    package static let analytics: [CatalogEntry<WireAnalyticsSample>] = [
        CatalogEntry("launches", "ws1.app.launches", "{launch}", .deltaCounter, "Launches of the application") { Double($0.launches) },
        CatalogEntry("sessions", "ws1.app.sessions", "{session}", .deltaCounter, "Sessions begun") { Double($0.sessions) },
        CatalogEntry("use_microseconds", "ws1.app.use", "s", .deltaCounter, "Time in use") { Double($0.useMicroseconds) / 1_000_000 },
        events("recorded") { $0.eventsRecorded },
        events("sent") { $0.eventsSent },
        events("held") { $0.eventsHeld },
        events("dropped") { $0.eventsDropped },
        CatalogEntry(
            "interval_microseconds", "ws1.app.sample.interval", "s", .gauge, "Time since the analytics sample before"
        ) { $0.hasIntervalMicroseconds ? Double($0.intervalMicroseconds) / 1_000_000 : nil },
    ]

    private static func events(
        _ outcome: String, _ read: @escaping @Sendable (WireAnalyticsSample) -> UInt64
    ) -> CatalogEntry<WireAnalyticsSample> {
        CatalogEntry(
            "events_\(outcome)", "ws1.app.events", "{event}", .deltaCounter, "Analytics events by what became of them",
            ["ws1.app.event.outcome": outcome]
        ) { Double(read($0)) }
    }
}
