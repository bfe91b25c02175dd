import CoreMetrics
import DataSampler
import Foundation
import Synchronization
import Testing

@testable import DataSamplerMetrics

@Suite struct SampledMetricsTests {
    /// The measurements by name and attributes, as text.
    private static func reported(_ metrics: SampledMetrics) -> [String: EventValue] {
        Dictionary(
            uniqueKeysWithValues: metrics.drainMeasurements().map { measurement in
                let attributes = measurement.attributes.sorted { $0.key < $1.key }.map { "\($0.key)=\($0.value)" }
                    .joined(separator: ",")
                return (attributes.isEmpty ? measurement.name : "\(measurement.name){\(attributes)}", measurement.value)
            })
    }

    @Test func `Counters report their total and their growth per set of dimensions`() {
        let metrics = SampledMetrics(name: "app")
        let get = Counter(label: "http.requests", dimensions: [("method", "GET")], factory: metrics)
        let put = Counter(label: "http.requests", dimensions: [("method", "PUT")], factory: metrics)
        get.increment(by: 3)
        put.increment()
        #expect(
            Self.reported(metrics) == [
                "http.requests{method=GET}": .integer(3), "http.requests.delta{method=GET}": .integer(3),
                "http.requests{method=PUT}": .integer(1), "http.requests.delta{method=PUT}": .integer(1),
            ])
        // The same label and dimensions made again are the same series.
        Counter(label: "http.requests", dimensions: [("method", "GET")], factory: metrics).increment(by: 2)
        let second = Self.reported(metrics)
        #expect(second["http.requests{method=GET}"] == .integer(5))
        #expect(second["http.requests.delta{method=GET}"] == .integer(2))
        #expect(second["http.requests.delta{method=PUT}"] == .integer(0))
    }

    @Test func `A counter neither wraps, nor forgets its reset, nor accepts what is not a number`() {
        let metrics = SampledMetrics(name: "app")
        let counter = Counter(label: "a", factory: metrics)
        counter.increment(by: Int64.max)
        counter.increment(by: 5)
        let seconds = FloatingPointCounter(label: "b", factory: metrics)
        seconds.increment(by: 0.25)
        seconds.increment(by: Double.nan)
        seconds.increment(by: Double.infinity)
        let first = Self.reported(metrics)
        #expect(first["a"] == .integer(.max) && first["b"] == .double(0.25) && first["b.delta"] == .double(0.25))
        counter.reset()
        counter.increment()
        #expect(Self.reported(metrics)["a"] == .integer(1))
    }

    @Test func `Gauges and meters report their last value, and none before the first`() {
        let metrics = SampledMetrics(name: "app")
        let gauge = Gauge(label: "depth", factory: metrics)
        let meter = Meter(label: "level", factory: metrics)
        #expect(Self.reported(metrics).isEmpty)
        gauge.record(3)
        gauge.record(7)
        gauge.record(Double.nan)
        meter.set(10.5)
        meter.decrement(by: 0.5)
        meter.increment()
        #expect(Self.reported(metrics) == ["depth": .double(7), "level": .double(11)])
        #expect(
            Self.reported(metrics) == ["depth": .double(7), "level": .double(11)], "a gauge stands until it changes")
    }

    @Test func `Timers report count, sum, least and greatest of the interval in seconds`() {
        let metrics = SampledMetrics(name: "app")
        let timer = Timer(label: "request.duration", dimensions: [("route", "/")], factory: metrics)
        timer.recordMilliseconds(250)
        timer.recordSeconds(2)
        let measurements = metrics.drainMeasurements()
        #expect(measurements.allSatisfy { $0.attributes == ["route": "/"] })
        #expect(
            Dictionary(uniqueKeysWithValues: measurements.map { ($0.name, $0.value) }) == [
                "request.duration.count": .integer(2), "request.duration.sum": .double(2.25),
                "request.duration.min": .double(0.25),
                "request.duration.max": .double(2),
            ])
        #expect(measurements.first { $0.name.hasSuffix(".sum") }?.unit == "s")
        #expect(metrics.drainMeasurements().isEmpty, "nothing was timed since")
    }

    @Test func `Quantiles are right within five per cent`() throws {
        let metrics = SampledMetrics(name: "app", quantiles: [0.5, 0.99, 1.5])
        let recorder = Recorder(label: "size_bytes", factory: metrics)
        for value in 1...10_000 { recorder.record(value) }
        let reported = Self.reported(metrics)
        #expect(
            Set(reported.keys) == [
                "size_bytes.count", "size_bytes.sum", "size_bytes.min", "size_bytes.max", "size_bytes.p50",
                "size_bytes.p99",
            ])
        guard case .double(let median)? = reported["size_bytes.p50"],
            case .double(let high)? = reported["size_bytes.p99"]
        else {
            Issue.record("no quantiles")
            return
        }
        #expect(abs(median / 5_000 - 1) < 0.05 && abs(high / 9_900 - 1) < 0.05)
        #expect(reported["size_bytes.sum"] == .double(50_005_000))
    }

    @Test(arguments: [
        ("http_response_bytes", "By"), ("queue.bytes_total", "By"), ("wait_seconds", "s"), ("requests", "1"),
        ("cache-ratio", "1"),
    ])
    func `A unit is read from the label's last word`(label: String, unit: String) {
        let metrics = SampledMetrics(name: "app")
        Counter(label: label, factory: metrics).increment()
        #expect(metrics.drainMeasurements().map(\.unit) == [unit, unit])
    }

    @Test func `What is out of bounds is cut, so that every sample can be recorded`() throws {
        let metrics = SampledMetrics(name: "app")
        let long = String(repeating: "ä", count: 200)
        Counter(
            label: "my counter \(long)", dimensions: [(long, long), ("", "x"), ("a", "1"), ("a", "2")], factory: metrics
        ).increment()
        for measurement in metrics.drainMeasurements() {
            #expect(
                measurement.name.utf8.count <= 128 && measurement.name.utf8.allSatisfy { (0x21...0x7E).contains($0) })
            #expect(measurement.attributes.count == 2 && measurement.attributes["a"] == "2")
            for (name, value) in measurement.attributes {
                #expect((1...64).contains(name.utf8.count) && value.utf8.count <= 256)
            }
        }
        Counter(label: "many", dimensions: (0..<17).map { ("d\($0)", "x") }, factory: metrics).increment()
        #expect(Self.reported(metrics)["ws1.metrics.dropped"] == .integer(1))
    }

    @Test func `Series beyond the bound are not recorded and counted once`() {
        let metrics = SampledMetrics(name: "app")
        for _ in 0..<2 {
            for user in 0..<1_000 {
                Counter(label: "logins", dimensions: [("user", "\(user)")], factory: metrics).increment()
            }
        }
        let measurements = metrics.drainMeasurements()
        #expect(measurements.count <= SampledMetrics.maximumMeasurements)
        #expect(measurements.count(where: { $0.name == "logins" }) == 255)
        #expect(measurements.filter { $0.name == "logins" }.allSatisfy { $0.value == .integer(2) })
        #expect(measurements.last?.name == "ws1.metrics.dropped" && measurements.last?.value == .integer(745))
    }

    @Test func `A destroyed series is reported once more and makes room`() {
        let metrics = SampledMetrics(name: "app")
        for round in 0..<400 {
            let counter = Counter(label: "job", dimensions: [("id", "\(round)")], factory: metrics)
            counter.increment()
            counter.destroy()
            let reported = Self.reported(metrics)
            #expect(reported == ["job{id=\(round)}": .integer(1), "job.delta{id=\(round)}": .integer(1)])
        }
        #expect(metrics.drainMeasurements().isEmpty)
        // Two handlers of one series: the first destroyed removes nothing.
        let one = Counter(label: "job", factory: metrics)
        let two = Counter(label: "job", factory: metrics)
        one.destroy()
        _ = metrics.drainMeasurements()
        two.increment()
        #expect(Self.reported(metrics)["job"] == .integer(1))
    }

    @Test func `Nothing is lost or doubled when threads count while samples are taken`() async {
        let metrics = SampledMetrics(name: "app")
        let counter = Counter(label: "hits", factory: metrics)
        let timer = CoreMetrics.Timer(label: "time", factory: metrics)
        var deltas: Int64 = 0
        var timed: Int64 = 0
        func take() {
            for measurement in metrics.drainMeasurements() {
                guard case .integer(let value) = measurement.value else { continue }
                if measurement.name == "hits.delta" { deltas += value }
                if measurement.name == "time.count" { timed += value }
            }
        }
        // Threads of their own: the pool may have but the one this test is on.
        let counting = Atomic<Int>(4)
        for _ in 0..<4 {
            Thread.detachNewThread {
                for _ in 0..<20_000 {
                    counter.increment()
                    timer.recordNanoseconds(5)
                }
                counting.subtract(1, ordering: .releasing)
            }
        }
        while counting.load(ordering: .acquiring) > 0 {
            take()
            await Task.yield()
        }
        take()
        #expect(deltas == 80_000 && timed == 80_000)
        #expect(Self.reported(metrics)["hits"] == .integer(80_000))
    }

    @Test func `It is a custom module of the sampler`() async throws {
        let metrics = SampledMetrics(name: "shop", sampleInterval: 30)
        let module: any CustomSampleModule = metrics
        Counter(label: "sales", factory: metrics).increment()
        #expect(module.name == "shop" && module.sampleInterval == 30)
        #expect(try await module.sample().map(\.name) == ["sales", "sales.delta"])
    }
}
