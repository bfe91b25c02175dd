import WireModel

/// The metrics of a System sample, a list for each part of the machine.
extension MetricCatalog {
    private static let utilization = MetricDefinition(
        "system.cpu.utilization", "1", .gauge,
        "Share of time spent in each mode since the previous sample, over all cores or per core")

    private typealias Share = (field: String, mode: String, read: @Sendable (WireCPUShares) -> UInt32)

    private static let shares: [Share] = [
        ("user", "user", { $0.user }), ("nice", "nice", { $0.nice }), ("system", "system", { $0.system }),
        ("idle", "idle", { $0.idle }), ("io_wait", "iowait", { $0.ioWait }), ("irq", "interrupt", { $0.irq }),
        ("soft_irq", "softirq", { $0.softIrq }), ("steal", "steal", { $0.steal }),
    ]

    static let systemProcessor: [CatalogEntry<WireSystemSample>] =
        shares.map { share in
            CatalogEntry("cpu.\(share.field)", utilization, ["cpu.mode": share.mode]) {
                $0.hasCpu ? Double(share.read($0.cpu)) / 10_000 : nil
            }
        }
        + shares.map { share in
            CatalogEntry("cores.\(share.field)", utilization, each: \.cores) {
                ["cpu.mode": share.mode, "cpu.logical_number": String($0.number)]
            } value: {
                Double(share.read($0)) / 10_000
            }
        } + [
            load("one_minute", "1m") { $0.oneMinute }, load("five_minutes", "5m") { $0.fiveMinutes },
            load("fifteen_minutes", "15m") { $0.fifteenMinutes },
        ]

    private static func load(
        _ field: String, _ window: String, _ read: @escaping @Sendable (WireLoadAverage) -> UInt32
    ) -> CatalogEntry<WireSystemSample> {
        CatalogEntry(
            "load.\(field)", "system.cpu.load_average.\(window)", "{thread}", .gauge,
            "Average number of runnable and uninterruptible threads over \(window)"
        ) { $0.hasLoad ? Double(read($0.load)) / 100 : nil }
    }

    static let systemActivity: [CatalogEntry<WireSystemSample>] =
        [
            CatalogEntry(
                "uptime_seconds", "system.uptime", "s", .gauge, "Time since the machine started, suspend included"
            ) { Double($0.uptimeSeconds) },
            CatalogEntry(
                "interval_microseconds", "ws1.system.sample.interval", "s", .gauge, "Time since the previous sample"
            ) { $0.hasIntervalMicroseconds ? Double($0.intervalMicroseconds) / 1_000_000 : nil },
            CatalogEntry(
                "identity.logical_cores", "system.cpu.logical.count", "{cpu}", .upDownCounter, "Logical cores on line"
            ) { $0.identity.logicalCores > 0 ? Double($0.identity.logicalCores) : nil },
            CatalogEntry(
                "identity.boot_time", "ws1.system.boot_time", "s", .gauge, "Start of the machine since 1970"
            ) { $0.identity.bootTime != 0 ? Double($0.identity.bootTime) / 1_000_000 : nil },
            CatalogEntry(
                "activity.context_switches", "ws1.system.context_switches", "{switch}", .deltaCounter,
                "Context switches"
            ) { $0.activity.hasContextSwitches ? Double($0.activity.contextSwitches) : nil },
            CatalogEntry(
                "activity.interrupts", "ws1.system.interrupts", "{interrupt}", .deltaCounter, "Interrupts serviced"
            ) { $0.activity.hasInterrupts ? Double($0.activity.interrupts) : nil },
            CatalogEntry(
                "activity.processes_created", "system.process.created", "{process}", .deltaCounter,
                "Processes and threads created"
            ) { $0.activity.hasProcessesCreated ? Double($0.activity.processesCreated) : nil },
            CatalogEntry("activity.running", processes, ["process.state": "running"]) {
                $0.activity.hasRunning ? Double($0.activity.running) : nil
            },
            CatalogEntry("activity.blocked", processes, ["process.state": "blocked"]) {
                $0.activity.hasBlocked ? Double($0.activity.blocked) : nil
            },
        ] + pressure

    private static let processes = MetricDefinition(
        "system.process.count", "{process}", .upDownCounter, "Processes in each state")

