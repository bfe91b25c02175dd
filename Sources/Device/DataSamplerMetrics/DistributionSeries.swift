import CoreMetrics
import DataSampler
import Synchronization

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#elseif canImport(Darwin)
import Darwin
#endif

/// Count, sum, least and greatest of what was recorded in an interval, and its quantiles.
///
/// Quantiles are read from buckets whose bounds grow by a tenth each, so that they are right within 5 %; those of 10 to the -9 up to 10 to the
/// 9 have buckets of their own, what is beyond shares the last. Values at or below zero share the lowest.
final class DistributionSeries: TimerHandler, RecorderHandler, Series {
    private struct Interval {
        var count: Int64 = 0
        var sum = 0.0
        var least = Double.infinity
        var greatest = -Double.infinity
        /// By bucket; empty where no quantiles are asked for.
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

    func takeMeasurements(_ key: SeriesKey) -> [SampleMeasurement] {
        let interval = interval.withLock { interval in
            defer { interval = Interval() }
            return interval
        }
        guard interval.count > 0 else { return [] }
        var measurements = [
            key.measurement(.integer(interval.count), suffix: ".count", unit: "{measurement}"),
            key.measurement(.double(interval.sum), suffix: ".sum"),
            key.measurement(.double(interval.least), suffix: ".min"), key.measurement(.double(interval.greatest), suffix: ".max"),
        ]
        for quantile in quantiles {
            let hundredths = Int((quantile * 100).rounded())
            measurements.append(key.measurement(.double(Self.value(at: quantile, of: interval)), suffix: ".p\(hundredths)"))
        }
        return measurements
    }

    private static func bucket(_ value: Double) -> Int {
        guard value > 0 else { return bucketBounds.lowerBound }
        return min(max(Int((log(value) / log(growth)).rounded(.down)), bucketBounds.lowerBound), bucketBounds.upperBound)
    }

    private static func value(at quantile: Double, of interval: Interval) -> Double {
        let rank = Int64((quantile * Double(interval.count)).rounded(.up))
        var seen: Int64 = 0
        for (bucket, count) in interval.buckets.sorted(by: { $0.key < $1.key }) {
            seen += count
            // The geometric middle of the bucket, within what was seen.
            if seen >= rank { return min(max(pow(growth, Double(bucket) + 0.5), interval.least), interval.greatest) }
        }
        return interval.greatest
    }
}
