extension MetricCatalog {
    private static let utilization = MetricDefinition(
        name: "system.cpu.utilization", unit: "1", kind: .gauge,
        description: "Share of time spent in each mode since the sample before, over all cores or per core")

    private typealias Share = (field: String, mode: String, read: @Sendable (WireCPUShares) -> UInt32)

    private static let shares: [Share] = [
        ("user", "user", { $0.user }), ("nice", "nice", { $0.nice }), ("system", "system", { $0.system }),
        ("idle", "idle", { $0.idle }),
        ("io_wait", "iowait", { $0.ioWait }), ("irq", "interrupt", { $0.irq }), ("soft_irq", "softirq", { $0.softIrq }),
        ("steal", "steal", { $0.steal }),
    ]

    static let systemProcessor: [CatalogEntry<WireSystemSample>] =
        shares.map { share in
            CatalogEntry(field: "cpu.\(share.field)", metric: utilization) { sample, emit in
                if sample.hasCpu { emit(Double(share.read(sample.cpu)) / 10_000, ["cpu.mode": share.mode]) }
            }
        }
        + shares.map { share in
            CatalogEntry(field: "cores.\(share.field)", metric: utilization) { sample, emit in
                for core in sample.cores {
                    emit(
                        Double(share.read(core)) / 10_000,
                        ["cpu.mode": share.mode, "cpu.logical_number": String(core.number)])
                }
            }
        }
        + [
            load("one_minute", "1m") { $0.oneMinute },
            load("five_minutes", "5m") { $0.fiveMinutes },
            load("fifteen_minutes", "15m") { $0.fifteenMinutes },
        ]

    private static func load(
        _ field: String, _ window: String, _ read: @escaping @Sendable (WireLoadAverage) -> UInt32
    ) -> CatalogEntry<WireSystemSample> {
        CatalogEntry(
            field: "load.\(field)",
            metric: MetricDefinition(
                name: "system.cpu.load_average.\(window)", unit: "{thread}", kind: .gauge,
                description: "Average number of runnable and uninterruptible threads over \(window)")
        ) { sample, emit in
            if sample.hasLoad { emit(Double(read(sample.load)) / 100, [:]) }
        }
    }
}

extension MetricCatalog {
    static let systemActivity: [CatalogEntry<WireSystemSample>] =
        [
            CatalogEntry(
                field: "uptime_seconds",
                metric: MetricDefinition(
                    name: "system.uptime", unit: "s", kind: .gauge,
                    description: "Time since the machine started, counting suspend")
            ) { sample, emit in emit(Double(sample.uptimeSeconds), [:]) },
            CatalogEntry(
                field: "interval_microseconds",
                metric: MetricDefinition(
                    name: "ws1.system.sample.interval", unit: "s", kind: .gauge,
                    description: "Time since the sample before")
            ) { sample, emit in
                if sample.hasIntervalMicroseconds { emit(Double(sample.intervalMicroseconds) / 1_000_000, [:]) }
            },
            CatalogEntry(
                field: "identity.logical_cores",
                metric: MetricDefinition(
                    name: "system.cpu.logical.count", unit: "{cpu}", kind: .upDownCounter,
                    description: "Logical cores on line")
            ) { sample, emit in
                if sample.hasIdentity, sample.identity.logicalCores > 0 {
                    emit(Double(sample.identity.logicalCores), [:])
                }
            },
            CatalogEntry(
                field: "identity.boot_time",
                metric: MetricDefinition(
                    name: "ws1.system.boot_time", unit: "s", kind: .gauge,
                    description: "When the machine started, since 1970")
            ) { sample, emit in
                if sample.hasIdentity, sample.identity.bootTime != 0 {
                    emit(Double(sample.identity.bootTime) / 1_000_000, [:])
                }
            },
            activity("context_switches", "ws1.system.context_switches", "{switch}", .deltaCounter, "Context switches") {
                $0.hasContextSwitches ? $0.contextSwitches : nil
            },
            activity("interrupts", "ws1.system.interrupts", "{interrupt}", .deltaCounter, "Interrupts serviced") {
                $0.hasInterrupts ? $0.interrupts : nil
            },
            activity(
                "processes_created", "system.process.created", "{process}", .deltaCounter,
                "Processes and threads created"
            ) {
                $0.hasProcessesCreated ? $0.processesCreated : nil
            },
            activity(
                "running", "system.process.count", "{process}", .upDownCounter, "Processes in each state",
                ["process.state": "running"]
            ) {
                $0.hasRunning ? UInt64($0.running) : nil
            },
            activity(
                "blocked", "system.process.count", "{process}", .upDownCounter, "Processes in each state",
                ["process.state": "blocked"]
            ) {
                $0.hasBlocked ? UInt64($0.blocked) : nil
            },
        ] + pressure

