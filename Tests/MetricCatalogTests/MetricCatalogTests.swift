import Foundation
import MetricCatalog
import SwiftProtobuf
import Testing
import WireModel

@Suite("Metric catalog")
struct MetricCatalogTests {
    private static func metrics<Sample: CatalogedSample>(_: Sample.Type) -> [MetricDefinition] {
        Sample.metricCatalog.map(\.metric)
    }

    @Test
    func `metrics of one name agree on unit, kind and description, and names are well formed`() {
        let all = WireRecordKind.allCases.compactMap(\.catalogedSample).flatMap { Self.metrics($0) }
        #expect(Set(all).count > 80)
        for (name, metrics) in Dictionary(grouping: all, by: \.name) {
            #expect(Set(metrics).count == 1, "\(name)")
            #expect(name.wholeMatch(of: /[a-z][a-z0-9_]*(\.[a-z0-9_]+)+/) != nil, "\(name)")
            #expect(["system", "process", "hw", "ws1"].contains(name.prefix { $0 != "." }), "\(name)")
            #expect(!metrics[0].unit.isEmpty && !metrics[0].description.isEmpty)
        }
        #expect(MetricCatalog.definitions.count == Set(all.map(\.name)).count)
    }

    static func full() -> WireSystemSample {
        var sample = WireSystemSample()
        sample.identity.logicalCores = 8
        sample.identity.bootTime = 1_795_000_000_000_000
        sample.uptimeSeconds = 3_700
        sample.intervalMicroseconds = 2_000_000
        sample.cpu.user = 2_500
        sample.cpu.irq = 30
        sample.cpu.softIrq = 70
        sample.cpuTime.ioWait = 1_500
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
        sample.activity.processesCreatedSinceBoot = 6
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
        sample.memory.used = 10
        sample.memory.slabReclaimable = 25
        sample.memory.slabUnreclaimable = 15
        sample.memory.swapUsed = 6
        var fileSystem = WireFileSystem()
        fileSystem.mountPoint = "/data"
        fileSystem.type = "ext4"
        fileSystem.device = "/dev/sda1"
        fileSystem.size = 10
        fileSystem.used = 7
        fileSystem.available = 2
        fileSystem.reserved = 1
        fileSystem.inodes = 5
        fileSystem.readOnly = true
        sample.fileSystems = [fileSystem]
        var disk = WireBlockDevice()
        disk.name = "sda"
        disk.busyMicroseconds = 500_000
        disk.size = 1 << 40
        disk.total.readMilliseconds = 2_500
        disk.total.mergedWrites = 9
        disk.total.countedMicroseconds = 5_000_000
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
        sample.self_p.cpuUserMicroseconds = 500_000
        sample.self_p.cpuSystemMicroseconds = 260_000
        sample.self_p.uptimeMicroseconds = 9_000_000
        sample.self_p.writtenBytes = 8_192
        sample.self_p.readBytes = 4_096
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

    @Test
    func `a full sample gives one point for each field and state; one that holds nothing gives none but the uptime`() {
        let points = WireSystemSample.metricCatalog.map { ($0.field, $0.points(of: Self.full()).count) }
        #expect(points.filter { $0.1 > 0 }.count >= 122)
        for (field, count) in points { #expect(count <= (field == "power.state" ? 3 : 1), "\(field)") }
        #expect(MetricCatalog.points(of: WireSystemSample()).map(\.definition.name) == ["system.uptime"])
    }

    @Test(
        arguments: [
            ("cpu.user", 0.25, ["cpu.mode": "user"]),
            ("cores.io_wait", 0.0001, ["cpu.mode": "iowait", "cpu.logical_number": 3]),
            ("load.one_minute", 0.52, [:]),
            ("interval_microseconds", 2, [:]),
            ("identity.boot_time", 1_795_000_000, [:]),
            (
                "pressure.cpu.some.average_10_seconds", 0.1234,
                ["ws1.pressure.resource": "cpu", "ws1.pressure.scope": "some", "ws1.pressure.window": "10s"]
            ),
            (
                "pressure.cpu.full.total_microseconds", 1.5,
                ["ws1.pressure.resource": "cpu", "ws1.pressure.scope": "full"]
            ),
            (
                "file_systems.used", 7,
                [
                    "system.device": "/dev/sda1", "system.filesystem.mountpoint": "/data",
                    "system.filesystem.type": "ext4",
                    "system.filesystem.mode": "ro", "system.filesystem.state": "used",
                ]
            ),
            ("block_devices.busy_microseconds", 0.5, ["system.device": "sda"]),
            (
                "block_devices.total.read_milliseconds", 2.5,
                ["system.device": "sda", "disk.io.direction": "read"]
            ),
            ("block_devices.total.merged_writes", 9, ["system.device": "sda", "disk.io.direction": "write"]),
            ("cpu.irq", 0.01, ["cpu.mode": "interrupt"]),
            ("cpu_time.io_wait", 1.5, ["cpu.mode": "iowait"]),
            ("memory.slab_reclaimable", 25, ["system.memory.linux.slab.state": "reclaimable"]),
            ("memory.swap_used", 6, ["system.paging.state": "used"]),
            ("self.cpu_system_microseconds", 0.26, ["cpu.mode": "system"]),
            ("self.read_bytes", 4_096, ["disk.io.direction": "read"]),
            ("power.battery_level", 0.73, ["hw.id": "battery"]),
            ("power.external_power", 1, [:]),
            ("temperatures.millidegrees", -1.5, ["hw.id": "nvme/Composite"]),
            ("self.cpu_time_microseconds", 0.76, [:]),
            ("self.slowdown.factor", 2.5, ["ws1.budget": "cpu"]),
        ] as [(String, Double, MetricAttributes)])
    func `values are in the unit their metric says`(field: String, value: Double, attributes: MetricAttributes) throws {
        let entry = try #require(WireSystemSample.metricCatalog.first { $0.field == field })
        let point = try #require(entry.points(of: Self.full()).first)
        #expect(abs(point.value - value) < 1e-9)
        #expect(point.attributes == attributes)
    }

    @Test
    func `a state's share is its part of the whole, with the attributes of the state`() {
        let points = MetricCatalog.points(of: Self.full())
        #expect(
            Self.values(points, "system.memory.utilization") == [
                "0.8 system.memory.state=free", "0.7 system.memory.state=buffers", "0.6 system.memory.state=cached",
                "0.1 system.memory.state=used",
            ])
        #expect(Self.values(points, "system.paging.utilization").last == "0.2 system.paging.state=used")
        let fileSystem =
            "system.device=/dev/sda1 system.filesystem.mode=ro system.filesystem.mountpoint=/data "
            + "system.filesystem.state="
        #expect(
            Self.values(points, "system.filesystem.utilization") == [
                "0.7 \(fileSystem)used system.filesystem.type=ext4",
                "0.2 \(fileSystem)free system.filesystem.type=ext4",
                "0.1 \(fileSystem)reserved system.filesystem.type=ext4",
            ])
        var sample = Self.full()
        sample.memory.swapTotal = 0
        #expect(Self.values(MetricCatalog.points(of: sample), "system.paging.utilization").isEmpty, "of nothing")
    }