    private static let pressureAverage = MetricDefinition(
        "ws1.system.pressure.average", "1", .gauge,
        "Share of time in which some or all tasks waited for a resource, averaged by the kernel")

    private static let pressureTime = MetricDefinition(
        "ws1.system.pressure.time", "s", .cumulativeCounter,
        "Time since boot in which some or all tasks waited for a resource")

    private static let pressure: [CatalogEntry<WireSystemSample>] = {
        let resources: [(String, @Sendable (WirePressure) -> WirePressureResource?)] = [
            ("cpu", { $0.hasCpu ? $0.cpu : nil }), ("memory", { $0.hasMemory ? $0.memory : nil }),
            ("io", { $0.hasIo ? $0.io : nil }),
        ]
        let scopes: [(String, @Sendable (WirePressureResource) -> WirePressureLine?)] = [
            ("some", { $0.hasSome ? $0.some : nil }), ("full", { $0.hasFull ? $0.full : nil }),
        ]
        let averages: [(String, String, @Sendable (WirePressureLine) -> UInt32)] = [
            ("average_10_seconds", "10s", { $0.average10Seconds }),
            ("average_60_seconds", "60s", { $0.average60Seconds }),
            ("average_300_seconds", "300s", { $0.average300Seconds }),
        ]
        var entries: [CatalogEntry<WireSystemSample>] = []
        for (resource, ofSample) in resources {
            for (scope, ofResource) in scopes {
                let attributes = ["ws1.pressure.resource": resource, "ws1.pressure.scope": scope]
                let line: @Sendable (WireSystemSample) -> WirePressureLine? = { sample in
                    ofSample(sample.pressure).flatMap(ofResource)
                }
                let path = "pressure.\(resource).\(scope)"
                for (field, window, read) in averages {
                    let windowed = attributes.merging(["ws1.pressure.window": window]) { first, _ in first }
                    entries.append(
                        CatalogEntry("\(path).\(field)", pressureAverage, windowed) { sample in
                            line(sample).map { Double(read($0)) / 10_000 }
                        })
                }
                entries.append(
                    CatalogEntry("\(path).total_microseconds", pressureTime, attributes) { sample in
                        line(sample).map { Double($0.totalMicroseconds) / 1_000_000 }
                    })
            }
        }
        return entries
    }()

    private static let memoryUsage = MetricDefinition(
        "system.memory.usage", "By", .upDownCounter, "Memory in each state; the states overlap")

    static let systemMemory: [CatalogEntry<WireSystemSample>] = [
        CatalogEntry("memory.total", "system.memory.limit", "By", .upDownCounter, "Memory of the machine") {
            $0.hasMemory ? Double($0.memory.total) : nil
        },
        CatalogEntry(
            "memory.available", "system.memory.linux.available", "By", .upDownCounter,
            "Kernel's estimate of memory for new programs without swapping"
        ) { $0.memory.hasAvailable ? Double($0.memory.available) : nil },
        CatalogEntry("memory.free", memoryUsage, ["system.memory.state": "free"]) {
            $0.memory.hasFree ? Double($0.memory.free) : nil
        },
        CatalogEntry("memory.buffers", memoryUsage, ["system.memory.state": "buffers"]) {
            $0.memory.hasBuffers ? Double($0.memory.buffers) : nil
        },
        CatalogEntry("memory.cached", memoryUsage, ["system.memory.state": "cached"]) {
            $0.memory.hasCached ? Double($0.memory.cached) : nil
        },
        CatalogEntry(
            "memory.dirty", "ws1.system.memory.dirty", "By", .upDownCounter, "Memory waiting to be written to storage"
        ) { $0.memory.hasDirty ? Double($0.memory.dirty) : nil },
        CatalogEntry(
            "memory.slab", "ws1.system.memory.slab", "By", .upDownCounter, "Memory in the kernel's object caches"
        ) { $0.memory.hasSlab ? Double($0.memory.slab) : nil },
        CatalogEntry(
            "memory.swap_total", "ws1.system.paging.limit", "By", .upDownCounter, "Swap space of the machine"
        ) { $0.memory.hasSwapTotal ? Double($0.memory.swapTotal) : nil },
        CatalogEntry(
            "memory.swap_free", "system.paging.usage", "By", .upDownCounter, "Swap space in each state",
            ["system.paging.state": "free"]
        ) { $0.memory.hasSwapFree ? Double($0.memory.swapFree) : nil },
    ]

