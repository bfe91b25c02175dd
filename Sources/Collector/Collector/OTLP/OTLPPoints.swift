import Foundation
import MetricCatalog
import OTLP
import RecordStore
import SwiftProtobuf
import WireModel

/// One point of a metric in a stored record.
struct RecordedPoint: Sendable {
    /// Of a histogram or a summary its value is the number of observations.
    var point: MetricPoint
    var moment: SampleMoment
    /// `nil` for a metric that is a number.
    var distribution: MetricDistribution?
}

extension MetricSelection {
    /// The kinds of records that may have the metrics. A resource of OTLP has metrics of any name.
    var recordKinds: Set<Int> { Set(kinds.map(\.rawValue)).union([WireRecordKind.otlpMetrics.rawValue]) }

    /// The chosen metrics in a stored record, a sample or points of OTLP.
    /// - Returns: none for a record of another kind, and for a malformed body: that is shown in the list of samples.
    func points(of record: StoredRecord) -> [RecordedPoint] {
        guard let kind = WireRecordKind(rawValue: record.header.kind) else { return [] }
        if kind == .otlpMetrics { return OTLPPoints.read(record, names) }
        guard let found = try? read(kind: kind, body: record.header.body(of: record.bytes)) else { return [] }
        let moment = SampleMoment(record.header, interval: found.intervalMicroseconds)
        return found.points.map { RecordedPoint(point: $0, moment: moment) }
    }
}

/// Data points of OTLP, of all kinds, as series are made of them.
enum OTLPPoints {
    /// The points of some metrics in a stored record.
    /// - Returns: none for a record of another kind, or that cannot be decoded.
    static func read(_ record: StoredRecord, _ names: Set<String>) -> [RecordedPoint] {
        guard record.header.kind == WireRecordKind.otlpMetrics.rawValue else { return [] }
        let metrics = metrics(in: record.header.body(of: record.bytes), names)
        if metrics.isEmpty { return [] }
        let origin = OTLPOrigin(record)
        return metrics.flatMap { metric -> [RecordedPoint] in
            func points<Point: OTLPDataPoint>(
                _ points: [Point], _ kind: MetricDefinition.Kind, start: (Point) -> UInt64,
                value: (Point) -> (Double, MetricDistribution?)?
            ) -> [RecordedPoint] {
                points.compactMap { point in
                    guard !point.hasNoRecordedValue, let (number, distribution) = value(point) else { return nil }
                    let isDelta = [.deltaCounter, .deltaHistogram].contains(kind)
                    return RecordedPoint(
                        point: MetricPoint(
                            metric: metric.name, unit: metric.unit, kind: kind, description: metric.description_p,
                            attributes: point.attributes.metricAttributes, value: number),
                        moment: SampleMoment(
                            start: start(point), time: point.timeUnixNano, isDelta: isDelta, of: record.header, origin),
                        distribution: distribution)
                }
            }
            func of(_ distribution: MetricDistribution) -> (Double, MetricDistribution?) {
                (Double(distribution.count), distribution)
            }
            switch metric.data {
            case .gauge(let gauge):
                return points(gauge.dataPoints, .gauge, start: \.startTimeUnixNano) { $0.number.map { ($0, nil) } }
            case .sum(let sum):
                let kind: MetricDefinition.Kind =
                    sum.aggregationTemporality == .delta
                    ? .deltaCounter : sum.isMonotonic ? .cumulativeCounter : .upDownCounter
                return points(sum.dataPoints, kind, start: \.startTimeUnixNano) { $0.number.map { ($0, nil) } }
            case .histogram(let data):
                let kind: MetricDefinition.Kind =
                    data.aggregationTemporality == .delta ? .deltaHistogram : .cumulativeHistogram
                return points(data.dataPoints, kind, start: \.startTimeUnixNano) { of(MetricDistribution($0)) }
            case .exponentialHistogram(let data):
                let kind: MetricDefinition.Kind =
                    data.aggregationTemporality == .delta ? .deltaHistogram : .cumulativeHistogram
                return points(data.dataPoints, kind, start: \.startTimeUnixNano) { of(MetricDistribution($0)) }
            case .summary(let data):
                return points(data.dataPoints, .summary, start: \.startTimeUnixNano) { of(MetricDistribution($0)) }
            case nil: return []
            }
        }
    }

    /// The metrics of these names in a `ScopeMetrics`. A record has many, so the others are not decoded.
    private static func metrics(in body: Data, _ names: Set<String>) -> [OTLPMetric] {
        body.withUnsafeBytes { bytes in
            var (scanner, found) = (ProtobufScanner(bytes), [OTLPMetric]())
            while let (number, value) = scanner.next() {
                guard number == 2, case .bytes(let range) = value else { continue }
                let metric = UnsafeRawBufferPointer(rebasing: bytes[range])
                guard names.contains(name(of: metric)),
                    let decoded = try? OTLPMetric(serializedBytes: Data(metric))
                else { continue }
                found.append(decoded)
            }
            return found
        }
    }

