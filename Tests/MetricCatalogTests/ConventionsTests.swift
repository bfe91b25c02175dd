import Foundation
import MetricCatalog
import Testing
import WireModel

/// The catalog as it is built, against OpenTelemetry's conventions. Tools/generate-wire compares the schema, before it
/// writes the catalog.
@Suite("OpenTelemetry's conventions")
struct ConventionsTests {
    private struct Table: Decodable {
        struct Metric: Decodable {
            var unit: String
            var instrument: String
            var attributes: [String: String]
            var values: [String: [String]]?
        }

        struct Attribute: Decodable {
            var type: String
            var values: [String]?
        }

        var version: String
        var license: String
        var metrics: [String: Metric]
        /// The levels of the attributes, by entity.
        var resource: [String: [String: String]]
        var events: [String: [String: String]]
        var attributes: [String: Attribute]
    }

    private static let table: Table = {
        let file = URL(filePath: #filePath).deletingLastPathComponent()
            .appending(path: "../../Schemas/conventions/conventions.json").standardizedFileURL
        do {
            return try JSONDecoder().decode(Table.self, from: Data(contentsOf: file))
        } catch {
            preconditionFailure("\(file.path) cannot be read: \(error)")
        }
    }()

    /// Names of the Collector of OpenTelemetry, which the conventions do not have.
    private static let unregistered: Set<String> = [
        "system.cpu.load_average.1m", "system.cpu.load_average.5m", "system.cpu.load_average.15m",
    ]
    /// Attributes that the conventions do not give a metric: one filter fits all metrics of interfaces.
    private static let beyond: [String: Set<String>] = [
        "system.network.packet.count": ["network.interface.name"],
        "hw.network.bandwidth.limit": ["network.interface.name"], "hw.network.up": ["network.interface.name"],
    ]

    private static func instrument(of kind: MetricDefinition.Kind) -> String? {
        switch kind {
        case .gauge: "gauge"
        case .upDownCounter: "updowncounter"
        case .cumulativeCounter: "counter"
        case .cumulativeHistogram: "histogram"
        case .deltaCounter, .deltaHistogram, .summary: nil
        }
    }

    @Test
    func `a metric whose name is not ours has the unit and the kind of the conventions`() {
        #expect(Self.table.version == "1.44.0" && Self.table.license == "Apache-2.0")
        let theirs = MetricCatalog.definitions.filter {
            !$0.key.hasPrefix("ws1.") && !Self.unregistered.contains($0.key)
        }
        #expect(theirs.count == 36)
        for (name, definition) in theirs {
            let known = Self.table.metrics[name]
            #expect(known != nil, "the conventions have no \(name)")
            #expect(definition.unit == known?.unit, "\(name)")
            #expect(Self.instrument(of: definition.kind) == known?.instrument, "\(name)")
        }
    }

    @Test
    func `each point has the attributes that the conventions require, and none of another type or value`() {
        let points = Self.points()
        let names = Set(points.map(\.definition.name))
        #expect(names.isSuperset(of: ["hw.status", "hw.network.up", "system.network.packet.count"]))
        for point in points {
            let name = point.definition.name
            let metric = Self.table.metrics[name]
            for (attribute, level) in metric?.attributes ?? [:] where level == "required" {
                #expect(point.attributes[attribute] != nil, "\(name) needs \(attribute)")
            }
            for (attribute, value) in point.attributes where !attribute.hasPrefix("ws1.") {
                let known = Self.table.attributes[attribute]
                let type =
                    switch value {
                    case .text: "string"
                    case .integer: "int"
                    case .boolean: "boolean"
                    }
                #expect(known?.type == type, "\(attribute) of \(name)")
                if metric != nil, Self.beyond[name]?.contains(attribute) != true {
                    #expect(metric?.attributes[attribute] != nil, "\(name) has no \(attribute)")
                }
                // Types of file systems are open: the conventions name six of them.
                if let values = known?.values, attribute != "system.filesystem.type" {
                    let allowed = values + (metric?.values?[attribute] ?? [])
                    #expect(allowed.contains(value.description), "\(attribute) of \(name)")
                }
            }
        }
    }

    @Test
    func `a device's resource has the attributes of the conventions, with their values, and none that is empty`() {
        var identity = WireSystemIdentity()
        identity.hostName = "till-7"
        identity.cpuModel = "Intel(R) Core(TM) i7"
        identity.vendor = "LENOVO"
        identity.model = "ThinkPad X1 Carbon Gen 12 (21KCS06300)"
        identity.operatingSystem.name = "linux"
        identity.operatingSystem.distribution = "debian"
        identity.operatingSystem.kernel = "6.1.0-18-amd64"
        identity.operatingSystem.architecture = "x86_64"
        let resource = ResourceAttributes.of(device: "7f", identity: identity, application: "com.example.till")
        #expect(
            resource == [
                "service.name": "com.example.till", "service.instance.id": "7f", "app.installation.id": "7f",
                "device.id": "7f", "host.name": "till-7", "host.arch": "amd64",
                "host.cpu.model.name": "Intel(R) Core(TM) i7", "os.type": "linux", "os.name": "debian",
                "os.build_id": "6.1.0-18-amd64", "device.manufacturer": "LENOVO",
                "device.model.name": "ThinkPad X1 Carbon Gen 12", "device.model.identifier": "21KCS06300",
            ], "without os.version, which is empty")
        let known = Self.table.resource.values.reduce(into: [String: String]()) { $0.merge($1) { first, _ in first } }
        for (name, value) in resource {
            #expect(known[name] != nil, "the conventions have no \(name) of a resource")
            let values = Self.table.attributes[name]?.values
            #expect(values?.contains(value.description) != false, "\(name)")
        }
        #expect(ResourceAttributes.of(device: "7f", identity: nil, application: "").count == 3)
    }