    private static func activity(
        _ field: String, _ name: String, _ unit: String, _ kind: MetricDefinition.Kind, _ description: String,
        _ attributes: [String: String] = [:], _ read: @escaping @Sendable (WireActivity) -> UInt64?
    ) -> CatalogEntry<WireSystemSample> {
        CatalogEntry(
            field: "activity.\(field)",
            metric: MetricDefinition(name: name, unit: unit, kind: kind, description: description)
        ) { sample, emit in
            if sample.hasActivity, let value = read(sample.activity) { emit(Double(value), attributes) }
        }
    }

    private static let pressureAverage = MetricDefinition(
        name: "ws1.system.pressure.average", unit: "1", kind: .gauge,
        description: "Share of time in which some or all tasks waited for a resource, averaged by the kernel")

    private static let pressureTime = MetricDefinition(
        name: "ws1.system.pressure.time", unit: "s", kind: .cumulativeCounter,
        description: "Time since boot in which some or all tasks waited for a resource")

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
                    sample.hasPressure ? ofSample(sample.pressure).flatMap(ofResource) : nil
                }
                let path = "pressure.\(resource).\(scope)"
                for (field, window, read) in averages {
                    let windowed = attributes.merging(["ws1.pressure.window": window]) { first, _ in first }
                    entries.append(
                        CatalogEntry(field: "\(path).\(field)", metric: pressureAverage) { sample, emit in
                            if let line = line(sample) { emit(Double(read(line)) / 10_000, windowed) }
                        })
                }
                entries.append(
                    CatalogEntry(field: "\(path).total_microseconds", metric: pressureTime) { sample, emit in
                        if let line = line(sample) { emit(Double(line.totalMicroseconds) / 1_000_000, attributes) }
                    })
            }
        }
        return entries
    }()
}

extension MetricCatalog {
    private static let usage = MetricDefinition(
        name: "system.memory.usage", unit: "By", kind: .upDownCounter,
        description: "Memory in each state; the states overlap")

    private static let paging = MetricDefinition(
        name: "system.paging.usage", unit: "By", kind: .upDownCounter, description: "Swap space in each state")

    static let systemMemory: [CatalogEntry<WireSystemSample>] = [
        memory(
            "total",
            MetricDefinition(
                name: "system.memory.limit", unit: "By", kind: .upDownCounter, description: "Memory the machine has")
        ) { $0.total },
        memory(
            "available",
            MetricDefinition(
                name: "system.memory.linux.available", unit: "By", kind: .upDownCounter,
                description: "Memory for new programs without swapping, as the kernel estimates")
        ) { $0.hasAvailable ? $0.available : nil },
        memory("free", usage, ["system.memory.state": "free"]) { $0.hasFree ? $0.free : nil },
        memory("buffers", usage, ["system.memory.state": "buffers"]) { $0.hasBuffers ? $0.buffers : nil },
        memory("cached", usage, ["system.memory.state": "cached"]) { $0.hasCached ? $0.cached : nil },
        memory(
            "dirty",
            MetricDefinition(
                name: "ws1.system.memory.dirty", unit: "By", kind: .upDownCounter,
                description: "Memory waiting to be written to storage")
        ) { $0.hasDirty ? $0.dirty : nil },
        memory(
            "slab",
            MetricDefinition(
                name: "ws1.system.memory.slab", unit: "By", kind: .upDownCounter,
                description: "Memory in the kernel's object caches")
        ) { $0.hasSlab ? $0.slab : nil },
        memory(
            "swap_total",
            MetricDefinition(
                name: "ws1.system.paging.limit", unit: "By", kind: .upDownCounter,
                description: "Swap space the machine has")
        ) { $0.hasSwapTotal ? $0.swapTotal : nil },
        memory("swap_free", paging, ["system.paging.state": "free"]) { $0.hasSwapFree ? $0.swapFree : nil },
    ]

    private static func memory(
        _ field: String, _ metric: MetricDefinition, _ attributes: [String: String] = [:],
        _ read: @escaping @Sendable (WireMemory) -> UInt64?
    ) -> CatalogEntry<WireSystemSample> {
        CatalogEntry(field: "memory.\(field)", metric: metric) { sample, emit in
            if sample.hasMemory, let value = read(sample.memory) { emit(Double(value), attributes) }
        }
    }
}

extension MetricCatalog {
    private static let fileSystemUsage = MetricDefinition(
        name: "system.filesystem.usage", unit: "By", kind: .upDownCounter,
        description: "Space in each state; free is what an ordinary user may still take")

