import MetricCatalog
import WireModel

/// Makes series from the points of a device's samples in one pass, newest first. Memory grows only with the number of
/// buckets that contain something.
///
/// A counter's growth is known between two samples of one boot, by the machine's time since boot. An increase since the
/// sample before is used as it is. Over a reboot, or if a counter decreased because its program started again, the
/// growth is unknown and not guessed. That time is then missing from the increase and from the time that a rate covers.
/// The same holds for the observations of a histogram that counts since a start.
struct SeriesAccumulator {
    struct Key: Hashable, Sendable {
        var metric: String
        var module: String
        var application: String
        var origin = OTLPOrigin()
        /// A metric of one name and another kind is another metric.
        var kind: MetricDefinition.Kind
        var attributes: MetricAttributes
    }

    struct Series: Sendable {
        let definition: MetricDefinition
        fileprivate(set) var buckets: [Int: SeriesBucket] = [:]
        /// The newest point so far. It waits for the point before it.
        fileprivate var later: Later?
    }

    fileprivate struct Later {
        var bootID: BootID
        var timeSinceBoot: UInt64
        var value: Double
        var distribution: MetricDistribution?
        /// `nil` outside of the window.
        var bucket: Int?
    }

    /// There are more series or more filled buckets than one answer may have.
    enum Overflow: Error, Equatable {
        case series(limit: Int)
        case buckets(limit: Int)
    }

    let window: SeriesWindow
    let attributes: AttributeFilter
    private(set) var series: [Key: Series] = [:]
    private var filled = 0

    static let maximumSeries = 1000
    static let maximumFilled = 1_000_000

    init(window: SeriesWindow, attributes: AttributeFilter = AttributeFilter()) {
        self.window = window
        self.attributes = attributes
    }

    /// Adds a point of a sample. Points before the window serve only as the base for growth.
    /// - Parameter distribution: of a histogram or a summary.
    mutating func add(
        _ point: MetricPoint, at moment: SampleMoment, _ distribution: MetricDistribution? = nil
    ) throws(Overflow) {
        guard point.value.isFinite, attributes.admits(point) else { return }
        let bucket = window.bucket(of: moment.time)
        let key = Key(
            metric: point.definition.name, module: moment.module, application: moment.application,
            origin: moment.origin, kind: point.definition.kind, attributes: point.attributes)
        var found: Series
        if let known = series.removeValue(forKey: key) {
            found = known
        } else {
            // A series with points only before the window is left out.
            guard bucket != nil else { return }
            guard series.count < Self.maximumSeries else { throw .series(limit: Self.maximumSeries) }
            found = Series(definition: point.definition)
        }
        if let distribution {
            filled += found.add(distribution, moment, bucket: bucket)
        } else {
            let former = found.buckets.count
            if let bucket { found.buckets[bucket, default: SeriesBucket()].add(point.value, at: moment.time) }
            found.follow(point.value, moment, bucket: bucket)
            filled += found.buckets.count - former
        }
        series[key] = found
        guard filled <= Self.maximumFilled else { throw .buckets(limit: Self.maximumFilled) }
    }
}

extension SeriesAccumulator.Series {
    /// `nil` if the bucket has nothing to compute it from.
    func value(_ aggregate: SeriesAggregate, in bucket: Int) -> Double? {
        // Without observations that are known, their number is unknown, too.
        if definition.kind.isDistribution, buckets[bucket]?.observed == nil { return nil }
        return (buckets[bucket] ?? SeriesBucket()).value(aggregate)
    }

    /// Adds a point of a histogram or a summary.
    /// - Returns: how much more memory the series takes, in buckets and ranges of values.
    fileprivate mutating func add(_ distribution: MetricDistribution, _ moment: SampleMoment, bucket: Int?) -> Int {
        if definition.kind == .deltaHistogram {
            guard let bucket else { return 0 }
            let former = buckets[bucket]?.size ?? 0
            buckets[bucket, default: SeriesBucket()].observe(distribution, isWhole: true)
            if let interval = moment.interval, interval > 0 {
                grow(bucket, by: Double(distribution.count), in: interval)
            }
            return (buckets[bucket]?.size ?? 0) - former
        }
        var added = 0
        if let bucket, !distribution.quantiles.isEmpty {
            added -= buckets[bucket]?.size ?? 0
            buckets[bucket, default: SeriesBucket()].observe(distribution.quantiles, at: moment.time)
            added += buckets[bucket]?.size ?? 0
        }
        if let (later, elapsed) = followed(by: moment), let place = later.bucket,
            let grown = later.distribution?.since(distribution)
        {
            added -= buckets[place]?.size ?? 0
            buckets[place, default: SeriesBucket()].observe(grown, isWhole: false)
            grow(place, by: Double(grown.count), in: elapsed)
            added += buckets[place]?.size ?? 0
        }
        later = moment.bootID.map {
            .init(
                bootID: $0, timeSinceBoot: moment.timeSinceBoot, value: 0, distribution: distribution, bucket: bucket)
        }
        return added
    }

