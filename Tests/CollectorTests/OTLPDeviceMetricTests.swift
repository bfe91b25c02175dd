import Foundation
import HTTPTypes
import HummingbirdTesting
import NIOCore
import StoreTestKit
import TestKit
import Testing

@testable import Collector

/// Metrics of OTLP in the answer of `/metrics/devices`.
@Suite("Metrics of OTLP for Prometheus") struct OTLPDeviceMetricTests {
    private typealias Scene = OTLPScene

    private static func answer(_ client: any TestClientProtocol, _ headers: HTTPFields = [:]) async throws -> String {
        let response = try await client.send(.get, "/metrics/devices", bearer: "scraper-default", headers: headers)
        #expect(response.status == .ok)
        return String(buffer: response.body)
    }

    private static func lines(_ text: String, _ prefix: String) -> [String] {
        text.split(separator: "\n").filter { $0.hasPrefix(prefix) }.map(String.init)
    }

    /// Metrics of each kind, of one resource.
    private static func sendAll(_ scene: Scene, _ client: any TestClientProtocol, secondsOld: Int64 = 0) async throws {
        let time = scene.clock.now() / 1_000_000 - secondsOld
        func number(_ value: String) -> [String] {
            [Scene.point(start: time - 100, at: time, #""asDouble":\#(value)"#, shop: 7)]
        }
        let histogram =
            #""count":"6","sum":12.5,"explicitBounds":[0.5,2],"bucketCounts":["1","2","3"]"#
        let exponential = #""count":"1","scale":0,"zeroCount":"1""#
        func points(_ value: String) -> [String] { [Scene.point(start: time - 100, at: time, value)] }
        let monotonic = #""isMonotonic":true,"#
        try await scene.send(
            client, service: "shop", instance: "i1", scope: "lib",
            Scene.metric("room.temperature", "gauge", number("21.5"), unit: "Cel"),
            Scene.metric("queue.length", "sum", number("3"), more: Scene.cumulative, unit: "{item}"),
            Scene.metric("sent", "sum", number("9"), more: Scene.cumulative + monotonic, unit: "By"),
            Scene.metric("sent.now", "sum", number("9"), more: Scene.delta + monotonic, unit: "By"),
            Scene.metric("request.duration", "histogram", points(histogram), more: Scene.cumulative, unit: "s"),
            Scene.metric("request.delta", "histogram", points(histogram), more: Scene.delta, unit: "s"),
            Scene.metric("request.scaled", "exponentialHistogram", points(exponential), more: Scene.cumulative),
            Scene.metric(
                "poll", "summary", points(#""count":"4","sum":8,"quantileValues":[{"quantile":0.5,"value":2}]"#),
                unit: "s"))
    }

    private static let names = [
        "room.temperature", "queue.length", "sent", "sent.now", "request.duration", "request.delta", "request.scaled",
        "poll", "not.sent",
    ].map { "otlp:\($0)" }

    @Test func `Each kind has its form and its name, and what Prometheus cannot take is left out`() async throws {
        let scene = try await Scene(Self.names)
        try await scene.harness.route { client in
            try await Self.sendAll(scene, client)
            let text = try await Self.answer(client)
            let device = #"device_id="\#(try await Self.device(client))",device_name="a",organization="default""#
            let program = #"application="shop",otel_scope_name="lib",service_instance_id="i1""#
            func labels(_ more: String = "") -> String { "{\(device),\(program)\(more)}" }
            let shop = #",shop="7""#
            #expect(
                Self.lines(text, "room_") + Self.lines(text, "queue_") + Self.lines(text, "sent") == [
                    "room_temperature_celsius\(labels(shop)) 21.5", "queue_length\(labels(shop)) 3",
                    "sent_bytes_total\(labels(shop)) 9",
                ], "\(text)")
            #expect(
                Self.lines(text, "request_") == [
                    #"request_duration_seconds_bucket\#(labels(#",le="0.5""#)) 1"#,
                    #"request_duration_seconds_bucket\#(labels(#",le="2""#)) 3"#,
                    #"request_duration_seconds_bucket\#(labels(#",le="+Inf""#)) 6"#,
                    "request_duration_seconds_sum\(labels()) 12.5", "request_duration_seconds_count\(labels()) 6",
                ], "\(text)")
            #expect(
                Self.lines(text, "poll_") == [
                    #"poll_seconds\#(labels(#",quantile="0.5""#)) 2"#, "poll_seconds_sum\(labels()) 8",
                    "poll_seconds_count\(labels()) 4",
                ], "\(text)")
            for line in [
                "# TYPE room_temperature_celsius gauge", "# TYPE queue_length gauge", "# TYPE sent_bytes_total counter",
                "# TYPE request_duration_seconds histogram", "# TYPE poll_seconds summary",
            ] { #expect(text.contains("\(line)\n"), "\(line)") }
            // Three numbers, five samples of the histogram and three of the summary.
            #expect(text.contains(#"ws1_device_metrics_series{organization="default",state="shown"} 11"#), "\(text)")
        }
    }

    private static func device(_ client: any TestClientProtocol) async throws -> String {
        let devices = try await client.json("/api/v1/devices?state=otlp", bearer: "viewer-default")
        return try #require(devices.objects("items").first?.text("id"))
    }

    @Test func `Instances of a program on one machine are told apart, and the newest value of each is shown`()
        async throws
    {
        let scene = try await Scene(["otlp:m"])
        try await scene.harness.route { client in
            for (instance, value) in [("i1", 1), ("i2", 2), ("i1", 3)] {
                scene.clock.advance(seconds: 10)
                let time = scene.clock.now() / 1_000_000
                try await scene.send(
                    client, service: "shop", instance: instance,
                    Scene.metric("m", "gauge", [Scene.point(at: time, #""asInt":"\#(value)""#)], unit: "1"))
            }
            let found = Self.lines(try await Self.answer(client), "m_ratio{")
            #expect(found.count == 2)
            #expect(found.first?.hasSuffix(#"service_instance_id="i1"} 3"#) == true, "\(found)")
            #expect(found.last?.hasSuffix(#"service_instance_id="i2"} 2"#) == true, "\(found)")
            scene.clock.advance(seconds: 725)
            #expect(Self.lines(try await Self.answer(client), "m_ratio{").isEmpty)
        }
    }

    @Test func `A histogram is shown wholly or not at all`() async throws {
        let scene = try await Scene(["otlp:m", "otlp:n"], series: 10_000)
        try await scene.harness.route { client in
            let time = scene.clock.now() / 1_000_000
            let bounds = (1...97).map(String.init).joined(separator: ",")
            let counts = Array(repeating: #""1""#, count: 98).joined(separator: ",")
            let histogram = #""count":"98","sum":5,"explicitBounds":[\#(bounds)],"bucketCounts":[\#(counts)]"#
            // 100 series each. A device has room for 1,000, and the first in the order of names is a number.
            let points = (0..<12).map { Scene.point(start: time - 9, at: time, histogram, shop: $0) }
            try await scene.send(
                client, Scene.metric("n", "histogram", points, more: Scene.cumulative, unit: ""),
                Scene.metric("m", "gauge", [Scene.point(at: time, #""asInt":"1""#)], unit: ""))
            let text = try await Self.answer(client)
            #expect(Self.lines(text, "n_count{").count == 9 && Self.lines(text, "n_bucket{").count == 9 * 98)
            #expect(text.contains(#"ws1_device_metrics_series{organization="default",state="shown"} 901"#))
            #expect(text.contains(#"ws1_device_metrics_series{organization="default",state="left-out"} 300"#))
        }
    }

    @Test func `An attribute cannot pass for a bucket's bound`() async throws {
        let scene = try await Scene(["otlp:m"])
        try await scene.harness.route { client in
            let time = scene.clock.now() / 1_000_000
            let attributes = #","attributes":[{"key":"le","value":{"stringValue":"9"}}]"#
            let histogram = #""count":"1","explicitBounds":[],"bucketCounts":["1"]\#(attributes)"#
            try await scene.send(
                client,
                Scene.metric("m", "histogram", [Scene.point(at: time, histogram)], more: Scene.cumulative, unit: ""))
            let found = Self.lines(try await Self.answer(client), "m_")
            #expect(found.count == 1 && found[0].hasSuffix(#"exported_le="9",le="+Inf"} 1"#), "\(found)")
        }
    }

    @Test func `prometheus and promtool read every kind`() async throws {
        let scene = try await Scene(Self.names)
        let folder = try TemporaryDirectory()
        let (text, open) = try await scene.harness.route { client in
            try await Self.sendAll(scene, client)
            return (
                try await Self.answer(client),
                try await Self.answer(client, [.accept: "application/openmetrics-text;version=1.0.0"])
            )
        }
        try Data(text.utf8).write(to: URL(fileURLWithPath: folder.file("text")))
        let lint = try await ProgramRun.of(
            ["-c", "exec \(PrometheusServer.promtool) check metrics <'\(folder.file("text"))'"],
            program: URL(fileURLWithPath: "/bin/sh"))
        #expect(lint.status == 0 && lint.errors.isEmpty, "\(lint.errors)")
        // promtool loads samples that have a time.
        let timed = open.split(separator: "\n").map { $0.hasPrefix("#") ? "\($0)\n" : "\($0) 1750000000\n" }.joined()
        try Data(timed.utf8).write(to: URL(fileURLWithPath: folder.file("open")))
        let load = try await ProgramRun.of(
            ["tsdb", "create-blocks-from", "openmetrics", folder.file("open"), folder.file("data")],
            program: URL(fileURLWithPath: PrometheusServer.promtool))
        #expect(load.status == 0, "\(load.errors) \(load.text)")
    }
}
