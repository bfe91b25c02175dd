import Foundation
import Testing
import WireModel

@Suite("Metric catalog")
struct MetricCatalogTests {
    /// The numeric fields (truth values and enumerations too) reachable from a message of telemetry.proto, as paths.
    private static func numericFields(of message: String) throws -> Set<String> {
        let schema = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
            .appendingPathComponent("../../../Schemas/wire/v1/telemetry.proto").standardizedFileURL
        var messages: [String: [(type: String, name: String)]] = [:]
        var current: String?
        for line in try String(contentsOf: schema, encoding: .utf8).split(separator: "\n") {
            let words = (line.split(separator: "/", maxSplits: 1).first ?? "").split(separator: " ").map(String.init)
            guard let first = words.first else { continue }
            if line.hasPrefix("message ") {
                current = words[1]
                messages[words[1]] = []
            } else if line.hasPrefix("}") {
                current = nil
            } else if let message = current, words.contains("=") {
                let field = first == "repeated" || first == "optional" ? Array(words.dropFirst()) : words
                messages[message]?.append((field[0], field[1]))
            }
        }
        func paths(_ message: String) -> [String] {
            (messages[message] ?? []).flatMap { field -> [String] in
                if field.type == "string" || field.type == "bytes" { return [] }
                if messages[field.type] != nil { return paths(field.type).map { "\(field.name).\($0)" } }
                return [field.name]
            }
        }
        return Set(paths(message))
    }

    @Test("each numeric field of a System sample is a metric or an attribute of one, and each entry is a field")
    func complete() throws {
        let fields = try Self.numericFields(of: "SystemSample")
        #expect(fields.count > 60)
        let described = MetricCatalog.system.map(\.field)
        #expect(Set(described).count == described.count, "each field once")
        #expect(Set(described).union(MetricCatalog.systemAttributeFields.keys) == fields)
    }

    @Test("metrics of one name agree on unit, kind and description, and names are well formed")
    func consistent() {
        for (name, entries) in Dictionary(grouping: MetricCatalog.system, by: \.metric.name) {
            #expect(Set(entries.map(\.metric)).count == 1, "\(name)")
            #expect(name.wholeMatch(of: /[a-z][a-z0-9_]*(\.[a-z0-9_]+)+/) != nil, "\(name)")
            #expect(["system", "process", "hw", "ws1"].contains(name.prefix { $0 != "." }), "\(name)")
            #expect(!entries[0].metric.unit.isEmpty && !entries[0].metric.description.isEmpty)
        }
        #expect(MetricCatalog.systemDefinitions.count == Set(MetricCatalog.system.map(\.metric.name)).count)
    }

