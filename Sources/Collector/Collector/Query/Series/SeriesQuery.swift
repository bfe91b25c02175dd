import MetricCatalog
import RecordStore
import WireModel

/// A request for series of a device's samples.
struct SeriesQuery: Equatable, Sendable {
    var metrics: [String]
    var module: String?
    var application: String?
    var window: SeriesWindow
    var attributes: AttributeFilter
    var aggregates: [SeriesAggregate]
    var withTest: Bool

    static let parameters: Set<String> = [
        "metric", "module", "application", "from", "to", "step", "attribute", "aggregate", "test",
    ]
    static let repeatedParameters: Set<String> = ["metric", "attribute"]

    static let maximumMetrics = 16
    private static let second: Int64 = 1_000_000
    private static let greatestStep: Int64 = 366 * 86_400

    /// - Parameter now: the default of `to`.
    /// - Throws: `Problem` for the invalid parameter.
    init(_ query: QueryParameters, now: Int64) throws {
        metrics = query.texts("metric")
        guard (1...Self.maximumMetrics).contains(metrics.count) else {
            throw Problem.invalidParameter(
                "metric", "is given \(metrics.count) times; expected 1 to \(Self.maximumMetrics).")
        }
        module = query.text("module")
        application = query.text("application")
        withTest = try query.flag("test")
        let step = try Self.step(query.text("step"))
        window = try SeriesWindow(query, step: step, now: now)
        if step == nil { window = SeriesWindow(from: window.from, to: window.to, step: window.defaultStep) }
        attributes = try Self.attributes(query.texts("attribute"))
        aggregates = try Self.aggregates(query.text("aggregate"))
    }

    /// Seconds, or a number with `s`, `m`, `h` or `d`. In microseconds.
    static func step(_ text: String?) throws -> Int64? {
        guard let text else { return nil }
        let units: [Character: Int64] = ["s": 1, "m": 60, "h": 3600, "d": 86_400]
        let unit = text.last.flatMap { units[$0] }
        guard let number = Int64(unit == nil ? Substring(text) : text.dropLast()), number >= 1,
            number <= Self.greatestStep, number * (unit ?? 1) <= Self.greatestStep
        else {
            throw Problem.invalidParameter(
                "step", "is \(text); expected seconds, or a number with s, m, h or d, up to 366 d.")
        }
        return number * (unit ?? 1) * Self.second
    }

    /// Each is `name:value`. The name ends at the first colon.
    static func attributes(_ texts: [String]) throws -> AttributeFilter {
        var attributes: [String: String] = [:]
        for text in texts {
            guard let colon = text.firstIndex(of: ":"), colon > text.startIndex else {
                throw Problem.invalidParameter(
                    "attribute", "is \(text); expected name:value, such as system.memory.state:free.")
            }
            let name = String(text[..<colon])
            guard attributes[name] == nil else { throw Problem.invalidParameter("attribute", "names \(name) twice.") }
            attributes[name] = String(text[text.index(after: colon)...])
        }
        return AttributeFilter(attributes)
    }

    init(
        metrics: [String], module: String?, application: String?, window: SeriesWindow, attributes: AttributeFilter,
        aggregates: [SeriesAggregate], withTest: Bool
    ) {
        self.metrics = metrics
        self.module = module
        self.application = application
        self.window = window
        self.attributes = attributes
        self.aggregates = aggregates
        self.withTest = withTest
    }

    private static func aggregates(_ text: String?) throws -> [SeriesAggregate] {
        guard let text else { return [.mean] }
        var found: [SeriesAggregate] = []
        for name in text.split(separator: ",", omittingEmptySubsequences: false) {
            guard let aggregate = SeriesAggregate(rawValue: String(name)), !found.contains(aggregate) else {
                let known = SeriesAggregate.allCases.map(\.rawValue).joined(separator: ", ")
                throw Problem.invalidParameter(
                    "aggregate", "has `\(name)`; expected some of \(known), each once, separated by commas.")
            }
            found.append(aggregate)
        }
        return found
    }

    /// Counters need the sample before the first one. This is how far back it is searched.
    var lookBack: Int64 { min(max(2 * window.step, 600 * Self.second), 3600 * Self.second) }

