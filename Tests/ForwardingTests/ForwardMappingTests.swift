import CollectorTunables
import Foundation
import MetricCatalog
import OTLP
import RecordStore
import Registry
import SwiftProtobuf
import Testing
import WireModel

@testable import Forwarding
@testable import LogArchive

@Suite struct ForwardMappingTests {
    private static func logs(
        _ records: [StoredRecord], _ endpoint: ForwardEndpoint = ForwardEndpoint(), devices: [DeviceID: DeviceRow] = [:]
    ) throws -> OTLPLogsRequest {
        var (mapping, request) = (ForwardMapping(endpoint, devices: 10), ForwardRequest(.logs))
        #expect(request.add(records.entries, limit: .max, of: devices, &mapping) { _ in true } == records.count)
        var body = try OTLPLogsRequest(serializedBytes: request.body)
        // What a receiver that keeps to the protocol would reject.
        #expect(body.removeForbidden().rejected == 0)
        return body
    }

    private static func metrics(
        _ records: [StoredRecord], _ endpoint: ForwardEndpoint = ForwardEndpoint()
    ) throws -> OTLPMetricsRequest {
        var (mapping, request) = (ForwardMapping(endpoint, devices: 10), ForwardRequest(.metrics))
        #expect(request.add(records.entries, limit: .max, of: [:], &mapping) { _ in true } == records.count)
        var body = try OTLPMetricsRequest(serializedBytes: request.body)
        #expect(body.removeForbidden().rejected == 0)
        return body
    }

    private static func text(_ attributes: [OTLPKeyValue], _ key: String) -> String? {
        attributes.first { $0.key == key }?.value.stringValue
    }

