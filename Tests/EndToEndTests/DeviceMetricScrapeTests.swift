import Foundation
import TestKit
import Testing

/// Debian's prometheus, a real collector and a real device.
@Suite(.timeLimit(.minutes(3)))
struct DeviceMetricScrapeTests {
    @Test func `prometheus scrapes a device's samples with a token that can do nothing else`() async throws {
        try await Deployment.run { deployment in
            try await deployment.startCollector(["--device-metrics", "all"])
            let made = try await Program.collector.run([
                "token", "create", "--role", "scraper", "--organization", "default", "--name", "prometheus", "--data",
                deployment.collectorData,
            ])
            #expect(made.succeeded, "\(made)")
            let token = made.output.trimmingCharacters(in: .whitespacesAndNewlines)
            try deployment.startAgent()
            try await deployment.waitUntilAgentAnswers()
            let settings = ["metrics_path: /metrics/devices", "authorization: { credentials: \"\(token)\" }"]
            let target = "127.0.0.1:\(deployment.collectorPort)"
            try await PrometheusServer.scraping(target, settings) { prometheus in
                try await prometheus.until("system_memory_limit_bytes{organization=\"default\"} > bool 0") {
                    $0 == ["1"]
                }
                try await prometheus.until("count(count by (__name__) ({device_id!=\"\"})) > bool 20") { $0 == ["1"] }
                // The clock of the device is the clock of the scrape.
                try await prometheus.until("time() - ws1_device_metrics_sample_timestamp_seconds < bool 600") {
                    $0 == ["1"]
                }
            }
            let refused = try await Program.ctl.run(
                ["device", "list", "--collector", deployment.collectorURL], environment: ["WS1_TOKEN": token])
            #expect(refused.ending == .exited(1) && refused.errors.contains("scraper"), "\(refused)")
        }
    }

    @Test func `A metric that cannot be shown is refused before the collector starts`() async throws {
        let run = try await Program.collector.run(["validate", "--device-metrics", "system.memory.limits"])
        #expect(run.ending == .exited(64), "\(run)")
        #expect(run.errors.contains("--device-metrics") && run.errors.contains("Did you mean system.memory.limit?"))
    }
}
