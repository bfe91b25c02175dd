import Foundation
import MetricCatalog
import OTLP
import RecordStore
import SwiftProtobuf
import WireModel

/// Data points of OTLP as values that series are made of: those of gauges and sums. A histogram or summary is no single
/// value; the list of what came shows it.
enum OTLPPoints {
    /// The points of some metrics in a stored record, each with its moment.
    /// - Returns: none for a record of another kind, or that cannot be decoded.
    static func read(_ record: StoredRecord, _ names: Set<String>) -> [(point: MetricPoint, moment: SampleMoment)] {
        guard record.header.kind == WireRecordKind.otlpMetrics.rawValue,
            let body = try? OTLPScopeMetrics(serializedBytes: record.header.body(of: record.bytes))
        else { return [] }
        var found: [(point: MetricPoint, moment: SampleMoment)] = []
        for metric in body.metrics where names.contains(metric.name) {
            let (kind, isDelta, points): (MetricDefinition.Kind, Bool, [OTLPNumberPoint]) =
                switch metric.data {
                case .gauge(let gauge): (.gauge, false, gauge.dataPoints)
                case .sum(let sum) where sum.aggregationTemporality == .delta: (.deltaCounter, true, sum.dataPoints)
                case .sum(let sum): (sum.isMonotonic ? .cumulativeCounter : .upDownCounter, false, sum.dataPoints)
                default: (.gauge, false, [])
                }
            for point in points {
                guard let value = point.number else { continue }
                let made = MetricPoint(
                    metric: metric.name, unit: metric.unit, kind: kind, description: metric.description_p,
                    attributes: point.attributes.metricAttributes, value: value)
                found.append((made, SampleMoment(point, isDelta: isDelta, of: record.header)))
            }
        }
        return found
    }
}

extension SampleMoment {
    /// A sum says when it began. That stands for the machine's start: sums with one start are compared with each other,
    /// and nothing is guessed over a reset.
    fileprivate init(_ point: OTLPNumberPoint, isDelta: Bool, of header: RecordHeader) {
        let start = point.startTimeUnixNano
        let elapsed = point.timeUnixNano >= start ? (point.timeUnixNano - start) / 1000 : 0
        self.init(
            // What a collector numbered has this time in its envelope; what a device took in has that of the device.
            time: Int64(point.timeUnixNano / 1000), bootID: start > 0 ? BootID(high: 0, low: start) : nil,
            timeSinceBoot: elapsed,
            module: header.module, application: header.application, interval: isDelta && start > 0 ? elapsed : nil)
    }
}

extension OTLPNumberPoint {
    fileprivate var number: Double? {
        guard !hasNoRecordedValue else { return nil }
        return switch value {
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
