import CollectorTunables
import MetricCatalog
import RecordStore
import WireModel

/// The newest values of the chosen metrics, by device.
///
/// It is filled with records in the order of their receipt and may be given a record again, which is not decoded then.
/// Pure: time goes in.
struct DeviceMetricCache: Sendable {
    /// A metric in Prometheus' words.
    struct Family: Sendable {
        let name: PrometheusName
        let help: String
    }

    /// Where values of a device come from. Two sources may have the same metric.
    struct Source: Hashable, Comparable, Sendable {
        let kind: Int
        /// Of a custom sample.
        var module = ""
        let application: String
        /// Of what came as OTLP.
        var origin = OTLPOrigin()

        static func < (left: Self, right: Self) -> Bool { left.order < right.order }

        private var order: (Int, String, String, String, String, String) {
            (kind, module, application, origin.scope, origin.scopeVersion, origin.instance)
        }
    }

    /// One series without the labels of its device, or those of one histogram.
    struct Point: Sendable, Equatable {
        /// As in the text format, each label behind a comma.
        let labels: String
        var value = 0.0
        /// The samples of a histogram or a summary; empty for a number.
        var parts: [DeviceMetricPart] = []

        /// In the answer.
        var series: Int { max(1, parts.count) }
    }

    /// The values of one metric in one sample.
    struct Values: Sendable {
        /// When the sample was made, by the device's clock, but not after its receipt.
        let time: Int64
        /// The same as the device says it.
        var wallTime: Int64 = 0
        let test: Bool
        /// By labels, each once.
        var points: [Point]
        /// Series that are counted for each point, those of the largest: a histogram is shown wholly or not at all.
        var width = 1
        /// Series that fit into the device's limit. `points` has as many, or none if their organization has too many.
        var fitting: Int
        /// All that the sample has.
        let count: Int

        fileprivate var series: Int { points.count * width }
    }

    struct Metric: Hashable, Comparable, Sendable {
        let family: Int
        let source: Source

        static func < (left: Self, right: Self) -> Bool {
            (left.family, left.source) < (right.family, right.source)
        }
    }

    struct Device: Sendable {
        fileprivate(set) var metrics: [Metric: Values] = [:]
        /// The newest record of each source.
        fileprivate var newest: [Source: (receivedAt: Int64, number: UInt64)] = [:]

        /// The metrics that are shown, in their order.
        /// - Parameter oldest: the time of the oldest value that is shown.
        func shown(since oldest: Int64, withTest: Bool) -> [(metric: Metric, values: Values)] {
            metrics.filter { $1.time >= oldest && (withTest || !$1.test) }.sorted { $0.key < $1.key }
                .map { (metric: $0.key, values: $0.value) }
        }
    }

    private let choice: DeviceMetricChoice
    private let selection: MetricSelection
    private(set) var families: [Family] = []
    private var familyNumbers: [MetricDefinition: Int] = [:]
    /// Names of families and of samples, and the family that has each.
    private var taken: [String: Int] = [:]
    private(set) var devices: [DeviceID: Device] = [:]
    /// Series of all devices.
    private(set) var size = 0

    /// The kinds of records that have the metrics.
    var kinds: Set<Int> {
        var kinds = Set(selection.kinds.map(\.rawValue))
        if !choice.otlp.isEmpty { kinds.insert(WireRecordKind.otlpMetrics.rawValue) }
        return kinds
    }

    init(_ choice: DeviceMetricChoice) {
        self.choice = choice
        selection = MetricSelection(choice.builtIn.union(choice.custom), withCustom: !choice.custom.isEmpty)
        for name in choice.builtIn.sorted() {
            if let definition = MetricCatalog.definitions[name] { _ = family(of: definition) }
        }
    }

    /// Adds a page of records, oldest first.
    mutating func include(_ records: [StoredRecord]) {
        for record in records {
            let header = record.header
            var source = Source(kind: header.kind, application: header.application)
            switch WireRecordKind(rawValue: header.kind) {
            case .sampleCustom: source.module = header.module
            case .otlpMetrics: source.origin = OTLPOrigin(record)
            default: break
            }
            include(record, from: source)
        }
    }

    private mutating func include(_ record: StoredRecord, from source: Source) {
        let header = record.header
        var device = devices[record.device] ?? Device()
        if let known = device.newest[source] {
            guard (record.receivedAt, header.number) > known else { return }
        } else if device.newest.count >= Tunables.DeviceMetrics.sources {
            return
        }
        device.newest[source] = (record.receivedAt, header.number)
        defer { devices[record.device] = device }
        var points: [Int: [String: Point]] = [:]
        for read in chosen(record) where read.point.value.isFinite {
            let point = read.point
            let labels = Self.labels(point.attributes, source, isNumber: read.distribution == nil)
            guard labels.utf8.count <= Tunables.DeviceMetrics.labelBytes,
                let parts = read.distribution.map(DeviceMetricPart.parts) ?? [],
                let family = family(of: point.definition)
            else { continue }
            points[family, default: [:]][labels] = Point(labels: labels, value: point.value, parts: parts)
        }
        for (family, points) in points {
            let metric = Metric(family: family, source: source)
            let former = device.metrics[metric]
            var all = points
            // A sample with more series than a record holds is several records of one time.
            if let former, former.wallTime == header.wallTime {
                for point in former.points where all[point.labels] == nil { all[point.labels] = point }
            }
            let width = all.values.reduce(1) { max($0, $1.series) }
            let values = Values(
                time: min(header.wallTime, record.receivedAt), wallTime: header.wallTime, test: header.test,
                points: all.sorted { $0.key < $1.key }.map(\.value), width: width, fitting: all.count * width,
                count: all.count * width)
            device.metrics[metric] = values
            size += values.series - (former?.series ?? 0)
        }
        size -= device.cut(to: Tunables.DeviceMetrics.seriesPerDevice, families)
    }

