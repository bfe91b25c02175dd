import Foundation
import NIOCore
import StoreTestKit
import TestKit
import Testing
import WireModel

@testable import Collector
@testable import MetricCatalog

/// Debian's prometheus and promtool read what `/metrics/devices` answers.
@Suite("Prometheus itself", .timeLimit(.minutes(10)))
struct PrometheusScrapeTests {
    /// An answer with one series of each metric of the catalog that Prometheus can take.
    private static func wholeCatalog(_ format: DeviceMetricText.Format) async throws -> String {
        let cache = DeviceMetricCache(try DeviceMetricChoice(["all"]))
        let metrics = cache.families.indices.map { family in
            (
                metric: DeviceMetricCache.Metric(
                    family: family, source: .init(kind: 1, module: "", application: "")),
                values: DeviceMetricCache.Values(
                    time: Harness.now, test: false, points: [.init(labels: #",state="used""#, value: 0.5)], fitting: 1,
                    count: 1)
            )
        }
        let count = DeviceMetricText.Count(
            organization: "west \"2\"", devices: 1, series: metrics.count, devicesLeftOut: 2, seriesLeftOut: 7)
        let answer = DeviceMetricText(
            format: format, families: cache.families,
            devices: [.init(.random(), name: "kiosk\n\"1\"", organization: "west \"2\"", metrics)], counts: [count],
            limit: 200)
        var text = ByteBuffer()
        try await answer.write {
            var piece = $0
            text.writeBuffer(&piece)
        }
        return String(buffer: text)
    }

    private static func types(_ text: String) -> Int {
        text.split(separator: "\n").filter { $0.hasPrefix("# TYPE ") }.count
    }

    @Test func `promtool finds nothing to mend in any metric of the catalog`() async throws {
        let text = try await Self.wholeCatalog(.text)
        let folder = try TemporaryDirectory()
        try Data(text.utf8).write(to: URL(fileURLWithPath: folder.file("answer")))
        let run = try await ProgramRun.of(
            ["-c", "exec \(PrometheusServer.promtool) check metrics <'\(folder.file("answer"))'"],
            program: URL(fileURLWithPath: "/bin/sh"))
        // OpenTelemetry's conventions have names that end in `.count`, and promtool knows that ending from histograms.
        let findings = run.errors.split(separator: "\n").filter { !$0.hasSuffix(#"should not have "_count" suffix"#) }
        #expect(findings.isEmpty, "\(findings)")
        // 3: there are such findings.
        #expect([0, 3].contains(run.status), "\(run.errors)")
        #expect(Self.types(text) > 50)
    }

    @Test func `prometheus reads every metric of the catalog as OpenMetrics`() async throws {
        let text = try await Self.wholeCatalog(.openMetrics)
        let folder = try TemporaryDirectory()
        // promtool loads samples that have a time.
        let timed = text.split(separator: "\n").map { $0.hasPrefix("#") ? "\($0)\n" : "\($0) 1750000000\n" }.joined()
        try Data(timed.utf8).write(to: URL(fileURLWithPath: folder.file("answer")))
        let run = try await ProgramRun.of(
            ["tsdb", "create-blocks-from", "openmetrics", folder.file("answer"), folder.file("data")],
            program: URL(fileURLWithPath: PrometheusServer.promtool))
        #expect(run.status == 0, "\(run.errors) \(run.text)")
        #expect(Self.types(text) > 50)
    }

    @Test func `prometheus scrapes newest values, and marks a silent device as stale at once`() async throws {
        let clock = SteppedClock()
        let choice = try DeviceMetricChoice(["custom:till.sales", "all"])
        let harness = Harness(clock: { clock.now() }) { $0.deviceMetrics.choice = choice }
        let device = try await harness.enrolledDevice()
        try await harness.live { server in
            var chain = ChainBuilder(stream: .sample)
            func send(_ sales: Int64) async {
                var measurement = WireMeasurement()
                (measurement.name, measurement.value.integer) = ("till.sales", sales)
                measurement.attributes = ["shop": "north"]
                var custom = WireCustomSample()
                custom.measurements = [measurement]
                var system = WireSystemSample()
                system.memory.free = 4096
                for (kind, body) in [(WireRecordKind.sampleCustom, custom.encoded), (.sampleSystem, system.encoded)] {
                    let part = chain.part(kind: kind, module: "till", time: clock.now(), bodies: [body])
                    _ = await harness.store.append([part], from: device.id, receivedAt: clock.now())
                }
            }
            await send(41)
            let settings = ["metrics_path: /metrics/devices", "authorization: { credentials: scraper-default }"]
            try await PrometheusServer.scraping("127.0.0.1:\(server.port)", settings) { prometheus in
                let sales = "till_sales{device_id=\"\(device.id)\",shop=\"north\"}"
                try await prometheus.until(sales) { $0 == ["41"] }
                try await prometheus.until("up{job=\"ws1-devices\"}") { $0 == ["1"] }
                // The free memory, the custom value, and the time of the sample.
                try await prometheus.until("count({device_name=\"kiosk-1\",organization=\"default\"})") {
                    $0.first.flatMap(Int.init) ?? 0 >= 3
                }
                clock.advance(seconds: 60)
                await send(42)
                try await prometheus.until(sales) { $0 == ["42"] }
                clock.advance(seconds: 721)
                // Without a mark of staleness the value would be found for five minutes more.
                try await prometheus.until(sales) { $0.isEmpty }
                try await prometheus.until("up{job=\"ws1-devices\"}") { $0 == ["1"] }
                let silent = #"ws1_device_metrics_devices{organization="default",state="without-values"}"#
                try await prometheus.until(silent) { $0 == ["1"] }
            }
        }
    }
}