    /// Whether values are compared with those before them. A name that the catalog does not have may be a histogram,
    /// and what one has observed is a growth.
    var wantsGrowth: Bool {
        aggregates.contains(.rate) || aggregates.contains(.increase)
            || metrics.contains { MetricCatalog.definitions[$0] == nil }
    }

    var selection: MetricSelection {
        MetricSelection(
            Set(metrics), withCustom: module.map { SampleModuleNames.kind(of: $0) == .sampleCustom } ?? false)
    }

    func records(of device: DeviceID, _ selection: MetricSelection) -> RecordQuery {
        let (start, isUnder) = window.from.subtractingReportingOverflow(wantsGrowth ? lookBack : 0)
        return RecordQuery(
            .one(device), stream: .sample,
            kinds: selection.recordKinds, module: module, application: application,
            times: RecordTimes(from: isUnder ? .min : start, to: window.to), withTest: withTest)
    }
}

/// The attributes that values must have, and those that they must not have.
struct AttributeFilter: Equatable, Sendable {
    /// An empty value stands for an absent attribute.
    private let attributes: [String: String]

    init(_ attributes: [String: String] = [:]) { self.attributes = attributes }

    func admits(_ point: MetricPoint) -> Bool {
        attributes.allSatisfy { name, value in point.attributes[name]?.description ?? "" == value }
    }
}

/// The buckets of a series: `[from + i * step, from + (i + 1) * step)`, the last one cut at `to`. Microseconds.
struct SeriesWindow: Equatable, Sendable {
    let from: Int64
    /// Exclusive; greater than `from`.
    let to: Int64
    /// Greater than 0.
    let step: Int64

    /// The most buckets, as many as Prometheus returns in one answer.
    static let maximumBuckets = 11_000

    var buckets: Int { Self.count(from: from, to: to, step: step) }

    static func count(from: Int64, to: Int64, step: Int64) -> Int { Int((to - from - 1) / step) + 1 }

    private static let second: Int64 = 1_000_000
    private static let defaultRange = 86_400 * second
}

extension SeriesWindow {
    /// Reads the parameters `from` and `to`; the default is the last day.
    /// - Parameters:
    ///   - step: `nil` for one bucket over the whole window.
    ///   - now: the default of `to`.
    /// - Throws: `Problem` for the invalid parameter.
    init(_ query: QueryParameters, step: Int64?, now: Int64) throws {
        let to = try query.time("to") ?? now
        let from = try query.time("from") ?? to - Self.defaultRange
        guard from < to else { throw Problem.invalidParameter("from", "is not before `to`.") }
        let step = step ?? to - from
        guard Self.count(from: from, to: to, step: step) <= Self.maximumBuckets else {
            let least = ((to - from) / Int64(Self.maximumBuckets)) / Self.second + 1
            throw Problem.invalidParameter(
                "step",
                """
                divides the time into more than \(Self.maximumBuckets) buckets; ask for \(least) s or more, or for \
                less time.
                """
            )
        }
        self.init(from: from, to: to, step: step)
    }

    /// The default step: five minutes, or longer if that would give more than a thousand buckets.
    var defaultStep: Int64 { max(300 * Self.second, ((to - from) / 1000 / Self.second + 1) * Self.second) }

    /// The bucket of a time; `nil` outside of the window.
    func bucket(of time: Int64) -> Int? { time >= from && time < to ? Int((time - from) / step) : nil }
}

/// How the values of a bucket become one number.
///
/// The values of a histogram are what it has observed.
enum SeriesAggregate: String, CaseIterable, Sendable {
    case mean
    case sum
    case min
    case max
    /// The latest by the device's clock.
    case last
    case count
    /// The growth, for counters.
    case increase
    /// The growth per second over the time that was covered, for counters.
    case rate
    /// Quantiles, of histograms and summaries.
    case p50
    case p90
    case p95
    case p99

    /// Of a quantile: its share of all values, in percent.
    var percent: Int? {
        switch self {
        case .p50: 50
        case .p90: 90
        case .p95: 95
        case .p99: 99
        case .mean, .sum, .min, .max, .last, .count, .increase, .rate: nil
        }
    }
}

extension MetricDefinition.Kind {
    /// Whether a point tells of many values.
    var isDistribution: Bool {
        switch self {
        case .deltaHistogram, .cumulativeHistogram, .summary: true
        case .gauge, .upDownCounter, .deltaCounter, .cumulativeCounter: false
        }
    }
}
