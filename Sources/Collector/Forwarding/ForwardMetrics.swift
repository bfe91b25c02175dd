import CoreMetrics

/// What forwarding counts: families `ws1_forward_…` of `CollectorMetrics`. Safe from any thread.
struct ForwardMetrics: Sendable {
    enum Fate: String, CaseIterable {
        case sent
        /// Refused for good with the whole request.
        case dropped
        /// Their bytes cannot be read.
        case unreadable
    }

    private let retries: Counter
    private let rejected: Counter
    private let items: Counter
    private let fates: [Fate: Counter]
    private let lag: Meter
    private let waiting: Meter

    init(_ endpoint: String, _ source: ForwardSource, _ factory: any MetricsFactory) {
        let labels = [("endpoint", endpoint), ("stream", source.name)]
        // A counter that appears with its first event shows no increase then.
        retries = Counter(label: "ws1_forward_retries", dimensions: labels, factory: factory)
        rejected = Counter(label: "ws1_forward_items_rejected", dimensions: labels, factory: factory)
        items = Counter(label: "ws1_forward_items", dimensions: labels, factory: factory)
        fates = Dictionary(
            uniqueKeysWithValues: Fate.allCases.map { fate in
                (
                    fate,
                    Counter(
                        label: "ws1_forward_records", dimensions: labels + [("fate", fate.rawValue)], factory: factory)
                )
            })
        lag = Meter(label: "ws1_forward_lag_seconds", dimensions: labels, factory: factory)
        waiting = Meter(label: "ws1_forward_waiting_records", dimensions: labels, factory: factory)
        waits(0, lagMicroseconds: 0)
    }

    func retried() { retries.increment() }
    func count(_ fate: Fate, _ records: Int) { fates[fate]?.increment(by: records) }
    func took(_ count: Int, rejected few: Int) {
        items.increment(by: count)
        rejected.increment(by: few)
    }
    func waits(_ records: Int, lagMicroseconds: Int64) {
        waiting.set(records)
        lag.set(Double(max(0, lagMicroseconds)) / 1_000_000)
    }
}