    @Test func `An event is a log record with its name, its value, its attributes and our uid`() throws {
        let request = try Self.logs([try Records.event("sale", number: 7)])
        let group = try #require(request.resourceLogs.first)
        #expect(Self.text(group.resource.attributes, "service.instance.id") == Records.device.description)
        #expect(Self.text(group.resource.attributes, "service.name") == "ws1agent")
        let log = try #require(group.scopeLogs.first?.logRecords.first)
        #expect(log.eventName == "sale" && log.body.intValue == 42)
        #expect(log.timeUnixNano == UInt64(Records.time) * 1000)
        #expect(log.observedTimeUnixNano == UInt64(Records.time + 1_000_000) * 1000)
        #expect(Self.text(log.attributes, "shop") == "north")
        let uid = try #require(Self.text(log.attributes, "log.record.uid"))
        #expect(
            ItemKey(uid: uid)
                == ItemKey(device: Records.device, epoch: Records.epoch, stream: .event, number: 7))
    }

    @Test func `Our attributes stand in place of a program's of the same name, and a long name is cut`() throws {
        var event = WireEvent()
        event.type = .custom
        event.name = String(repeating: "é", count: 300)
        event.attributes["log.record.uid"] = WireValue.with { $0.text = "mine" }
        event.attributes["session.id"] = WireValue.with { $0.text = "mine" }
        event.sessionID = Data(repeating: 7, count: 16)
        event.succeeded = true
        event.durationMicroseconds = 1500
        let request = try Self.logs([try Records.stored(.event, event.encoded)])
        let log = try #require(request.resourceLogs.first?.scopeLogs.first?.logRecords.first)
        #expect(log.eventName.unicodeScalars.count == 256)
        #expect(Self.text(log.attributes, "log.record.uid")?.hasPrefix("ws1:") == true)
        #expect(Self.text(log.attributes, "session.id")?.hasPrefix("07070707") == true)
        #expect(log.attributes.first { $0.key == "ws1.event.duration" }?.value.intValue == 1500)
        #expect(log.attributes.first { $0.key == "ws1.event.succeeded" }?.value.boolValue == true)
    }

    @Test func `A beacon is an event that has what the device said, without its push token`() throws {
        var beacon = WireBeacon()
        beacon.deviceName = "till-7"
        beacon.deviceCompliance = .compliant
        beacon.pushToken.token = "s3cret"
        let record = try Records.stored(.beacon, beacon.encoded, stream: .status)
        let log = try #require(try Self.logs([record]).resourceLogs.first?.scopeLogs.first?.logRecords.first)
        #expect(log.eventName == "ws1.beacon")
        let members = Dictionary(
            uniqueKeysWithValues: log.body.kvlistValue.values.map { ($0.key, $0.value.stringValue) })
        #expect(members["deviceName"] == "till-7" && members["deviceCompliance"] == "compliant")
        #expect(try log.serializedData().range(of: Data("s3cret".utf8)) == nil)
        #expect(Self.text(log.attributes, "log.record.uid")?.contains(":status:") == true)
    }

    @Test func `Counters are cumulative since their start, which stays the same from sample to sample`() throws {
        let boot = BootID(high: 9, low: 9)
        func sample(_ seconds: Int64, jitter: Int64) throws -> StoredRecord {
            var sample = WireSystemSample()
            sample.uptimeSeconds = 100
            sample.intervalMicroseconds = 60_000_000
            sample.activity.processesCreated = 5
            sample.activity.processesCreatedSinceBoot = 1000
            return try Records.stored(
                .sampleSystem, sample.encoded, stream: .sample, number: UInt64(seconds), module: "system",
                time: Records.time + seconds * 1_000_000 + jitter, boot: boot,
                sinceBoot: UInt64(1000 + seconds) * 1_000_000)
        }
        let request = try Self.metrics([
            try sample(1, jitter: 0), try sample(61, jitter: 40_000), try sample(121, jitter: -30_000),
        ])
        let scope = try #require(request.resourceMetrics.first?.scopeMetrics.first)
        #expect(scope.scope.name == "ws1.system")
        let uptime = scope.metrics.filter { $0.name == "system.uptime" }
        #expect(uptime.count == 3 && uptime.allSatisfy { $0.gauge.dataPoints.first?.asDouble == 100 && $0.unit == "s" })
        let totals = scope.metrics.filter { $0.name == "system.process.created" }
        #expect(totals.count == 3)
        let starts = Set(totals.flatMap(\.sum.dataPoints).map(\.startTimeUnixNano))
        let start = UInt64(Records.time - 1_000_000_000) * 1000
        #expect(starts == [start])
        #expect(totals.allSatisfy { $0.sum.isMonotonic && $0.sum.aggregationTemporality == .cumulative })
        for metric in scope.metrics where MetricCatalog.definitions[metric.name]?.kind == .deltaCounter {
            #expect(metric.sum.aggregationTemporality == .delta)
            for point in metric.sum.dataPoints {
                #expect(point.timeUnixNano - point.startTimeUnixNano == 60_000_000_000)
            }
        }
    }

    @Test func `Only the chosen metrics go, by name or beginning`() throws {
        var sample = WireCustomSample()
        for name in ["till.sales", "till.voids", "other"] {
            sample.measurements.append(
                WireMeasurement.with {
                    ($0.name, $0.unit) = (name, "1")
                    $0.value.real = 1.5
                })
        }
        let record = try Records.stored(.sampleCustom, sample.encoded, stream: .sample, module: "till")
        func names(_ patterns: [String]) throws -> [String] {
            var endpoint = ForwardEndpoint()
            endpoint.metrics = patterns
            return try Self.metrics([record], endpoint).resourceMetrics.flatMap(\.scopeMetrics).flatMap(\.metrics)
                .map(\.name)
        }
        #expect(try names([]) == ["till.sales", "till.voids", "other"])
        #expect(try names(["till.*"]) == ["till.sales", "till.voids"])
        #expect(try names(["other", "none"]) == ["other"])
        #expect(try names(["none"]).isEmpty)
    }

    @Test func `What came as OTLP goes on as it came, and a uid of its own stays`() throws {
        var context = OTLPResourceLogs()
        context.schemaURL = "https://schemas.example/1"
        context.resource.attributes = [OTLPKeyValue("host.id", "till-7")]
        context.scopeLogs = [OTLPScopeLogs.with { $0.scope.name = "shop" }]
        var first = OTLPLogRecord()
        first.body.stringValue = "hello"
        first.traceID = Data(repeating: 1, count: 16)
        var second = first
        second.attributes = [OTLPKeyValue("log.record.uid", "foreign")]
        let bytes: Data = try context.serializedBytes()
        let request = try Self.logs([
            try Records.stored(.otlpLog, try first.serializedData(), number: 2, context: bytes),
            try Records.stored(.otlpLog, try second.serializedData(), number: 3, context: bytes),
        ])
        #expect(request.resourceLogs.count == 1)
        let group = try #require(request.resourceLogs.first)
        #expect(group.schemaURL == context.schemaURL && group.resource == context.resource)
        #expect(group.scopeLogs.first?.scope.name == "shop")
        let logs = try #require(group.scopeLogs.first?.logRecords)
        #expect(logs.map { Self.text($0.attributes, "log.record.uid")?.prefix(4) } == ["ws1:", "fore"])
        #expect(logs[1] == second)
        #expect(logs[0].body == first.body && logs[0].traceID == first.traceID)
    }

    @Test func `Points that came as OTLP keep their scope and their form`() throws {
        var context = OTLPResourceMetrics()
        context.resource.attributes = [OTLPKeyValue("host.id", "till-7")]
        context.scopeMetrics = [OTLPScopeMetrics.with { $0.scope.name = "shop" }]
        var metrics = OTLPScopeMetrics()
        metrics.metrics = [
            OTLPMetric.with {
                $0.name = "latency"
                $0.exponentialHistogram.aggregationTemporality = .delta
                $0.exponentialHistogram.dataPoints = [
                    OTLPExponentialPoint.with {
                        ($0.timeUnixNano, $0.count, $0.zeroCount) = (5, 2, 2)
                    }
                ]
            }
        ]
        let request = try Self.metrics([
            try Records.stored(
                .otlpMetrics, try metrics.serializedData(), stream: .sample, context: try context.serializedData())
        ])
        let group = try #require(request.resourceMetrics.first)
        #expect(group.resource == context.resource && group.scopeMetrics.first?.scope.name == "shop")
        var sent = try #require(group.scopeMetrics.first?.metrics)
        let uid = try #require(Self.text(sent[0].metadata, "ws1.record.uid"))
        #expect(
            ItemKey(uid: uid)
                == ItemKey(device: Records.device, epoch: Records.epoch, stream: .sample, number: 1))
        sent[0].metadata = []
        #expect(sent == metrics.metrics)
    }

    private static func row(
        _ number: UInt64, _ level: LogLevel, category: String?, text: String, metadata: String = "",
        unformatted: String? = nil, type: LogType? = .application
    ) -> LogLineRow {
        LogLineRow(
            id: LogLineID(
                time: Records.time, device: Records.device, epoch: LogEpochID(high: 7, low: 8), number: number),
            level: level, category: category, text: text, metadata: metadata, unformatted: unformatted, isCut: false,
            chunk: 1, application: "com.example.till", type: type, ring: false, test: false,
            receivedAt: Records.time + 5)
    }

    @Test func `A log line is a log record as it was written, with its category as the scope`() throws {
        let rows = [
            Self.row(
                1_000_001, .warning, category: "pay", text: #"a\\b\nc"#,
                metadata: #"user=j\n severity=NOTICE log.record.uid=x"#,
                unformatted: "at main\nat start\n"),
            Self.row(1_000_002, .verbose, category: nil, text: "plain", type: .crash),
            Self.row(1_000_003, .error, category: "pay", text: ""),
        ]
        var (mapping, request) = (ForwardMapping(ForwardEndpoint(), devices: 10), ForwardRequest(.logs))
        #expect(request.add(rows.map { .line($0) }[...], limit: .max, of: [:], &mapping) { _ in true } == 3)
        var body = try OTLPLogsRequest(serializedBytes: request.body)
        #expect(body.removeForbidden().rejected == 0)
        let group = try #require(body.resourceLogs.first)
        #expect(body.resourceLogs.count == 1 && group.scopeLogs.map(\.scope.name) == ["pay", ""])
        #expect(Self.text(group.resource.attributes, "service.name") == "com.example.till")
        let (first, third) = (group.scopeLogs[0].logRecords[0], group.scopeLogs[0].logRecords[1])
        #expect(first.body.stringValue == "a\\b\nc\nat main\nat start")
        #expect(first.severityNumber == .warn && first.severityText == "NOTICE" && third.severityNumber == .error)
        #expect(first.timeUnixNano == UInt64(Records.time) * 1000)
        #expect(first.observedTimeUnixNano == UInt64(Records.time + 5) * 1000)
        #expect(first.attributes.map(\.key) == ["log.record.uid", "user", "ws1.log.type"])
        #expect(Self.text(first.attributes, "user") == "j\n")
        let uid = try #require(Self.text(first.attributes, "log.record.uid"))
        #expect(
            ItemKey(uid: uid)
                == ItemKey(device: Records.device, logEpoch: LogEpochID(high: 7, low: 8), line: 1_000_001))
        #expect(ItemKey(uid: uid).number == 1_000_001, "lines of one log have keys in a row")
        let second = group.scopeLogs[1].logRecords[0]
        #expect(second.severityNumber == .debug && Self.text(second.attributes, "ws1.log.type") == "crash")
    }

    @Test func `A line that came to the agent as OTLP has its severity, trace and span again`() throws {
        let trace = "0af7651916cd43dd8448eb211c80319c"
        let log = OTLPLogRecord(
            Self.row(
                1, .error, category: "shop", text: "failed",
                metadata: "severityNumber=21 traceID=\(trace) spanID=b7ad6b7169203331"))
        #expect(log.severityNumber == .fatal && log.attributes.map(\.key) == ["log.record.uid", "ws1.log.type"])
        #expect(log.traceID.hexadecimal == trace && log.spanID.hexadecimal == "b7ad6b7169203331")
        // What is none stays an attribute.
        let other = OTLPLogRecord(
            Self.row(
                1, .error, category: nil, text: "", metadata: "severityNumber=25 traceID=+1 spanID=0000000000000000"))
        #expect(other.severityNumber == .error && other.traceID.isEmpty && other.spanID.isEmpty)
        #expect(Set(["severityNumber", "traceID", "spanID"]).isSubset(of: other.attributes.map(\.key)))
    }

    @Test func `Devices, programs and test data have resources of their own`() throws {
        let other = DeviceID(high: 5, low: 6)
        let event = try Records.event("a").bytes
        let body = try #require(RecordHeader(scanning: event)).body(of: event)
        let request = try Self.logs([
            try Records.stored(.event, body), try Records.stored(.event, body, application: "com.example.till"),
            try Records.stored(.event, body, test: true), try Records.stored(.event, body, device: other),
            try Records.stored(.event, body, number: 2),
        ])
        #expect(request.resourceLogs.count == 4)
        #expect(request.resourceLogs[0].scopeLogs[0].logRecords.count == 2)
        #expect(Self.text(request.resourceLogs[1].resource.attributes, "service.name") == "com.example.till")
        #expect(request.resourceLogs[2].resource.attributes.contains { $0.key == "ws1.test" && $0.value.boolValue })
        #expect(Self.text(request.resourceLogs[3].resource.attributes, "device.id") == other.description)
    }

    @Test func `Records that cannot be read are counted, and kinds that are not chosen are left out`() throws {
        var endpoint = ForwardEndpoint()
        endpoint.kinds = [.beacons]
        var (mapping, request) = (ForwardMapping(endpoint, devices: 10), ForwardRequest(.logs))
        let records = [
            try Records.event("a"), try Records.stored(.beacon, Data([0xFF, 0xFF]), stream: .status),
            try Records.stored(.otlpLog, Data(), context: nil),
        ]
        #expect(request.add(records.entries, limit: .max, of: [:], &mapping) { _ in true } == 3)
        #expect(request.items == 0 && request.unreadable == 1)
    }

    @Test func `A request is full at a number of items and of bytes, and one large record goes alone`() throws {
        var small = WireEvent()
        (small.type, small.name) = (.custom, "a")
        let one = try Records.stored(.event, small.encoded)
        var (mapping, request) = (ForwardMapping(ForwardEndpoint(), devices: 10), ForwardRequest(.logs))
        let many = Array(repeating: one, count: Tunables.Forwarding.itemsPerRequest + 5)
        #expect(
            request.add(many.entries, limit: .max, of: [:], &mapping) { _ in true }
                == Tunables.Forwarding.itemsPerRequest)
        var event = WireEvent()
        event.type = .custom
        event.value.text = String(repeating: "x", count: 200_000)
        let large = Array(repeating: try Records.stored(.event, event.encoded), count: 40)
        var second = ForwardRequest(.logs)
        let count = second.add(large.entries, limit: .max, of: [:], &mapping) { _ in true }
        #expect(count == Tunables.Forwarding.bytesPerRequest / 200_400)
        var limited = ForwardRequest(.logs)
        #expect(limited.add(large.entries, limit: 3, of: [:], &mapping) { _ in true } == 3)
    }

    @Test func `Starts that differ by more than clocks do are counters of their own, and a new boot forgets them`() {
        var starts = StartTimes(devices: 2)
        let (one, boot) = (DeviceID.random(), BootID(high: 1, low: 1))
        let first = starts.start(of: one, boot: boot, computed: 10_400_000)
        #expect(first == 10_000_000)
        #expect(starts.start(of: one, boot: boot, computed: 12_900_000) == first)
        #expect(starts.start(of: one, boot: boot, computed: 20_000_000) == 20_000_000)
        #expect(starts.start(of: one, boot: boot, computed: 8_000_000) == first)
        #expect(starts.start(of: one, boot: BootID(high: 2, low: 2), computed: 11_700_000) == 11_000_000)
        #expect(starts.start(of: .random(), boot: boot, computed: -1_500_000) == -2_000_000)
    }
}