    @Test
    func `a cumulative counter tells when it began, and no other metric does`() throws {
        func start(_ name: String) throws -> Int64? {
            let point = try #require(
                MetricCatalog.points(of: Self.full()).first { $0.definition.name == name }, "\(name)")
            return point.startTime(sampledAt: 1_795_003_700_000_000, sinceBoot: 3_700_000_000)
        }
        #expect(try start("system.cpu.time") == 1_795_000_000_000_000, "the boot")
        #expect(try start("process.cpu.time") == 1_795_003_691_000_000, "the start of the program")
        #expect(try start("system.disk.merged") == 1_795_003_695_000_000, "when the disk came")
        #expect(try start("ws1.system.disk.operations.increase") == nil)
        #expect(try start("system.memory.usage") == nil)
        let time = try #require(MetricCatalog.points(of: Self.full(), metric: "system.cpu.time").first)
        #expect(time.startTime(sampledAt: 1_795_003_700_000_000, sinceBoot: 0) == nil, "nobody knows")
        #expect(time.startTime(sampledAt: .min, sinceBoot: 1) == nil)
    }

    @Test
    func `of the battery's states the present one is 1, the others 0, and none is told where it is unknown`() {
        let states = Self.values(MetricCatalog.points(of: Self.full()), "hw.status")
        #expect(
            states == [
                "0.0 hw.id=battery hw.state=charging hw.type=battery",
                "0.0 hw.id=battery hw.state=discharging hw.type=battery",
                "1.0 hw.id=battery hw.state=ok hw.type=battery",
            ])
        var sample = Self.full()
        sample.power.state = .unknown
        #expect(Self.values(MetricCatalog.points(of: sample), "hw.status").isEmpty)
    }

    @Test
    func `a number that is an attribute is a number in JSON, and its text in a filter`() throws {
        let attributes: MetricAttributes = ["cpu.logical_number": 3, "cpu.mode": "user", "flag": true]
        let encoder = JSONEncoder()
        encoder.outputFormatting = .sortedKeys
        let json = String(decoding: try encoder.encode(attributes), as: UTF8.self)
        #expect(json == #"{"cpu.logical_number":3,"cpu.mode":"user","flag":true}"#)
        #expect(attributes.mapValues(\.description) == ["cpu.logical_number": "3", "cpu.mode": "user", "flag": "true"])
    }

    @Test
    func `one metric can be asked for by name, and the cores have one of their own`() {
        for metric in ["system.cpu.utilization", "ws1.system.core.utilization"] {
            #expect(MetricCatalog.points(of: Self.full(), metric: metric).count == 7)
        }
    }

    private static func values(_ points: [MetricPoint], _ name: String) -> [String] {
        points.filter { $0.definition.name == name }.map { point in
            "\(point.value) "
                + point.attributes.sorted { $0.key < $1.key }.map { "\($0.key)=\($0.value)" }.joined(separator: " ")
        }
    }

    @Test
    func `network data gives totals per interface and class, and increases under names of their own`() {
        var sample = WireNetworkDataSample()
        var interface = WireInterfaceData()
        interface.name = "wlan0"
        interface.class = .wifi
        interface.delta.receivedBytes = 7
        interface.total.receivedBytes = 700
        sample.interfaces = [interface]
        var part = WireNetworkClassData()
        part.class = .wifi
        part.total.sentPackets = 9
        sample.classes = [part]
        sample.tcpEstablished = 3
        let points = MetricCatalog.points(of: sample)
        #expect(
            Self.values(points, "ws1.network.io.increase") == [
                "7.0 network.interface.name=wlan0 network.io.direction=receive ws1.network.class=wifi",
                "0.0 network.interface.name=wlan0 network.io.direction=transmit ws1.network.class=wifi",
            ])
        #expect(Self.values(points, "system.network.io").first?.hasPrefix("700.0 ") == true)
        #expect(Self.values(points, "ws1.network.class.io.increase").isEmpty, "nothing to compare with")
        #expect(
            Self.values(points, "ws1.network.class.packet.count").last
                == "9.0 network.io.direction=transmit ws1.network.class=wifi")
        #expect(
            Self.values(points, "system.network.connection.count")
                == ["3.0 network.connection.state=established network.transport=tcp"])
        #expect(Self.values(points, "ws1.network.roaming").isEmpty)
        sample.roaming = .no
        #expect(Self.values(MetricCatalog.points(of: sample), "ws1.network.roaming") == ["0.0 "])
    }

    @Test
    func `adapters, radios, positions and the application's use are in the units their metrics say`() {
        var adapters = WireNetworkAdapterSample()
        var adapter = WireNetworkAdapter()
        adapter.name = "eno1"
        adapter.index = 2
        adapter.class = .ethernet
        adapter.speedMegabits = 1_000
        adapters.adapters = [adapter]
        #expect(
            Self.values(MetricCatalog.points(of: adapters), "hw.network.bandwidth.limit") == [
                "125000000.0 hw.id=eno1 network.interface.name=eno1 ws1.network.class=ethernet "
                    + "ws1.network.interface.index=2"
            ])
        var radios = WireWLANSample()
        var radio = WireWLANInterface()
        radio.name = "wlan0"
        radio.channel = 36
        radio.frequencyMegahertz = 5_180
        radio.transmitRateKilobits = 866_700
        radios.interfaces = [radio]
        let points = MetricCatalog.points(of: radios)
        #expect(points.map(\.value) == [5_180_000_000, 866_700_000])
        #expect(
            points.allSatisfy {
                $0.attributes["ws1.wlan.channel"] == 36 && $0.attributes["network.interface.name"] == "wlan0"
            })
        var use = WireAnalyticsSample()
        use.useMicroseconds = 1_500_000
        use.eventsHeld = 4
        #expect(Self.values(MetricCatalog.points(of: use), "ws1.app.use") == ["1.5 "])
        #expect(Self.values(MetricCatalog.points(of: use), "ws1.app.events").contains("4.0 ws1.app.event.outcome=held"))
        #expect(MetricCatalog.points(of: WireGPSSample()).isEmpty)
    }

    @Test
    func `one call gives the points of a stored sample of any kind, a custom one's under its own names`() throws {
        var custom = WireCustomSample()
        for value: WireValue.OneOf_Value in [.integer(3), .real(0.5), .boolean(true), .text("x"), .date(1)] {
            var measurement = WireMeasurement()
            measurement.name = "queue.length"
            measurement.unit = "{item}"
            measurement.attributes = ["queue": "mail"]
            measurement.value.value = value
            custom.measurements.append(measurement)
        }
        let points = try MetricCatalog.points(ofKind: .sampleCustom, body: custom.encoded)
        #expect(points.map(\.value) == [3, 0.5, 1] && points.allSatisfy { $0.attributes == ["queue": "mail"] })
        #expect(points.first?.definition.name == "queue.length" && points.first?.definition.unit == "{item}")
        #expect(try MetricCatalog.points(ofKind: .sampleCustom, body: custom.encoded, metric: "other").isEmpty)
        #expect(
            try MetricCatalog.points(ofKind: .sampleSystem, body: Self.full().encoded).count
                == MetricCatalog.points(of: Self.full()).count)
        #expect(try MetricCatalog.points(ofKind: .sampleWlan, body: WireWLANSample().encoded).isEmpty)
        #expect(try MetricCatalog.points(ofKind: .event, body: custom.encoded).isEmpty)
        #expect(throws: WireError.self) { try MetricCatalog.points(ofKind: .sampleSystem, body: Data([0xff])) }
    }
}
