import Foundation
import OTLP
import SwiftProtobuf
import Testing

@Suite struct OTLPRequestTests {
    @Test(arguments: [
        ("application/x-protobuf", OTLPEncoding.protobuf), ("application/json", .json),
        ("Application/JSON; charset=utf-8", .json), ("application/x-protobuf ;a=b", .protobuf),
        ("application/protobuf", nil), ("application/jsonp", nil), ("text/plain", nil), ("", nil),
    ])
    func `The type of a body says its encoding`(type: String, encoding: OTLPEncoding?) {
        #expect(OTLPEncoding(contentType: type) == encoding)
    }

    @Test func `Both encodings give the same request`() throws {
        let request = Sample.logs
        #expect(try OTLPLogsRequest.decode(try request.serializedBytes(), as: .protobuf) == request)
        #expect(try OTLPLogsRequest.decode(Sample.json(of: request), as: .json) == request)
        let metrics = Sample.metrics
        #expect(try OTLPMetricsRequest.decode(try metrics.serializedBytes(), as: .protobuf) == metrics)
        #expect(try OTLPMetricsRequest.decode(Sample.json(of: metrics), as: .json) == metrics)
    }

    @Test func `A request cut at any byte is whole or malformed, never a crash`() throws {
        let bytes: [UInt8] = try Sample.metrics.serializedBytes()
        let json = Sample.json(of: Sample.metrics)
        for length in 0..<bytes.count {
            do { _ = try OTLPMetricsRequest.decode(Array(bytes.prefix(length)), as: .protobuf) } catch {
                #expect(error.code == .malformed, "\(length): \(error)")
            }
        }
        for length in 0..<json.count {
            let error = #expect(throws: OTLPError.self, "\(length)") {
                try OTLPMetricsRequest.decode(Array(json.prefix(length)), as: .json)
            }
            #expect(error?.code == .malformed)
        }
    }

    @Test func `A request with any bit flipped is decoded or malformed, never a crash`() throws {
        let bytes: [UInt8] = try Sample.logs.serializedBytes()
        for (form, whole) in [(OTLPEncoding.protobuf, bytes), (.json, Sample.json(of: Sample.logs))] {
            for place in whole.indices {
                for bit in 0..<8 {
                    var changed = whole
                    changed[place] ^= 1 << bit
                    do { _ = try OTLPLogsRequest.decode(changed, as: form) } catch {
                        #expect(error.code == .malformed, "\(form), byte \(place), bit \(bit): \(error)")
                    }
                }
            }
        }
    }

    @Test(arguments: OTLPEncoding.allCases) func `A body may have as many bytes as the limit`(form: OTLPEncoding) throws
    {
        let body =
            form == .json ? Sample.json(of: Sample.logs) : try Sample.logs.serializedBytes() as [UInt8]
        _ = try OTLPLogsRequest.decode(body, as: form, limits: OTLPLimits(bodyBytes: body.count))
        let error = #expect(throws: OTLPError.self) {
            try OTLPLogsRequest.decode(body, as: form, limits: OTLPLimits(bodyBytes: body.count - 1))
        }
        #expect(error?.code == .tooLarge)
        #expect(error?.message.contains("at most \(body.count - 1)") == true)
    }

    @Test(arguments: OTLPEncoding.allCases) func `A value may be nested as deep as the limit`(form: OTLPEncoding) throws
    {
        // Request, resource, scope, record, value: five, and two for each list.
        for (lists, isTaken) in [(0, true), (5, true), (6, false), (1000, false)] {
            let body = form == .json ? Sample.deepJSON(lists) : Sample.deepProtobuf(lists)
            let limits = OTLPLimits(depth: 15)
            if isTaken {
                let request = try OTLPLogsRequest.decode(body, as: form, limits: limits)
                #expect(request.resourceLogs[0].scopeLogs[0].logRecords[0].hasBody)
            } else {
                let error = #expect(throws: OTLPError.self, "\(lists)") {
                    try OTLPLogsRequest.decode(body, as: form, limits: limits)
                }
                #expect(error?.code == .malformed)
            }
        }
    }

    @Test(arguments: OTLPEncoding.allCases) func `Elements are counted before they are decoded`(form: OTLPEncoding)
        throws
    {
        var request = OTLPMetricsRequest()
        request.resourceMetrics = [.init()]
        request.resourceMetrics[0].scopeMetrics = [.init()]
        var metric = OTLPMetric()
        metric.exponentialHistogram.dataPoints = [.init()]
        metric.exponentialHistogram.dataPoints[0].positive.bucketCounts = [1, 300, 70_000]
        request.resourceMetrics[0].scopeMetrics[0].metrics = [metric]
        let body =
            form == .json ? Sample.json(of: request) : try request.serializedBytes() as [UInt8]
        // Resource, scope, metric, histogram, point, buckets and three counts. JSON has the request as one more.
        let elements = form == .json ? 10 : 9
        _ = try OTLPMetricsRequest.decode(body, as: form, limits: OTLPLimits(elements: elements))
        let error = #expect(throws: OTLPError.self) {
            try OTLPMetricsRequest.decode(body, as: form, limits: OTLPLimits(elements: elements - 1))
        }
        #expect(error?.code == .tooLarge)
    }

    @Test func `A small body of many empty messages is refused`() {
        let body = [UInt8](repeating: 0, count: 2_000_002).indices.map { $0.isMultiple(of: 2) ? UInt8(0x0a) : 0 }
        let error = #expect(throws: OTLPError.self) { try OTLPLogsRequest.decode(body, as: .protobuf) }
        #expect(error?.code == .tooLarge)
    }

    @Test func `Unknown fields stay with the message`() throws {
        var bytes: [UInt8] = try Sample.logs.serializedBytes()
        bytes += [0xf8, 0x06, 0x01]  // field 111, a number
        let request = try OTLPLogsRequest.decode(bytes, as: .protobuf)
        #expect(request.resourceLogs == Sample.logs.resourceLogs)
        #expect(try request.serializedBytes() as [UInt8] == bytes)
    }

    @Test func `Each signal has its path`() {
        #expect(OTLPSignal.logs.path == "/v1/logs")
        #expect(OTLPSignal.metrics.path == "/v1/metrics")
    }
}
