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
        let module: String
        let application: String

        static func < (left: Self, right: Self) -> Bool {
            (left.kind, left.module, left.application) < (right.kind, right.module, right.application)
        }
    }

    /// One series without the labels of its device.
    struct Point: Sendable, Equatable {
        /// As in the text format, each label behind a comma.
        let labels: String
        let value: Double
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
        /// Points that fit into the device's limit. `points` has as many, or none if their organization has too many.
        var fitting: Int
        /// All that the sample has.
        let count: Int
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
    /// Points of all devices.
    private(set) var size = 0

    /// The kinds of records that have the metrics.
    var kinds: Set<WireRecordKind> { selection.kinds }

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
            include(
                record,
                from: Source(
                    kind: header.kind, module: header.kind == WireRecordKind.sampleCustom.rawValue ? header.module : "",
                    application: header.application))
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
        guard let kind = WireRecordKind(rawValue: header.kind),
            let read = try? selection.read(kind: kind, body: header.body(of: record.bytes))
        else { return }
        var points: [Int: [String: Double]] = [:]
        for point in read.points where point.value.isFinite && isChosen(point.definition.name, kind) {
            let labels = Self.labels(point.attributes, source)
            guard labels.utf8.count <= Tunables.DeviceMetrics.labelBytes, let family = family(of: point.definition)
            else { continue }
            points[family, default: [:]][labels] = point.value
        }
        for (family, points) in points {
            let metric = Metric(family: family, source: source)
            let former = device.metrics[metric]
            var all = points
            // A sample with more series than a record holds is several records of one time.
            if let former, former.wallTime == header.wallTime {
                for point in former.points where all[point.labels] == nil { all[point.labels] = point.value }
            }
            let sorted = all.sorted { $0.key < $1.key }.map { Point(labels: $0.key, value: $0.value) }
            device.metrics[metric] = Values(
                time: min(header.wallTime, record.receivedAt), wallTime: header.wallTime, test: header.test,
                points: sorted, fitting: sorted.count, count: sorted.count)
            size += sorted.count - (former?.points.count ?? 0)
        }
        size -= device.cut(to: Tunables.DeviceMetrics.seriesPerDevice, families)
    }

    private func isChosen(_ name: String, _ kind: WireRecordKind) -> Bool {
        kind == .sampleCustom ? choice.custom.contains(name) : choice.builtIn.contains(name)
    }

    /// The number of a metric's family; `nil` if another family has its name.
    private mutating func family(of definition: MetricDefinition) -> Int? {
        if let number = familyNumbers[definition] { return number }
        guard families.count < Tunables.DeviceMetrics.families, let name = PrometheusName(definition) else {
            return nil
        }
        let names = Set([name.family, name.sample])
        let owners = Set(names.compactMap { taken[$0] })
        if let owner = owners.first {
            // Two custom metrics may come to one name. As gauges they are one family.
            guard owners.count == 1, families[owner].name == name else { return nil }
            return owner
        }
        guard !DeviceMetricText.ownNames.contains(where: names.contains) else { return nil }
        let number = families.count
        let help =
            definition.description.isEmpty ? "Metric \(definition.name) of custom samples" : definition.description
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
    private static func labels(_ attributes: MetricAttributes, _ source: Source) -> String {
        var labels: [String: String] = [:]
        for (key, value) in attributes.sorted(by: { $0.key < $1.key }) {
            var name = PrometheusName.label(key)
            if DeviceMetricText.ownLabels.contains(name) { name = "exported_\(name)" }
            labels[name] = labels[name].map { "\($0);\(value)" } ?? "\(value)"
        }
        if !source.application.isEmpty { labels["application"] = source.application }
        if !source.module.isEmpty { labels["otel_scope_name"] = source.module }
        return labels.sorted { $0.key < $1.key }.map { ",\($0.key)=\"\(PrometheusText.escaped($0.value))\"" }.joined()
    }
}

extension DeviceMetricCache.Device {
    fileprivate var points: Int { metrics.values.reduce(0) { $0 + $1.points.count } }

    fileprivate func hasOldValues(before oldest: Int64) -> Bool {
        metrics.values.contains { $0.time < oldest } || newest.values.contains { $0.receivedAt < oldest }
    }

    /// Keeps the first points in the order of metrics' names and of labels.
    /// - Returns: how many were removed.
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
            values.fitting = min(left, values.count)
            let surplus = max(0, values.points.count - values.fitting)
            values.points.removeLast(surplus)
            metrics[metric] = values
            removed += surplus
            left -= values.fitting
        }
        return removed
    }

    /// - Returns: how many points were removed.
    fileprivate mutating func empty() -> Int {
        var removed = 0
        for (metric, values) in metrics where !values.points.isEmpty {
            removed += values.points.count
            metrics[metric]?.points = []
        }
        return removed
    }
}