    @Test(
        arguments: [
            ("x86_64", "amd64"), ("aarch64", "arm64"), ("armv7l", "arm32"), ("i686", "x86"), ("ppc64le", "ppc64"),
            ("s390x", "s390x"), ("riscv64", "riscv64"),
        ])
    func `an architecture has the name of the conventions, or the kernel's`(machine: String, name: String) {
        var identity = WireSystemIdentity()
        identity.operatingSystem.architecture = machine
        identity.model = "Box 3 (rev 2)"
        let resource = ResourceAttributes.of(device: "7f", identity: identity, application: "a")
        #expect(resource["host.arch"] == .text(name))
        #expect(resource["device.model.name"] == "Box 3 (rev 2)", "no Lenovo")
    }

    @Test
    func `events of the library have names of ours, and a program's events keep theirs`() {
        var event = WireEvent()
        event.name = "app.screen.click"
        event.type = .custom
        #expect(event.eventName == "app.screen.click" && Self.table.events["app.screen.click"] != nil)
        for type in WireEventType.allCases where type != .custom && type != .unspecified {
            event.type = type
            #expect(event.eventName.hasPrefix("ws1."), "\(type)")
            #expect(Self.table.events[event.eventName] == nil)
        }
    }

    /// Points of each kind of built-in sample.
    private static func points() -> [MetricPoint] {
        var network = WireNetworkDataSample()
        var interface = WireInterfaceData()
        interface.name = "wlan0"
        interface.class = .wifi
        interface.delta.receivedBytes = 1
        interface.total.receivedBytes = 1
        network.interfaces = [interface]
        network.tcpEstablished = 3
        network.tcpResetsSent = 1
        var adapters = WireNetworkAdapterSample()
        var adapter = WireNetworkAdapter()
        adapter.name = "eno1"
        adapter.speedMegabits = 1_000
        adapter.carrierChanges = 2
        adapter.up = true
        adapters.adapters = [adapter]
        var radios = WireWLANSample()
        var radio = WireWLANInterface()
        radio.name = "wlan0"
        radio.channel = 36
        radio.receiveRateKilobits = 1
        radios.interfaces = [radio]
        return MetricCatalog.points(of: MetricCatalogTests.full()) + MetricCatalog.points(of: network)
            + MetricCatalog.points(of: adapters) + MetricCatalog.points(of: radios)
    }
}
