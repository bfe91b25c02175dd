/// Which metric each numeric field of a sample is: the one place for charts, OTLP and Prometheus.
///
/// A test compares it with telemetry.proto, so that no field is forgotten.
package enum MetricCatalog {
    /// All metrics of a System sample, field by field.
    package static let system: [CatalogEntry<WireSystemSample>] =
        systemProcessor + systemActivity + systemMemory + systemStorage + systemHardware + systemProcess

    /// Numeric fields and truth values that are attributes of their neighbours' metrics. (All cores together have the number 0 and no such attribute.)
    package static let systemAttributeFields: [String: String] = [
        "cores.number": "cpu.logical_number", "cpu.number": "cpu.logical_number",
        "file_systems.read_only": "system.filesystem.mode",
    ]

    /// The metric points of a decoded sample.
    ///
    /// - Parameter metric: only the metric of that name; `nil` for all.
    package static func points(of sample: WireSystemSample, metric: String? = nil) -> [MetricPoint] {
        system.filter { metric == nil || $0.metric.name == metric }.flatMap { $0.points(of: sample) }
    }

    /// The definitions of a System sample's metrics by name, each once.
    package static let systemDefinitions: [String: MetricDefinition] = Dictionary(
        system.map { ($0.metric.name, $0.metric) }, uniquingKeysWith: { first, _ in first })
}
