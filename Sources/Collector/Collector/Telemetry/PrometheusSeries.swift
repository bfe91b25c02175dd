import CoreMetrics
import Synchronization

/// One series of one name.
protocol PrometheusSeries: AnyObject, Sendable {
    /// The type as Prometheus calls it.
    var type: String { get }

    /// What it is now.
    var reading: PrometheusReading { get }

    func write(_ key: PrometheusSeriesKey, to text: inout PrometheusText)
}

/// The value of a series at one moment.
enum PrometheusReading: Equatable, Sendable {
    case counter(Double)
    case gauge(Double)
    /// - Parameter counts: of values up to each bound that are above the former one, and of those above the last.
    case histogram(bounds: [Double], counts: [UInt64], sum: Double)
}

extension PrometheusSeries { typealias Key = PrometheusSeriesKey }

struct PrometheusSeriesKey: Hashable, Comparable {
    let name: String
    /// Sorted by name.
    let labels: [(String, String)]
    private let text: String

    init(name: String, labels: [(String, String)]) {
        self.name = name
        self.labels = labels.sorted { $0.0 < $1.0 }
        text = self.labels.map { "\($0.0)\u{0}\($0.1)" }.joined(separator: "\u{0}")
    }

    static func == (left: Self, right: Self) -> Bool { left.name == right.name && left.text == right.text }
    static func < (left: Self, right: Self) -> Bool { (left.name, left.text) < (right.name, right.text) }

    func hash(into hasher: inout Hasher) {
        hasher.combine(name)
        hasher.combine(text)
    }
}

/// Only grows, except by `reset`.
final class PrometheusCounter: CounterHandler, PrometheusSeries {
    private let value = Atomic<Int64>(0)

    let type = "counter"

    func increment(by amount: Int64) {
        // A device may report any number of losses. A counter that is full stays full.
        if value.wrappingAdd(amount, ordering: .relaxed).newValue < 0 { value.store(.max, ordering: .relaxed) }
    }

    func reset() { value.store(0, ordering: .relaxed) }

    var reading: PrometheusReading { .counter(Double(value.load(ordering: .relaxed))) }

    func write(_ key: Key, to text: inout PrometheusText) {
        text.add(key.name, key.labels, Double(value.load(ordering: .relaxed)))
    }
}

/// The last value set, or counted up and down.
final class PrometheusGauge: MeterHandler, RecorderHandler, PrometheusSeries {
    private let value = Mutex(0.0)

    let type = "gauge"

    func set(_ value: Int64) { set(Double(value)) }
    func set(_ value: Double) { self.value.withLock { $0 = value } }
    func increment(by amount: Double) { value.withLock { $0 += amount } }
    func decrement(by amount: Double) { increment(by: -amount) }
    func record(_ value: Int64) { set(value) }
    func record(_ value: Double) { set(value) }

    var reading: PrometheusReading { .gauge(value.withLock { $0 }) }

    func write(_ key: Key, to text: inout PrometheusText) { text.add(key.name, key.labels, value.withLock { $0 }) }
}

/// The number of values up to each bound, their total number and sum.
final class PrometheusHistogram: TimerHandler, RecorderHandler, PrometheusSeries {
    private struct State {
        var counts: [UInt64]
        var sum = 0.0
    }

    private let buckets: [Double]
    private let state: Mutex<State>

    let type = "histogram"

    init(buckets: [Double]) {
        self.buckets = buckets
        state = Mutex(State(counts: Array(repeating: 0, count: buckets.count + 1)))
    }

    func recordNanoseconds(_ duration: Int64) { record(Double(duration) / 1e9) }
    func record(_ value: Int64) { record(Double(value)) }

    func record(_ value: Double) {
        guard value.isFinite else { return }
        let place = buckets.firstIndex { value <= $0 } ?? buckets.count
        state.withLock { state in
            state.counts[place] += 1
            state.sum += value
        }
    }

    var reading: PrometheusReading {
        let state = state.withLock { $0 }
        return .histogram(bounds: buckets, counts: state.counts, sum: state.sum)
    }

    func write(_ key: Key, to text: inout PrometheusText) {
        let state = state.withLock { $0 }
        var total: UInt64 = 0
        for (bound, count) in zip(buckets, state.counts) {
            total += count
            text.add("\(key.name)_bucket", key.labels + [("le", PrometheusText.number(bound))], Double(total))
        }
        total += state.counts[buckets.count]
        text.add("\(key.name)_bucket", key.labels + [("le", "+Inf")], Double(total))
        text.add("\(key.name)_sum", key.labels, state.sum)
        text.add("\(key.name)_count", key.labels, Double(total))
    }
}

/// Prometheus' text format, version 0.0.4 (https://prometheus.io/docs/instrumenting/exposition_formats/).
struct PrometheusText {
    static let mediaType = "text/plain; version=0.0.4; charset=utf-8"

    private(set) var text = ""

    /// Begins the lines of this name.
    mutating func begin(_ name: String, type: String, help: String?) {
        if let help { text += "# HELP \(name) \(Self.escapedHelp(help))\n" }
        text += "# TYPE \(name) \(type)\n"
    }

    mutating func add(_ name: String, _ labels: [(String, String)], _ value: Double) {
        text += name
        if !labels.isEmpty {
            text += "{"
            for (position, (name, value)) in labels.enumerated() {
                text += "\(position == 0 ? "" : ",")\(name)=\"\(Self.escaped(value))\""
            }
            text += "}"
        }
        text += " \(Self.number(value))\n"
    }

    /// A help text in one line.
    static func escapedHelp(_ help: String) -> String {
        help.replacing("\\", with: "\\\\").replacing("\n", with: "\\n")
    }

    /// The value of a label, between quotation marks.
    static func escaped(_ value: String) -> String {
        value.replacing("\\", with: "\\\\").replacing("\"", with: "\\\"").replacing("\n", with: "\\n")
    }

    /// Whole numbers without a decimal point, as long as that is exact.
    static func number(_ value: Double) -> String {
        if value.isNaN { return "NaN" }
        if value.isInfinite { return value < 0 ? "-Inf" : "+Inf" }
        if let whole = Int64(exactly: value), whole.magnitude <= 1 << 53 { return String(whole) }
        return "\(value)"
    }
}
