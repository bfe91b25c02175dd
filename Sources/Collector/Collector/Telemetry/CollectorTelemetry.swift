/// What the collector tells of itself: what is counted, and where it is told from. One for each server; made before its store.
package struct CollectorTelemetry: Sendable {
    package let registry: PrometheusRegistry
    package let metrics: CollectorMetrics

    package init() {
        registry = PrometheusRegistry(CollectorMetrics.families)
        metrics = CollectorMetrics(registry)
    }
}
