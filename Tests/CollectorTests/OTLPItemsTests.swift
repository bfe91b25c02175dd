import CollectorTunables
import Foundation
import OTLP
import RecordStore
import Registry
import SwiftProtobuf
import Testing
import WireModel

@testable import Collector

@Suite("Requests of OTLP as items") struct OTLPItemsTests {
    private static let now: Int64 = 1_760_000_000_000_000

    private static func resource(_ attributes: [String: String]) -> OTLPResource {
        var resource = OTLPResource()
        resource.attributes = attributes.sorted { $0.key < $1.key }.map { key, text in
            var attribute = OTLPKeyValue()
            attribute.key = key
            attribute.value.stringValue = text
            return attribute
        }
        return resource
    }

    private static func log(_ text: String, time: UInt64 = 5_000, uid: String? = nil) -> OTLPLogRecord {
        var record = OTLPLogRecord()
        record.timeUnixNano = time
        record.body.stringValue = text
        if let uid {
            var attribute = OTLPKeyValue()
            attribute.key = "log.record.uid"
            attribute.value.stringValue = uid
            record.attributes = [attribute]
        }
        return record
    }

    private static func group(_ resource: OTLPResource, _ scopes: [String: [OTLPLogRecord]]) -> OTLPResourceLogs {
        var group = OTLPResourceLogs()
        group.resource = resource
        group.schemaURL = "schema"
        group.scopeLogs = scopes.sorted { $0.key < $1.key }.map { name, records in
            var scope = OTLPScopeLogs()
            scope.scope.name = name
            scope.schemaURL = "of \(name)"
            scope.logRecords = records
            return scope
        }
        return group
    }

    private static func items(_ groups: [OTLPResourceLogs]) -> OTLPItems {
        var request = OTLPLogsRequest()
        request.resourceLogs = groups
        let tally = request.removeForbidden()
        return OTLPItems(request, tally, organization: "default", receivedAt: now)
    }

    private static func items(_ metrics: [OTLPMetric]) -> OTLPItems {
        var (request, group, scope) = (OTLPMetricsRequest(), OTLPResourceMetrics(), OTLPScopeMetrics())
        scope.scope.name = "meter"
        scope.metrics = metrics
        group.resource = resource(["host.id": "a"])
        group.scopeMetrics = [scope]
        request.resourceMetrics = [group]
        let tally = request.removeForbidden()
        return OTLPItems(request, tally, organization: "default", receivedAt: now)
    }

    private static func gauge(_ name: String, times: [UInt64], padding: Int = 0) -> OTLPMetric {
        var metric = OTLPMetric()
        metric.name = name
        metric.gauge.dataPoints = times.enumerated().map { number, time in
            var point = OTLPNumberPoint()
            point.timeUnixNano = time
            point.asInt = Int64(number)
            if padding > 0 {
                var attribute = OTLPKeyValue()
                attribute.key = "padding"
                attribute.value.stringValue = String(repeating: "x", count: padding)
                point.attributes = [attribute]
            }
            return point
        }
        return metric
    }

    private static func body(_ record: NewRecord) throws -> (header: RecordHeader, body: Data) {
        let bytes = record.serialized(number: 1)
        let header = try #require(RecordHeader(scanning: bytes))
        return (header, header.body(of: bytes))
    }

