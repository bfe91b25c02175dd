import FoundationEssentials

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

    /// The metric points of a decoded sample of any kind.
    ///
    /// - Parameter metric: only the metric of that name; `nil` for all.
    package static func points<Sample: CatalogedSample>(of sample: Sample, metric: String? = nil) -> [MetricPoint] {
        Sample.metricCatalog.filter { metric == nil || $0.metric.name == metric }.flatMap { $0.points(of: sample) }
    }

    /// The metric points of a sample as it is stored; none for a record that is no sample, or of a later version.
    ///
    /// - Throws: what decoding the body throws.
    package static func points(ofKind kind: WireRecordKind, body: Data, metric: String? = nil) throws(WireError) -> [MetricPoint] {
        switch kind {
        case .sampleSystem: points(of: try WireSystemSample.decode(body), metric: metric)
        case .sampleAnalytics: points(of: try WireAnalyticsSample.decode(body), metric: metric)
        case .sampleNetworkData: points(of: try WireNetworkDataSample.decode(body), metric: metric)
        case .sampleNetworkAdapter: points(of: try WireNetworkAdapterSample.decode(body), metric: metric)
        case .sampleWlan: points(of: try WireWLANSample.decode(body), metric: metric)
        case .sampleGps: points(of: try WireGPSSample.decode(body), metric: metric)
        case .sampleCustom: try WireCustomSample.decode(body).metricPoints(metric: metric)
        case .unspecified, .beacon, .commandResult, .event, .UNRECOGNIZED: []
        }
    }

    /// The definitions of all built-in samples' metrics by name, each once. Those of custom samples come with the samples.
    package static let definitions: [String: MetricDefinition] = {
        let all =
            system.map(\.metric) + analytics.map(\.metric) + networkData.map(\.metric) + networkAdapter.map(\.metric)
            + wlan.map(\.metric) + gps.map(\.metric)
        return Dictionary(all.map { ($0.name, $0) }, uniquingKeysWith: { first, _ in first })
    }()
}