    private static let operations = MetricDefinition(
        name: "system.disk.operations", unit: "{operation}", kind: .deltaCounter, description: "Operations completed")

    private static let io = MetricDefinition(
        name: "system.disk.io", unit: "By", kind: .deltaCounter,
        description: "Bytes read from and written to the device")

    static let systemStorage: [CatalogEntry<WireSystemSample>] = [
        fileSystem(
            "size",
            MetricDefinition(
                name: "system.filesystem.limit", unit: "By", kind: .upDownCounter,
                description: "Size of the file system")
        ) { $0.size },
        fileSystem("used", fileSystemUsage, ["system.filesystem.state": "used"]) { $0.used },
        fileSystem("available", fileSystemUsage, ["system.filesystem.state": "free"]) { $0.available },
        fileSystem(
            "inodes",
            MetricDefinition(
                name: "ws1.system.filesystem.inodes.limit", unit: "{inode}", kind: .upDownCounter,
                description: "Files the file system can hold, where it has a fixed number")
        ) { $0.inodes > 0 ? $0.inodes : nil },
        fileSystem(
            "inodes_free",
            MetricDefinition(
                name: "ws1.system.filesystem.inodes.free", unit: "{inode}", kind: .upDownCounter,
                description: "Files the file system can still take, where it has a fixed number")
        ) { $0.inodes > 0 ? $0.inodesFree : nil },
        disk("reads", operations, ["disk.io.direction": "read"]) { Double($0.reads) },
        disk("writes", operations, ["disk.io.direction": "write"]) { Double($0.writes) },
        disk("read_bytes", io, ["disk.io.direction": "read"]) { Double($0.readBytes) },
        disk("written_bytes", io, ["disk.io.direction": "write"]) { Double($0.writtenBytes) },
        disk(
            "busy_microseconds",
            MetricDefinition(
                name: "system.disk.io_time", unit: "s", kind: .deltaCounter,
                description: "Time in which the device had work")
        ) { Double($0.busyMicroseconds) / 1_000_000 },
    ]

    private static func fileSystem(
        _ field: String, _ metric: MetricDefinition, _ attributes: [String: String] = [:],
        _ read: @escaping @Sendable (WireFileSystem) -> UInt64?
    ) -> CatalogEntry<WireSystemSample> {
        CatalogEntry(field: "file_systems.\(field)", metric: metric) { sample, emit in
            for fileSystem in sample.fileSystems {
                guard let value = read(fileSystem) else { continue }
                var all = attributes
                all["system.device"] = fileSystem.device
                all["system.filesystem.mountpoint"] = fileSystem.mountPoint
                all["system.filesystem.type"] = fileSystem.type
                all["system.filesystem.mode"] = fileSystem.readOnly ? "ro" : "rw"
                emit(Double(value), all)
            }
        }
    }

    private static func disk(
        _ field: String, _ metric: MetricDefinition, _ attributes: [String: String] = [:],
        _ read: @escaping @Sendable (WireBlockDevice) -> Double
    ) -> CatalogEntry<WireSystemSample> {
        CatalogEntry(field: "block_devices.\(field)", metric: metric) { sample, emit in
            for device in sample.blockDevices {
                var all = attributes
                all["system.device"] = device.name
                emit(read(device), all)
            }
        }
    }
}

extension MetricCatalog {
    private static let batteryState = MetricDefinition(
        name: "hw.status", unit: "1", kind: .upDownCounter, description: "1 for the state the hardware is in")

    static let systemHardware: [CatalogEntry<WireSystemSample>] = [
        power(
            "external_power",
            MetricDefinition(
                name: "ws1.power.external", unit: "1", kind: .gauge,
                description: "1 while external power is on line, else 0")
        ) { $0.hasExternalPower ? ($0.externalPower ? 1 : 0) : nil },
        power(
            "battery_level",
            MetricDefinition(
                name: "hw.battery.charge", unit: "1", kind: .gauge,
                description: "Remaining share of the batteries' charge"),
            ["hw.type": "battery"]
        ) { $0.hasBatteryLevel ? Double($0.batteryLevel) / 10_000 : nil },
        CatalogEntry(field: "power.state", metric: batteryState) { sample, emit in
            guard sample.hasPower, let name = stateName(sample.power.state) else { return }
            emit(1, ["hw.type": "battery", "hw.state": name])
        },
        power(
            "cycle_count",
            MetricDefinition(
                name: "ws1.battery.cycles", unit: "{cycle}", kind: .gauge,
                description: "Charge cycles of the most used battery")
        ) { $0.hasCycleCount ? Double($0.cycleCount) : nil },
        power(
            "health",
            MetricDefinition(
                name: "ws1.battery.health", unit: "1", kind: .gauge,
                description: "Full charge as a share of the design charge")
        ) { $0.hasHealth ? Double($0.health) / 10_000 : nil },
        CatalogEntry(
            field: "temperatures.millidegrees",
            metric: MetricDefinition(
                name: "hw.temperature", unit: "Cel", kind: .gauge, description: "Temperature of each sensor")
        ) { sample, emit in
            for temperature in sample.temperatures {
                emit(Double(temperature.millidegrees) / 1_000, ["hw.id": temperature.sensor, "hw.type": "temperature"])
            }
        },
    ]

