import CollectorAPI
import MetricCatalog
import Registry
import TelemetryBasics
import WireModel

/// A request for the spread of a metric over the fleet, bucket by bucket.
struct FleetSeriesQuery: Equatable, Sendable {
    var metric: String
    var module: String?
    var application: String?
    var attributes: AttributeFilter
    var window: SeriesWindow
    /// `nil`: by the metric's kind.
    var aggregate: SeriesAggregate?
    var grouping: DeviceGrouping?
    /// The most devices that are looked at; `nil`: all.
    var sample: Int?
    var withTest: Bool

    static let parameters: Set<String> = [
        "metric", "module", "application", "attribute", "from", "to", "step", "aggregate", "by", "sample", "test",
    ]
    static let repeatedParameters: Set<String> = ["attribute"]
    private static let samples = 10...100_000
    private static let leastStep: Int64 = 300_000_000
    private static let standardBuckets: Int64 = 100

    /// - Parameter now: the default of `to`.
    /// - Throws: `Problem` for the invalid parameter.
    init(_ query: QueryParameters, now: Int64) throws {
        guard let metric = query.text("metric") else { throw Problem.invalidParameter("metric", "is not given.") }
        self.metric = metric
        module = query.text("module")
        application = query.text("application")
        attributes = try SeriesQuery.attributes(query.texts("attribute"))
        withTest = try query.flag("test")
        sample = try query.integer("sample", Self.samples)
        let step = try SeriesQuery.step(query.text("step"))
        window = try SeriesWindow(query, step: step, now: now)
        if step == nil {
            let multiples = max(1, (window.to - window.from - 1) / Self.standardBuckets / Self.leastStep + 1)
            window = SeriesWindow(from: window.from, to: window.to, step: multiples * Self.leastStep)
        }
        if let text = query.text("aggregate") {
            guard let named = SeriesAggregate(rawValue: text) else {
                let known = SeriesAggregate.allCases.map(\.rawValue).joined(separator: ", ")
                throw Problem.invalidParameter("aggregate", "is \(text); expected one of \(known).")
            }
            aggregate = named
        }
        if let text = query.text("by") {
            guard let named = DeviceGrouping(rawValue: text) else {
                let known = DeviceGrouping.allCases.map(\.rawValue).joined(separator: ", ")
                throw Problem.invalidParameter("by", "is \(text); expected one of \(known).")
            }
            grouping = named
        }
    }

    /// The request for one device.
    var ofDevice: SeriesQuery {
        SeriesQuery(
            metrics: [metric], module: module, application: application, window: window, attributes: attributes,
            aggregates: [aggregate ?? .rate], withTest: withTest)
    }

    /// The devices to look at: all, or so many of them, evenly by id. Ids are random, and so is the choice; the same
    /// devices are chosen again.
    func chosen(of devices: [GroupedDevice]) -> [GroupedDevice] {
        guard let sample, sample < devices.count else { return devices }
        return (0..<sample).map { devices[$0 * devices.count / sample] }
    }
}

/// Collects one value of each device for each bucket, and gives their spread. Memory grows with the number of values,
/// which is limited.
struct FleetSeries {
    struct Key: Hashable, Sendable {
        var group: FleetGroup
        var attributes: MetricAttributes
    }

    struct Overflow: Error, Equatable {
        var detail: String
    }

    /// The spread of the devices' values in one bucket.
    struct Spread: Equatable, Sendable {
        let devices: Int
        let min: Double
        let p5: Double
        let p25: Double
        let p50: Double
        let p75: Double
        let p95: Double
        let max: Double
        let mean: Double

        /// - Returns: `nil` if there is no value.
        init?(_ values: [Double]) {
            let sorted = values.sorted()
            guard let least = sorted.first, let greatest = sorted.last else { return nil }
            devices = sorted.count
            (min, max) = (least, greatest)
            p5 = sorted.percentile(5)
            p25 = sorted.percentile(25)
            p50 = sorted.percentile(50)
            p75 = sorted.percentile(75)
            p95 = sorted.percentile(95)
            // The sum may be out of range even if the mean is not.
            mean = sorted.reduce(0) { $0 + $1 / Double(sorted.count) }
        }
    }

    let window: SeriesWindow
    private(set) var series: [Key: [[Double]]] = [:]
    private(set) var definition: MetricDefinition?
    /// The aggregate as it was asked for, or as the metric's kind has it.
    private(set) var aggregate: SeriesAggregate?
    private var values = 0

    static let maximumSeries = 200
    static let maximumValues = 2_000_000

    init(window: SeriesWindow, aggregate: SeriesAggregate?) {
        self.window = window
        self.aggregate = aggregate
    }

