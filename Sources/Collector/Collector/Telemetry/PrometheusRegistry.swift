import CoreMetrics
import Synchronization

/// Stores what swift-metrics counts and exports it in Prometheus' text format (version 0.0.4).
///
/// Labels are Prometheus names without unit or `_total`: counters get `_total`, timers become histograms in `_seconds`.
/// The same label with the same dimensions is one series, whoever asks for it. Series live as long as the registry, so
/// keep the values of dimensions few. Safe from any thread; counting acquires no lock.
package final class PrometheusRegistry: MetricsFactory {
    private let series = Mutex<[PrometheusSeriesKey: any PrometheusSeries]>([:])
    private let families: [String: PrometheusFamily]

    /// - Parameter families: help and buckets of metrics. Others are exported without help.
    package init(_ families: [PrometheusFamily]) {
        self.families = Dictionary(families.map { ($0.name, $0) }, uniquingKeysWith: { first, _ in first })
    }

    /// - Parameter gauges: present values, in addition to what was counted.
    package func exposition(with gauges: [PrometheusSample] = []) -> String {
        let kept = series.withLock { Array($0) }
        var text = PrometheusText()
        let groups = Dictionary(grouping: kept, by: \.key.name)
        let measured = Dictionary(grouping: gauges, by: \.name)
        for name in Set(groups.keys).union(measured.keys).sorted() {
            let members = (groups[name] ?? []).sorted { $0.key < $1.key }
            text.begin(
                name, type: members.first?.value.type ?? (name.hasSuffix("_total") ? "counter" : "gauge"),
                help: families[name]?.help)
            for (key, series) in members { series.write(key, to: &text) }
            for sample in measured[name] ?? [] { text.add(sample.name, sample.labels, sample.value) }
        }
        return text.text
    }

    /// Every series that was counted, in the order of the text, with its help.
    func readings() -> [(key: PrometheusSeriesKey, help: String, reading: PrometheusReading)] {
        series.withLock { Array($0) }.sorted { $0.key < $1.key }
            .map { ($0.key, families[$0.key.name]?.help ?? "", $0.value.reading) }
    }

    /// The help of a metric; empty if it has none.
    func help(_ name: String) -> String { families[name]?.help ?? "" }

    private func make<Series: PrometheusSeries>(_ name: String, _ dimensions: [(String, String)], _ new: () -> Series)
        -> Series
    {
        let key = PrometheusSeriesKey(name: name, labels: dimensions)
        return series.withLock { series in
            if let known = series[key] as? Series { return known }
            let made = new()
            // A name that already has another type is not counted, because a family has one type.
            if series[key] == nil { series[key] = made }
            return made
        }
    }

    // MARK: MetricsFactory

    package func makeCounter(label: String, dimensions: [(String, String)]) -> any CounterHandler {
        make("\(label)_total", dimensions) { PrometheusCounter() }
    }

    package func makeMeter(label: String, dimensions: [(String, String)]) -> any MeterHandler {
        make(label, dimensions) { PrometheusGauge() }
    }

    package func makeRecorder(label: String, dimensions: [(String, String)], aggregate: Bool) -> any RecorderHandler {
        guard aggregate else { return make(label, dimensions) { PrometheusGauge() } }
        let buckets = families[label]?.buckets ?? PrometheusFamily.seconds
        return make(label, dimensions) { PrometheusHistogram(buckets: buckets) }
    }

    package func makeTimer(label: String, dimensions: [(String, String)]) -> any TimerHandler {
        let name = "\(label)_seconds"
        let buckets = families[name]?.buckets ?? PrometheusFamily.seconds
        return make(name, dimensions) { PrometheusHistogram(buckets: buckets) }
    }

    package func destroyCounter(_ handler: any CounterHandler) {}
    package func destroyMeter(_ handler: any MeterHandler) {}
    package func destroyRecorder(_ handler: any RecorderHandler) {}
    package func destroyTimer(_ handler: any TimerHandler) {}
}

/// The description of all series with one name.
package struct PrometheusFamily: Sendable {
    /// The buckets for durations of requests and disk writes.
    package static let seconds = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10]

    package var name: String
    package var help: String
    /// Upper bounds of a histogram, ascending.
    package var buckets: [Double]

    package init(_ name: String, _ help: String, buckets: [Double] = PrometheusFamily.seconds) {
        self.name = name
        self.help = help
        self.buckets = buckets
    }
}

/// A present value.
package struct PrometheusSample: Sendable {
    package var name: String
    package var labels: [(String, String)]
    package var value: Double

    package init(_ name: String, _ labels: [(String, String)] = [], value: Double) {
        self.name = name
        self.labels = labels
        self.value = value
    }
}