    private static func power(
        _ field: String, _ metric: MetricDefinition, _ attributes: [String: String] = [:],
        _ read: @escaping @Sendable (WirePower) -> Double?
    ) -> CatalogEntry<WireSystemSample> {
        CatalogEntry(field: "power.\(field)", metric: metric) { sample, emit in
            if sample.hasPower, let value = read(sample.power) { emit(value, attributes) }
        }
    }

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
}

extension MetricCatalog {
    /// What the program that samples costs itself.
    static let systemProcess: [CatalogEntry<WireSystemSample>] = [
        own("cpu_time_microseconds", "process.cpu.time", "s", .cumulativeCounter, "Processor time used by the sampler") {
            Double($0.cpuTimeMicroseconds) / 1_000_000
        },
        own("resident_bytes", "process.memory.usage", "By", .upDownCounter, "Memory the sampler holds") {
            Double($0.residentBytes)
        },
        own(
            "written_bytes", "process.disk.io", "By", .cumulativeCounter,
            "Bytes the sampler caused to be written to storage",
            ["disk.io.direction": "write"]
        ) { $0.hasWrittenBytes ? Double($0.writtenBytes) : nil },
        own(
            "open_files", "process.unix.file_descriptor.count", "{file_descriptor}", .upDownCounter,
            "Files the sampler has open"
        ) {
            $0.hasOpenFiles ? Double($0.openFiles) : nil
        },
        own("uptime_microseconds", "process.uptime", "s", .gauge, "Time since the sampler started") {
            Double($0.uptimeMicroseconds) / 1_000_000
        },
        own(
            "sent_bytes", "ws1.sampler.sent", "By", .cumulativeCounter,
            "Compressed bytes the sampler sent to its collector"
        ) {
            $0.hasSentBytes ? Double($0.sentBytes) : nil
        },
        own(
            "queue_written_bytes", "ws1.sampler.queue.written", "By", .cumulativeCounter,
            "Bytes written to the queue's file and its log"
        ) {
            $0.hasQueueWrittenBytes ? Double($0.queueWrittenBytes) : nil
        },
        own("records_made", "ws1.sampler.records.made", "{record}", .cumulativeCounter, "Records made") {
            $0.hasRecordsMade ? Double($0.recordsMade) : nil
        },
        own(
            "records_lost", "ws1.sampler.records.lost", "{record}", .cumulativeCounter,
            "Records dropped for whatever reason"
        ) {
            $0.hasRecordsLost ? Double($0.recordsLost) : nil
        },
        slowdown("factor", "ws1.sampler.slowdown", "So many times longer intervals are, to keep a budget") {
            Double($0.factor) / 100
        },
        slowdown(
            "used", "ws1.sampler.budget.used", "What is used of the budget that slows the sampler down, in its unit"
        ) {
            Double($0.used)
        },
        slowdown(
            "allowed", "ws1.sampler.budget.allowed", "What the budget that slows the sampler down allows, in its unit"
        ) {
            Double($0.allowed)
        },
    ]

    private static func slowdown(
        _ field: String, _ name: String, _ description: String, _ read: @escaping @Sendable (WireSlowdown) -> Double
    ) -> CatalogEntry<WireSystemSample> {
        CatalogEntry(
            field: "self.slowdown.\(field)",
            metric: MetricDefinition(name: name, unit: "1", kind: .gauge, description: description)
        ) { sample, emit in
            guard sample.hasSelf_p, sample.self_p.hasSlowdown else { return }
            emit(read(sample.self_p.slowdown), ["ws1.budget": sample.self_p.slowdown.budget])
        }
    }

    private static func own(
        _ field: String, _ name: String, _ unit: String, _ kind: MetricDefinition.Kind, _ description: String,
        _ attributes: [String: String] = [:], _ read: @escaping @Sendable (WireSelfCost) -> Double?
    ) -> CatalogEntry<WireSystemSample> {
        CatalogEntry(
            field: "self.\(field)",
            metric: MetricDefinition(name: name, unit: unit, kind: kind, description: description)
        ) {
            sample, emit in
            if sample.hasSelf_p, let value = read(sample.self_p) { emit(value, attributes) }
        }
    }
}