    /// Adds a device. If several of its programs report the metric, it counts once in a bucket, with their mean.
    mutating func add(_ device: SeriesAccumulator, to group: FleetGroup) throws(Overflow) {
        let found = Dictionary(grouping: device.series) { $0.key.attributes }
        for (attributes, programs) in found {
            guard let first = programs.first?.value.definition else { continue }
            definition = definition ?? first
            let aggregate = self.aggregate ?? Self.aggregate(for: first.kind)
            self.aggregate = aggregate
            let key = Key(group: group, attributes: attributes)
            var buckets = series.removeValue(forKey: key) ?? Array(repeating: [], count: window.buckets)
            for bucket in Set(programs.flatMap(\.value.buckets.keys)) {
                let reported = programs.compactMap { $0.value.value(aggregate, in: bucket) }
                guard !reported.isEmpty else { continue }
                buckets[bucket].append(reported.reduce(0) { $0 + $1 / Double(reported.count) })
                values += 1
            }
            series[key] = buckets
            guard series.count <= Self.maximumSeries else {
                throw Overflow(
                    detail:
                        "There are more than \(Self.maximumSeries) series. Ask for one `attribute`, or without `by`.")
            }
            guard values <= Self.maximumValues else {
                throw Overflow(
                    detail:
                        """
                        There are more than \(Self.maximumValues) values. Ask for a longer `step`, for less time, for \
                        one `attribute`, or for a `sample` of the devices.
                        """)
            }
        }
    }

    /// The aggregate by which devices are compared if nothing else is asked for: a counter by its growth.
    private static func aggregate(for kind: MetricDefinition.Kind) -> SeriesAggregate {
        switch kind {
        case .gauge, .upDownCounter, .deltaHistogram, .cumulativeHistogram, .summary: .mean
        case .deltaCounter, .cumulativeCounter: .rate
        }
    }
}

/// A group of devices in an answer.
enum FleetGroup: Hashable, Sendable {
    /// Empty: what the devices have not reported, or all of them.
    case named(String)
    /// All groups but the largest.
    case other

    static let maximumNamed = 8

    /// The groups of devices: those with the most devices by name, and one for all others.
    static func groups(of devices: [GroupedDevice]) -> [String: FleetGroup] {
        let counts = Dictionary(grouping: devices, by: \.group).mapValues(\.count)
        let ranked = counts.sorted { ($1.value, $0.key) < ($0.value, $1.key) }.map(\.key)
        return Dictionary(
            uniqueKeysWithValues: ranked.enumerated().map { ($1, $0 < maximumNamed ? .named($1) : .other) })
    }
}

extension FleetSeriesView.Series {
    fileprivate init(_ key: FleetSeries.Key, _ buckets: [[Double]], isGrouped: Bool) {
        self.init()
        if isGrouped {
            switch key.group {
            case .named(let name): group = name
            case .other: other = true
            }
        }
        attributes = key.attributes.json
        let spreads = buckets.map { FleetSeries.Spread($0) }
        devices = spreads.map { $0?.devices ?? 0 }
        min = spreads.map { $0?.min }
        p5 = spreads.map { $0?.p5 }
        p25 = spreads.map { $0?.p25 }
        p50 = spreads.map { $0?.p50 }
        p75 = spreads.map { $0?.p75 }
        p95 = spreads.map { $0?.p95 }
        max = spreads.map { $0?.max }
        mean = spreads.map { $0?.mean }
    }
}

extension FleetSeriesView {
    init(_ fleet: FleetSeries, _ query: FleetSeriesQuery, devices: Int, looked: Int) {
        self.init()
        let window = fleet.window
        metric = query.metric
        unit = fleet.definition?.unit
        kind = fleet.definition?.kind.name
        aggregate = fleet.aggregate?.rawValue
        from = Timestamp.text(window.from)
        to = Timestamp.text(window.to)
        stepSeconds = window.step / 1_000_000
        buckets = window.buckets
        by = query.grouping?.rawValue
        self.devices = devices
        sampled = looked < devices ? looked : nil
        series = fleet.series.sorted { Self.order($0.key) < Self.order($1.key) }.map { key, buckets in
            Series(key, buckets, isGrouped: query.grouping != nil)
        }
    }

    /// The order by group, the others last, then by attributes.
    private static func order(_ key: FleetSeries.Key) -> String {
        let group =
            switch key.group {
            case .named(let name): "0" + name
            case .other: "1"
            }
        let attributes = key.attributes.sorted { $0.key < $1.key }.map { "\($0.key)\u{1}\($0.value)" }
        return ([group] + attributes).joined(separator: "\u{0}")
    }
}

extension [Double] {
    /// The least value such that this share of all values is at or below it. The values are sorted, and there is one.
    func percentile(_ percent: Int) -> Double { self[Swift.max(0, (count * percent + 99) / 100 - 1)] }
}
