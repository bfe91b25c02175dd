import FoundationEssentials
import SwiftProtobuf
import WireModel

/// The metric of each numeric field of a sample: the one place for charts, OTLP and Prometheus.
///
/// The options of telemetry.proto declare the metrics. `Generated/` has what follows from them.
package enum MetricCatalog {
    /// The metric points of a decoded sample of any kind.
    ///
    /// - Parameter metric: only the metric of that name; `nil` for all.
    package static func points<Sample: CatalogedSample>(of sample: Sample, metric: String? = nil) -> [MetricPoint] {
        Sample.metricCatalog.filter { metric == nil || $0.metric.name == metric }.flatMap { $0.points(of: sample) }
    }

    /// The metric points of a sample as it is stored; none for a record that is no sample, or of a later version.
    ///
    /// - Throws: what decoding the body throws.
    package static func points(ofKind kind: WireRecordKind, body: Data, metric: String? = nil) throws(WireError)
        -> [MetricPoint]
    {
        if kind == .sampleCustom { return try WireCustomSample.decodeBody(body).metricPoints(metric: metric) }
        guard let sample = kind.catalogedSample else { return [] }
        return try points(sample, body, metric)
    }

    private static func points<Sample: CatalogedSample>(
        _: Sample.Type, _ body: Data, _ metric: String?
    ) throws(WireError) -> [MetricPoint] {
        points(of: try Sample.decodeBody(body), metric: metric)
    }

    /// The definitions of all built-in samples' metrics by name, each once. Those of custom samples come with the
    /// samples.
    package static let definitions: [String: MetricDefinition] = {
        Dictionary(
            CatalogedMetric.all.map { ($0.definition.name, $0.definition) }, uniquingKeysWith: { first, _ in first })
    }()
}

/// A metric of the catalog with the kind of sample that gives it.
package struct CatalogedMetric: Sendable, Hashable {
    package let definition: MetricDefinition
    package let kind: WireRecordKind

    /// All there are, by name; those of custom samples come with the samples.
    package static let all: [CatalogedMetric] = {
        let all = WireRecordKind.modules.flatMap { module in
            module.kind.catalogedSample.map { of($0, module.kind) } ?? []
        }
        return all.sorted { ($0.definition.name, $0.kind.rawValue) < ($1.definition.name, $1.kind.rawValue) }
    }()

    private static func of<Sample: CatalogedSample>(_ type: Sample.Type, _ kind: WireRecordKind) -> [CatalogedMetric] {
        var seen: Set<String> = []
        return Sample.metricCatalog.map(\.metric).filter { seen.insert($0.name).inserted }
            .map { CatalogedMetric(definition: $0, kind: kind) }
    }
}

/// A sample message whose numeric fields the catalog knows.
package protocol CatalogedSample: Message {
    /// The meaning of each field.
    static var metricCatalog: [CatalogEntry<Self>] { get }
    /// Microseconds since the previous sample of the kind; `nil` if the sample does not state it.
    var sampleInterval: UInt64? { get }
}

extension WireCustomSample {
    /// The measurements that are numbers or truth values, under the names the application gave them.
    package func metricPoints(metric: String? = nil) -> [MetricPoint] {
        measurements.compactMap { measurement in
            guard metric == nil || measurement.name == metric, let number = measurement.value.number else { return nil }
            return MetricPoint(
                definition: MetricDefinition(
                    name: measurement.name, unit: measurement.unit, kind: .gauge, description: ""),
                attributes: measurement.attributes.mapValues(AttributeValue.text), value: number)
        }
    }
}

extension WireValue {
    /// `nil` for text and dates, which no chart adds up.
    fileprivate var number: Double? {
        switch value {
        case .integer(let value): Double(value)
        case .real(let value): value
        case .boolean(let value): value ? 1 : 0
        case .text, .date, nil: nil
        }
    }
}
