import CollectorAPI
import MetricCatalog
import RecordStore
import TelemetryBasics
import WireModel

/// Finds newest values in the samples themselves: in each device's newest rows of the record files.
///
/// There is no projection that must be maintained or could be wrong. A device's newest value is searched in its newest
/// slices, at most 256 of them. A question about the fleet is as many such searches.
struct LatestValues: Sendable {
    let store: any RecordStore
    let metric: String
    let selection: MetricSelection
    let attributes: AttributeFilter
    /// The query without the device.
    let query: RecordQuery

    /// A field that not every sample has, such as those of the machine's identity, is searched in this many of a
    /// device's newest samples.
    static let samplesLookedInto = 16
    /// The same of records of OTLP. Each has the metrics of one program and one library, and a machine has many.
    static let otlpRecordsLookedInto = 128

    init(_ query: QueryParameters, store: any RecordStore) throws {
        guard let metric = query.text("metric") else { throw Problem.invalidParameter("metric", "is not given.") }
        let module = query.text("module")
        self.store = store
        self.metric = metric
        selection = MetricSelection(
            [metric], withCustom: module.map { SampleModuleNames.kind(of: $0) == .sampleCustom } ?? false)
        attributes = try SeriesQuery.attributes(query.texts("attribute"))
        self.query = RecordQuery(
            .among([]), stream: .sample, kinds: selection.recordKinds, module: module,
            application: query.text("application"),
            times: RecordTimes(from: try query.time("from"), to: try query.time("to")),
            withTest: try query.flag("test"))
    }

    static let parameters: Set<String> = ["metric", "module", "application", "attribute", "from", "to", "test"]
    static let repeatedParameters: Set<String> = ["attribute"]

    /// The value of each device that has one.
    func values(of devices: ArraySlice<DeviceID>) async throws -> [DeviceID: LatestValue] {
        var found: [DeviceID: LatestValue] = [:]
        for (device, record) in try await store.newestRecords(of: Array(devices), query) {
            let points = points(of: record)
            found[device] =
                points.isEmpty ? try await earlier(than: record) : LatestValue(record: record, points: points)
        }
        return found
    }

    private func earlier(than newest: StoredRecord) async throws(StoreError) -> LatestValue? {
        var query = query
        query.devices = .one(newest.device)
        let isOTLP = newest.header.kind == WireRecordKind.otlpMetrics.rawValue
        let limit = isOTLP ? Self.otlpRecordsLookedInto : Self.samplesLookedInto
        for record in try await store.records(query, before: nil, limit: limit).records {
            let points = points(of: record)
            if !points.isEmpty { return LatestValue(record: record, points: points) }
        }
        return nil
    }

    /// A histogram or a summary is no single value.
    private func points(of record: StoredRecord) -> [MetricPoint] {
        selection.points(of: record).filter { $0.distribution == nil }.map(\.point)
            .filter { $0.value.isFinite && attributes.admits($0) }
    }
}

/// A device's newest sample with a metric, and its values.
struct LatestValue: Sendable {
    let record: StoredRecord
    /// The points, at least one.
    let points: [MetricPoint]

    /// The value with its points in a range alone; `nil` if it has none there.
    func within(_ range: ValueRange) -> LatestValue? {
        if range.isAll { return self }
        let points = points.filter { range.contains($0.value) }
        return points.isEmpty ? nil : LatestValue(record: record, points: points)
    }

    /// Orders by the greatest value, greatest first, or by the least one, least first; then by device.
    func precedes(_ other: LatestValue, isDescending: Bool) -> Bool {
        let own = extreme(isDescending)
        let others = other.extreme(isDescending)
        guard own == others else { return isDescending ? own > others : own < others }
        return (record.device.high, record.device.low) < (other.record.device.high, other.record.device.low)
    }

    private func extreme(_ isDescending: Bool) -> Double {
        let values = points.map(\.value)
        return (isDescending ? values.max() : values.min()) ?? 0
    }
}

/// Values that are meant: from a least to a greatest one, both included.
struct ValueRange: Equatable, Sendable {
    var least: Double?
    var greatest: Double?

    static let parameters: Set<String> = ["atLeast", "atMost"]

    init(_ query: QueryParameters) throws {
        least = try Self.number("atLeast", query)
        greatest = try Self.number("atMost", query)
        if let least, let greatest, least > greatest {
            throw Problem.invalidParameter("atMost", "is less than `atLeast`.")
        }
    }

    private static func number(_ name: String, _ query: QueryParameters) throws -> Double? {
        guard let text = query.text(name) else { return nil }
        guard let number = Double(text), number.isFinite else {
            throw Problem.invalidParameter(name, "is \(text); expected a number.")
        }
        return number
    }

    var isAll: Bool { least == nil && greatest == nil }

    func contains(_ value: Double) -> Bool { value >= least ?? -.infinity && value <= greatest ?? .infinity }
}

extension LatestValueView {
    /// - Parameter name: the device's; `nil` for none.
    init(_ latest: LatestValue, name: String?) {
        self.init()
        deviceName = name
        device = latest.record.device.description
        time = Timestamp.text(latest.record.header.wallTime)
        receivedAt = Timestamp.text(latest.record.receivedAt)
        module = latest.record.header.module
        unit = latest.points.first?.definition.unit ?? ""
        kind = latest.points.first?.definition.kind.name ?? ""
        values = latest.points.map { point in
            var value = Value()
            value.attributes = point.attributes.json
            value.value = point.value
            return value
        }
    }
}
