// Written by Tools/generate-wire from Schemas/wire/v1. Do not edit.
import WireModel

extension Definitions {
    static let ws1_app_launches = MetricDefinition(
        name: "ws1.app.launches", unit: "{launch}", kind: .deltaCounter,
        description: "Launches of the application")
    static let ws1_app_sessions = MetricDefinition(
        name: "ws1.app.sessions", unit: "{session}", kind: .deltaCounter,
        description: "Sessions begun")
    static let ws1_app_use = MetricDefinition(
        name: "ws1.app.use", unit: "s", kind: .deltaCounter,
        description: "Time in use")
    static let ws1_app_events = MetricDefinition(
        name: "ws1.app.events", unit: "{event}", kind: .deltaCounter,
        description: "Analytics events by outcome")
    static let ws1_app_sample_interval = MetricDefinition(
        name: "ws1.app.sample.interval", unit: "s", kind: .gauge,
        description: "Time since the previous analytics sample")
}

extension WireAnalyticsSample: CatalogedSample {
    package static let metricCatalog = entries()

    private static func entries() -> [CatalogEntry<WireAnalyticsSample>] {
        var entries: [CatalogEntry<WireAnalyticsSample>] = []
        entries.append(
            CatalogEntry(field: "launches", metric: Definitions.ws1_app_launches) { sample, emit in
                emit(Double(sample.launches), [:], nil)
            })
        entries.append(
            CatalogEntry(field: "sessions", metric: Definitions.ws1_app_sessions) { sample, emit in
                emit(Double(sample.sessions), [:], nil)
            })
        entries.append(
            CatalogEntry(field: "use_microseconds", metric: Definitions.ws1_app_use) { sample, emit in
                emit(Double(sample.useMicroseconds) / 1_000_000, [:], nil)
            })
        entries.append(
            CatalogEntry(field: "events_recorded", metric: Definitions.ws1_app_events) { sample, emit in
                emit(Double(sample.eventsRecorded), ["ws1.app.event.outcome": .text("recorded")], nil)
            })
        entries.append(
            CatalogEntry(field: "events_sent", metric: Definitions.ws1_app_events) { sample, emit in
                emit(Double(sample.eventsSent), ["ws1.app.event.outcome": .text("sent")], nil)
            })
        entries.append(
            CatalogEntry(field: "events_held", metric: Definitions.ws1_app_events) { sample, emit in
                emit(Double(sample.eventsHeld), ["ws1.app.event.outcome": .text("held")], nil)
            })
        entries.append(
            CatalogEntry(field: "events_dropped", metric: Definitions.ws1_app_events) { sample, emit in
                emit(Double(sample.eventsDropped), ["ws1.app.event.outcome": .text("dropped")], nil)
            })
        entries.append(
            CatalogEntry(field: "interval_microseconds", metric: Definitions.ws1_app_sample_interval) { sample, emit in
                if sample.hasIntervalMicroseconds {
                    emit(Double(sample.intervalMicroseconds) / 1_000_000, [:], nil)
                }
            })
        return entries
    }

    package var sampleInterval: UInt64? {
        hasIntervalMicroseconds ? intervalMicroseconds : nil
    }
}