    /// The name is the first field.
    private static func name(of metric: UnsafeRawBufferPointer) -> String {
        var scanner = ProtobufScanner(metric)
        guard let (number, value) = scanner.next(), number == 1, case .bytes(let range) = value else { return "" }
        return String(decoding: metric[range], as: UTF8.self)
    }
}

/// Who among the programs of a resource of OTLP gives a metric.
struct OTLPOrigin: Hashable, Sendable {
    /// `service.instance.id`; empty if the resource does not say it.
    var instance = ""
    /// The instrumentation scope, which is mostly a library.
    var scope = ""
    var scopeVersion = ""

    init() {}

    /// - Parameter record: with its context.
    init(_ record: StoredRecord) {
        guard let context = record.context, let group = try? OTLPResourceMetrics(serializedBytes: context) else {
            return
        }
        if case .stringValue(let text)? = group.resource.attributes.first(where: { $0.key == "service.instance.id" })?
            .value.value
        {
            instance = text
        }
        scope = group.scopeMetrics.first?.scope.name ?? ""
        scopeVersion = group.scopeMetrics.first?.scope.version ?? ""
    }
}

extension SampleMoment {
    /// A sum says when it began. That stands for the machine's start: sums with one start are compared with each other,
    /// and nothing is guessed over a reset.
    /// - Parameters:
    ///   - start: when the point's metric began, in nanoseconds since 1970; 0 if the sender does not say it.
    ///   - time: of the point.
    fileprivate init(start: UInt64, time: UInt64, isDelta: Bool, of header: RecordHeader, _ origin: OTLPOrigin) {
        let elapsed = time >= start ? (time - start) / 1000 : 0
        self.init(
            // What a collector numbered has this time in its envelope; what a device took in has that of the device.
            time: Int64(clamping: time / 1000), bootID: start > 0 ? BootID(high: 0, low: start) : nil,
            timeSinceBoot: elapsed, module: header.module, application: header.application, origin: origin,
            interval: isDelta && start > 0 ? elapsed : nil)
    }
}

extension MetricDistribution {
    fileprivate init(_ point: OTLPHistogramPoint) {
        self.init(
            count: point.count, sum: point.hasSum ? point.sum : nil, minimum: point.hasMin ? point.min : nil,
            maximum: point.hasMax ? point.max : nil)
        if !point.bucketCounts.isEmpty {
            buckets = .explicit(bounds: point.explicitBounds, counts: point.bucketCounts)
        }
    }

    fileprivate init(_ point: OTLPExponentialPoint) {
        self.init(
            count: point.count, sum: point.hasSum ? point.sum : nil, minimum: point.hasMin ? point.min : nil,
            maximum: point.hasMax ? point.max : nil)
        func counts(_ buckets: OTLPExponentialPoint.Buckets) -> [Int: UInt64] {
            Dictionary(
                uniqueKeysWithValues: buckets.bucketCounts.enumerated().filter { $1 > 0 }.map {
                    (Int(buckets.offset) + $0, $1)
                })
        }
        buckets = .exponential(
            Exponential(
                // No number, or a negative one, says nothing.
                scale: point.scale, zeroThreshold: point.zeroThreshold > 0 ? point.zeroThreshold : 0,
                zero: point.zeroCount,
                positive: counts(point.positive), negative: counts(point.negative)))
    }

    fileprivate init(_ point: OTLPSummaryPoint) {
        self.init(count: point.count, sum: point.sum, isSummary: true)
        quantiles = point.quantileValues.map { Quantile(share: $0.quantile, value: $0.value) }
    }
}

extension OTLPNumberPoint {
    fileprivate var number: Double? {
        switch value {
        case .asInt(let value): Double(value)
        case .asDouble(let value): value
        case nil: nil
        }
    }
}

extension [OTLPKeyValue] {
    fileprivate var metricAttributes: MetricAttributes {
        MetricAttributes(
            map { attribute in
                let value: AttributeValue =
                    switch attribute.value.value {
                    case .stringValue(let text): .text(text)
                    case .intValue(let integer): .integer(integer)
                    case .boolValue(let flag): .boolean(flag)
                    case .doubleValue(let number): .text("\(number)")
                    default: .text((try? attribute.value.jsonString()) ?? "")
                    }
                return (attribute.key, value)
            }, uniquingKeysWith: { first, _ in first })
    }
}