    /// Computes the next point's growth. This point then waits for the one before it.
    fileprivate mutating func follow(_ value: Double, _ moment: SampleMoment, bucket: Int?) {
        switch definition.kind {
        case .gauge, .upDownCounter, .deltaHistogram, .cumulativeHistogram, .summary: return
        case .deltaCounter:
            if let interval = moment.interval {
                if let bucket, interval > 0 { grow(bucket, by: value, in: interval) }
                return
            }
            if let (later, elapsed) = followed(by: moment), let bucket = later.bucket {
                grow(bucket, by: later.value, in: elapsed)
            }
        case .cumulativeCounter:
            if let (later, elapsed) = followed(by: moment), let bucket = later.bucket, later.value >= value {
                grow(bucket, by: later.value - value, in: elapsed)
            }
        }
        later = moment.bootID.map {
            .init(bootID: $0, timeSinceBoot: moment.timeSinceBoot, value: value, bucket: bucket)
        }
    }

    /// The next point, and the time between; `nil` if it is of another boot, or not later.
    private func followed(by moment: SampleMoment) -> (later: SeriesAccumulator.Later, elapsed: UInt64)? {
        guard let later, later.bootID == moment.bootID, later.timeSinceBoot > moment.timeSinceBoot else { return nil }
        return (later, later.timeSinceBoot - moment.timeSinceBoot)
    }

    private mutating func grow(_ bucket: Int, by amount: Double, in microseconds: UInt64) {
        buckets[bucket, default: SeriesBucket()].grow(amount, microseconds: microseconds)
    }
}

/// The aggregates of one series in one bucket. The order of values does not matter.
struct SeriesBucket: Equatable, Sendable {
    private(set) var count = 0
    private var sum = 0.0
    /// 2^-64 of the sum, which is never out of range.
    private var scaledSum = 0.0
    private var least = Double.infinity
    private var greatest = -Double.infinity
    private var last: (time: Int64, value: Double) = (.min, 0)
    private var growth: (amount: Double, microseconds: UInt64) = (0, 0)
    /// Of histograms and summaries, whose other values are not used.
    private(set) var observed: ObservedValues?

    /// What it takes of memory, in buckets and ranges of values.
    fileprivate var size: Int { 1 + (observed?.ranges.count ?? 0) }

    mutating func add(_ value: Double, at time: Int64) {
        count += 1
        sum += value
        scaledSum += value * 0x1p-64
        least = min(least, value)
        greatest = max(greatest, value)
        if time > last.time || count == 1 { last = (time, value) }
    }

    /// - Parameter isWhole: as for `ObservedValues`.
    fileprivate mutating func observe(_ distribution: MetricDistribution, isWhole: Bool) {
        observed = observed ?? ObservedValues()
        observed?.add(distribution, isWhole: isWhole)
    }

    fileprivate mutating func observe(_ quantiles: [MetricDistribution.Quantile], at time: Int64) {
        observed = observed ?? ObservedValues()
        observed?.add(quantiles, at: time)
    }

    /// Records that a counter grew by `amount` within `microseconds`.
    mutating func grow(_ amount: Double, microseconds: UInt64) {
        growth.amount += amount
        growth.microseconds.addSaturating(microseconds)
    }

    /// `nil` if the bucket has nothing to compute it from.
    func value(_ aggregate: SeriesAggregate) -> Double? {
        let value: Double? =
            switch aggregate {
            case .count: observed == nil ? Double(count) : observed?.number
            case .mean: observed?.mean ?? mean
            case .sum: observed?.total ?? (count > 0 ? sum : nil)
            case .min: observed?.minimum ?? (count > 0 ? least : nil)
            case .max: observed?.maximum ?? (count > 0 ? greatest : nil)
            case .last: count > 0 ? last.value : nil
            case .p50, .p90, .p95, .p99: aggregate.percent.flatMap { observed?.quantile(percent: $0) }
            case .increase: growth.microseconds > 0 ? growth.amount : nil
            case .rate: growth.microseconds > 0 ? growth.amount / (Double(growth.microseconds) / 1_000_000) : nil
            }
        return value.flatMap { $0.isFinite ? $0 : nil }
    }

    /// The sum may be out of range even if the mean is not.
    private var mean: Double? {
        guard count > 0 else { return nil }
        return sum.isFinite ? sum / Double(count) : scaledSum / Double(count) * 0x1p64
    }

    static func == (left: Self, right: Self) -> Bool {
        left.count == right.count && left.sum == right.sum && left.least == right.least
            && left.greatest == right.greatest && left.last == right.last && left.growth == right.growth
            && left.observed == right.observed
    }
}

/// When a sample was taken, by the device's clocks.
struct SampleMoment: Equatable, Sendable {
    /// The wall clock, which decides the bucket. As wrong as the device's clock.
    var time: Int64
    /// Together with the time since boot it gives the time between two samples, however the wall clock was set.
    var bootID: BootID?
    /// Microseconds.
    var timeSinceBoot: UInt64
    var module = ""
    var application = ""
    var origin = OTLPOrigin()
    /// The time since the previous sample, if the sample states it. Its increases cover that time.
    var interval: UInt64?
}

extension SampleMoment {
    init(_ header: RecordHeader, interval: UInt64?) {
        self.init(
            time: header.wallTime, bootID: header.bootID, timeSinceBoot: header.timeSinceBoot, module: header.module,
            application: header.application, interval: interval)
    }
}
