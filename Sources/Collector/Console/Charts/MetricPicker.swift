import CollectorAPI
import JSON

/// The metrics that a person can choose from, by module.
struct MetricPicker {
    struct Module {
        var name: String
        var metrics: [Metric]
        /// Whether the module is a program's own. The metrics of such a module are found only with the module's name.
        var isOwn = false
    }

    struct Metric {
        var name: String
        var description = ""
    }

    private(set) var modules: [Module] = []

    /// A program's own modules have the metrics that occur among this many newest samples of a device.
    private static let samples = "50"
    /// The number of devices, of those that were seen last, on which metrics of the whole fleet are searched.
    static let devices = 3
    private static let devicesLookedAt = "50"
    /// The metrics of a resource of OTLP are those among this many newest records. Each has what one library of one
    /// program sent at a time.
    private static let otlpRecords = "100"
    private static let otlpModule = "otlp"

    /// The metrics of the modules that a device samples, or those that a resource of OTLP has sent lately.
    static func ofDevice(_ device: DeviceView, _ api: APIClient) async throws -> MetricPicker {
        if device.kind == "otlp" { return MetricPicker(modules: try await otlp([device], api)) }
        let catalog = try await catalog(api)
        let names = device.modules
        var picker = MetricPicker(
            modules: names.map { name in catalog.first { $0.name == name } ?? Module(name: name, metrics: []) })
        if picker.modules.contains(where: \.metrics.isEmpty) {
            picker.modules += own(try await ownMetrics(of: device, api), besides: catalog)
        }
        picker.modules.removeAll(where: \.metrics.isEmpty)
        return picker
    }

    /// All metrics of the catalog, and those of programs' own modules on a few devices and of a few resources of OTLP.
    static func ofFleet(_ api: APIClient, withTest: Bool) async throws -> MetricPicker {
        let catalog = try await catalog(api)
        var query: FormFields = [("sort", "-lastSeen"), ("limit", devicesLookedAt)]
        if withTest { query.add("test", "true") }
        let devices = try await api.call(.listDevices, query).items.filter { $0.modules.contains("custom") }
        var found: [String: Set<String>] = [:]
        for device in devices.prefix(Self.devices) {
            found.merge(try await ownMetrics(of: device, api)) { $0.union($1) }
        }
        query = query.with("state", "otlp").with("limit", "\(Self.devices)")
        let resources = try await api.call(.listDevices, query).items.filter { $0.kind == "otlp" }
        return MetricPicker(modules: catalog + own(found, besides: catalog) + (try await otlp(resources, api)))
    }

    /// What resources of OTLP have sent lately, as one module; none if that is nothing.
    private static func otlp(_ devices: [DeviceView], _ api: APIClient) async throws -> [Module] {
        var found: [String: String] = [:]
        for device in devices {
            let page = try await api.find(.listSamples(device.id), [("limit", otlpRecords)])
            for metric in page?.items.flatMap({ ($0.otlp ?? .null)["metrics"].items }) ?? [] {
                guard let name = metric["name"].text else { continue }
                found[name] = metric["description"].text ?? found[name] ?? ""
            }
        }
        let metrics = found.sorted { $0.key < $1.key }.map { Metric(name: $0.key, description: $0.value) }
        return metrics.isEmpty ? [] : [Module(name: otlpModule, metrics: metrics)]
    }

    /// The module of the program that gives a metric; `nil` for metrics of the catalog.
    func ownModule(of metric: String) -> String? {
        let found = modules.filter { $0.metrics.contains { $0.name == metric } }
        return found.contains { !$0.isOwn } ? nil : found.first?.name
    }

    // MARK: -

    private static func catalog(_ api: APIClient) async throws -> [Module] {
        var modules: [Module] = []
        for item in try await api.call(.getMetricsCatalog).items {
            let metric = Metric(name: item.metric, description: item.description)
            if let index = modules.firstIndex(where: { $0.name == item.module }) {
                modules[index].metrics.append(metric)
            } else {
                modules.append(Module(name: item.module, metrics: [metric]))
            }
        }
        return modules
    }

    private static func ownMetrics(of device: DeviceView, _ api: APIClient) async throws -> [String: Set<String>] {
        var query: FormFields = [("limit", samples)]
        if device.test { query.add("test", "true") }
        var found: [String: Set<String>] = [:]
        // A device may be deleted while the page looks.
        let page = try await api.find(.listSamples(device.id), query)
        for record in page?.items ?? [] {
            let names = (record.sample ?? .null)["measurements"].items.compactMap { $0["name"].text }
            found[record.module ?? "", default: []].formUnion(names)
        }
        return found
    }

    private static func own(_ metrics: [String: Set<String>], besides catalog: [Module]) -> [Module] {
        metrics.filter { name, _ in !catalog.contains { $0.name == name } }.sorted { $0.key < $1.key }.map {
            Module(name: $0, metrics: $1.sorted().map { Metric(name: $0) }, isOwn: true)
        }
    }
}

extension DeviceView {
    /// The modules that the device samples, as its last beacon names them.
    fileprivate var modules: [String] { (beacon ?? .null)["modules"].items.compactMap(\.text) }
}
