import CoreMetrics
import DataSampler
import Glibc
import Synchronization

/// The state of one label with its dimensions. Safe from any thread.
protocol Series: AnyObject, Sendable {
    /// The most measurements it gives at once.
    var weight: Int { get }

    /// Returns the measurements of this interval and begins the next.
    func drainMeasurements(_ key: SeriesKey) -> [SampleMeasurement]
}

extension SeriesKey {
    func measurement(_ value: EventValue, suffix: String = "", unit: String? = nil) -> SampleMeasurement {
        SampleMeasurement(name: name + suffix, unit: unit ?? self.unit, attributes: attributes, value: value)
    }
}

/// Identifies a series, within the limits of a measurement.
struct SeriesKey: Hashable {
    enum Kind: Hashable {
        case counter
        case floatingPointCounter
        case meter
        case gauge
        case recorder
        case timer
    }

    static let maximumAttributes = 16
    private static let nameBytes = 128
    /// Room for the longest suffix, `.delta` or `.count`.
    private static let suffixBytes = 8
    private static let attributeNameBytes = 64
    private static let attributeValueBytes = 256
    /// Units by the last word of a label.
    private static let units = [
        "bytes": "By", "seconds": "s", "milliseconds": "ms", "microseconds": "us", "nanoseconds": "ns", "ratio": "1",
        "percent": "%",
    ]

    let kind: Kind
    let name: String
    let unit: String
    let attributes: [String: String]

    /// - Parameter unit: used if the label does not name one.
    /// - Returns: `nil` if the label is empty, or if there are more dimensions than a measurement may have attributes.
    init?(_ kind: Kind, label: String, dimensions: [(String, String)], unit: String) {
        let printable = label.utf8.prefix(Self.nameBytes - Self.suffixBytes).map {
            (0x21...0x7E).contains($0) ? $0 : UInt8(ascii: "_")
        }
        guard !printable.isEmpty else { return nil }
        self.kind = kind
        name = String(decoding: printable, as: UTF8.self)
        let words = name.split { $0 == "_" || $0 == "." || $0 == "-" }
        let last = words.last == "total" ? words.dropLast().last : words.last
        self.unit = kind == .timer ? unit : last.flatMap { Self.units[String($0)] } ?? unit
        var attributes: [String: String] = [:]
        for (name, value) in dimensions where !name.isEmpty {
            attributes[name.bounded(bytes: Self.attributeNameBytes)] = value.bounded(bytes: Self.attributeValueBytes)
        }
        guard attributes.count <= Self.maximumAttributes else { return nil }
        self.attributes = attributes
    }
}

/// A growing total and its growth. It stops at the greatest number instead of wrapping.
final class CounterSeries: CounterHandler, Series {
    private struct State {
        var total: Int64 = 0
        var reported: Int64 = 0
    }

    private let state = Mutex(State())

    let weight = 2

    func increment(by amount: Int64) {
        state.withLock { state in
            let (sum, overflow) = state.total.addingReportingOverflow(amount)
            state.total = overflow ? (amount > 0 ? .max : .min) : sum
        }
    }

    func reset() { state.withLock { $0 = State() } }

    func drainMeasurements(_ key: SeriesKey) -> [SampleMeasurement] {
        let (total, delta) = state.withLock { state in
            defer { state.reported = state.total }
            return (state.total, state.total.subtractingReportingOverflow(state.reported).partialValue)
        }
        return [key.measurement(.integer(total)), key.measurement(.integer(delta), suffix: ".delta")]
    }
}

/// Like `CounterSeries`, for floating point numbers. Ignores NaN, and values that would make the total NaN.
final class FloatingPointCounterSeries: FloatingPointCounterHandler, Series {
    private struct State {
        var total = 0.0
        var reported = 0.0
    }

    private let state = Mutex(State())

    let weight = 2

    func increment(by amount: Double) {
        state.withLock { state in
            let sum = state.total + amount
            if sum.isFinite { state.total = sum }
        }
    }

    func reset() { state.withLock { $0 = State() } }

