import Foundation
import OTLP
import SwiftProtobuf

/// Requests with something in every kind of field.
enum Sample {
    static let time: UInt64 = 1_700_000_000_000_000_000
    static let trace = Data(1...16)
    static let span = Data(1...8)

    static func value(_ change: (inout OTLPAnyValue) -> Void) -> OTLPAnyValue {
        var value = OTLPAnyValue()
        change(&value)
        return value
    }

    static func attribute(_ key: String, _ text: String = "x") -> OTLPKeyValue {
        attribute(key, value { $0.stringValue = text })
    }

    static func attribute(_ key: String, _ value: OTLPAnyValue) -> OTLPKeyValue {
        var attribute = OTLPKeyValue()
        attribute.key = key
        attribute.value = value
        return attribute
    }

    static var record: OTLPLogRecord {
        var record = OTLPLogRecord()
        record.timeUnixNano = time
        record.severityNumber = .warn
        record.body.stringValue = "text \"with\" \\ and é"
        record.traceID = trace
        record.spanID = span
        record.attributes = [
            attribute("bytes", value { $0.bytesValue = Data([0, 255, 254]) }),
            attribute("number", value { $0.intValue = .min }),
            attribute("list", value { $0.arrayValue.values = [value { $0.boolValue = true }, OTLPAnyValue()] }),
        ]
        return record
    }

    static func logs(_ records: [OTLPLogRecord]) -> OTLPLogsRequest {
        var request = OTLPLogsRequest()
        request.resourceLogs = [OTLPResourceLogs()]
        request.resourceLogs[0].resource.attributes = [attribute("host.id", "sample")]
        request.resourceLogs[0].scopeLogs = [OTLPScopeLogs()]
        request.resourceLogs[0].scopeLogs[0].scope.name = "scope"
        request.resourceLogs[0].scopeLogs[0].logRecords = records
        return request
    }

    static var logs: OTLPLogsRequest { logs([record, OTLPLogRecord()]) }

    static var point: OTLPNumberPoint {
        var point = OTLPNumberPoint()
        point.timeUnixNano = time
        point.asInt = 7
        point.attributes = [attribute("a")]
        return point
    }

    static var exemplar: OTLPExemplar {
        var exemplar = OTLPExemplar()
        exemplar.asDouble = 1.5
        exemplar.traceID = trace
        exemplar.spanID = span
        return exemplar
    }

    static var histogramPoint: OTLPHistogramPoint {
        var point = OTLPHistogramPoint()
        point.timeUnixNano = time
        point.count = 6
        point.sum = 4.5
        point.bucketCounts = [1, 2, 3]
        point.explicitBounds = [0.5, 1]
        return point
    }

    static var exponentialPoint: OTLPExponentialPoint {
        var point = OTLPExponentialPoint()
        point.timeUnixNano = time
        point.count = 10
        point.zeroCount = 1
        point.scale = -3
        point.positive.offset = -5
        point.positive.bucketCounts = [1, 0, 3]
        point.negative.bucketCounts = [5]
        return point
    }

    static var summaryPoint: OTLPSummaryPoint {
        var point = OTLPSummaryPoint()
        point.timeUnixNano = time
        point.count = 2
        point.sum = 3
        point.quantileValues = [0, 0.5, 1].map { quantile in
            var value = OTLPSummaryPoint.ValueAtQuantile()
            value.quantile = quantile
            value.value = -1
            return value
        }
        return point
    }

    static func metric(_ change: (inout OTLPMetric) -> Void) -> OTLPMetric {
        var metric = OTLPMetric()
        metric.name = "metric"
        change(&metric)
        return metric
    }

    static func gauge(_ points: [OTLPNumberPoint]) -> OTLPMetric { metric { $0.gauge.dataPoints = points } }

    static func sum(_ points: [OTLPNumberPoint], _ temporality: OTLPTemporality = .delta) -> OTLPMetric {
        metric {
            $0.sum.dataPoints = points
            $0.sum.aggregationTemporality = temporality
        }
    }

    static func histogram(_ points: [OTLPHistogramPoint], _ temporality: OTLPTemporality = .delta) -> OTLPMetric {
        metric {
            $0.histogram.dataPoints = points
            $0.histogram.aggregationTemporality = temporality
        }
    }

    static func exponential(_ points: [OTLPExponentialPoint], _ temporality: OTLPTemporality = .delta) -> OTLPMetric {
        metric {
            $0.exponentialHistogram.dataPoints = points
            $0.exponentialHistogram.aggregationTemporality = temporality
        }
    }

    static func summary(_ points: [OTLPSummaryPoint]) -> OTLPMetric { metric { $0.summary.dataPoints = points } }

    static func metrics(_ metrics: [OTLPMetric]) -> OTLPMetricsRequest {
        var request = OTLPMetricsRequest()
        request.resourceMetrics = [OTLPResourceMetrics()]
        request.resourceMetrics[0].resource.attributes = [attribute("host.id", "sample")]
        request.resourceMetrics[0].scopeMetrics = [OTLPScopeMetrics()]
        request.resourceMetrics[0].scopeMetrics[0].metrics = metrics
        return request
    }

    static var metrics: OTLPMetricsRequest {
        var withExemplar = point
        withExemplar.exemplars = [exemplar]
        return metrics([
            gauge([point]), sum([withExemplar], .cumulative), histogram([histogramPoint]),
            exponential([exponentialPoint]), summary([summaryPoint]),
        ])
    }

    /// OTLP's JSON of a message, made from Protobuf's: identifiers as hex, enums as numbers.
    static func json(of message: some Message) -> [UInt8] {
        var options = JSONEncodingOptions()
        options.alwaysPrintEnumsAsInts = true
        guard let text = try? message.jsonString(options: options) else { preconditionFailure() }
        return Array(
            text.replacing("\"\(trace.base64EncodedString())\"", with: "\"0102030405060708090a0B0C0D0E0F10\"")
                .replacing("\"\(span.base64EncodedString())\"", with: "\"0102030405060708\"").utf8)
    }

    static func deepProtobuf(_ lists: Int) -> [UInt8] {
        var record = OTLPLogRecord()
        record.body = deepValue(lists)
        var options = BinaryEncodingOptions()
        options.useDeterministicOrdering = true
        guard let bytes: [UInt8] = try? logs([record]).serializedBytes(options: options) else { preconditionFailure() }
        return bytes
    }

    private static func deepValue(_ lists: Int) -> OTLPAnyValue {
        (0..<lists).reduce(value { $0.stringValue = "deep" }) { inner, _ in value { $0.arrayValue.values = [inner] } }
    }

    static func deepJSON(_ lists: Int) -> [UInt8] {
        let value =
            String(repeating: #"{"arrayValue":{"values":["#, count: lists) + #"{"stringValue":"deep"}"#
            + String(repeating: "]}}", count: lists)
        return Array(#"{"resourceLogs":[{"scopeLogs":[{"logRecords":[{"body":\#(value)}]}]}]}"#.utf8)
    }
}
