import Foundation
import OTLP
import Testing

/// What the stock exporters of OpenTelemetry for Python sent, in both encodings and of the same data
/// (`Captured/capture.py`).
@Suite struct OTLPCapturedTests {
    private static func captured(_ name: String) throws -> [UInt8] {
        let folder = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "Captured")
        return Array(try Data(contentsOf: folder.appending(path: name)))
    }

    private static func both<Request: OTLPRequest & Equatable>(_ type: Request.Type) throws -> Request {
        let name = Request.signal.rawValue
        let binary = try Request.decode(try captured("\(name).pb"), as: .protobuf)
        let json = try Request.decode(try captured("\(name).json"), as: .json)
        #expect(binary == json)
        return binary
    }

    @Test func `Log records of a stock exporter are the same in both encodings, and all are good`() throws {
        var request = try Self.both(OTLPLogsRequest.self)
        let tally = request.removeForbidden()
        #expect(tally.items == 2)
        #expect(tally.message(.logs) == "")
        let records = request.resourceLogs[0].scopeLogs[0].logRecords
        #expect(records.map(\.timeUnixNano) == [1_700_000_000_123_456_789, 1_700_000_001_000_000_000])
        #expect(records[0].body.stringValue == "plain é 😀")
        #expect(records[0].severityNumber == .warn)
        #expect(records[0].traceID == Data(1...16))
        #expect(records[0].spanID == Data(0x11...0x18))
        #expect(records[0].attributes.first { $0.key == "int" }?.value.intValue == .min)
        #expect(records[0].attributes.first { $0.key == "bytes" }?.value.bytesValue == Data([0, 255]))
        #expect(records[1].eventName == "capture.event")
        #expect(OTLPResourceIdentity(request.resourceLogs[0].resource).rule == .host)
    }

    @Test func `Metrics of a stock exporter are the same in both encodings, and all are good`() throws {
        var request = try Self.both(OTLPMetricsRequest.self)
        let tally = request.removeForbidden()
        #expect(tally.items == 6)
        #expect(tally.message(.metrics) == "")
        let metrics = Dictionary(
            uniqueKeysWithValues: request.resourceMetrics[0].scopeMetrics[0].metrics.map { ($0.name, $0) })
        let requests = try #require(metrics["capture.requests"]).sum
        #expect(requests.aggregationTemporality == .cumulative)
        #expect(requests.isMonotonic)
        #expect(requests.dataPoints.map(\.asInt) == [3, 0])
        #expect(requests.dataPoints.map(\.asDouble) == [0, 4.5])
        #expect(requests.dataPoints[0].exemplars.map(\.traceID) == [Data(1...16)])
        #expect(try #require(metrics["capture.open"]).sum.dataPoints.map(\.asInt) == [-2])
        #expect(try #require(metrics["capture.temperature"]).gauge.dataPoints.map(\.asDouble) == [21.5])
        let latency = try #require(metrics["capture.latency"]).histogram.dataPoints[0]
        #expect(latency.count == 5)
        #expect(latency.max == 100_000)
        #expect(latency.bucketCounts.count == latency.explicitBounds.count + 1)
        let sizes = try #require(metrics["capture.sizes"]).exponentialHistogram.dataPoints[0]
        #expect(sizes.count == 5)
        #expect(sizes.zeroCount == 1)
        #expect(sizes.positive.bucketCounts.reduce(0, +) == 4)
    }
}