    private static func full() -> WireSystemSample {
        var sample = WireSystemSample()
        sample.identity.logicalCores = 8
        sample.identity.bootTime = 1_795_000_000_000_000
        sample.uptimeSeconds = 3_700
        sample.intervalMicroseconds = 2_000_000
        sample.cpu.user = 2_500
        var core = WireCPUShares()
        core.number = 3
        core.ioWait = 1
        sample.cores = [core]
        sample.load.oneMinute = 52
        sample.activity.contextSwitches = 1
        sample.activity.interrupts = 2
        sample.activity.processesCreated = 3
        sample.activity.running = 4
        sample.activity.blocked = 5
        sample.pressure.cpu.some.average10Seconds = 1_234
        sample.pressure.cpu.full.totalMicroseconds = 1_500_000
        sample.pressure.memory.some.average60Seconds = 1
        sample.pressure.memory.full.average60Seconds = 1
        sample.pressure.io.some.average60Seconds = 1
        sample.pressure.io.full.average60Seconds = 1
        sample.memory.total = 100
        sample.memory.available = 90
        sample.memory.free = 80
        sample.memory.buffers = 70
        sample.memory.cached = 60
        sample.memory.dirty = 50
        sample.memory.slab = 40
        sample.memory.swapTotal = 30
        sample.memory.swapFree = 20
        var fileSystem = WireFileSystem()
        fileSystem.mountPoint = "/data"
        fileSystem.type = "ext4"
        fileSystem.device = "/dev/sda1"
        fileSystem.size = 10
        fileSystem.used = 7
        fileSystem.available = 2
        fileSystem.inodes = 5
        fileSystem.readOnly = true
        sample.fileSystems = [fileSystem]
        var disk = WireBlockDevice()
        disk.name = "sda"
        disk.busyMicroseconds = 500_000
        sample.blockDevices = [disk]
        sample.power.externalPower = true
        sample.power.batteryLevel = 7_300
        sample.power.state = .notCharging
        sample.power.cycleCount = 312
        sample.power.health = 8_000
        var temperature = WireTemperature()
        temperature.sensor = "nvme/Composite"
        temperature.millidegrees = -1_500
        sample.temperatures = [temperature]
        sample.self_p.cpuTimeMicroseconds = 760_000
        sample.self_p.writtenBytes = 8_192
        sample.self_p.openFiles = 24
        sample.self_p.sentBytes = 1
        sample.self_p.queueWrittenBytes = 2
        sample.self_p.recordsMade = 3
        sample.self_p.recordsLost = 4
        sample.self_p.slowdown.budget = "cpu"
        sample.self_p.slowdown.factor = 250
        sample.self_p.slowdown.used = 60
        sample.self_p.slowdown.allowed = 50
        return sample
    }

    @Test("a full sample gives a point for each entry; one that holds nothing gives none but the uptime")
    func points() {
        for entry in MetricCatalog.system {
            #expect(entry.points(of: Self.full()).count == 1, "\(entry.field)")
        }
        #expect(MetricCatalog.points(of: WireSystemSample()).map(\.definition.name) == ["system.uptime"])
    }

    @Test(
        "values are in the unit their metric says",
        arguments: [
            ("cpu.user", 0.25, ["cpu.mode": "user"]),
            ("cores.io_wait", 0.0001, ["cpu.mode": "iowait", "cpu.logical_number": "3"]),
            ("load.one_minute", 0.52, [:]),
            ("interval_microseconds", 2, [:]),
            ("identity.boot_time", 1_795_000_000, [:]),
            (
                "pressure.cpu.some.average_10_seconds", 0.1234,
                ["ws1.pressure.resource": "cpu", "ws1.pressure.scope": "some", "ws1.pressure.window": "10s"]
            ),
            ("pressure.cpu.full.total_microseconds", 1.5, ["ws1.pressure.resource": "cpu", "ws1.pressure.scope": "full"]),
            (
                "file_systems.used", 7,
                [
                    "system.device": "/dev/sda1", "system.filesystem.mountpoint": "/data", "system.filesystem.type": "ext4",
                    "system.filesystem.mode": "ro", "system.filesystem.state": "used",
                ]
            ),
            ("block_devices.busy_microseconds", 0.5, ["system.device": "sda"]),
            ("power.battery_level", 0.73, ["hw.type": "battery"]),
            ("power.external_power", 1, [:]),
            ("power.state", 1, ["hw.type": "battery", "hw.state": "not_charging"]),
            ("temperatures.millidegrees", -1.5, ["hw.id": "nvme/Composite", "hw.type": "temperature"]),
            ("self.cpu_time_microseconds", 0.76, [:]),
            ("self.slowdown.factor", 2.5, ["ws1.budget": "cpu"]),
        ] as [(String, Double, [String: String])])
    func units(field: String, value: Double, attributes: [String: String]) throws {
        let entry = try #require(MetricCatalog.system.first { $0.field == field })
        let point = try #require(entry.points(of: Self.full()).first)
        #expect(abs(point.value - value) < 1e-9)
        #expect(point.attributes == attributes)
    }

    @Test("one metric can be asked for by name")
    func byName() {
        let points = MetricCatalog.points(of: Self.full(), metric: "system.cpu.utilization")
        #expect(points.count == 16)
    }
}