    @Test func `Resources that are one device share an entry, and each scope is a run with its context`() throws {
        let host = Self.resource(["host.id": "a", "service.name": "web"])
        let same = Self.resource(["host.id": "a", "service.name": "db"])
        let other = Self.resource(["host.id": "b"])
        let items = Self.items([
            Self.group(host, ["x": [Self.log("1"), Self.log("2")], "y": [Self.log("3")]]),
            Self.group(other, ["x": [Self.log("4")]]), Self.group(same, ["x": [Self.log("5")]]),
        ])
        #expect(items.entries.map(\.items) == [4, 1])
        #expect(items.entries[0].runs.map(\.items.count) == [2, 1, 1])
        #expect(Set(items.entries.map(\.device.id)).count == 2)
        let contexts = try items.entries[0].runs.map {
            try OTLPResourceLogs(serializedBytes: try Self.body($0.context).body)
        }
        #expect(contexts.map(\.resource) == [host, host, same])
        #expect(contexts.map(\.schemaURL) == ["schema", "schema", "schema"])
        #expect(contexts.map { $0.scopeLogs.map(\.scope.name) } == [["x"], ["y"], ["x"]])
        #expect(contexts.allSatisfy { $0.scopeLogs.allSatisfy { $0.logRecords.isEmpty } })
        let (header, body) = try Self.body(items.entries[0].runs[1].items[0].record)
        #expect(header.kind == WireRecordKind.otlpLog.rawValue && header.application == "web")
        #expect(try OTLPLogRecord(serializedBytes: body) == Self.log("3"))
        for entry in items.entries {
            #expect(
                UnnumberedItems(
                    device: entry.device.id, epoch: EpochID.random(), runs: entry.runs
                ).fault(in: .event) == nil)
        }
    }

    @Test func `The same resource in two organizations is two devices`() {
        let resource = Self.resource(["host.id": "a"])
        #expect(
            OTLPDevice(resource, organization: "default").id != OTLPDevice(resource, organization: "other").id)
        #expect(
            OTLPDevice(resource, organization: "default").id
                == OTLPDevice(Self.resource(["host.id": "a", "host.name": "n"]), organization: "default").id)
    }

    private static let times: [(UInt64, UInt64, Int64)] = [
        (5_999, 6_999, 5), (0, 6_999, 6), (0, 0, now), (.max, 1, 18_446_744_073_709_551),
    ]

    @Test(arguments: times)
    func `A record's time is its own, else the observed one, else the receipt`(
        time: UInt64, observed: UInt64, expected: Int64
    ) throws {
        var record = Self.log("x", time: time)
        record.observedTimeUnixNano = observed
        let items = Self.items([Self.group(Self.resource([:]), ["": [record]])])
        #expect(items.entries[0].runs[0].items[0].record.stamp.wallTime == expected)
        #expect(items.entries[0].runs[0].context.stamp.wallTime == expected)
    }

    @Test func `A uid becomes a key; other records have none`() {
        let items = Self.items([
            Self.group(Self.resource([:]), ["": [Self.log("1", uid: "u-1"), Self.log("2"), Self.log("3", uid: "")]])
        ])
        #expect(items.entries[0].runs[0].items.map(\.key) == [ItemKey(uid: "u-1"), nil, nil])
    }

    @Test func `What does not fit into a record is rejected, the rest stays`() {
        let large = String(repeating: "x", count: WireLimits.recordBytes)
        let items = Self.items([
            Self.group(Self.resource(["host.id": "a"]), ["x": [Self.log("1"), Self.log(large), Self.log("2")]]),
            Self.group(Self.resource(["host.id": "b", "large": large]), ["x": [Self.log("3"), Self.log("4")]]),
        ])
        #expect(items.filled.map(\.items) == [2])
        #expect(items.tally.rejected == 3 && items.tally.items == 5 && items.tally.count(of: .tooLarge) == 3)
        #expect(items.tally.message(.logs).contains("resource_logs[0].scope_logs[0]"))
    }

    @Test func `Points of one time share records of a bounded size, and none is lost`() throws {
        let times: [UInt64] = (0..<4000).map { 1_000_000 * ($0 % 3 + 1) }
        let items = Self.items([Self.gauge("a", times: times, padding: 50), Self.gauge("b", times: times)])
        #expect(items.tally.rejected == 0 && items.entries[0].items == 8000)
        var values: [String: [Int64]] = [:]
        for item in items.entries[0].runs[0].items {
            let (header, body) = try Self.body(item.record)
            #expect(item.record.byteCount <= Tunables.OTLP.recordBytes + 1024)
            #expect(header.kind == WireRecordKind.otlpMetrics.rawValue && item.key == nil)
            let metrics = try OTLPScopeMetrics(serializedBytes: body)
            #expect(!metrics.hasScope)
            for metric in metrics.metrics {
                #expect(metric.gauge.dataPoints.allSatisfy { $0.timeUnixNano / 1000 == UInt64(header.wallTime) })
                values[metric.name, default: []] += metric.gauge.dataPoints.map(\.asInt)
            }
        }
        #expect(values.mapValues { $0.sorted() } == ["a": Array(0..<4000), "b": Array(0..<4000)])
        #expect(items.entries[0].runs[0].items.count < 20)
    }

    @Test func `Each point of a metric with many times is a record, in a time that grows with them alone`() {
        let times: [UInt64] = (1...20_000).map { UInt64($0) * 1_000_000 }
        let items = Self.items((0..<5).map { Self.gauge("\($0)", times: times) })
        #expect(items.entries[0].items == 100_000)
        #expect(items.entries[0].runs[0].items.count == 20_000)
    }

    @Test func `A point that is larger than a record is rejected, and those beside it are kept`() {
        let items = Self.items([
            Self.gauge("small", times: [1_000]), Self.gauge("large", times: [1_000], padding: WireLimits.recordBytes),
            Self.gauge("small too", times: [1_000]),
        ])
        #expect(items.entries[0].items == 2 && items.tally.count(of: .tooLarge) == 1)
    }

    @Test func `All kinds of metrics keep what they say beside their points`() throws {
        var sum = OTLPMetric()
        (sum.name, sum.unit, sum.description_p) = ("sum", "By", "Bytes")
        var number = OTLPNumberPoint()
        (number.timeUnixNano, number.startTimeUnixNano, number.asDouble) = (2_000, 1_000, 1.5)
        sum.sum.aggregationTemporality = .delta
        sum.sum.isMonotonic = true
        sum.sum.dataPoints = [number]
        var histogram = OTLPMetric()
        histogram.name = "histogram"
        var buckets = OTLPHistogramPoint()
        (buckets.timeUnixNano, buckets.count, buckets.bucketCounts, buckets.explicitBounds) = (2_000, 3, [1, 2], [0.5])
        var exemplar = OTLPExemplar()
        (exemplar.asInt, exemplar.traceID) = (7, Data(repeating: 1, count: 16))
        buckets.exemplars = [exemplar]
        histogram.histogram.aggregationTemporality = .cumulative
        histogram.histogram.dataPoints = [buckets]
        var exponential = OTLPMetric()
        exponential.name = "exponential"
        var scaled = OTLPExponentialPoint()
        (scaled.timeUnixNano, scaled.count, scaled.scale, scaled.zeroCount) = (2_000, 4, -3, 1)
        (scaled.positive.offset, scaled.positive.bucketCounts) = (-2, [1, 2])
        exponential.exponentialHistogram.aggregationTemporality = .delta
        exponential.exponentialHistogram.dataPoints = [scaled]
        var summary = OTLPMetric()
        summary.name = "summary"
        var quantiles = OTLPSummaryPoint()
        (quantiles.timeUnixNano, quantiles.count, quantiles.sum) = (2_000, 1, 3)
        summary.summary.dataPoints = [quantiles]
        let sent = [sum, histogram, exponential, summary, Self.gauge("gauge", times: [2_000])]
        let items = Self.items(sent)
        #expect(items.tally.rejected == 0)
        let bodies = try items.entries[0].runs[0].items.map {
            try OTLPScopeMetrics(serializedBytes: try Self.body($0.record).body).metrics
        }
        #expect(bodies == [sent])
    }

    @Test func `Metrics that a collector of ours forwards have the key of their record, which is not kept`() throws {
        func metric(_ name: String, _ uid: String?, points: Int = 1) -> OTLPMetric {
            var metric = OTLPMetric()
            metric.name = name
            for number in 0..<points {
                var point = OTLPNumberPoint()
                point.timeUnixNano = 5_000
                point.asInt = Int64(number)
                metric.gauge.dataPoints.append(point)
            }
            if let uid {
                var pair = OTLPKeyValue()
                pair.key = "ws1.record.uid"
                pair.value.stringValue = uid
                metric.metadata = [pair]
            }
            return metric
        }
        let (device, epoch) = (DeviceID.random(), EpochID.random())
        func uid(_ number: UInt64) -> String {
            ItemKey.uid(device: device, epoch: epoch, stream: .sample, number: number)
        }
        var request = OTLPMetricsRequest()
        var scope = OTLPScopeMetrics()
        scope.metrics = [
            metric("a", uid(1)), metric("b", uid(1)), metric("a", uid(2)), metric("many", uid(3), points: 9000),
            metric("foreign", nil),
        ]
        var group = OTLPResourceMetrics()
        group.resource = Self.resource(["host.id": "h"])
        group.scopeMetrics = [scope]
        request.resourceMetrics = [group]
        func items(_ isForwarded: Bool) -> [UnnumberedItems.Item] {
            OTLPItems(
                request, OTLPTally(), organization: "default", receivedAt: Self.now, isForwarded: isForwarded
            ).entries.flatMap { $0.runs.flatMap(\.items) }
        }
        let kept = items(true)
        let keys = kept.map(\.key)
        #expect(keys.count > 5)
        #expect(keys.first == ItemKey(device: device, epoch: epoch, stream: .sample, number: 1))
        #expect(keys[1] == ItemKey(device: device, epoch: epoch, stream: .sample, number: 2))
        #expect(keys[2] == ItemKey(device: device, epoch: epoch, stream: .sample, number: 3))
        #expect(keys.last == .some(nil))
        // The parts of a large record have keys of their own, the same each time.
        #expect(Set(keys.compactMap(\.self)).count == keys.count - 1)
        #expect(items(true).map(\.key) == keys)
        let mark = Data("ws1.record.uid".utf8)
        for item in kept { #expect(item.record.serialized(number: 1).range(of: mark) == nil) }
        // Nobody else's word is taken for it.
        let others = items(false)
        #expect(others.allSatisfy { $0.key == nil })
        #expect(others[0].record.serialized(number: 1).range(of: mark) != nil)
    }
}
