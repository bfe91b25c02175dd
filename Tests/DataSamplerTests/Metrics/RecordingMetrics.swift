import CoreMetrics
import Synchronization

/// A metrics factory that remembers what was recorded, by label and dimensions.
final class RecordingMetrics: MetricsFactory {
    final class Handler: CounterHandler, RecorderHandler, TimerHandler {
        private let values = Mutex<[Double]>([])

        var all: [Double] { values.withLock { $0 } }
        var sum: Double { all.reduce(0, +) }

        func increment(by amount: Int64) { add(Double(amount)) }
        func reset() { values.withLock { $0 = [] } }
        func record(_ value: Int64) { add(Double(value)) }
        func record(_ value: Double) { add(value) }
        func recordNanoseconds(_ duration: Int64) { add(Double(duration)) }

        private func add(_ value: Double) { values.withLock { $0.append(value) } }
    }

    private let handlers = Mutex<[String: Handler]>([:])

    /// `label` or `label{name=value,...}`.
    subscript(_ name: String) -> Handler? { handlers.withLock { $0[name] } }

    private func handler(_ label: String, _ dimensions: [(String, String)]) -> Handler {
        let attributes = dimensions.map { "\($0)=\($1)" }.joined(separator: ",")
        return handlers.withLock { handlers in
            let name = attributes.isEmpty ? label : "\(label){\(attributes)}"
            if let handler = handlers[name] { return handler }
            let handler = Handler()
            handlers[name] = handler
            return handler
        }
    }

    func makeCounter(label: String, dimensions: [(String, String)]) -> any CounterHandler { handler(label, dimensions) }
    func makeRecorder(label: String, dimensions: [(String, String)], aggregate: Bool) -> any RecorderHandler {
        handler(label, dimensions)
    }
    func makeTimer(label: String, dimensions: [(String, String)]) -> any TimerHandler { handler(label, dimensions) }
    func destroyCounter(_ handler: any CounterHandler) {}
    func destroyRecorder(_ handler: any RecorderHandler) {}
    func destroyTimer(_ handler: any TimerHandler) {}
}