    func drainMeasurements(_ key: SeriesKey) -> [SampleMeasurement] {
        let (total, delta) = state.withLock { state in
            defer { state.reported = state.total }
            return (state.total, state.total - state.reported)
        }
        return [key.measurement(.double(total)), key.measurement(.double(delta), suffix: ".delta")]
    }
}

/// The last value. Ignores NaN.
final class GaugeSeries: MeterHandler, RecorderHandler, Series {
    private let value = Mutex<Double?>(nil)

    let weight = 1

    func set(_ value: Int64) { set(Double(value)) }

    func set(_ value: Double) { if value.isFinite { self.value.withLock { $0 = value } } }

    func increment(by amount: Double) {
        value.withLock { value in
            let sum = (value ?? 0) + amount
            if sum.isFinite { value = sum }
        }
    }

    func decrement(by amount: Double) { increment(by: -amount) }

    func record(_ value: Int64) { set(Double(value)) }

    func record(_ value: Double) { set(value) }

    func drainMeasurements(_ key: SeriesKey) -> [SampleMeasurement] {
        value.withLock { $0 }.map { [key.measurement(.double($0))] } ?? []
    }
}

/// Count, sum, minimum and maximum of the values in an interval, and their quantiles.
///
/// Quantiles come from buckets. Each bound is a tenth greater than the one before, so a quantile is right within 5 %.
/// Values from 10^-9 to 10^9 have buckets of their own, greater ones share the last. Values of zero and below share the
/// lowest.
final class DistributionSeries: TimerHandler, RecorderHandler, Series {
    private struct Interval {
        var count: Int64 = 0
        var sum = 0.0
        var least = Double.infinity
        var greatest = -Double.infinity
        /// Counts by bucket. Empty if no quantiles were requested.
        var buckets: [Int: Int64] = [:]
    }

    private static let growth = 1.1
    private static let bucketBounds = -218...218

    private let quantiles: [Double]
    private let interval = Mutex(Interval())

    init(quantiles: [Double]) { self.quantiles = quantiles }

    var weight: Int { 4 + quantiles.count }

    func recordNanoseconds(_ duration: Int64) { record(Double(duration) / 1_000_000_000) }

    func record(_ value: Int64) { record(Double(value)) }

    func record(_ value: Double) {
        guard value.isFinite else { return }
        interval.withLock { interval in
            let sum = interval.sum + value
            guard sum.isFinite else { return }
            interval.count += 1
            interval.sum = sum
            interval.least = min(interval.least, value)
            interval.greatest = max(interval.greatest, value)
            if !quantiles.isEmpty { interval.buckets[Self.bucket(value), default: 0] += 1 }
        }
    }

    func drainMeasurements(_ key: SeriesKey) -> [SampleMeasurement] {
        let interval = interval.withLock { interval in
            defer { interval = Interval() }
            return interval
        }
        guard interval.count > 0 else { return [] }
        var measurements = [
            key.measurement(.integer(interval.count), suffix: ".count", unit: "{measurement}"),
            key.measurement(.double(interval.sum), suffix: ".sum"),
            key.measurement(.double(interval.least), suffix: ".min"),
            key.measurement(.double(interval.greatest), suffix: ".max"),
        ]
        for quantile in quantiles {
            let hundredths = Int((quantile * 100).rounded())
            measurements.append(
                key.measurement(.double(Self.value(at: quantile, of: interval)), suffix: ".p\(hundredths)"))
        }
        return measurements
    }

    private static func bucket(_ value: Double) -> Int {
        guard value > 0 else { return bucketBounds.lowerBound }
        return min(
            max(Int((log(value) / log(growth)).rounded(.down)), bucketBounds.lowerBound), bucketBounds.upperBound)
    }

    private static func value(at quantile: Double, of interval: Interval) -> Double {
        let rank = Int64((quantile * Double(interval.count)).rounded(.up))
        var seen: Int64 = 0
        for (bucket, count) in interval.buckets.sorted(by: { $0.key < $1.key }) {
            seen += count
            // The geometric middle of the bucket, limited to the values that occurred.
            if seen >= rank { return min(max(pow(growth, Double(bucket) + 0.5), interval.least), interval.greatest) }
        }
        return interval.greatest
    }
}