    private static let fileSystemUsage = MetricDefinition(
        "system.filesystem.usage", "By", .upDownCounter, "Space in each state; free is available to ordinary users")

    private static let operations = MetricDefinition(
        "system.disk.operations", "{operation}", .deltaCounter, "Operations completed")

    private static let io = MetricDefinition(
        "system.disk.io", "By", .deltaCounter, "Bytes read from and written to the device")

    static let systemStorage: [CatalogEntry<WireSystemSample>] = [
        fileSystem(
            "size", MetricDefinition("system.filesystem.limit", "By", .upDownCounter, "Size of the file system")
        ) { $0.size },
        fileSystem("used", fileSystemUsage, ["system.filesystem.state": "used"]) { $0.used },
        fileSystem("available", fileSystemUsage, ["system.filesystem.state": "free"]) { $0.available },
        fileSystem(
            "inodes",
            MetricDefinition(
                "ws1.system.filesystem.inodes.limit", "{inode}", .upDownCounter,
                "Files that the file system can hold, if the number is fixed")
        ) { $0.inodes > 0 ? $0.inodes : nil },
        fileSystem(
            "inodes_free",
            MetricDefinition(
                "ws1.system.filesystem.inodes.free", "{inode}", .upDownCounter,
                "Files that the file system can still take, if the number is fixed")
        ) { $0.inodes > 0 ? $0.inodesFree : nil },
        disk("reads", operations, ["disk.io.direction": "read"]) { Double($0.reads) },
        disk("writes", operations, ["disk.io.direction": "write"]) { Double($0.writes) },
        disk("read_bytes", io, ["disk.io.direction": "read"]) { Double($0.readBytes) },
        disk("written_bytes", io, ["disk.io.direction": "write"]) { Double($0.writtenBytes) },
        disk(
            "busy_microseconds",
            MetricDefinition("system.disk.io_time", "s", .deltaCounter, "Time in which the device was busy")
        ) { Double($0.busyMicroseconds) / 1_000_000 },
    ]

    private static func fileSystem(
        _ field: String, _ metric: MetricDefinition, _ attributes: [String: String] = [:],
        _ read: @escaping @Sendable (WireFileSystem) -> UInt64?
    ) -> CatalogEntry<WireSystemSample> {
        CatalogEntry("file_systems.\(field)", metric, each: \.fileSystems) { fileSystem in
            var all = attributes
            all["system.device"] = fileSystem.device
            all["system.filesystem.mountpoint"] = fileSystem.mountPoint
            all["system.filesystem.type"] = fileSystem.type
            all["system.filesystem.mode"] = fileSystem.readOnly ? "ro" : "rw"
            return all
        } value: {
            read($0).map { Double($0) }
        }
    }

    private static func disk(
        _ field: String, _ metric: MetricDefinition, _ attributes: [String: String] = [:],
        _ read: @escaping @Sendable (WireBlockDevice) -> Double
    ) -> CatalogEntry<WireSystemSample> {
        CatalogEntry("block_devices.\(field)", metric, each: \.blockDevices) { device in
            var all = attributes
            all["system.device"] = device.name
            return all
        } value: {
            read($0)
        }
    }

    static let systemHardware: [CatalogEntry<WireSystemSample>] = [
        CatalogEntry(
            "power.external_power", "ws1.power.external", "1", .gauge, "1 while external power is on line, else 0"
        ) { $0.power.hasExternalPower ? ($0.power.externalPower ? 1 : 0) : nil },
        CatalogEntry(
            "power.battery_level", "hw.battery.charge", "1", .gauge, "Remaining share of the batteries' charge",
            ["hw.type": "battery"]
        ) { $0.power.hasBatteryLevel ? Double($0.power.batteryLevel) / 10_000 : nil },
        CatalogEntry(
            "power.state",
            MetricDefinition("hw.status", "1", .upDownCounter, "1 for the present state of the hardware"),
            each: { sample in stateName(sample.power.state).map { [$0] } ?? [] }
        ) {
            ["hw.type": "battery", "hw.state": $0]
        } value: { _ in
            1
        },
        CatalogEntry(
            "power.cycle_count", "ws1.battery.cycles", "{cycle}", .gauge, "Charge cycles of the most used battery"
        ) { $0.power.hasCycleCount ? Double($0.power.cycleCount) : nil },
        CatalogEntry(
            "power.health", "ws1.battery.health", "1", .gauge, "Full charge as a share of the design charge"
        ) { $0.power.hasHealth ? Double($0.power.health) / 10_000 : nil },
        CatalogEntry(
            "temperatures.millidegrees",
            MetricDefinition("hw.temperature", "Cel", .gauge, "Temperature of each sensor"), each: \.temperatures
        ) {
            ["hw.id": $0.sensor, "hw.type": "temperature"]
        } value: {
            Double($0.millidegrees) / 1_000
        },
    ]