    /// The chosen metrics of a record.
    private func chosen(_ record: StoredRecord) -> [RecordedPoint] {
        switch WireRecordKind(rawValue: record.header.kind) {
        case .otlpMetrics: OTLPPoints.read(record, choice.otlp)
        case .sampleCustom: selection.points(of: record).filter { choice.custom.contains($0.point.definition.name) }
        default: selection.points(of: record).filter { choice.builtIn.contains($0.point.definition.name) }
        }
    }

    /// The number of a metric's family; `nil` if another family has its name.
    private mutating func family(of definition: MetricDefinition) -> Int? {
        if let number = familyNumbers[definition] { return number }
        guard families.count < Tunables.DeviceMetrics.families, let name = PrometheusName(definition) else {
            return nil
        }
        let names = name.taken
        let owners = Set(names.compactMap { taken[$0] })
        if let owner = owners.first {
            // Two metrics may come to one name. If they are of one kind, they are one family.
            guard owners.count == 1, families[owner].name == name else { return nil }
            return owner
        }
        guard !DeviceMetricText.ownNames.contains(where: names.contains) else { return nil }
        let number = families.count
        let help =
            definition.description.isEmpty ? "Metric \(definition.name), without a description" : definition.description
        families.append(Family(name: name, help: help))
        for name in names { taken[name] = number }
        // Units are chosen by devices, and only as many as there are families are remembered.
        familyNumbers[definition] = number
        return number
    }

    /// Removes what is older.
    mutating func removeValues(before oldest: Int64) {
        for (id, device) in devices where device.hasOldValues(before: oldest) {
            var left = device
            left.metrics = device.metrics.filter { $1.time >= oldest }
            size += left.points - device.points
            // A record may have been read whose sample is old already: a device sends what has waited.
            left.newest = device.newest.filter { $1.receivedAt >= oldest }
            devices[id] = left.metrics.isEmpty && left.newest.isEmpty ? nil : left
        }
    }

    /// Removes the points of devices that are over the limit of their organization. Their counts stay, so that the
    /// choice of the others does not change.
    /// - Parameter organizations: the devices of each, in the order in which they are shown.
    mutating func trim(_ organizations: [[DeviceID]], to limit: Int) {
        for devices in organizations {
            var sum = 0
            for id in devices {
                guard var device = self.devices[id] else { continue }
                sum += device.metrics.values.reduce(0) { $0 + $1.fitting }
                guard sum > limit else { continue }
                size -= device.empty()
                self.devices[id] = device
            }
        }
    }

    /// The labels of a point, sorted by name. Attributes that come to one name have one label with all of their values,
    /// as OpenTelemetry's rules say.
    private static func labels(_ attributes: MetricAttributes, _ source: Source, isNumber: Bool) -> String {
        var labels: [String: String] = [:]
        for (key, value) in attributes.sorted(by: { $0.key < $1.key }) {
            var name = PrometheusName.label(key)
            let isTaken = DeviceMetricText.ownLabels.contains(name) || (!isNumber && ["le", "quantile"].contains(name))
            if isTaken { name = "exported_\(name)" }
            labels[name] = labels[name].map { "\($0);\(value)" } ?? "\(value)"
        }
        let own = [
            ("application", source.application),
            ("otel_scope_name", source.module.isEmpty ? source.origin.scope : source.module),
            ("otel_scope_version", source.origin.scopeVersion), ("service_instance_id", source.origin.instance),
        ]
        for (name, value) in own where !value.isEmpty { labels[name] = value }
        return labels.sorted { $0.key < $1.key }.map { ",\($0.key)=\"\(PrometheusText.escaped($0.value))\"" }.joined()
    }
}

extension DeviceMetricCache.Device {
    fileprivate var points: Int { metrics.values.reduce(0) { $0 + $1.series } }

    fileprivate func hasOldValues(before oldest: Int64) -> Bool {
        metrics.values.contains { $0.time < oldest } || newest.values.contains { $0.receivedAt < oldest }
    }

    /// Keeps the first points in the order of metrics' names and of labels.
    /// - Returns: how many series were removed.
    fileprivate mutating func cut(to limit: Int, _ families: [DeviceMetricCache.Family]) -> Int {
        let counts = metrics.values.map { (all: $0.count, fitting: $0.fitting) }
        guard counts.reduce(0, { $0 + $1.all }) > limit || counts.contains(where: { $0.fitting < $0.all }) else {
            return 0
        }
        var (left, removed) = (limit, 0)
        // Numbers of families follow the order in which devices named them.
        let sorted = metrics.keys.sorted {
            (families[$0.family].name.family, $0.source) < (families[$1.family].name.family, $1.source)
        }
        for metric in sorted {
            guard var values = metrics[metric] else { continue }
            values.fitting = min(left / values.width * values.width, values.count)
            let surplus = max(0, values.points.count - values.fitting / values.width)
            values.points.removeLast(surplus)
            metrics[metric] = values
            removed += surplus * values.width
            left -= values.fitting
        }
        return removed
    }

    /// - Returns: how many series were removed.
    fileprivate mutating func empty() -> Int {
        var removed = 0
        for (metric, values) in metrics where !values.points.isEmpty {
            removed += values.series
            metrics[metric]?.points = []
        }
        return removed
    }
}
