import Foundation
import HTTPTypes
import HummingbirdTesting
import NIOCore
import Testing
import WireModel

@testable import Collector
@testable import RecordStore

@Suite("/metrics")
struct MetricsRoutesTests {
    /// Lines without comments.
    private static func metrics(_ client: any TestClientProtocol, as token: String) async throws -> [String] {
        let response = try await client.send(.get, "/metrics", bearer: token)
        #expect(
            response.status == .ok && response.headers[.contentType]?.hasPrefix("text/plain; version=0.0.4") == true)
        return String(buffer: response.body).split(separator: "\n").map(String.init)
    }

    @Test func `Requests, problems and parts are counted`() async throws {
        let harness = Harness()
        try await harness.route { client in
            let device = try await harness.enrolledDevice()
            var events = ChainBuilder(stream: .event)
            let request = [events.events(["a", "b"])].request
            for _ in 0..<2 { _ = try await client.post(WireNames.batchesPath, bearer: device.credential, request) }
            _ = try await client.send(.get, "/api/v1/devices/\(device.id)", bearer: "wrong")
            _ = try await client.send(.get, "/nowhere")
            let lines = try await Self.metrics(client, as: "administrator-all")
            for line in [
                #"ws1_http_requests_total{code="200",method="POST",route="/api/v1/batches"} 2"#,
                #"ws1_http_requests_total{code="401",method="GET",route="/api/v1/devices/{device}"} 1"#,
                #"ws1_http_requests_total{code="404",method="GET",route="none"} 1"#,
                #"ws1_ingest_parts_total{outcome="already",stream="event"} 1"#,
                #"ws1_ingest_parts_total{outcome="stored",stream="event"} 1"#,
                #"ws1_ingest_body_bytes_total{form="inflated"} \#(request.count * 2)"#, "ws1_ingest_bodies 0",
                "ws1_store_ready 1",
                #"ws1_http_request_duration_seconds_count{method="POST",route="/api/v1/batches"} 2"#,
            ] {
                #expect(lines.contains(line), "\(line)")
            }
            #expect(lines.contains { $0.hasPrefix("ws1_problems_total{code=\"") })
            #expect(lines.contains { $0.hasPrefix("process_resident_memory_bytes ") && !$0.hasSuffix(" 0") })
        }
    }

    /// A name without help is one that nobody has written down.
    @Test func `Every name is declared once and has help`() async throws {
        #expect(Set(CollectorMetrics.families.map(\.name)).count == CollectorMetrics.families.count)
        let harness = Harness()
        try await harness.route { client in
            let lines = try await Self.metrics(client, as: "administrator-all")
            let typed = Set(lines.filter { $0.hasPrefix("# TYPE ") }.map { $0.split(separator: " ")[2] })
            let helped = Set(lines.filter { $0.hasPrefix("# HELP ") }.map { $0.split(separator: " ")[2] })
            #expect(typed == helped && typed.count > 10)
        }
    }

    @Test func `People of one organization do not see the metrics`() async throws {
        let harness = Harness()
        try await harness.route { client in
            let statuses = [
                try await client.send(.get, "/metrics", bearer: "administrator-default").status,
                try await client.send(.get, "/metrics").status,
            ]
            #expect(statuses == [.forbidden, .unauthorized])
        }
    }

    /// Prometheus sees no increase of a series that begins above zero, so an alert would miss the first loss.
    @Test func `What alerts ask for is reported before it first happens`() {
        let text = CollectorTelemetry().registry.exposition()
        for stream in StreamName.allCases {
            #expect(text.contains("ws1_ingest_records_total{fate=\"lost\",stream=\"\(stream)\"} 0\n"))
            #expect(text.contains("ws1_ingest_parts_total{outcome=\"identity-conflict\",stream=\"\(stream)\"} 0\n"))
        }
    }

    @Test func `Commits of the store are counted`() {
        let telemetry = CollectorTelemetry()
        var counts = StoreCounts()
        counts.stored = 7
        counts.lost = 2
        telemetry.metrics.committed(
            StoreCommit(stream: .sample, requests: 3, duration: .milliseconds(4), failure: nil, counts: counts))
        telemetry.metrics.committed(
            StoreCommit(stream: .sample, requests: 1, duration: .seconds(1), failure: .diskFull))
        let text = telemetry.registry.exposition()
        for line in [
            #"ws1_ingest_records_total{fate="stored",stream="sample"} 7"#,
            #"ws1_ingest_records_total{fate="lost",stream="sample"} 2"#,
            #"ws1_store_commit_failures_total{reason="disk-full",stream="sample"} 1"#,
            #"ws1_store_commit_duration_seconds_bucket{stream="sample",le="0.005"} 1"#,
            #"ws1_store_commit_requests_sum{stream="sample"} 4"#,
        ] {
            #expect(text.contains(line + "\n"), "\(line)")
        }
    }
}
