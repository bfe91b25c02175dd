import Foundation
import OTLP
import WireModel

/// The metrics of `/metrics` as a request of OTLP, with the same names.
///
/// Counters and histograms are cumulative since the start of the process. Safe from any thread.
package struct OwnMetrics: Sendable {
    let routes: MetricsRoutes
    let collector: CollectorID
    let port: Int
    /// When the process started, microseconds since 1970.
    let began: Int64
    let clock: @Sendable () -> Int64

    /// - Returns: `nil` while the registry cannot be asked.
    package func request() async -> OTLPMetricsRequest? {
        guard let samples = try? await routes.samples() else { return nil }
        return request(samples)
    }

    func request(_ samples: [PrometheusSample]) -> OTLPMetricsRequest {
        let (now, start) = (UInt64(clamping: clock()) * 1000, UInt64(clamping: began) * 1000)
        var metrics: [OTLPMetric] = []
        /// Points of one name follow each other.
        func change(_ name: String, _ help: String, _ body: (inout OTLPMetric) -> Void) {
            if metrics.last?.name != name {
                var metric = OTLPMetric()
                (metric.name, metric.description_p, metric.unit) = (name, help, Self.unit(name))
                metrics.append(metric)
            }
            body(&metrics[metrics.count - 1])
        }
        func number(_ labels: [(String, String)], _ value: Double, isCounter: Bool) -> OTLPNumberPoint {
            var point = OTLPNumberPoint()
            point.attributes = Self.attributes(labels)
            point.timeUnixNano = now
            if isCounter { point.startTimeUnixNano = start }
            point.asDouble = value
            return point
        }
        func add(_ name: String, _ help: String, _ labels: [(String, String)], _ value: Double, isCounter: Bool) {
            change(name, help) { metric in
                let point = number(labels, value, isCounter: isCounter)
                guard isCounter else {
                    metric.gauge.dataPoints.append(point)
                    return
                }
                metric.sum.aggregationTemporality = .cumulative
                metric.sum.isMonotonic = true
                metric.sum.dataPoints.append(point)
            }
        }
        for (key, help, reading) in routes.registry.readings() {
            switch reading {
            case .counter(let value): add(key.name, help, key.labels, value, isCounter: true)
            case .gauge(let value): add(key.name, help, key.labels, value, isCounter: false)
            case .histogram(let bounds, let counts, let sum):
                change(key.name, help) { metric in
                    var point = OTLPHistogramPoint()
                    point.attributes = Self.attributes(key.labels)
                    (point.timeUnixNano, point.startTimeUnixNano) = (now, start)
                    (point.explicitBounds, point.bucketCounts) = (bounds, counts)
                    point.count = counts.reduce(0, +)
                    point.sum = sum
                    metric.histogram.aggregationTemporality = .cumulative
                    metric.histogram.dataPoints.append(point)
                }
            }
        }
        for sample in samples.sorted(by: { $0.name < $1.name }) {
            add(
                sample.name, routes.registry.help(sample.name), sample.labels, sample.value,
                isCounter: sample.name.hasSuffix("_total"))
        }
        var scope = OTLPScopeMetrics()
        scope.scope.name = "ws1collector"
        scope.metrics = metrics
        var group = OTLPResourceMetrics()
        group.resource.attributes = Self.attributes([
            ("service.name", "ws1collector"), ("service.version", CollectorVersion.current),
            ("service.instance.id", "\(collector):\(ProcessInfo.processInfo.hostName):\(port)"),
        ])
        group.scopeMetrics = [scope]
        var request = OTLPMetricsRequest()
        request.resourceMetrics = [group]
        return request
    }

    /// By the end of a name of Prometheus, in UCUM.
    private static func unit(_ name: String) -> String {
        let base = name.hasSuffix("_total") ? name.dropLast("_total".count) : name[...]
        if base.hasSuffix("_seconds") { return "s" }
        return base.hasSuffix("_bytes") ? "By" : ""
    }

    private static func attributes(_ labels: [(String, String)]) -> [OTLPKeyValue] {
        labels.map { name, value in
            var attribute = OTLPKeyValue()
            attribute.key = name
            attribute.value.stringValue = value
            return attribute
        }
    }
}
