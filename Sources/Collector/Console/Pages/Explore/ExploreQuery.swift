import CollectorAPI
import JSON

/// The question that a person explores. All of it is in the page's address.
struct ExploreQuery {
    static let path = "/explore"

    /// How the devices' values of one step become one line for each group.
    static let statistics: [(name: String, label: String)] = [
        ("p50", "Median"), ("p5", "5th percentile"), ("p25", "25th percentile"), ("p75", "75th percentile"),
        ("p95", "95th percentile"), ("min", "Least"), ("max", "Greatest"), ("mean", "Mean"),
        ("devices", "Devices with a value"),
    ]
    static let groupings = [
        ("", "nothing"), ("os", "operating system"), ("agentVersion", "agent version"), ("application", "application"),
        ("applicationVersion", "application version"),
    ]
    /// How a device's values of one step become one.
    static let aggregates = [
        ("", "as usual: rate of counters, else mean"), ("mean", "mean"), ("sum", "sum"), ("min", "least"),
        ("max", "greatest"), ("last", "newest"), ("count", "number of values"), ("increase", "increase of a counter"),
        ("rate", "rate of a counter"), ("p50", "median of a histogram"), ("p90", "90th percentile of a histogram"),
        ("p95", "95th percentile of a histogram"), ("p99", "99th percentile of a histogram"),
    ]

    private static let ofMetric = ["metric", "module", "application", "attribute", "test"]
    private static let names =
        ofMetric + ["device", "by", "statistic", "aggregate", "sample"] + TimeRange.names + list
    /// The parameters of the list of devices.
    private static let list = ["atLeast", "atMost", "sort"]
    private static let buckets: Int64 = 100

    let base: String
    let range: TimeRange
    let devices: DeviceChoice
    /// The state of the page, with the device by its id.
    private(set) var fields: FormFields

    init(_ visit: Visit) async throws {
        base = visit.base
        range = try TimeRange(visit.query, now: visit.now)
        devices = try await DeviceChoice(visit)
        fields = visit.query.only(Self.names)
        if let device = devices.device { fields = fields.with("device", device.id) }
    }

    /// Names the module of a program's own metric, which is found only with it.
    mutating func complete(with picker: MetricPicker) {
        guard fields.text("module") == nil, let metric, let module = picker.ownModule(of: metric) else { return }
        fields = fields.with("module", module)
    }

    var metric: String? { fields.text("metric") }
    var isGrouped: Bool { fields.text("by") != nil }
    var statistic: (name: String, label: String) {
        Self.statistics.first { $0.name == fields.text("statistic") } ?? Self.statistics[0]
    }

    /// The parameters that all routes about a metric have.
    var selection: FormFields {
        fields.only(Self.ofMetric).with("metric", metric).with("test", testFlag)
    }

    private var testFlag: String? {
        (devices.device.map(\.test) ?? fields.isChecked("test")) ? "true" : nil
    }

    /// The parameters of both routes that give series.
    var series: FormFields {
        let step = range.step(buckets: Self.buckets)
        var series = selection
        for field in range.aligned(to: step).query.fields { series.add(field.name, field.value) }
        series.add("step", "\(step)")
        return series
    }

    /// The parameters of the routes that give newest values.
    var newest: FormFields {
        var newest = selection
        for field in range.query.fields { newest.add(field.name, field.value) }
        return newest
    }

    // MARK: Addresses, with the proxy's prefix

    private func address(_ fields: FormFields) -> String { base + fields.only(Self.names).address(Self.path) }

    /// This page with another metric. Attributes and limits belong to the former one.
    func address(metric: String, module: String?) -> String {
        address(withoutList(fields.with("metric", metric).with("module", module).with("attribute")))
    }

    /// This page about one device; `nil` for the fleet.
    func address(device: String?) -> String { address(withoutList(fields.with("device", device))) }

    private func withoutList(_ fields: FormFields) -> FormFields {
        Self.list.reduce(fields) { $0.with($1) }
    }

    /// This page with only the values of these attributes, and with a list of devices.
    /// - Parameter attributes: `nil` for those that are chosen.
    func address(attributes: [String]?, atLeast: Double? = nil, atMost: Double? = nil, sort: String? = nil) -> String {
        var changed = fields.with("atLeast", atLeast.map(DisplayText.plain)).with(
            "atMost", atMost.map(DisplayText.plain)
        ).with("sort", sort)
        if let attributes {
            changed = changed.with("attribute")
            for attribute in attributes { changed.add("attribute", attribute) }
        }
        return address(changed) + (sort == nil ? "" : "#devices")
    }

    /// Returns the address of a table of the page as a file.
    func csv(_ table: String) -> String {
        base + fields.with("format", "csv").with("table", table).address(Self.path)
    }

    /// The charts of a device, with this metric.
    func deviceAddress(_ device: String) -> String {
        let query = fields.only(["metric"] + TimeRange.names)
        return base + query.address("/devices/\(device.percentEncoded)") + "#charts"
    }
}
