import CoreMetrics

/// What the intake counts: families `ws1_mqtt_…` of `CollectorMetrics`. Safe from any thread.
struct IntakeMetrics: Sendable {
    enum AnswerFate: String, CaseIterable {
        case published, failed
        /// Nobody waited for it any more.
        case late
    }

    enum NewsFate: String, CaseIterable { case published, failed }

    private let factory: any MetricsFactory
    private let connected: Meter
    private let requests: Meter
    private let partBytes: Meter

    init(_ factory: any MetricsFactory) {
        self.factory = factory
        connected = Meter(label: "ws1_mqtt_connected", dimensions: [], factory: factory)
        requests = Meter(label: "ws1_mqtt_requests", dimensions: [], factory: factory)
        partBytes = Meter(label: "ws1_mqtt_part_bytes", dimensions: [], factory: factory)
        connected.set(0)
        requests.set(0)
        partBytes.set(0)
        // A counter that appears with its first event shows no increase then.
        for reason in IgnoredReason.allCases { counter("ws1_mqtt_messages_ignored", "reason", reason.rawValue) }
        for fate in AnswerFate.allCases { counter("ws1_mqtt_answers", "fate", fate.rawValue) }
        for fate in NewsFate.allCases { counter("ws1_mqtt_news", "fate", fate.rawValue) }
    }

    func connected(_ isConnected: Bool) { connected.set(isConnected ? 1 : 0) }
    func underWay(_ count: Int) { requests.set(count) }
    func waiting(_ bytes: Int) { partBytes.set(bytes) }
    func came(_ kind: IntakeTopics.Kind) { counter("ws1_mqtt_messages", "kind", "\(kind)").increment() }
    func ignored(_ reason: IgnoredReason) {
        counter("ws1_mqtt_messages_ignored", "reason", reason.rawValue).increment()
    }
    func answer(_ fate: AnswerFate) { counter("ws1_mqtt_answers", "fate", fate.rawValue).increment() }
    func news(_ fate: NewsFate) { counter("ws1_mqtt_news", "fate", fate.rawValue).increment() }

    func devices(online: Int, offline: Int) {
        for (state, count) in [("online", online), ("offline", offline)] {
            Meter(label: "ws1_mqtt_devices", dimensions: [("state", state)], factory: factory).set(count)
        }
    }

    @discardableResult
    private func counter(_ label: String, _ dimension: String, _ value: String) -> Counter {
        Counter(label: label, dimensions: [(dimension, value)], factory: factory)
    }
}
