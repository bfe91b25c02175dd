import FoundationEssentials
import WireModel

/// Some metrics, chosen once and then read from many samples: the catalog is not searched again for each.
package struct MetricSelection: Sendable {
    /// The names asked for.
    package let names: Set<String>
    /// Kinds of records that may carry them.
    package let kinds: Set<WireRecordKind>

    /// The chosen metrics of built-in samples.
    private let chosen: [WireRecordKind: any ChosenMetrics]

    /// - Parameters:
    ///   - names: names of built-in samples' metrics, and any others: those are looked for in custom samples.
    ///   - withCustom: whether custom samples are read for built-in names too: a program may have used one for its own
    ///     measurement.
    package init(_ names: Set<String>, withCustom: Bool = false) {
        self.names = names
        var chosen: [WireRecordKind: any ChosenMetrics] = [:]
        for module in WireRecordKind.modules {
            guard let sample = module.kind.catalogedSample else { continue }
            let metrics = Self.metrics(of: sample, names)
            if !metrics.isEmpty { chosen[module.kind] = metrics }
        }
        self.chosen = chosen
        var kinds = Set(chosen.keys)
        if withCustom || names.contains(where: { MetricCatalog.definitions[$0] == nil }) { kinds.insert(.sampleCustom) }
        self.kinds = kinds
    }

    private static func metrics<Sample: CatalogedSample>(
        of _: Sample.Type, _ names: Set<String>
    ) -> any ChosenMetrics {
        MetricsOfSample(entries: Sample.metricCatalog.filter { names.contains($0.metric.name) })
    }

    /// The chosen metrics of a stored sample, and the time since the previous sample if the sample states it.
    /// - Throws: what decoding the body throws.
    package func read(kind: WireRecordKind, body: Data) throws(WireError) -> (
        points: [MetricPoint], intervalMicroseconds: UInt64?
    ) {
        if kind == .sampleCustom {
            let points = try WireCustomSample.decodeBody(body).metricPoints()
            return (points.filter { names.contains($0.definition.name) }, nil)
        }
        guard let metrics = chosen[kind] else { return ([], nil) }
        return try metrics.read(body)
    }
}

/// The chosen metrics of one kind of sample.
private protocol ChosenMetrics: Sendable {
    var isEmpty: Bool { get }
    func read(_ body: Data) throws(WireError) -> (points: [MetricPoint], intervalMicroseconds: UInt64?)
}

private struct MetricsOfSample<Sample: CatalogedSample>: ChosenMetrics {
    let entries: [CatalogEntry<Sample>]

    var isEmpty: Bool { entries.isEmpty }

    func read(_ body: Data) throws(WireError) -> (points: [MetricPoint], intervalMicroseconds: UInt64?) {
        let sample = try Sample.decodeBody(body)
        var points: [MetricPoint] = []
        for entry in entries {
            entry.read(sample) { value, attributes, counted in
                points.append(
                    MetricPoint(
                        definition: entry.metric, attributes: attributes, value: value, countedMicroseconds: counted))
            }
        }
        return (points, sample.sampleInterval)
    }
}
