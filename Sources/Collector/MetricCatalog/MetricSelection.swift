import FoundationEssentials
import WireModel

/// Some metrics, chosen once and then read from many samples: the catalog is not searched again for each.
package struct MetricSelection: Sendable {
    /// The names asked for.
    package let names: Set<String>
    /// Kinds of records that may carry them.
    package let kinds: Set<WireRecordKind>

    private let system: [CatalogEntry<WireSystemSample>]
    private let analytics: [CatalogEntry<WireAnalyticsSample>]
    private let networkData: [CatalogEntry<WireNetworkDataSample>]
    private let networkAdapter: [CatalogEntry<WireNetworkAdapterSample>]
    private let wlan: [CatalogEntry<WireWLANSample>]
    private let gps: [CatalogEntry<WireGPSSample>]

    /// - Parameters:
    ///   - names: names of built-in samples' metrics, and any others: those are looked for in custom samples.
    ///   - withCustom: whether custom samples are read for built-in names too: a program may have used one for its own
    ///     measurement.
    package init(_ names: Set<String>, withCustom: Bool = false) {
        self.names = names
        func chosen<Sample: CatalogedSample>(_ type: Sample.Type) -> [CatalogEntry<Sample>] {
            Sample.metricCatalog.filter { names.contains($0.metric.name) }
        }
        system = chosen(WireSystemSample.self)
        analytics = chosen(WireAnalyticsSample.self)
        networkData = chosen(WireNetworkDataSample.self)
        networkAdapter = chosen(WireNetworkAdapterSample.self)
        wlan = chosen(WireWLANSample.self)
        gps = chosen(WireGPSSample.self)
        var kinds: Set<WireRecordKind> = []
        if !system.isEmpty { kinds.insert(.sampleSystem) }
        if !analytics.isEmpty { kinds.insert(.sampleAnalytics) }
        if !networkData.isEmpty { kinds.insert(.sampleNetworkData) }
        if !networkAdapter.isEmpty { kinds.insert(.sampleNetworkAdapter) }
        if !wlan.isEmpty { kinds.insert(.sampleWlan) }
        if !gps.isEmpty { kinds.insert(.sampleGps) }
        if withCustom || names.contains(where: { MetricCatalog.definitions[$0] == nil }) { kinds.insert(.sampleCustom) }
        self.kinds = kinds
    }

    /// The chosen metrics of a stored sample, and the time since the previous sample if the sample states it.
    /// - Throws: what decoding the body throws.
    package func read(kind: WireRecordKind, body: Data) throws(WireError) -> (
        points: [MetricPoint], intervalMicroseconds: UInt64?
    ) {
        switch kind {
        case .sampleSystem:
            let sample = try WireSystemSample.decodeBody(body)
            return (points(system, sample), sample.hasIntervalMicroseconds ? sample.intervalMicroseconds : nil)
        case .sampleAnalytics:
            let sample = try WireAnalyticsSample.decodeBody(body)
            return (points(analytics, sample), sample.hasIntervalMicroseconds ? sample.intervalMicroseconds : nil)
        case .sampleNetworkData:
            let sample = try WireNetworkDataSample.decodeBody(body)
            return (points(networkData, sample), sample.hasIntervalMicroseconds ? sample.intervalMicroseconds : nil)
        case .sampleNetworkAdapter: return (points(networkAdapter, try WireNetworkAdapterSample.decodeBody(body)), nil)
        case .sampleWlan: return (points(wlan, try WireWLANSample.decodeBody(body)), nil)
        case .sampleGps: return (points(gps, try WireGPSSample.decodeBody(body)), nil)
        case .sampleCustom:
            return (
                try WireCustomSample.decodeBody(body).metricPoints(metric: nil).filter {
                    names.contains($0.definition.name)
                }, nil
            )
        case .unspecified, .beacon, .commandResult, .event, .UNRECOGNIZED: return ([], nil)
        }
    }

    private func points<Sample: CatalogedSample>(_ entries: [CatalogEntry<Sample>], _ sample: Sample) -> [MetricPoint] {
        var points: [MetricPoint] = []
        for entry in entries {
            entry.read(sample) { value, attributes in
                points.append(MetricPoint(definition: entry.metric, attributes: attributes, value: value))
            }
        }
        return points
    }
}
