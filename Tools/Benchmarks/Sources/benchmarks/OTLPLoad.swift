import Dispatch
import Foundation
import Gzip
import OTLP
import SwiftProtobuf
import Synchronization

/// Senders of OTLP that send at the same time, each batch after the former is answered.
struct OTLPLoad: Sendable {
    static let itemsPerBatch = 1000

    /// Of all senders together.
    let items: Int
    let bytesPerItem: Int
    let compressedBytesPerItem: Int
    /// One batch of each sender.
    private let requests: [[UInt8]]
    private let batchesPerSender: Int

    init(_ signal: OTLPSignal, items: Int, senders: Int, token: String) throws {
        batchesPerSender = max(1, items / senders / Self.itemsPerBatch)
        self.items = batchesPerSender * senders * Self.itemsPerBatch
        let compressor = try GzipCompressor()
        var (raw, compressed) = (0, 0)
        requests = try (0..<senders).map { sender in
            var generator = SplitMix(state: UInt64(sender + 1))
            let body: Data =
                switch signal {
                case .logs: try Self.logs(sender, &generator).serializedData()
                case .metrics: try Self.metrics(sender, &generator).serializedData()
                }
            let packed = try compressor.compress(body)
            (raw, compressed) = (raw + body.count, compressed + packed.count)
            let headers = [
                ("Authorization", "Bearer \(token)"), ("Content-Type", OTLPEncoding.protobuf.contentType),
                ("Content-Encoding", "gzip"),
            ]
            return HTTPConnection.request("POST", signal.path, headers: headers, body: packed)
        }
        bytesPerItem = raw / senders / Self.itemsPerBatch
        compressedBytesPerItem = compressed / senders / Self.itemsPerBatch
    }

    func itemsPerSecond(port: UInt16) throws -> Double {
        let failures = Mutex<[String]>([])
        let seconds = Stopwatch.seconds {
            let group = DispatchGroup()
            for request in requests {
                group.enter()
                // A thread each: they block, as many as there are senders.
                Thread {
                    do { try send(request, over: HTTPConnection(port: port)) } catch {
                        failures.withLock { $0.append("\(error)") }
                    }
                    group.leave()
                }.start()
            }
            group.wait()
        }
        if let failure = failures.withLock({ $0.first }) { throw BenchmarkError(failure) }
        return Double(items) / seconds
    }

    private func send(_ request: [UInt8], over connection: HTTPConnection) throws {
        for _ in 0..<batchesPerSender {
            let response = try connection.send(request)
            // Partial success would have a body.
            guard response.status == 200, response.body.isEmpty else {
                throw BenchmarkError("OTLP is answered \(response.status) with \(response.body.count) bytes")
            }
        }
    }

    private static func text(_ key: String, _ value: String) -> OTLPKeyValue {
        .with {
            $0.key = key
            $0.value.stringValue = value
        }
    }

    private static func resource(_ sender: Int) -> OTLPResource {
        .with {
            $0.attributes = [
                text("host.id", "benchmark-\(sender)"), text("service.name", "checkout"),
                text("service.version", "2.14.0"),
            ]
        }
    }

    /// As a web server writes them with an SDK: a line of text with attributes and the identifiers of a trace.
    private static func logs(_ sender: Int, _ generator: inout SplitMix) -> OTLPLogsRequest {
        var records: [OTLPLogRecord] = []
        for number in 0..<itemsPerBatch {
            let time = UInt64(Date().timeIntervalSince1970 * 1e9) + UInt64(number) * 1_000_000
            let order = UInt32.random(in: 0 ... .max, using: &generator)
            let record = OTLPLogRecord.with {
                $0.timeUnixNano = time
                $0.observedTimeUnixNano = time + 20_000
                $0.severityNumber = .info
                $0.severityText = "INFO"
                $0.body.stringValue = "order \(order) accepted, payment is handed to the next service"
                $0.attributes = [
                    text("http.request.method", "POST"), text("url.path", "/orders/\(order)/payment"),
                    text("client.address", "10.1.\(order % 250).\(order % 199)"),
                    text("user_agent.original", "shop/5.2 (Linux)"),
                ]
                $0.traceID = Data((0..<16).map { _ in UInt8.random(in: 0...255, using: &generator) })
                $0.spanID = Data((0..<8).map { _ in UInt8.random(in: 0...255, using: &generator) })
            }
            records.append(record)
        }
        return .with {
            $0.resourceLogs = [
                .with {
                    $0.resource = resource(sender)
                    $0.scopeLogs = [.with { $0.logRecords = records }]
                }
            ]
        }
    }

    /// Fifty metrics with twenty series each, half of them cumulative sums.
    private static func metrics(_ sender: Int, _ generator: inout SplitMix) -> OTLPMetricsRequest {
        let time = UInt64(Date().timeIntervalSince1970 * 1e9)
        let metrics = (0..<50).map { metric in
            let points = (0..<itemsPerBatch / 50).map { series in
                OTLPNumberPoint.with {
                    $0.startTimeUnixNano = time - 3_600_000_000_000
                    $0.timeUnixNano = time
                    $0.asDouble = Double.random(in: 0..<1e6, using: &generator)
                    $0.attributes = [text("http.route", "/route/\(series)"), text("server.port", "8080")]
                }
            }
            return OTLPMetric.with {
                $0.name = "http.server.metric_\(metric)"
                $0.unit = "By"
                if metric.isMultiple(of: 2) {
                    $0.gauge.dataPoints = points
                } else {
                    $0.sum.dataPoints = points
                    $0.sum.isMonotonic = true
                    $0.sum.aggregationTemporality = .cumulative
                }
            }
        }
        return .with {
            $0.resourceMetrics = [
                .with {
                    $0.resource = resource(sender)
                    $0.scopeMetrics = [.with { $0.metrics = metrics }]
                }
            ]
        }
    }
}