    /// `nil` where the state is unknown or of a later version.
    private static func stateName(_ state: WirePowerState) -> String? {
        switch state {
        case .charging: "charging"
        case .discharging: "discharging"
        case .notCharging: "not_charging"
        case .full: "full"
        case .unknown, .UNRECOGNIZED: nil
        }
    }

    /// The entries for the cost of the program that samples.
    static let systemProcess: [CatalogEntry<WireSystemSample>] = [
        CatalogEntry(
            "self.cpu_time_microseconds", "process.cpu.time", "s", .cumulativeCounter,
            "Processor time used by the sampler"
        ) { $0.hasSelf_p ? Double($0.self_p.cpuTimeMicroseconds) / 1_000_000 : nil },
        CatalogEntry(
            "self.resident_bytes", "process.memory.usage", "By", .upDownCounter, "Resident memory of the sampler"
        ) { $0.hasSelf_p ? Double($0.self_p.residentBytes) : nil },
        CatalogEntry(
            "self.written_bytes", "process.disk.io", "By", .cumulativeCounter,
            "Bytes that the sampler wrote to storage", ["disk.io.direction": "write"]
        ) { $0.self_p.hasWrittenBytes ? Double($0.self_p.writtenBytes) : nil },
        CatalogEntry(
            "self.open_files", "process.unix.file_descriptor.count", "{file_descriptor}", .upDownCounter,
            "Open files of the sampler"
        ) { $0.self_p.hasOpenFiles ? Double($0.self_p.openFiles) : nil },
        CatalogEntry("self.uptime_microseconds", "process.uptime", "s", .gauge, "Time since the sampler started") {
            $0.hasSelf_p ? Double($0.self_p.uptimeMicroseconds) / 1_000_000 : nil
        },
        CatalogEntry(
            "self.sent_bytes", "ws1.sampler.sent", "By", .cumulativeCounter,
            "Compressed bytes that the sampler sent to the collector"
        ) { $0.self_p.hasSentBytes ? Double($0.self_p.sentBytes) : nil },
        CatalogEntry(
            "self.queue_written_bytes", "ws1.sampler.queue.written", "By", .cumulativeCounter,
            "Bytes written to the queue's file and its log"
        ) { $0.self_p.hasQueueWrittenBytes ? Double($0.self_p.queueWrittenBytes) : nil },
        CatalogEntry("self.records_made", "ws1.sampler.records.made", "{record}", .cumulativeCounter, "Records made") {
            $0.self_p.hasRecordsMade ? Double($0.self_p.recordsMade) : nil
        },
        CatalogEntry(
            "self.records_lost", "ws1.sampler.records.lost", "{record}", .cumulativeCounter,
            "Records dropped"
        ) { $0.self_p.hasRecordsLost ? Double($0.self_p.recordsLost) : nil },
        slowdown("factor", "ws1.sampler.slowdown", "Factor by which a budget lengthens intervals") {
            Double($0.factor) / 100
        },
        slowdown(
            "used", "ws1.sampler.budget.used", "Use of the budget that slows the sampler down, in its unit"
        ) { Double($0.used) },
        slowdown(
            "allowed", "ws1.sampler.budget.allowed", "Limit of the budget that slows the sampler down, in its unit"
        ) { Double($0.allowed) },
    ]

    private static func slowdown(
        _ field: String, _ name: String, _ description: String, _ read: @escaping @Sendable (WireSlowdown) -> Double
    ) -> CatalogEntry<WireSystemSample> {
        CatalogEntry(
            "self.slowdown.\(field)", MetricDefinition(name, "1", .gauge, description),
            each: { $0.self_p.hasSlowdown ? [$0.self_p.slowdown] : [] }
        ) {
            ["ws1.budget": $0.budget]
        } value: {
            read($0)
        }
    }
}
