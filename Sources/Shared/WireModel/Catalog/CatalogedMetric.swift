/// A metric of the catalog with the kind of sample that gives it.
package struct CatalogedMetric: Sendable, Hashable {
    package let definition: MetricDefinition
    package let kind: WireRecordKind

    /// All there are, by name; those of custom samples come with the samples.
    package static let all: [CatalogedMetric] = {
        let all =
            of(WireSystemSample.self, .sampleSystem) + of(WireAnalyticsSample.self, .sampleAnalytics)
            + of(WireNetworkDataSample.self, .sampleNetworkData) + of(WireNetworkAdapterSample.self, .sampleNetworkAdapter)
            + of(WireWLANSample.self, .sampleWlan) + of(WireGPSSample.self, .sampleGps)
        return all.sorted { ($0.definition.name, $0.kind.rawValue) < ($1.definition.name, $1.kind.rawValue) }
    }()

    private static func of<Sample: CatalogedSample>(_ type: Sample.Type, _ kind: WireRecordKind) -> [CatalogedMetric] {
        var seen: Set<String> = []
        return Sample.metricCatalog.map(\.metric).filter { seen.insert($0.name).inserted }
            .map { CatalogedMetric(definition: $0, kind: kind) }
    }
}
