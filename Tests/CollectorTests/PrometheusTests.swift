import CoreMetrics
import Testing

@testable import Collector

@Suite("Prometheus' text format")
struct PrometheusTests {
    @Test func `A counter that is full stays full`() {
        let counter = PrometheusCounter()
        for _ in 0..<3 { counter.increment(by: .max - 1) }
        var text = PrometheusText()
        counter.write(.init(name: "lost", labels: []), to: &text)
        #expect(text.text.contains(" 9.22"), "\(text.text)")
        #expect(!text.text.contains("-"))
    }

    @Test func `Counters, gauges and histograms are reported`() {
        let registry = PrometheusRegistry([
            PrometheusFamily("app_requests_total", "Requests,\nby \\ route."),
            PrometheusFamily("app_wait_seconds", "Wait.", buckets: [0.1, 1]),
        ])
        for _ in 0..<2 {
            Counter(label: "app_requests", dimensions: [("route", "/a\"\\\n"), ("code", "200")], factory: registry)
                .increment(by: 3)
        }
        let timer = Timer(label: "app_wait", dimensions: [], factory: registry)
        for nanoseconds in [50_000_000, 100_000_000, 500_000_000, 7_000_000_000] as [Int64] {
            timer.recordNanoseconds(nanoseconds)
        }
        let meter = Meter(label: "app_open", dimensions: [], factory: registry)
        meter.increment(by: 2.5)
        meter.decrement()
        #expect(
            registry.exposition(with: [PrometheusSample("app_free_bytes", [("disk", "a")], value: 1_099_511_627_776)])
                == """
                # TYPE app_free_bytes gauge
                app_free_bytes{disk="a"} 1099511627776
                # TYPE app_open gauge
                app_open 1.5
                # HELP app_requests_total Requests,\\nby \\\\ route.
                # TYPE app_requests_total counter
                app_requests_total{code="200",route="/a\\"\\\\\\n"} 6
                # HELP app_wait_seconds Wait.
                # TYPE app_wait_seconds histogram
                app_wait_seconds_bucket{le="0.1"} 2
                app_wait_seconds_bucket{le="1"} 3
                app_wait_seconds_bucket{le="+Inf"} 4
                app_wait_seconds_sum 7.65
                app_wait_seconds_count 4

                """)
    }

    @Test(arguments: [
        (0.0, "0"), (-3, "-3"), (0.25, "0.25"), (1e300, "1e+300"), (.nan, "NaN"), (-.infinity, "-Inf"),
        (.infinity, "+Inf"),
    ])
    func `Numbers are as Prometheus reads them`(value: Double, text: String) {
        #expect(PrometheusText.number(value) == text)
    }

    @Test func `What is not a number is not counted`() {
        let registry = PrometheusRegistry([])
        Recorder(label: "size", dimensions: [], aggregate: true, factory: registry).record(Double.nan)
        #expect(registry.exposition().contains("size_count 0"))
    }
}
